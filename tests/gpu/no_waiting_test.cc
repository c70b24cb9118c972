// What must not wait, on devices on which nothing was done before: buffers and pipelines are used for the first time.
#include "gpu/wait.h"

#include <array>
#include <span>
#include <string>
#include <vector>

#include "gpu/device_impl.h"
#include "gpu/kernel.h"
#include "gpu/shader_check.h"
#include "support/dawn_counters.h"
#include "weft/error.h"

namespace weft::test {
namespace {

// A kernel that does not fit its bindings, which WebGPU refuses.
gpu::Dispatch refused_dispatch(std::span<const gpu::Binding> reads) {
  constexpr const char* kText =
      "@group(0) @binding(1) var<storage, read_write> x: array<u32>;\n"
      "@compute @workgroup_size(1) fn main() { x[0] = 1; }";
  return {.key = "test.bad", .make_wgsl = [] { return std::string(kText); }, .bindings = reads, .label = "bad"};
}

class NoWaitingTest : public testing::TestWithParam<std::string> {
 protected:
  gpu::Device device = gpu::Device::open(like(test::device(GetParam())));
  std::vector<std::uint32_t> values(std::size_t count) const {
    std::vector<std::uint32_t> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<std::uint32_t>(i % 1000);
    return all;
  }
};

TEST_P(NoWaitingTest, NamesWhatWouldWait) {
  const gpu::NoWaiting outer;
  {
    const gpu::NoWaiting inner;
    EXPECT_FALSE(gpu::may_wait());
    EXPECT_THROW(device.wait(), Unsupported);
    EXPECT_THAT(inner.places(), testing::ElementsAre("wait"));
  }
  EXPECT_TRUE(outer.places().empty());
  EXPECT_FALSE(gpu::may_wait());
}

TEST_P(NoWaitingTest, BuffersKernelsAndReads) {
  // More than the upload ring holds, by the ring and by the queue.
  const std::vector<std::uint32_t> large = values((gpu::UploadRing::kMax + gpu::UploadRing::kSlot) / 4);
  for (const std::uint64_t ring_from : {std::uint64_t{1} << 20, std::uint64_t{1} << 40}) {
    device.impl().ring_from = ring_from;
    Future<gpu::ReadBytes> read, read_large;
    {
      const gpu::NoWaiting guard;
      Buffer a = upload<std::uint32_t>(device, {1, 2, 3, 4}), b = device.allocate(16), c = device.allocate(16);
      device.upload(a, 5, std::array{std::byte{1}});  // by a kernel
      const Buffer big = upload<std::uint32_t>(device, large);
      gpu::Encoder encoder(device);
      affine(encoder, a, b, {4, 2, 1});
      gpu::Recording recording(device);
      const Buffer from = Buffer::placeholder(16);
      affine(recording, from, c, {4, 3, 0});
      recording.finish();
      const gpu::Substitution substitutions[] = {{from, b}};
      encoder.replay(recording, substitutions);
      // Through several submits.
      for (std::uint32_t i = 0; i < 10'000; ++i) affine(encoder, i % 2 ? b : c, i % 2 ? c : b, {4, 1, 0});
      read = encoder.read(c, 0, 16);
      encoder.submit();
      read_large = device.read(big, 0, large.size() * 4);
      device.trim();
      EXPECT_FALSE(gpu::shader_problem(device, affine_wgsl()));
      EXPECT_TRUE(gpu::shader_problem(device, "fn main() -> nothing"));
      EXPECT_TRUE(guard.places().empty()) << guard.places()[0];
    }
    EXPECT_EQ(as<std::uint32_t>(read.get()), (std::vector<std::uint32_t>{9, 3 * (2 * 258 + 1), 21, 27}));
    EXPECT_EQ(as<std::uint32_t>(read_large.get()), large);
  }
}

// The errors of a kernel that is made at once.
TEST_P(NoWaitingTest, KernelsThatAreRefused) {
  const Buffer b = device.allocate(16);
  const gpu::Binding reads[] = {{b, 0, 16, gpu::Access::read}};
  const gpu::Dispatch bad = refused_dispatch(reads);
  const gpu::NoWaiting guard;
  gpu::Encoder encoder(device);
  for (int again = 0; again < 2; ++again) EXPECT_THROW(encoder.dispatch(bad), ValidationError);
  gpu::Recording recording(device);
  EXPECT_THROW(recording.dispatch(bad), ValidationError);
  EXPECT_TRUE(guard.places().empty());
}

// Kernels that were requested before nothing could wait any more, and may be compiling still.
TEST_P(NoWaitingTest, KernelsThatAreBeingCompiled) {
  const Buffer a = upload<std::uint32_t>(device, {1, 2, 3, 4}), b = device.allocate(16);
  gpu::Recording recording(device);
  affine(recording, a, b, {4, 5, 0});
  Future<gpu::ReadBytes> read;
  {
    const gpu::NoWaiting guard;
    gpu::Encoder encoder(device);
    encoder.replay(recording);
    read = encoder.read(b, 0, 16);
    encoder.submit();
    EXPECT_TRUE(guard.places().empty());
  }
  EXPECT_EQ(as<std::uint32_t>(read.get()), (std::vector<std::uint32_t>{5, 10, 15, 20}));
}

// Where error scopes are answered later, as in browsers.
class LateErrorsTest : public NoWaitingTest {
 protected:
  void SetUp() override { hold_error_scopes(true); }
  void TearDown() override {
    hold_error_scopes(false);
    // The library still works.
    const Buffer a = upload<std::uint32_t>(device, {1, 2, 3, 4}), b = device.allocate(16);
    gpu::Encoder encoder(device);
    affine(encoder, a, b, {4, 2, 0});
    Future<gpu::ReadBytes> read = encoder.read(b, 0, 16);
    encoder.submit();
    EXPECT_EQ(as<std::uint32_t>(read.get()), (std::vector<std::uint32_t>{2, 4, 6, 8}));
    EXPECT_NO_THROW(device.wait());
  }
  template <class F>
  void expect_memory_error(const F& f, std::string_view bytes) {
    try {
      f();
      ADD_FAILURE() << "expected: " << bytes;
    } catch (const OutOfMemory& e) {
      EXPECT_THAT(e.what(), testing::HasSubstr(std::format("no {} bytes left for the buffer 'weft ", bytes)));
    }
  }
};

TEST_P(LateErrorsTest, MemoryThatIsMissingIsToldByTheNextCall) {
  {
    const Buffer cached = device.allocate(1 << 20);
  }
  fail_next_buffers(1);
  Buffer missing = device.allocate((8 << 20) - 5);
  EXPECT_EQ(device.memory().live, 8u << 20);
  release_error_scopes();
  expect_memory_error([&] { device.wait(); }, "8388603");
  EXPECT_NO_THROW(device.wait()) << "once";
  // Whatever uses it says so.
  const Buffer other = device.allocate(16);
  expect_memory_error([&] { device.upload(missing, 0, std::array{std::byte{1}, std::byte{2}}); }, "8388603");
  expect_memory_error([&] { device.read(missing, 0, 16); }, "8388603");
  gpu::Encoder encoder(device);
  expect_memory_error([&] { affine(encoder, missing, other, {4, 2, 0}); }, "8388603");
  expect_memory_error([&] { encoder.copy(missing, 0, other, 0, 16); }, "8388603");
  missing = {};
  EXPECT_LT(device.memory().live, 1u << 20);
  const Buffer again = device.allocate(8 << 20);  // not the one that was refused
  EXPECT_EQ(device.memory().cached, 0u) << "the cache is given back first";
  release_error_scopes();
  EXPECT_NO_THROW(device.wait());
}

TEST_P(LateErrorsTest, OfABufferThatIsFreeAgain) {
  fail_next_buffers(1);
  {
    const Buffer missing = device.allocate(8 << 20);
  }
  release_error_scopes();
  expect_memory_error([&] { device.wait(); }, "8388608");
  EXPECT_EQ(device.memory().cached, 0u) << "it is used for nothing else";
}

// On a device whose errors come by scopes alone, as a browser's may.
TEST_P(LateErrorsTest, WhatWasSubmittedBeforeItIsKnownFails) {
  const gpu::Device opened = std::exchange(device, gpu::Device::adopt(device.webgpu(), true));
  const Buffer a = upload<std::uint32_t>(device, {1, 2, 3, 4}), b = device.allocate(16);
  fail_next_buffers(1);
  const Buffer missing = device.allocate(8 << 20);
  gpu::Encoder encoder(device);
  affine(encoder, a, missing, {4, 2, 0});
  affine(encoder, missing, b, {4, 2, 0});
  Future<gpu::ReadBytes> first = encoder.read(b, 0, 16);
  Future<void> work = encoder.submit();
  Future<gpu::ReadBytes> second = device.read(b, 0, 16);
  release_error_scopes();
  expect_memory_error([&] { first.get(); }, "8388608");
  expect_memory_error([&] { second.get(); }, "8388608");
  expect_memory_error([&] { work.get(); }, "8388608");
  Future<gpu::ReadBytes> third = device.read(a, 0, 16);
  release_error_scopes();
  EXPECT_EQ(as<std::uint32_t>(third.get()), (std::vector<std::uint32_t>{1, 2, 3, 4}));
  device = opened;
}

TEST_P(LateErrorsTest, OfKernels) {
  const Buffer b = device.allocate(16);
  const gpu::Binding reads[] = {{b, 0, 16, gpu::Access::read}};
  const gpu::Dispatch bad = refused_dispatch(reads);
  {
    const gpu::NoWaiting guard;
    gpu::Recording recording(device);
    recording.dispatch(bad);
    EXPECT_TRUE(guard.places().empty());
  }
  release_error_scopes();
  try {
    device.wait();
    ADD_FAILURE();
  } catch (const ValidationError& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("compiling bad, kernel 'test.bad'"));
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, NoWaitingTest, testing::ValuesIn(device_names()),
                         [](const auto& i) { return i.param; });
INSTANTIATE_TEST_SUITE_P(Devices, LateErrorsTest, testing::ValuesIn(device_names()),
                         [](const auto& i) { return i.param; });

}  // namespace
}  // namespace weft::test
