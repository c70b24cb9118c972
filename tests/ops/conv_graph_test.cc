// Convolutions of tensors: shapes, types and errors, what is fused, and values on every device against the kernels of
// the CPU, which cpu_kernels_reference_test.cc compares with PyTorch.
#include "weft/convolution.h"

#include "compiler/bound.h"
#include "cpu/executor.h"
#include "support/on_device.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/evaluate.h"
#include "weft/kernels/conv.h"

namespace weft::test {
namespace {

using testing::HasSubstr;

TEST(ConvGraph, Infers) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {2, 3, 32, 30}), w = g.input("w", DType::f32, {8, 3, 5, 3});
  EXPECT_EQ(conv(x, w).shape(), (Shape{2, 8, 28, 28}));
  EXPECT_EQ(conv(x, w, {}, {.strides = {2, 3}, .dilations = {2, 1}, .padding = {4, 1}}).shape(), (Shape{2, 8, 16, 10}));
  EXPECT_EQ(conv(x, w, {}, {.padding = {2, 0}, .padding_after = {1, 2}}).shape(), (Shape{2, 8, 31, 30}));
  EXPECT_EQ(conv(x, w, {}, {.padding = {-1, 0}}).shape(), (Shape{2, 8, 26, 28}));
  const Tensor last = g.input("last", DType::f16, {2, 32, 30, 3}), half = cast(w, DType::f16);
  EXPECT_EQ(conv(last, half, {}, {.channels_last = true}).type(), (TensorType{DType::f16, {2, 28, 28, 8}}));
  EXPECT_EQ(conv(last, w, {}, {.channels_last = true}).dtype(), DType::f32) << "of two float types";
  EXPECT_EQ(conv(cast(x, DType::i8), cast(w, DType::i8)).dtype(), DType::i32);
  const Tensor y = g.input("y", DType::f32, {2, 8, 28, 28});
  EXPECT_EQ(conv_transpose(y, w).shape(), x.shape());
  EXPECT_EQ(conv_transpose(y, w, {}, {{.strides = {2, 2}, .padding = {1, 1}}, {1, 0}}).shape(), (Shape{2, 3, 58, 55}));
  EXPECT_EQ(conv_transpose(y, w, {}, {{.strides = {2, 2}}, {}, {60, 58}}).shape(), (Shape{2, 3, 60, 58}));
  EXPECT_EQ(conv_filter_gradient(x, y, {5, 3}).type(), (TensorType{DType::f32, {8, 3, 5, 3}}));
  const Tensor depthwise = g.input("d", DType::f32, {6, 1, 3, 3});
  EXPECT_EQ(conv(x, depthwise, {}, {.groups = 3}).shape(), (Shape{2, 6, 30, 28}));
}

TEST(ConvGraph, SaysWhatDoesNotFit) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {2, 3, 32, 32}), w = g.input("w", DType::f32, {8, 4, 3, 3});
  const Tensor fits = g.input("fits", DType::f32, {8, 3, 3, 3}), bias = g.input("bias", DType::f32, {7});
  EXPECT_THAT(thrown_by([&] { conv(x, w); }),
              HasSubstr("conv: filter [8, 4, 3, 3] has 4 channels, expected 3 for [2, 3, 32, 32] (groups 1)"));
  EXPECT_THAT(thrown_by([&] { conv(x, fits, bias); }), HasSubstr("conv: the bias is f32 [7], expected [8]"));
  EXPECT_THAT(thrown_by([&] { conv(x, fits, {}, {.groups = 2}); }),
              HasSubstr("has 3 channels, which 2 groups do not divide"));
  EXPECT_THAT(
      thrown_by([&] { conv(x, fits, {}, {.dilations = {16, 16}}); }),
      HasSubstr("conv: filter [8, 3, 3, 3] reaches over 33 elements along spatial axis 0, x [2, 3, 32, 32] has 32"));
  EXPECT_THAT(thrown_by([&] { conv(x, fits, {}, {.strides = {0, 1}}); }),
              HasSubstr("strides are [0, 1], expected numbers from 1"));
  EXPECT_THAT(thrown_by([&] { conv(x, fits, {}, {.padding = {1, 1, 1}}); }),
              HasSubstr("3 numbers of padding, expected one for each of 2 spatial axes"));
  EXPECT_THAT(thrown_by([&] { conv(reshape(x, {2, -1}), fits); }),
              HasSubstr("expected [batch, channels] and one to three"));
  EXPECT_THAT(thrown_by([&] { conv(x, reshape(fits, {8, 3, 9})); }), HasSubstr("expected one rank"));
  EXPECT_THAT(thrown_by([&] { conv(x, cast(fits, DType::i32)); }), HasSubstr("conv: x is f32"));
  EXPECT_THAT(thrown_by([&] { conv({}, fits); }), HasSubstr("conv: x is an undefined Tensor"));
  EXPECT_THAT(thrown_by([&] { conv_transpose(x, fits); }),
              HasSubstr("conv_transpose: filter [8, 3, 3, 3] has 8 channels, expected 3"));
  EXPECT_THAT(thrown_by([&] { conv_transpose(x, w, {}, {{.padding = {80, 0}}}); }),
              HasSubstr("the result's sizes are [-126"));
  constexpr std::int64_t kFar = std::int64_t{1} << 40, kMost = INT32_MAX;
  const Tensor tall_filter = g.input("tall filter", DType::f32, {8, 3, kFar, 3});
  EXPECT_THAT(thrown_by([&] { conv(x, tall_filter, {}, {.dilations = {kMost, 1}}); }),
              HasSubstr("conv: along spatial axis 0 a window of 1099511627776 elements, 2147483647 apart"));
  const Tensor tall = g.input("tall", DType::f32, {2, 8, kFar, 4});
  EXPECT_THAT(thrown_by([&] { conv_transpose(tall, fits, {}, {{.strides = {kMost, 1}}}); }),
              HasSubstr("conv_transpose: 1099511627776 windows of 3 elements, 1 apart, at every element "
                        "2147483647 along spatial axis 0 pass 2^63"));
  EXPECT_THAT(thrown_by([&] { conv_filter_gradient(x, fits, {3}); }), HasSubstr("the window is [3]"));
}

class ConvGraphTest : public testing::TestWithParam<std::string> {
 protected:
  Device device = device_named(GetParam());
  Tensor there(const TensorData& data) {
    Tensor t(device, data.dtype, data.shape);
    t.write(data.bytes);
    return t;
  }
  // The kernel's result on the CPU.
  static std::vector<float> by_kernel(const TensorData& x, const TensorData& w, const Shape& y,
                                      const kernels::ConvOptions& o) {
    cpu::Executor cpu;
    const auto view = [](const TensorData& d) { return View(Buffer::borrow(d.bytes, d.owner), 0, d.dtype, d.shape); };
    const View to(Buffer::host(static_cast<std::uint64_t>(element_count(y)) * 4), 0, DType::f32, y);
    kernels::conv(cpu, view(x), view(w), to, o);
    const auto* values = reinterpret_cast<const float*>(to.buffer.data());
    return {values, values + element_count(y)};
  }
  static void expect_near(const std::vector<float>& got, const std::vector<float>& want, float tolerance) {
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], tolerance) << i;
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, ConvGraphTest, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

// A bias, an activation and a residual are one kernel with the convolution.
TEST_P(ConvGraphTest, FusesWhatFollows) {
  for (const bool last : {false, true}) {
    const Shape image = last ? Shape{2, 9, 8, 6} : Shape{2, 6, 9, 8};
    Graph g;
    const Tensor x = g.input("x", DType::f32, image), w = g.input("w", DType::f32, {6, 6, 3, 3});
    const Tensor bias = g.input("bias", DType::f32, {6}), residual = g.input("r", DType::f32, image);
    g.output("y", relu(conv(x, w, bias, {.padding = {1, 1}, .channels_last = last}) + residual));
    const Executable exe = compile(g, device);
    ASSERT_EQ(exe.report().steps.size(), 1u);
    EXPECT_EQ(exe.report().steps[0].label, "conv+bias+residual+relu " + to_string(image));
  }
}

TEST_P(ConvGraphTest, ComputesOnTensors) {
  const TensorData x = noise({2, 4, 9, 7}, 1), w = noise({6, 2, 3, 2}, 2), bias = noise({6}, 3);
  const std::vector<float> plain = by_kernel(x, w, {2, 6, 5, 8}, {.strides = {2, 1}, .before = {1, 1}, .groups = 2});
  std::vector<float> want = plain;
  const auto b = floats_of(bias);
  for (std::size_t i = 0; i < want.size(); ++i) want[i] = std::max(want[i] + b[i / 40 % 6], 0.0f);
  const ConvOptions options{.strides = {2, 1}, .padding = {1, 1}, .groups = 2};
  const Tensor image = there(x), filter = there(w);
  expect_near(relu(conv(image, filter, there(bias), options)).read<float>(), want, 1e-5f);
  // Channels last, of the same numbers.
  ConvOptions last = options;
  last.channels_last = true;
  const Tensor y = conv(contiguous(permute(image, {0, 2, 3, 1})), filter, {}, last);
  EXPECT_EQ(y.shape(), (Shape{2, 5, 8, 6}));
  expect_near(contiguous(permute(y, {0, 3, 1, 2})).read<float>(), plain, 1e-5f);
  // <conv(x, w), dy> = <x, transposed(dy)> = <w, gradient>: each function is the other's transpose.
  const TensorData dy_data = noise({2, 6, 5, 8}, 5);
  const Tensor dy = there(dy_data);
  const auto inner = [](const Tensor& a, const Tensor& c) { return (a * c).sum().item<float>(); };
  const float forwards = inner(conv(image, filter, {}, options), dy);
  ConvTransposeOptions back;
  static_cast<ConvOptions&>(back) = options;
  back.output_sizes = {9, 7};
  EXPECT_NEAR(inner(image, conv_transpose(dy, filter, {}, back)), forwards, 1e-3f);
  EXPECT_NEAR(inner(filter, conv_filter_gradient(image, dy, {3, 2}, options)), forwards, 1e-3f);
}

class ConvOnDevice : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, ConvOnDevice, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

// Tensors without elements have no memory that a device could bind: sums of nothing are 0, and the bias alone.
TEST_P(ConvOnDevice, SumsOverNothing) {
  const auto empty = [&](const Shape& shape) { return Tensor(device, DType::f32, shape); };
  const Tensor none = empty({1, 0, 3, 3}), bias = tensor({1.5f, -2.0f});
  const auto expect_all = [](const Tensor& y, const Shape& shape, const std::vector<float>& channels) {
    ASSERT_EQ(y.shape(), shape);
    const std::vector<float> got = y.to_vector<float>();
    const std::size_t each = got.size() / channels.size();
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], channels[i / each]) << i;
  };
  expect_all(conv_transpose(none, empty({0, 2, 9, 9})), {1, 2, 11, 11}, {0, 0});
  expect_all(conv_transpose(none, empty({0, 2, 9, 9}), bias), {1, 2, 11, 11}, {1.5f, -2.0f});
  expect_all(conv_transpose(none, empty({0, 2, 1, 1}), bias, {{.strides = {3, 2}}}), {1, 2, 7, 5}, {1.5f, -2.0f});
  expect_all(conv(none, empty({2, 0, 2, 2})), {1, 2, 2, 2}, {0, 0});
  expect_all(relu(conv(none, empty({2, 0, 2, 2}), bias)), {1, 2, 2, 2}, {1.5f, 0});
  expect_all(conv(none, empty({2, 0, 1, 1}), bias), {1, 2, 3, 3}, {1.5f, -2.0f});
  expect_all(conv_filter_gradient(empty({0, 3, 5, 5}), empty({0, 2, 4, 4}), {2, 2}), {2, 3, 2, 2}, {0, 0});
}

}  // namespace
}  // namespace weft::test
