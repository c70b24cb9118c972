#include "gpu/buffer_pool.h"

#include <thread>

#include "gpu/kernel.h"
#include "support/dawn_counters.h"
#include "weft/error.h"

namespace weft::test {
namespace {

// A device of its own, so that the figures are only this test's.
gpu::Device fresh(std::optional<std::uint64_t> limit = std::nullopt) {
  gpu::DeviceOptions options;
  options.adapter = std::to_string(devices().at(0).device.adapter().index);
  options.memory_limit = limit;
  return gpu::Device::open(options);
}

TEST(BufferPool, CapacitiesWasteLittleAndHoldTheRequest) {
  for (std::uint64_t n : {0ull, 1ull, 255ull, 256ull, 257ull, 1000ull, 1025ull, 5000ull, 65537ull, 1048575ull,
                          1048576ull, 1048577ull, 90000000ull, 5000000001ull}) {
    const std::uint64_t c = gpu::BufferPool::capacity_for(n);
    EXPECT_GE(c, std::max<std::uint64_t>(n, 256));
    EXPECT_EQ(c % 256, 0u) << n;
    EXPECT_LE(c, std::max<std::uint64_t>(n + n / 4 + 256, 256)) << n;
    EXPECT_EQ(gpu::BufferPool::capacity_for(c), c) << n;
  }
  EXPECT_LE(gpu::BufferPool::capacity_for(90'000'000), 90'000'000u + 65536);
}

// In Weft's own allocations, kernels may read to the end of the sixteen bytes around a tensor's last element.
TEST(BufferPool, CapacityIsWhatMayBeRead) {
  if (devices().empty()) GTEST_SKIP() << "no adapter here";
  gpu::Device& device = devices().front().device;
  for (const std::uint64_t bytes : {1, 15, 17, 250, 257, 4004, (1 << 20) + 2}) {
    const Buffer buffer = device.allocate(bytes);
    EXPECT_EQ(buffer.size(), bytes);
    EXPECT_GE(buffer.capacity(), (bytes + 15) / 16 * 16);
    EXPECT_EQ(Buffer(buffer.gpu()).capacity(), buffer.capacity());
  }
  EXPECT_EQ(Buffer::host(10).capacity(), 10u);
  EXPECT_EQ(Buffer::placeholder(10).capacity(), 10u);
  EXPECT_EQ(Buffer::placeholder(10, 16).capacity(), 16u);
  EXPECT_EQ(Buffer::placeholder(10, 16).size(), 10u);
  EXPECT_EQ(Buffer().capacity(), 0u);
}

TEST(BufferPool, FiguresFollowHandles) {
  gpu::Device device = fresh();
  EXPECT_EQ(device.memory().live, 0u);
  Buffer a = device.allocate(1000), copy = a;
  EXPECT_EQ(a.size(), 1000u);
  EXPECT_EQ(device.memory().live, 1024u);
  Buffer b = device.allocate(1 << 20);
  EXPECT_EQ(device.memory().live, 1024u + (1 << 20));
  b = {};
  a = {};
  EXPECT_EQ(device.memory().live, 1024u) << "a copy of the handle is still there";
  EXPECT_EQ(device.memory().cached, 1u << 20);
  copy = {};
  EXPECT_EQ(device.memory().live, 0u);
  EXPECT_EQ(device.memory().cached, 1024u + (1 << 20));
  EXPECT_EQ(device.memory().peak, 1024u + (1 << 20));
  device.trim();
  EXPECT_EQ(device.memory().cached, 0u);
  EXPECT_EQ(device.memory().peak, 1024u + (1 << 20));
}

TEST(BufferPool, ReusesWhatFitsAndNoMore) {
  gpu::Device device = fresh();
  {
    Buffer a = device.allocate(4 << 20);
  }
  const DawnCounters before = DawnCounters::now();
  {
    Buffer b = device.allocate((4 << 20) - 100'000);
  }
  EXPECT_EQ((DawnCounters::now() - before).buffers, 0u);
  {
    Buffer c = device.allocate(1 << 20);
  }
  EXPECT_EQ((DawnCounters::now() - before).buffers, 1u) << "a quarter of it would waste the rest";
}

TEST(BufferPool, HandlesMayDieOnAnyThreadAndAfterTheDevice) {
  Buffer survivor;
  {
    gpu::Device device = fresh();
    std::vector<Buffer> buffers;
    for (int i = 0; i < 100; ++i) buffers.push_back(device.allocate(512));
    std::thread([taken = std::move(buffers)]() mutable { taken.clear(); }).join();
    EXPECT_EQ(device.memory().live, 0u);
    survivor = device.allocate(512);
  }
  EXPECT_TRUE(survivor.on_gpu());
  survivor = {};
}

TEST(BufferPool, LimitIsTypedAndGivesCachedMemoryBackFirst) {
  gpu::Device device = fresh(3 << 20);
  {
    Buffer cached = device.allocate(2 << 20);
  }
  Buffer a = device.allocate((5 << 20) / 2);  // fits only after the cached buffer is freed
  EXPECT_EQ(device.memory().cached, 0u);
  try {
    device.allocate(1 << 20);
    FAIL();
  } catch (const OutOfMemory& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("2621440 live"));
    EXPECT_THAT(e.what(), testing::HasSubstr("3145728"));
  }
  a = {};
  EXPECT_NO_THROW(device.allocate(1 << 20));
  device.set_memory_limit(1000);
  EXPECT_THROW(device.allocate(1001), OutOfMemory);
  device.set_memory_limit(std::nullopt);
  EXPECT_NO_THROW(device.allocate(4 << 20));
}

TEST(BufferPool, LargerThanTheDeviceTakes) {
  gpu::Device device = fresh();
  EXPECT_THROW(device.allocate(device.capabilities().max_buffer + 1), OutOfMemory);
  EXPECT_THROW(device.allocate(UINT64_MAX), OutOfMemory);
  EXPECT_EQ(device.memory().live, 0u);
}

TEST(BufferPool, WhenTheDriverRefusesTheCacheIsGivenBackAndItIsTriedAgain) {
  gpu::Device device = fresh();
  {
    Buffer cached = device.allocate(1 << 20);
  }
  fail_next_buffers(1);
  Buffer a = device.allocate(4 << 20);
  EXPECT_EQ(device.memory().cached, 0u);
  fail_next_buffers(2);
  EXPECT_THROW(device.allocate(8 << 20), OutOfMemory);
  fail_next_buffers(0);
  EXPECT_EQ(device.memory().live, 4u << 20);
  // The device still works.
  Buffer b = upload<std::uint32_t>(device, {1, 2, 3});
  EXPECT_EQ(as<std::uint32_t>(device.read(b, 0, 12).get()), (std::vector<std::uint32_t>{1, 2, 3}));
}

TEST(BufferPool, MemoryFreedWhileCommandsWaitIsNotWrittenEarly) {
  gpu::Device device = fresh();
  Buffer source = upload<std::uint32_t>(device, {1, 2, 3}), result = device.allocate(12);
  gpu::Encoder encoder(device);
  {
    Buffer middle = device.allocate(12);
    affine(encoder, source, middle, {3, 1, 10});
    affine(encoder, middle, result, {3, 1, 0});
  }
  Buffer other = upload<std::uint32_t>(device, {7, 7, 7});  // must not get `middle`'s memory yet
  encoder.submit();
  EXPECT_EQ(as<std::uint32_t>(device.read(result, 0, 12).get()), (std::vector<std::uint32_t>{11, 12, 13}));
  EXPECT_EQ(as<std::uint32_t>(device.read(other, 0, 12).get()), (std::vector<std::uint32_t>{7, 7, 7}));
}

}  // namespace
}  // namespace weft::test
