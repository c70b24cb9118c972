#include "functions/named_cases.h"
#include "weft/graph.h"

namespace weft::test {
namespace {

void add_attention_cases(NamedCases& c) {
  const Tensor q = c.floats({2, 4, 3, 16}), k = c.floats({2, 2, 5, 16}), v = c.floats({2, 2, 5, 8});
  const Tensor mask = c.bools({3, 5}), queries = c.integers({2}), keys = c.integers({2});
  c.same("attention", {q, k, v}, {}, attention(q, k, v, {}, {.scale = 0.25}));  // 1 / sqrt(16)
  c.same("attention", {q, k, v, mask, queries, keys},
         {{"scale", 0.5},
          {"window_left", 3},
          {"window_right", 2},
          {"top_left", 1},
          {"empty_is_nan", 1},
          {"query_lengths", 1},
          {"key_lengths", 1}},
         attention(q, k, v, mask,
                   {.scale = 0.5, .window_left = 3, .window_right = 2, .top_left = true, .empty_is_nan = true}, queries,
                   keys));
  c.same("attention", {q, k, v, Tensor(), Tensor(), keys}, {{"causal", 1}, {"type", "f32"}},
         attention(q, k, v, {}, {.scale = 0.25, .causal = true}, {}, keys));
  c.refused("attention", {q, v, v}, {}, [&] { attention(q, v, v, {}, {}); });
}
const bool added = named_cases(add_attention_cases);

}  // namespace
}  // namespace weft::test
