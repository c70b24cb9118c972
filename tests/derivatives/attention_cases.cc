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
  // The op of the gradient, as a function of its own.
  const auto gradient = [&](std::string name, AttentionOptions options, Tensor (*length)()) {
    cases.push_back({.name = "attention_gradient_" + std::move(name),
                     .shapes = {{2, 4, 3, 3}, {2, 2, 4, 3}, {2, 2, 4, 2}, {2, 4, 3, 2}},
                     .function =
                         [=](std::span<const Tensor> x) {
                           const auto f = [&](const Tensor& q, const Tensor& k, const Tensor& v) {
                             return attention(q, k, v, {}, options, {}, length ? length() : Tensor());
                           };
                           const auto [dq, dk, dv] = vjp<0, 1, 2>(f)(x[0], x[1], x[2]).second(x[3]);
                           return std::vector{dq, dk, dv};
                         },
                     .low = -1,
                     .high = 1,
                     .on_f64 = false});
  };
  gradient("plain", {.scale = 0.5f}, nullptr);
  gradient("causal", {.causal = true}, nullptr);
  gradient("lengths", {.window_left = 1}, [] { return tensor(Shape{2}, std::vector<int>{3, 4}); });
}

namespace {

using testing::Each;
using testing::FloatEq;

// Hidden keys and values, and queries past their length, do not reach the gradients, whatever they are.
TEST(AttentionDerivatives, WhatIsPastTheLengthsIsNotRead) {
  for (const std::string& name : all_devices()) {
    const Device before = default_device();
    set_default_device(device_named(name));
    const float nan = std::nanf("");
    const Tensor q = tensor(Shape{1, 1, 3, 2}, std::vector<float>{1, 2, -1, 0.5f, nan, nan});
    const Tensor k = tensor(Shape{1, 1, 3, 2}, std::vector<float>{0.5f, 1, 1, -1, nan, nan});
    const Tensor two = tensor(Shape{1}, std::vector<int>{2});
    const auto f = [&](const Tensor& q, const Tensor& k, const Tensor& v) {
      return attention(q, k, v, {}, {}, two, two);
    };
    const Tensor g = tensor(Shape{1, 1, 3, 2}, std::vector<float>{1, 0, 0, 1, nan, nan});
    const auto [dq, dk, dv] = vjp<0, 1, 2>(f)(q, k, k).second(g);
    for (const Tensor& d : {dq, dk, dv}) {
      const auto values = d.to_vector<float>();
      for (std::size_t i = 0; i < 6; ++i) {
        EXPECT_TRUE(std::isfinite(values[i])) << name << " " << i;
        if (i >= 4) {
          EXPECT_EQ(values[i], 0) << name << " " << i;
        }
      }
    }
    set_default_device(before);
  }
}

// A query that sees no key has a constant result, NaN if it was asked for.
TEST(AttentionDerivatives, QueriesWithoutKeysGiveNoGradient) {
  for (const std::string& name : all_devices()) {
    const Device before = default_device();
    set_default_device(device_named(name));
    const Tensor x = tensor(Shape{1, 1, 2, 2}, std::vector<float>{1, 2, 3, 4});
    const Tensor none = cast(tensor(Shape{2, 2}, std::vector<int>{0, 0, 1, 0}), DType::boolean);
    for (const bool nan : {false, true}) {
      const auto f = [&](const Tensor& q, const Tensor& k, const Tensor& v) {
        return attention(q, k, v, none, {.empty_is_nan = nan});
      };
      const auto [dq, dk, dv] = vjp<0, 1, 2>(f)(x, x, x).second(x);
      // One key has weight 1, which does not change.
      EXPECT_THAT(dq.to_vector<float>(), Each(FloatEq(0))) << name;
      EXPECT_THAT(dk.to_vector<float>(), Each(FloatEq(0))) << name;
      EXPECT_THAT(dv.to_vector<float>(), testing::ElementsAre(3, 4, 0, 0)) << name;
    }
    set_default_device(before);
  }
}

// f16 and bf16 against f32 on the cpu of the same numbers: rounded once, of a result that was rounded as well.
TEST(AttentionDerivatives, NarrowTypes) {
  const auto f = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    return attention(q, k, v, {}, {.scale = 0.3f, .causal = true});
  };
  for (const DType type : {DType::f16, DType::bf16}) {
    std::vector<std::vector<float>> expected;
    for (const std::string& name : all_devices()) {
      const Device before = default_device();
      const auto results = [&](const Device& device, DType as) {
        set_default_device(device);
        const auto numbers = [&](const Shape& shape, float phase) {
          const Tensor i = cast(arange(0, element_count(shape), 1, DType::i32), DType::f32);
          return cast(cast(reshape(sin(i * 1.7f + phase), shape), type), as);
        };
        const Tensor q = numbers({2, 4, 20, 16}, 0), k = numbers({2, 2, 35, 16}, 1), v = numbers({2, 2, 35, 8}, 2);
        const auto [dq, dk, dv] = vjp<0, 1, 2>(f)(q, k, v).second(numbers({2, 4, 20, 8}, 3));
        std::vector<std::vector<float>> all;
        for (const Tensor& d : {dq, dk, dv}) {
          EXPECT_EQ(d.dtype(), as);
          all.push_back(d.to_vector<float>());
        }
        return all;
      };
      if (expected.empty()) expected = results(Device::cpu(), DType::f32);
      const auto got = results(device_named(name), type);
      const float unit = type == DType::f16 ? 0x1p-11f : 0x1p-8f;
      for (std::size_t r = 0; r < 3; ++r) {
        for (std::size_t i = 0; i < got[r].size(); ++i) {
          EXPECT_NEAR(got[r][i], expected[r][i], unit * (std::abs(expected[r][i]) + 2)) << name << " " << r << " " << i;
        }
      }
      set_default_device(before);
    }
  }
}

}  // namespace
}  // namespace weft::test
