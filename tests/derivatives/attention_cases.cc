// Attention: every option, masks, lengths, heads that share keys.
#include <gmock/gmock.h>

#include <cmath>

#include "derivatives/cases.h"
#include "support/on_device.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/graph.h"

namespace weft::test {
namespace {

using kernels::AttentionOptions;

struct Lengths {
  Tensor queries = {}, keys = {};
};

}  // namespace

void add_attention_derivatives(DerivativeCases& cases) {
  // q, k and v, all scores of which are small; attention takes no f64.
  struct Shapes {
    std::int64_t batch = 1, heads = 2, kv_heads = 2, queries = 3, keys = 5, dim = 3, value_dim = 2;
  };
  const auto add = [&](std::string name, Shapes s, AttentionOptions options, std::function<Tensor()> mask = {},
                       std::function<Lengths()> lengths = {}, Shape of_mask = {}) {
    std::vector<Shape> shapes{{s.batch, s.heads, s.queries, s.dim},
                              {s.batch, s.kv_heads, s.keys, s.dim},
                              {s.batch, s.kv_heads, s.keys, s.value_dim}};
    if (of_mask.rank() > 0) shapes.insert(shapes.begin(), of_mask);
    cases.push_back({.name = "attention_" + std::move(name),
                     .shapes = std::move(shapes),
                     .function =
                         [=](std::span<const Tensor> x) {
                           const bool masked = of_mask.rank() > 0;
                           const Lengths l = lengths ? lengths() : Lengths();
                           return std::vector{attention(x[masked ? 1 : 0], x[masked ? 2 : 1], x[masked ? 3 : 2],
                                                        masked ? x[0]
                                                        : mask ? mask()
                                                               : Tensor(),
                                                        options, l.queries, l.keys)};
                         },
                     .low = -1,
                     .high = 1,
                     .on_f64 = false});
  };
  const auto boolean = [](const Shape& shape, std::vector<int> values) {
    return [=] { return cast(tensor(shape, values), DType::boolean); };
  };
  add("plain", {}, {.scale = 0.6f});
  add("one_key", {.keys = 1}, {});
  add("no_keys", {.keys = 0}, {});
  add("grouped", {.batch = 2, .heads = 6, .kv_heads = 2}, {.scale = 0.5f});
  add("causal", {.batch = 2, .queries = 5}, {.causal = true});
  add("causal_more_queries", {.queries = 5, .keys = 3}, {.causal = true});
  add("top_left", {.queries = 4}, {.causal = true, .top_left = true});
  add("windows", {.queries = 6, .keys = 6}, {.window_left = 1, .window_right = 2});
  add("windows_top_left", {.queries = 4, .keys = 6}, {.window_left = 0, .window_right = 1, .top_left = true});
  add("boolean_mask", {.batch = 2, .queries = 2, .keys = 3}, {},
      boolean({2, 1, 2, 3}, {1, 0, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1}));
  add("boolean_mask_of_keys", {.heads = 4, .keys = 4}, {}, boolean({4}, {1, 0, 1, 1}));
  add("float_mask", {.batch = 2}, {}, [] { return tensor(Shape{3, 5}, std::vector<float>(15, 0.3f)) * arange(5); });
  add("mask_gradient", {.batch = 2, .heads = 4}, {.scale = 0.7f}, {}, {}, {3, 5});
  add("mask_gradient_of_heads", {.batch = 2}, {.causal = true}, {}, {}, {2, 1, 5});
  add("mask_gradient_of_all", {.batch = 2, .queries = 2}, {}, {}, {}, {2, 2, 2, 5});
  add("key_lengths", {.batch = 3, .keys = 4}, {}, {},
      [] { return Lengths{.keys = tensor(Shape{3}, std::vector<int>{2, 0, 9})}; });
  add("lengths_causal", {.batch = 3, .heads = 4, .kv_heads = 2}, {.causal = true}, {},
      [] { return Lengths{tensor(Shape{3}, std::vector<int>{3, 1, 2}), tensor(Shape{3}, std::vector<int>{5, 2, 1})}; });
  add("lengths_windows", {.batch = 2, .queries = 4}, {.window_left = 1, .window_right = 0}, {}, [] {
    return Lengths{.queries = tensor(Shape{2}, std::vector<int>{3, 4}),
                   .keys = cast(tensor(Shape{2}, std::vector<int>{4, 5}), DType::u32)};
  });
}

}  // namespace weft::test
