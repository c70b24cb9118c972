// What all kernels have in common where a tensor exceeds a binding, and work that is too long for one dispatch. How a
// family of kernels takes its tensors in chunks is tested with the family.
#include "support/chunks.h"

#include <gmock/gmock.h>

#include "kernels/common/windows.h"
#include "support/throws.h"
#include "weft/error.h"
#include "weft/flags.h"
#include "weft/kernels.h"

namespace weft::test {
namespace {

using Chunks = ChunksTest;

// A row of one value lies in four bytes, and still has too many elements for a dispatch.
TEST_F(Chunks, BroadcastRowsAreCutByTheirCount) {
  View x(device->allocate(4), 0, DType::f32, {3, std::int64_t{1} << 31}, {0, 0});
  EXPECT_EQ(kernels::axis_to_cut(device->capabilities(), "", x, kernels::every_axis()), 1);
  EXPECT_EQ(kernels::axis_to_cut(device->capabilities(), "", x, {true}), 0);
  x.layout.shape[0] = 1;
  EXPECT_EQ(kernels::axis_to_cut(device->capabilities(), "", x, kernels::every_axis()), -1);
}

TEST_F(Chunks, WhatCannotBeCutIsRefusedByName) {
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
  try {
    kernels::reduce(encoder, kernels::ReduceOp::variance, x, y, std::array{0}, workspace(16));
    ADD_FAILURE() << "accepted";
  } catch (const Unsupported& e) {
    const auto bytes = kernels::reduce_workspace(encoder, kernels::ReduceOp::variance, x, y, std::array{0});
    EXPECT_THAT(e.what(), testing::HasSubstr("variance: rows of "));
    EXPECT_THAT(e.what(), testing::HasSubstr(std::format("a workspace of {} dense bytes", bytes)));
  }
  EXPECT_THROW(kernels::layer_norm(encoder, x, {}, {}, x, 0, 1e-5f), Unsupported);
  const View q(y.buffer, 0, DType::f32, {1, 1, 1, 1}), keys(x.buffer, 0, DType::f32, {1, 1, 100000, 1});
  try {
    kernels::attention(encoder, q, keys, keys, {}, View(device->allocate(4), 0, DType::f32, {1, 1, 1, 1}), {});
    ADD_FAILURE() << "accepted";
  } catch (const Unsupported& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("the 100000 keys or values of a head, 1 of f32"));
    EXPECT_THAT(e.what(), testing::HasSubstr("that takes a workspace of "));
  }
  View turned(x.buffer, 0, DType::f32, {1, 1, 20000, 2}, {0, 0, 1, 50000});
  const View narrow(y.buffer, 0, DType::f32, {1, 1, 1, 2}, {0, 0, 0, 0});
  try {
    kernels::attention_workspace(encoder, narrow, turned, turned, {}, narrow, {});
    ADD_FAILURE() << "accepted";
  } catch (const Unsupported& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("takes 280000 bytes where it cannot be cut"));
  }
  EXPECT_THROW(kernels::scan(encoder, kernels::ScanOp::sum, x, x, 0), Unsupported);
  try {
    kernels::arg_reduce(encoder, kernels::ArgOp::max, x, View(y.buffer, 0, DType::i32, Shape{}), std::array{0});
    ADD_FAILURE() << "accepted";
  } catch (const Unsupported& e) {
    EXPECT_THAT(e.what(), testing::ContainsRegex("rows of f32 \\[100000\\] .* a workspace of [0-9]+ dense bytes"));
  }
  View apart(x.buffer, 0, DType::f32, {3});
  apart.layout.strides[0] = 40000;
  const View indices(x.buffer, 0, DType::i32, {3});
  try {
    kernels::sort_workspace(encoder, apart, {}, indices, {});
    ADD_FAILURE() << "accepted";
  } catch (const Unsupported& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("neighbours along axis 0 lie more than the 65536 bytes apart"));
  }
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

// A dispatch that could take too long for a watchdog goes as several, in place too; so does a submit.
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
