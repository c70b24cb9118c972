// Wrong and extreme data of images, quantised numbers and sequences on every device: indices and lengths out of range,
// scales that are no numbers, empty batches and channels. Each gives what its header says, the same on all devices.
// Wrong options are in hostile_graph_test.cc, and by name in kernels/cpu_kernels_reference_test.cc.
#include <gmock/gmock.h>

#include "support/on_device.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/convolution.h"
#include "weft/creation.h"
#include "weft/error.h"
#include "weft/pooling.h"
#include "weft/quantization.h"
#include "weft/recurrent.h"
#include "weft/resampling.h"

namespace weft::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

template <class T>
Tensor of(DType type, const Shape& shape, const std::vector<T>& values) {
  return tensor(type, shape, std::as_bytes(std::span(values)));
}
Tensor floats(const Shape& shape, const std::vector<float>& values) { return of(DType::f32, shape, values); }
Tensor integers(const Shape& shape, const std::vector<std::int32_t>& values) { return of(DType::i32, shape, values); }
std::vector<double> read(const Tensor& x) { return values(read_view(contiguous(x))); }

class HostileImages : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, HostileImages, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

TEST_P(HostileImages, IndicesOutOfRangeNameNothing) {
  const Tensor x = floats({1, 1, 6}, {1, 2, 3, 4, 5, 6});
  const Tensor indices = integers({1, 1, 6}, {2, 4, 100, -5, INT32_MAX, INT32_MIN});
  EXPECT_THAT(read(max_unpool(x, indices, {4})), ElementsAre(0, 0, 1, 0));
  const PoolOptions o{.window = {2}};
  EXPECT_THAT(read(max_pool_gradient(x, integers({1, 1, 6}, {1, 2, 100, -1, INT32_MAX, INT32_MIN}), {12}, o)),
              ElementsAre(0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0));
}

TEST_P(HostileImages, LengthsOutOfRangeAreTheNearest) {
  const Tensor x = floats({2, 3, 1}, {0.5, -1, 2, 1, 0.25, -0.5}), w = floats({4, 1}, {0.5, 1, -1, 0.25});
  const Tensor r = floats({4, 1}, {1, -0.5, 0.5, 1}), h = floats({1, 3, 1}, {0.1f, 0.2f, 0.3f}), c = h * 2;
  const auto run = [&](const std::vector<std::int32_t>& lengths) {
    return lstm(x, w, r, {.initial_h = h, .initial_c = c, .lengths = integers({3}, lengths)});
  };
  const LstmResult far = run({INT32_MIN, INT32_MAX, -1}), near = run({0, 2, 0});
  EXPECT_EQ(read(far.y), read(near.y));
  EXPECT_EQ(read(far.h), read(near.h));
  EXPECT_EQ(read(far.c), read(near.c));
  // A sequence without steps keeps its initial state.
  EXPECT_EQ(read(far.h)[0], read(h)[0]);
  EXPECT_EQ(read(far.c)[2], read(c)[2]);
}

TEST_P(HostileImages, ScalesThatAreNoNumbers) {
  const std::vector<float> numbers{1, -1, 0, 1e30f, INFINITY, -INFINITY, NAN};
  const Tensor x = floats({7}, numbers);
  const Device gpu = device;
  for (const float scale : {0.0f, -0.0f, NAN, INFINITY, -2.0f, 1e-40f, 3e38f}) {
    SCOPED_TRACE(scale);
    const auto all = [&](const Tensor& v) {
      const Tensor s = floats({}, {scale});
      std::vector<double> list;
      for (const Tensor& q : {quantize(v, s), quantize(v, s, 3, {.dtype = DType::u8}), quantize(v, scale)}) {
        for (const double e : read(q)) list.push_back(e);
      }
      return list;
    };
    const std::vector<double> here = all(x);
    if (scale == 3e38f) {
      EXPECT_THAT(here,
                  testing::ElementsAre(0, 0, 0, 0, 127, -128, 0, 3, 3, 3, 3, 255, 0, 0, 0, 0, 0, 0, 127, -128, 0));
    }
    EXPECT_THAT(here, Each(testing::AllOf(testing::Ge(-128), testing::Le(255))));
    if (!gpu.is_gpu() || (scale != 0 && std::abs(scale) < 1e-37f)) continue;  // GPUs may flush subnormal numbers
    set_default_device(Device::cpu());
    EXPECT_EQ(here, all(floats({7}, numbers)));
    set_default_device(gpu);
  }
}

TEST_P(HostileImages, EmptyBatchesAndChannels) {
  const Tensor none = zeros({0, 3, 4, 4}), flat = zeros({2, 0, 4, 4}), w = ones({5, 3, 2, 2});
  const Tensor bias = floats({5}, {1, 2, 3, 4, 5});
  EXPECT_EQ(conv(none, w, bias).shape(), (Shape{0, 5, 3, 3}));
  EXPECT_EQ(read(conv(none, w, bias)).size(), 0u);
  // A sum over no channels is the bias.
  EXPECT_THAT(read(conv(flat, zeros({1, 0, 2, 2}), floats({1}, {7}))), Each(7));
  EXPECT_THAT(read(conv_transpose(flat, zeros({0, 1, 2, 2}), floats({1}, {7}))), Each(7));
  EXPECT_THAT(read(conv_filter_gradient(none, zeros({0, 5, 3, 3}), {2, 2})), Each(0));
  for (const Tensor& x : {none, flat}) {
    EXPECT_EQ(read(max_pool(x, {.window = {2, 2}})).size(), 0u);
    EXPECT_EQ(read(average_pool(x, {.window = {2, 2}})).size(), 0u);
    EXPECT_EQ(read(upsample(x, {7, 9})).size(), 0u);
    EXPECT_EQ(read(unfold(x, {2, 2})).size(), 0u);
    const Tensor grid = zeros({x.shape()[0], 3, 3, 2});
    EXPECT_EQ(read(grid_sample(x, grid)).size(), 0u);
    EXPECT_EQ(read(grid_sample_gradient(zeros({x.shape()[0], x.shape()[1], 3, 3}), grid, {4, 4})).size(), 0u);
    // Over no channels the slopes are zeros.
    EXPECT_THAT(read(grid_sample_grid_gradient(zeros({x.shape()[0], x.shape()[1], 3, 3}), x, grid)), Each(0));
  }
  EXPECT_THAT(read(fold(floats({1, 1, 3}, {1, 2, 3}), {3, 1}, {1, 1})), ElementsAre(1, 2, 3));
  // No places: nothing is added.
  EXPECT_THAT(read(grid_sample_gradient(zeros({1, 2, 0}), zeros({1, 0, 1}), {5})), Each(0));
  EXPECT_EQ(read(lstm(zeros({3, 0, 2}), zeros({8, 2}), zeros({8, 2})).y).size(), 0u);
}

TEST_P(HostileImages, OptionsThatDoNotFitAreRefused) {
  const Tensor x = zeros({1, 4, 5, 5}), w = zeros({6, 2, 3, 3});
  const auto said = [](auto&& f) { return thrown_by(f); };
  EXPECT_THAT(said([&] { conv(x, w, {}, {.groups = 3}); }), HasSubstr("conv: "));
  EXPECT_THAT(said([&] { conv(x, w, {}, {.groups = 0}); }), HasSubstr("conv: "));
  EXPECT_THAT(said([&] { conv(x, w, {}, {.groups = INT64_MIN}); }), HasSubstr("conv: "));
  EXPECT_THAT(said([&] { conv(x, w, {}, {.strides = {INT64_MAX, 1}, .groups = 2}); }), HasSubstr("conv: strides"));
  EXPECT_THAT(said([&] { conv(x, w, {}, {.padding = {INT64_MAX, INT64_MAX}, .groups = 2}); }), HasSubstr("conv: "));
  EXPECT_THAT(said([&] { conv_transpose(x, zeros({4, 2, 3, 3}), {}, {{.strides = {INT32_MAX, INT32_MAX}}}); }),
              HasSubstr(": "));
  EXPECT_THAT(said([&] { max_pool(x, {.window = {INT64_MAX, 1}}); }), HasSubstr("max_pool: window"));
  EXPECT_THAT(said([&] { max_pool(x, {.window = {2, 2}, .padding = {2, 0}}); }), HasSubstr("padding alone"));
  EXPECT_THAT(said([&] { lp_pool(x, NAN, {.window = {2, 2}}); }), HasSubstr("lp_pool: p is nan"));
  EXPECT_THAT(said([&] { upsample(x, {INT64_MAX, INT64_MAX}); }), HasSubstr(": "));
  EXPECT_THAT(said([&] { depth_to_space(x, INT64_MAX); }), HasSubstr("depth_to_space: "));
  EXPECT_THAT(said([&] { grid_sample_gradient(x, zeros({1, 5, 5, 2}), {-1, 4}); }),
              HasSubstr("grid_sample_gradient: the sizes are [-1, 4]"));
  EXPECT_THAT(said([&] { grid_sample_gradient(x, zeros({1, 5, 5, 2}), {INT64_MAX, INT64_MAX}); }), HasSubstr(": "));
  EXPECT_THAT(said([&] { quantize(x, zeros({3}), {}, {.axis = 1}); }), HasSubstr("quantize: "));
  EXPECT_THAT(said([&] { quantize(x, 1.0f, {}, {.axis = 9, .block = INT64_MIN}); }), HasSubstr("quantize: "));
  EXPECT_THAT(said([&] { lstm(zeros({3, 1, 2}), zeros({7, 2}), zeros({8, 2})); }), HasSubstr("lstm: "));
}

}  // namespace
}  // namespace weft::test
