#include <random>

#include "gpu/kernel.h"
#include "support/dawn_counters.h"
#include "weft/error.h"

namespace weft::test {
namespace {

class TransferTest : public testing::TestWithParam<std::string> {
 protected:
  gpu::Device& device = test::device(GetParam());
};

std::vector<std::byte> random_bytes(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> out(n);
  for (std::byte& b : out) b = static_cast<std::byte>(random());
  return out;
}

TEST_P(TransferTest, AnyOffsetAndSize) {
  const std::size_t kSize = 1021;
  std::vector<std::byte> expected = random_bytes(kSize, 1);
  Buffer buffer = device.allocate(kSize);
  device.upload(buffer, 0, expected);
  std::mt19937 random(2);
  for (int round = 0; round < 60; ++round) {
    std::size_t offset = random() % kSize, size = random() % std::min<std::size_t>(kSize - offset + 1, 40);
    if (round == 0) offset = kSize - 1, size = 1;
    if (round == 1) offset = 0, size = 0;
    if (round == 2) offset = 5, size = 2;
    const auto bytes = random_bytes(size, 100 + round);
    device.upload(buffer, offset, bytes);
    std::ranges::copy(bytes, expected.begin() + static_cast<std::ptrdiff_t>(offset));
    const std::size_t from = random() % kSize, count = random() % (kSize - from + 1);
    EXPECT_EQ(device.read(buffer, from, count).get(),
              std::vector<std::byte>(expected.begin() + static_cast<std::ptrdiff_t>(from),
                                     expected.begin() + static_cast<std::ptrdiff_t>(from + count)))
        << round;
  }
  EXPECT_EQ(device.read(buffer, 0, kSize).get(), expected);
}

TEST_P(TransferTest, Large) {
  const auto bytes = random_bytes((40 << 20) + 3, 3);
  Buffer buffer = device.allocate(bytes.size() + 8);
  device.upload(buffer, 1, bytes);
  EXPECT_EQ(device.read(buffer, 1, bytes.size()).get(), bytes);
}

TEST_P(TransferTest, OutOfRange) {
  Buffer buffer = device.allocate(10);
  const auto bytes = random_bytes(11, 4);
  EXPECT_THROW(device.upload(buffer, 0, bytes), InvalidArgument);
  EXPECT_THROW(device.upload(buffer, 11, {}), InvalidArgument);
  EXPECT_THROW(device.upload(buffer, UINT64_MAX, std::span(bytes).first(2)), InvalidArgument);
  EXPECT_THROW(device.read(buffer, 4, 7), InvalidArgument);
  EXPECT_THROW(device.read(buffer, UINT64_MAX, 2), InvalidArgument);
  EXPECT_TRUE(device.read(buffer, 10, 0).get().empty());
  EXPECT_THROW(device.upload(Buffer::host(16), 0, std::span(bytes).first(4)), InvalidArgument);
  EXPECT_THROW(device.upload(Buffer::placeholder(16), 0, std::span(bytes).first(4)), InvalidArgument);
  EXPECT_THROW(device.read(Buffer::host(16), 0, 4), InvalidArgument);
}

TEST_P(TransferTest, ReadsOfASubmitShareOneMap) {
  Buffer a = upload<std::uint32_t>(device, {1, 2, 3}), b = upload<std::uint32_t>(device, {4, 5});
  gpu::Encoder encoder(device);
  gpu::Readback ra = encoder.read(a, 4, 8), rb = encoder.read(b, 3, 3), rc = encoder.read(a, 0, 0),
                rd = encoder.read(a, 0, 12);
  const DawnCounters before = DawnCounters::now();
  encoder.submit();
  EXPECT_EQ((DawnCounters::now() - before).maps, 1u);
  EXPECT_EQ(as<std::uint32_t>(rd.get()), (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(rb.get(), (std::vector<std::byte>{std::byte{0}, std::byte{5}, std::byte{0}}));
  EXPECT_EQ(as<std::uint32_t>(ra.get()), (std::vector<std::uint32_t>{2, 3}));
  EXPECT_TRUE(rc.get().empty());
}

TEST_P(TransferTest, ReadIntoATarget) {
  Buffer a = upload<std::uint32_t>(device, {1, 2, 3});
  gpu::Readback read = device.read(a, 4, 8);
  std::uint32_t small = 0, values[2] = {};
  const gpu::ReadBytes bytes = read.get();
  EXPECT_THROW(bytes.copy_to(std::as_writable_bytes(std::span(&small, 1))), InvalidArgument);
  bytes.copy_to(std::as_writable_bytes(std::span(values)));
  EXPECT_EQ(values[0], 2u);
  EXPECT_EQ(values[1], 3u);
  EXPECT_THROW(read.get(), InvalidArgument) << "taken already";
}

TEST_P(TransferTest, AReadMustBeSubmitted) {
  Buffer a = upload<std::uint32_t>(device, {1});
  gpu::Readback orphan;
  EXPECT_THROW(orphan.get(), InvalidArgument);
  {
    gpu::Encoder encoder(device);
    orphan = encoder.read(a, 0, 4);
    EXPECT_FALSE(orphan.ready());
    try {
      orphan.get();
      FAIL();
    } catch (const InvalidArgument& e) {
      EXPECT_THAT(e.what(), testing::HasSubstr("submit it first"));
    }
  }
  EXPECT_TRUE(orphan.ready());
  try {
    orphan.get();
    FAIL();
  } catch (const InvalidArgument& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("dropped"));
  }
}

TEST_P(TransferTest, BecomesReadyWithoutBlocking) {
  Buffer a = upload<std::uint32_t>(device, {9});
  gpu::Readback read = device.read(a, 0, 4);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!read.ready() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  ASSERT_TRUE(read.ready());
  EXPECT_EQ(as<std::uint32_t>(read.get()), std::vector<std::uint32_t>{9});
}

TEST_P(TransferTest, CallbacksAndFutures) {
  Buffer a = upload<std::uint32_t>(device, {5, 6});
  std::vector<std::uint32_t> seen;
  {
    gpu::Encoder encoder(device);
    gpu::Readback read = encoder.read(a, 4, 4);
    read.then([&](gpu::Readback done) { seen = as<std::uint32_t>(done.get()); });
    EXPECT_THROW(read.then([](auto) {}), InvalidArgument);
    encoder.submit();
  }  // the handle is destroyed, the callback is kept
  // Each number, doubled.
  Future<std::vector<std::uint32_t>> doubled = device.read(a, 0, 8).map([](const gpu::ReadBytes& bytes) {
    std::vector<std::uint32_t> numbers = as<std::uint32_t>(bytes);
    for (std::uint32_t& n : numbers) n *= 2;
    return numbers;
  });
  device.wait();
  EXPECT_EQ(seen, std::vector<std::uint32_t>{6});
  ASSERT_TRUE(doubled.ready());
  EXPECT_EQ(doubled.get(), (std::vector<std::uint32_t>{10, 12}));
  EXPECT_FALSE(doubled.valid());
  EXPECT_THROW(doubled.ready(), InvalidArgument);

  // A read that cannot complete fails its callback.
  std::exception_ptr error;
  {
    gpu::Encoder encoder(device);
    encoder.read(a, 0, 4).then([&](gpu::Readback read) {
      try {
        read.get();
      } catch (...) {
        error = std::current_exception();
      }
    });
  }
  device.poll();
  EXPECT_THROW(std::rethrow_exception(error), InvalidArgument);
}

TEST_P(TransferTest, PollDeliversInTheEnd) {
  Buffer a = upload<std::uint32_t>(device, {5});
  bool called = false;
  device.read(a, 0, 4).then([&](gpu::Readback read) { called = read.get().size() == 4; });
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!called && std::chrono::steady_clock::now() < deadline) device.poll();
  EXPECT_TRUE(called);
}

TEST_P(TransferTest, ADroppedReadLeavesNothingBehind) {
  Buffer a = upload<std::uint32_t>(device, {5});
  device.read(a, 0, 4).get();
  const DawnCounters before = DawnCounters::now();
  for (int i = 0; i < 20; ++i) device.read(a, 0, 4);
  EXPECT_EQ(as<std::uint32_t>(device.read(a, 0, 4).get()), std::vector<std::uint32_t>{5});
  EXPECT_LE((DawnCounters::now() - before).buffers, 1u);
}

INSTANTIATE_TEST_SUITE_P(Devices, TransferTest, testing::ValuesIn(device_names()),
                         [](const auto& i) { return i.param; });

}  // namespace
}  // namespace weft::test
