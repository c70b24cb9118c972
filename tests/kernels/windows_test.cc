// Tensors that are larger than what a dispatch may bind, and work that is longer than one may take: on a device whose
// limits are forced down.
#include "support/kernel_test.h"
#include "weft/error.h"
#include "weft/flags.h"
#include "weft/kernels.h"

namespace weft::test {
namespace {

gpu::Device limited(std::optional<std::uint64_t> binding, std::optional<std::uint64_t> work) {
  gpu::DeviceOptions options;
  options.adapter = std::to_string(devices().front().device.adapter().index);
  options.binding_limit = binding;
  options.dispatch_limit = work;
  return gpu::Device::open(options);
}

class WindowsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (devices().empty()) GTEST_SKIP() << "no adapter here";
    device.emplace(limited(64 << 10, std::nullopt));
  }
  std::optional<gpu::Device> device;  // 16,384 floats a binding
  Rng rng{7};

  void both(std::vector<View> inputs, std::vector<View> outputs, const KernelCall& call, const Tolerance& tolerance) {
    run_both(*device, inputs, outputs, call, tolerance);
  }
};

TEST_F(WindowsTest, Elementwise) {
  for (const Kind kind : {Kind::dense, Kind::offset, Kind::transposed, Kind::sliced, Kind::reversed}) {
    const View a = random_view(rng, {70, 3, 500}, DType::f32, kind), row = random_view(rng, {500}, DType::f32);
    const View y = random_view(rng, {70, 3, 500}, DType::f32, kind);
    both({a, row}, {y}, [](Stream& s, auto in, auto out) { kernels::binary(s, ScalarOp::add, in[0], in[1], out[0]); }, {});
  }
  for (const DType type : {DType::f16, DType::i8, DType::u64, DType::u4}) {
    const View x = random_view(rng, {200000}, type), y = random_view(rng, {200000}, type);
    both({x}, {y}, [](Stream& s, auto in, auto out) { kernels::copy(s, in[0], out[0]); }, kSameBits);
    both({}, {y}, [](Stream& s, auto, auto out) { kernels::fill(s, 3, out[0]); }, kSameBits);
  }
  const View x = random_view(rng, {300, 200}, DType::i16), y = random_view(rng, {300, 200}, DType::f32);
  both({x}, {y}, [](Stream& s, auto in, auto out) { kernels::copy(s, in[0], out[0]); }, {});
}

TEST_F(WindowsTest, Transposition) {
  const View x = random_view(rng, {3, 260, 140}, DType::f32, Kind::transposed), y = random_view(rng, {3, 260, 140}, DType::f32);
  both({x}, {y}, [](Stream& s, auto in, auto out) { kernels::copy(s, in[0], out[0]); }, kSameBits);
}

TEST_F(WindowsTest, Rows) {
  const View x = random_view(rng, {5, 90, 128}, DType::f32), y = random_view(rng, {5, 90, 128}, DType::f32);
  const View scale = random_view(rng, {128}, DType::f32);
  both({x}, {y}, [](Stream& s, auto in, auto out) { kernels::softmax(s, in[0], out[0], 1); }, {.ulp = 64, .absolute = 1e-6});
  both({x}, {y}, [](Stream& s, auto in, auto out) { kernels::softmax(s, in[0], out[0], -1); }, {.ulp = 64, .absolute = 1e-6});
  both({x, scale}, {y}, [](Stream& s, auto in, auto out) {
    kernels::layer_norm(s, in[0], in[1], {}, out[0], -1, 1e-5f);
  }, {.ulp = 64, .absolute = 1e-5});
  for (const std::vector<int>& axes : {std::vector{2}, std::vector{1}}) {
    Shape kept;
    for (int d = 0; d < 3; ++d) {
      if (std::ranges::find(axes, d) == axes.end()) kept.push_back(x.shape()[d]);
    }
    const View sum = random_view(rng, kept, DType::f32);
    both({x}, {sum}, [&](Stream& s, auto in, auto out) { kernels::reduce(s, kernels::ReduceOp::max, in[0], out[0], axes, {}); }, {});
    both({x}, {sum}, [&](Stream& s, auto in, auto out) {
      kernels::reduce(s, kernels::ReduceOp::sum, in[0], out[0], axes, {});
    }, {.absolute = 1e-3});
  }
}

TEST_F(WindowsTest, Products) {
  const View a = random_view(rng, {300, 60}, DType::f32), b = random_view(rng, {60, 250}, DType::f32);
  const View y = random_view(rng, {300, 250}, DType::f32);
  both({a, b}, {y}, [](Stream& s, auto in, auto out) { kernels::matmul(s, in[0], in[1], out[0]); }, {.absolute = 1e-3});
}

TEST_F(WindowsTest, WhatCannotBeCutIsRefusedByName) {
  const View x(device->allocate(400000), 0, DType::f32, {100000}), y(device->allocate(4), 0, DType::f32, Shape{});
  gpu::Encoder encoder(*device);
  try {
    kernels::softmax(encoder, x, x, 0);
    FAIL();
  } catch (const Unsupported& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("softmax"));
    EXPECT_THAT(e.what(), testing::HasSubstr("65536"));
  }
  EXPECT_THROW(kernels::reduce(encoder, kernels::ReduceOp::sum, x, y, std::array{0}, {}), Unsupported);
}

TEST_F(WindowsTest, TheFlagForcesIt) {
  set_flag(Flag::binding_limit, "1M");
  const gpu::Device forced = limited(flag_bytes(Flag::binding_limit), std::nullopt);
  reset_flags();
  EXPECT_EQ(forced.capabilities().max_binding, 1u << 20);
}

// A dispatch that could take too long for a watchdog goes as several, in place too; so does a submit.
TEST_F(WindowsTest, LongWorkIsCut) {
  device.emplace(limited(std::nullopt, 1 << 20));
  const View a = random_view(rng, {256, 128}, DType::f32), b = random_view(rng, {128, 192}, DType::f32);
  const View y = random_view(rng, {256, 192}, DType::f32), x = random_view(rng, {100000}, DType::f32);
  const auto product = [](Stream& s, auto in, auto out) { kernels::matmul(s, in[0], in[1], out[0]); };
  both({a, b}, {y}, product, {.absolute = 1e-3});
  both({x}, {x}, [](Stream& s, auto in, auto out) { kernels::binary(s, ScalarOp::add, in[0], in[0], out[0]); }, {});
  gpu::Recording recording(*device);
  const View views[] = {to_device(*device, a), to_device(*device, b), to_device(*device, y)};
  kernels::matmul(recording, views[0], views[1], views[2]);
  ASSERT_GE(recording.size(), 4u);
  double flops = 0;
  for (const KernelRun& r : recording.dispatches()) {
    EXPECT_LE(r.work.amount(), 2.1 * (1 << 20));
    flops += r.work.flops;
  }
  EXPECT_NEAR(flops, 2.0 * 256 * 128 * 192, 10);
}

}  // namespace
}  // namespace weft::test
