// Elementwise functions of tensors that exceed a binding.
#include "support/chunks.h"
#include "weft/kernels/elementwise.h"

namespace weft::test {
namespace {

using ElementwiseChunks = ChunksTest;

TEST_F(ElementwiseChunks, Layouts) {
  for (const Kind kind : {Kind::dense, Kind::offset, Kind::transposed, Kind::sliced, Kind::reversed}) {
    const View a = random_view(rng, {70, 3, 500}, DType::f32, kind), row = random_view(rng, {500}, DType::f32);
    const View y = random_view(rng, {70, 3, 500}, DType::f32, kind);
    both({a, row}, {y}, [](Stream& s, auto in, auto out) { kernels::binary(s, ScalarOp::add, in[0], in[1], out[0]); },
         {});
  }
}

}  // namespace
}  // namespace weft::test
