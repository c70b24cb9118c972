#include "weft/rotary_embedding.h"

#include "functions/named_cases.h"
#include "weft/graph.h"

namespace weft::test {
namespace {

void add_rotary_embedding_cases(NamedCases& c) {
  const Tensor x = c.floats({2, 3, 4, 8}), none;
  c.same("rotary_embedding", {x}, {}, rotary_embedding(x));
  c.same("rotary_embedding", {x},
         {{"dims", Number(4)},
          {"offset", Number(5)},
          {"base", Number(500)},
          {"scale", Number(0.5)},
          {"attention_factor", Number(1.5)},
          {"interleaved", Number(1)},
          {"inverse", Number(1)},
          {"axis", Number(1)}},
         rotary_embedding(x, {.dims = 4,
                              .offset = 5,
                              .base = 500,
                              .scale = 0.5,
                              .attention_factor = 1.5,
                              .interleaved = true,
                              .inverse = true,
                              .axis = 1}));
  const Tensor positions = c.integers({2, 4}), offsets = c.integers({2}), frequencies = c.floats({4});
  c.same("rotary_embedding", {x, positions, offsets, frequencies}, {},
         rotary_embedding(x, {.positions = positions, .offsets = offsets, .frequencies = frequencies}));
  const Tensor cosines = c.floats({16, 4}), sines = c.floats({16, 4});
  c.same("rotary_embedding", {x, positions, none, none, cosines, sines}, {},
         rotary_embedding(x, {.positions = positions, .cos = cosines, .sin = sines}));
  c.refused("rotary_embedding", {x}, {{"dims", Number(5)}}, [&] { rotary_embedding(x, {.dims = 5}); });
  c.refused("rotary_embedding", {x, none, none, none, cosines}, {}, [&] { rotary_embedding(x, {.cos = cosines}); });
  c.refused("rotary_embedding", {x, offsets}, {}, [&] { rotary_embedding(x, {.positions = offsets}); });
  c.refused("rotary_embedding", {cast(x, DType::i32)}, {}, [&] { rotary_embedding(cast(x, DType::i32)); });
}
const bool added = named_cases(add_rotary_embedding_cases);

}  // namespace
}  // namespace weft::test
