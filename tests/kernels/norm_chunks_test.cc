// Norms of tensors that exceed a binding.
#include "kernels/operands.h"
#include "support/chunks.h"
#include "weft/kernels/norm.h"

namespace weft::test {
namespace {

using NormChunks = ChunksTest;
using NormChunksOnDevice = ChunksOnDevice;
INSTANTIATE_TEST_SUITE_P(Devices, NormChunksOnDevice, testing::ValuesIn(device_names()),
                         [](const auto& i) { return i.param; });

TEST_F(NormChunks, Rows) {
  const View x = random_view(rng, {5, 90, 128}, DType::f32), y = random_view(rng, {5, 90, 128}, DType::f32);
  const View scale = random_view(rng, {128}, DType::f32);
  both({x, scale}, {y},
       [](Stream& s, auto in, auto out) { kernels::layer_norm(s, in[0], in[1], {}, out[0], -1, 1e-5f); },
       {.ulp = 64, .absolute = 1e-5});
}

TEST_F(NormChunks, LongRows) {
  for (const auto& [shape, first, type, kind] : {std::tuple{Shape{70000}, 0, DType::f32, Kind::dense},
                                                 {{3, 40000}, 1, DType::f16, Kind::sliced},
                                                 {{2, 300, 90}, 1, DType::f32, Kind::dense},
                                                 {{2, 20000}, 1, DType::f32, Kind::transposed}}) {
    const Shape row(std::span(shape.begin() + first, shape.end()));
    const View x = random_view(rng, shape, type, kind), y = random_view(rng, shape, type);
    const View scale = random_view(rng, row, DType::f32), bias = random_view(rng, row, DType::f32);
    both({x, scale, bias}, {y},
         [&, axis = first](Stream& s, auto in, auto out) {
           kernels::layer_norm(s, in[0], in[1], in[2], out[0], axis, 1e-5f);
         },
         {.ulp = 2, .absolute = 2e-5});
    both({x, scale}, {y},
         [&, axis = first](Stream& s, auto in, auto out) { kernels::rms_norm(s, in[0], in[1], out[0], axis, 1e-5f); },
         {.ulp = 2, .absolute = 2e-5});
  }
  for (const int channels : {1, 2}) {  // the channels' axis
    const Shape shape = channels == 1 ? Shape{2, 6, 9000} : Shape{2, 9000, 6};
    const View x = random_view(rng, shape, DType::f32), y = random_view(rng, shape, DType::f32),
               w = random_view(rng, {6}, DType::f32);
    both({x, w}, {y},
         [&, channels](Stream& s, auto in, auto out) {
           kernels::group_norm(s, in[0], in[1], in[1], out[0], channels, 2, 1e-5f);
         },
         {.ulp = 2, .absolute = 2e-5});
  }
}

// Rows that exceed a binding along several axes, cut into chunks of different lengths. Their means differ, so each
// chunk must be weighted by its number of elements.
TEST_P(NormChunksOnDevice, RowsFarAlongSeveralAxes) {
  const auto drifting = [noise = normal(5)](std::int64_t i) { return static_cast<double>(i / 7000) + noise(i); };
  for (const auto& [type, kind] : {std::pair{DType::f32, Kind::dense}, {DType::f16, Kind::transposed}}) {
    const View x = view_of(type, {5, 130, 151}, kind, drifting), y = random_view(rng, x.shape(), type);
    const View scale = random_view(rng, x.shape(), DType::f32);
    both({x, scale}, {y},
         [&](Stream& s, auto in, auto out) { kernels::layer_norm(s, in[0], in[1], {}, out[0], 0, 1e-5f); },
         {.ulp = 2, .absolute = 2e-5});
    both({x, scale}, {y}, [&](Stream& s, auto in, auto out) { kernels::rms_norm(s, in[0], in[1], out[0], 0, 1e-5f); },
         {.ulp = 2, .absolute = 2e-5});
    const View images = view_of(type, {2, 6, 20001}, kind, drifting), z = random_view(rng, images.shape(), type);
    const View weights = random_view(rng, {6}, DType::f32);
    both({images, weights}, {z},
         [&](Stream& s, auto in, auto out) { kernels::group_norm(s, in[0], in[1], in[1], out[0], 1, 2, 1e-5f); },
         {.ulp = 2, .absolute = 2e-5});
  }
}

// Many rows, each longer than a binding: the partial results of their chunks must fit a binding, too.
TEST_F(NormChunks, ManyLongRows) {
  const View x = random_view(rng, {30000, 3}, DType::f32, Kind::transposed),
             y = random_view(rng, {30000, 3}, DType::f32);
  const View scale = random_view(rng, {3}, DType::f32);
  both({x, scale}, {y}, [&](Stream& s, auto in, auto out) { kernels::rms_norm(s, in[0], in[1], out[0], 1, 1e-5f); },
       {.ulp = 2, .absolute = 2e-5});
}

}  // namespace
}  // namespace weft::test
