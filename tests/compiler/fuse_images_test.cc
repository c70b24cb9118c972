// Elementwise work around pooling and resampling becomes one kernel with them: labels of the schedule, and results on
// every device against single nodes on the CPU.
#include <gmock/gmock.h>

#include "compiler/bound.h"
#include "compiler/evaluate.h"
#include "weft/array.h"
#include "weft/fft.h"
#include "weft/pooling.h"
#include "weft/resampling.h"
#include "weft/small_float.h"

namespace weft {
namespace {

using test::Bound;
using test::noise;

struct FuseImages : testing::TestWithParam<std::string> {
  using Labels = std::vector<std::string>;
  // Compiles, runs, compares with single nodes on the CPU, and returns the labels of the steps.
  Labels run(const Graph& g, const std::map<std::string, TensorData>& data, float tolerance = 2e-5f) {
    Executable exe = compile(g, device);
    const Bound bound(device, g, data);
    bound.run(exe);
    const auto expected = compiler::evaluate(g, data);
    for (const auto& [name, t] : bound.outputs_) {
      const std::vector<float> got = cast(t, DType::f32).read<float>(), want = wide(expected.at(name));
      float largest = 1;
      for (const float w : want) largest = std::max(largest, std::abs(w));
      EXPECT_THAT(got, testing::Pointwise(testing::FloatNear(tolerance * largest), want))
          << name << " of " << exe.report().graph;
    }
    Labels labels;
    for (const ScheduleStep& s : exe.report().steps) labels.push_back(s.label);
    return labels;
  }
  static std::vector<float> wide(const TensorData& data) {
    std::vector<float> all;
    for (std::size_t i = 0; i < static_cast<std::size_t>(element_count(data.shape)); ++i) {
      const std::byte* at = data.bytes.data() + i * byte_size(data.dtype, 1);
      switch (data.dtype) {
        case DType::f32:
          all.push_back(*reinterpret_cast<const float*>(at));
          break;
        case DType::i32:
          all.push_back(static_cast<float>(*reinterpret_cast<const std::int32_t*>(at)));
          break;
        case DType::f16:
          all.push_back(static_cast<float>(float16::from_bits(*reinterpret_cast<const std::uint16_t*>(at))));
          break;
        default:
          all.push_back(static_cast<float>(bfloat16::from_bits(*reinterpret_cast<const std::uint16_t*>(at))));
      }
    }
    return all;
  }
  static TensorData bytes(const Shape& shape) {
    std::vector<std::uint8_t> v(static_cast<std::size_t>(element_count(shape)));
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<std::uint8_t>(i * 89 % 251);
    return TensorData::of<std::uint8_t>(DType::u8, shape, v);
  }
  static TensorData as(DType dtype, const Shape& shape, unsigned seed) {
    const TensorData wide = noise(shape, seed);
    if (dtype == DType::f32) return wide;
    std::vector<std::uint16_t> narrow;
    for (const float v : test::floats_of(wide))
      narrow.push_back(dtype == DType::f16 ? float16(v).bits : bfloat16(v).bits);
    return TensorData::of<std::uint16_t>(dtype, shape, narrow);
  }
  Device device = test::device_named(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Devices, FuseImages, testing::ValuesIn(test::all_devices()),
                         [](const auto& info) { return info.param; });

// A batch norm of known statistics and an activation, in the windows of the pool that follows; in each layout.
TEST_P(FuseImages, PoolAfterBatchNormAndRelu) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    for (const bool last : {false, true}) {
      Graph g;
      const Shape image = last ? Shape{2, 12, 36, 40} : Shape{2, 40, 12, 36}, row = last ? Shape{40} : Shape{40, 1, 1};
      const Tensor x = g.input("x", type, image), scale = g.input("scale", type, row),
                   shift = g.input("shift", type, row);
      const Tensor before = relu(x * scale + shift);
      PoolOptions o{.window = {2, 2}, .channels_last = last};
      g.output("max", max_pool(before, o));
      o.window = {3, 3}, o.strides = {2, 2}, o.padding = {1, 1};
      g.output("y", average_pool(relu(x - shift), o) + scale);
      const Labels labels =
          run(g, {{"x", as(type, image, 1)}, {"scale", as(type, row, 2)}, {"shift", as(type, row, 3)}},
              type == DType::f32   ? 2e-5f
              : type == DType::f16 ? 2e-2f
                                   : 1e-1f);
      const std::string shape = to_string(last ? Shape{2, 6, 18, 40} : Shape{2, 40, 6, 18});
      const char* after = type == DType::f32 ? "add" : "cast+add";  // rounds as the pool's result would be
      if (last && GetParam() == "cpu") {
        // Rows of channels are not computed twice there.
        EXPECT_EQ(labels.size(), 3u) << testing::PrintToString(labels);
        continue;
      }
      EXPECT_EQ(labels,
                (Labels{"mul+add+relu+max_pool " + shape, std::format("sub+relu+average_pool+{} {}", after, shape)}))
          << name(type) << (last ? ", channels last" : "");
    }
  }
}

// Elements of the padding are not what the work before makes of 0.
TEST_P(FuseImages, PaddingStaysOutside) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {1, 2, 6, 36});
  const PoolOptions o{.window = {2, 2}, .padding = {1, 1}};
  g.output("max", max_pool(x - 100.0, o));
  g.output("average", average_pool(x + 100.0, o));
  ResizeOptions crop{.mode = ResizeMode::linear, .coordinates = ResizeCoordinates::crop};
  crop.starts = {0, 0, -0.5, 0}, crop.ends = {1, 1, 1.5, 1}, crop.value = 7;
  g.output("crop", resize(x * 0.5 - 100.0, {1, 2, 3, 36}, crop) * 2.0);
  EXPECT_EQ(run(g, {{"x", noise({1, 2, 6, 36}, 1)}}, 2e-4f).size(), 3u);
}

// Several operands with strides of their own: transposed, sliced, reversed and broadcast.
TEST_P(FuseImages, OperandsAreViews) {
  Graph g;
  const Shape image{2, 8, 12, 36};
  const Tensor x = g.input("x", DType::f32, {2, 12, 36, 8}), other = g.input("other", DType::f32, {2, 16, 36, 12});
  const Tensor column = g.input("column", DType::f32, {12, 1}), each = g.input("each", DType::f32, {2, 1, 1, 1});
  const auto made = [&](double n, bool last) {
    const auto as = [&](const Tensor& v) { return last ? permute(v, {0, 2, 3, 1}) : v; };
    const Tensor seen = as(permute(x, {0, 3, 1, 2})), half = as(slice(permute(other, {0, 1, 3, 2}), 1, 1, 16, 2));
    return (seen - half * n) * (last ? expand_dims(column, 2) : column) + each;
  };
  for (const std::int64_t n : {1, 2, 4}) {
    const auto by = static_cast<double>(n);
    g.output(std::format("max{}", n), max_pool(made(by, false), {.window = {n, 2}}));
    g.output(std::format("last{}", n), average_pool(made(by + 0.5, true), {.window = {2, n}, .channels_last = true}));
  }
  g.output("resized", resize(made(9, false), {2, 8, 5, 33}, {.mode = ResizeMode::linear}) * slice(column, 0, 0, 5));
  const Labels labels = run(g, {{"x", noise({2, 12, 36, 8}, 1)},
                                {"other", noise({2, 16, 36, 12}, 2)},
                                {"column", noise({12, 1}, 3)},
                                {"each", noise({2, 1, 1, 1}, 4)}});
  // On the cpu rows of eight channels are too short.
  EXPECT_EQ(labels.size(), GetParam() == "cpu" ? 8u : 7u) << testing::PrintToString(labels);
}

TEST_P(FuseImages, GradientsAndPositions) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {2, 4, 8, 128}), dy = g.input("dy", DType::f32, {2, 4, 8, 64});
  const PoolOptions o{.window = {1, 2}};
  const PooledMax best = max_pool_with_indices(x * 2.0 + 1.0, o);
  g.output("best", best.values);
  g.output("where", best.indices);
  g.output("dmax", max_pool_gradient(dy * 0.5, best.indices, {8, 128}, o) + x);
  g.output("daverage", average_pool_gradient(relu(dy), {8, 128}, o) * x);
  g.output("dresize", resize_gradient(dy - 1.0, {2, 4, 4, 32}, {.mode = ResizeMode::nearest}) * 3.0);
  const Labels labels = run(g, {{"x", noise({2, 4, 8, 128}, 1)}, {"dy", noise({2, 4, 8, 64}, 2)}});
  EXPECT_EQ(labels.size(), 4u) << testing::PrintToString(labels);
}

// What reads more often than it is worth stays a kernel of its own.
TEST_P(FuseImages, CostlyWorkIsNotRepeated) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {2, 4, 12, 36});
  g.output("far", max_pool(gelu(x), {.window = {5, 5}, .strides = {1, 1}}));
  g.output("up", resize(tanh(x), {2, 4, 24, 72}, {.mode = ResizeMode::linear}));
  EXPECT_EQ(run(g, {{"x", noise({2, 4, 12, 36}, 1)}}).size(), 3u);  // both expressions are one kernel
  Graph shared;
  const Tensor y = shared.input("x", DType::f32, {2, 4, 12, 36});
  const Tensor both = relu(y + 1.0);
  shared.output("both", both);
  shared.output("pooled", max_pool(both, {.window = {2, 2}}));
  EXPECT_EQ(run(shared, {{"x", noise({2, 4, 12, 36}, 1)}}).size(), 2u);
}

// Pictures of bytes become a network's input in one kernel, and pyramids add what they resample.
TEST_P(FuseImages, PicturesAndPyramids) {
  Graph g;
  const Tensor picture = g.input("picture", DType::u8, {2, 40, 60, 3});
  const Tensor mean = g.input("mean", DType::f32, {3}), deviation = g.input("deviation", DType::f32, {3});
  const Tensor small = resize(picture, {2, 32, 48, 3}, {.mode = ResizeMode::linear, .antialias = true});
  g.output("input", (cast(small, DType::f32) * (1 / 255.0) - mean) / deviation);
  const Tensor first = permute(picture, {0, 3, 1, 2});
  g.output("nearest", cast(resize(first, {2, 3, 20, 32}, {.mode = ResizeMode::nearest}), DType::f16) * 0.5);
  g.output("wide", resize(cast(first, DType::f32) * (1 / 255.0), {2, 3, 20, 32}, {.mode = ResizeMode::area}));
  const Tensor low = g.input("low", DType::f16, {1, 4, 6, 20}),
               lateral = g.input("lateral", DType::f16, {1, 4, 12, 40});
  g.output("pyramid", upsample(low, {12, 40}) + lateral);
  const Labels labels = run(g,
                            {{"picture", bytes({2, 40, 60, 3})},
                             {"mean", noise({3}, 1)},
                             {"deviation", TensorData::of<float>(DType::f32, {3}, std::vector<float>{1, 0.5, 2})},
                             {"low", as(DType::f16, {1, 4, 6, 20}, 2)},
                             {"lateral", as(DType::f16, {1, 4, 12, 40}, 3)}},
                            1e-3f);
  // On the cpu rows of three channels are too short.
  EXPECT_EQ(labels.size(), GetParam() == "cpu" ? 5u : 4u) << testing::PrintToString(labels);
}

// A window and the logarithm of a power spectrum are in the kernel of the transform, of one pass and of several.
TEST_P(FuseImages, FourierTransforms) {
  for (const std::int64_t n : {60, 97, 3000, 20000}) {
    Graph g;
    const Tensor x = g.input("x", DType::f32, {3, n}), w = g.input("w", DType::f32, {n});
    g.output("y", log1p(square(abs(rfft(x * w)))));
    const std::map<std::string, TensorData> data{{"x", noise({3, n}, 1)}, {"w", noise({n}, 2)}};
    const Labels labels = run(g, data, 4e-5f);
    EXPECT_EQ(labels.size(), 1u) << testing::PrintToString(labels);
  }
}

}  // namespace
}  // namespace weft
