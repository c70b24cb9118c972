// Behaviour common to all kernels when a tensor exceeds a binding, and work that is too long for one dispatch. How a
// family of kernels splits its tensors into chunks is tested with the family.
#include "support/chunks.h"

#include <gmock/gmock.h>

#include "kernels/common/chunks.h"
#include "support/throws.h"
#include "weft/error.h"
#include "weft/flags.h"
#include "weft/kernels.h"

namespace weft::test {
namespace {

using Chunks = ChunksTest;

// A row of one value takes four bytes, but has too many elements for a dispatch.
TEST_F(Chunks, BroadcastRowsAreCutByTheirCount) {
  View x(device->allocate(4), 0, DType::f32, {3, std::int64_t{1} << 31}, {0, 0});
  EXPECT_EQ(kernels::axis_to_cut(device->capabilities(), "", x, kernels::every_axis()), 1);
  EXPECT_EQ(kernels::axis_to_cut(device->capabilities(), "", x, {true}), 0);
  x.layout.shape[0] = 1;
  EXPECT_EQ(kernels::axis_to_cut(device->capabilities(), "", x, kernels::every_axis()), -1);
}

TEST_F(Chunks, WhatCannotBeCutIsRefusedByName) {
  const View x(device->allocate(400000), 0, DType::f32, {100000}), y(device->allocate(8), 0, DType::f32, {1, 1, 1, 2});
  gpu::Encoder encoder(*device);
  View turned(x.buffer, 0, DType::f32, {1, 1, 20000, 2}, {0, 0, 1, 50000});
  try {
    kernels::attention(encoder, y, turned, turned, {}, View(device->allocate(8), 0, DType::f32, {1, 1, 1, 2}), {});
    ADD_FAILURE() << "accepted";
  } catch (const Unsupported& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("takes 280000 bytes where it cannot be cut"));
  }
  View apart(x.buffer, 0, DType::f32, {3});
  apart.layout.strides[0] = 40000;
  const View indices(device->allocate(12), 0, DType::i32, {3});
  try {
    kernels::sort(encoder, apart, {}, indices, {});
    ADD_FAILURE() << "accepted";
  } catch (const Unsupported& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("neighbours along axis 0 lie more than the 65536 bytes apart"));
  }
  // Messages show tensors as the caller passed them.
  const View packed(device->allocate(1 << 20), 0, DType::i4, {9, 33333});
  EXPECT_EQ(
      thrown_by([&] { kernels::repeat(encoder, packed, View(device->allocate(1 << 20), 0, DType::i4, {9, 99999})); }),
      "Unsupported: repeat: y i4 [9, 99999] cannot be cut for this device's bindings: its parts begin inside a byte");
  EXPECT_THAT(thrown_by([&] {
                kernels::sort(encoder, View(device->allocate(1 << 20), 0, DType::i4, {9, 99999}),
                              View(device->allocate(1 << 20), 0, DType::i4, {9, 99999}), {}, {});
              }),
              testing::ContainsRegex("Unsupported: sort: i4 \\[[0-9]+, 99999\\] cannot be cut"));
}

TEST_F(Chunks, TheFlagForcesIt) {
  set_flag(Flag::binding_limit, "1M");
  const gpu::Device forced = limited_device(flag_bytes(Flag::binding_limit));
  reset_flags();
  EXPECT_EQ(forced.capabilities().max_binding, 1u << 20);
  EXPECT_EQ(limited_device(4096).capabilities().max_binding, 4096u);
  EXPECT_THAT(test::refused_by([] { limited_device(1000); }),
              testing::HasSubstr("DeviceOptions::binding_limit) is 1000 bytes, expected 4096 or more"));
}

// A dispatch that could take too long for a watchdog is split, in place too; so is a submit.
TEST_F(Chunks, LongWorkIsCut) {
  device.emplace(limited_device(std::nullopt, 1 << 20));
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
