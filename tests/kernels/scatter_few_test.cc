// Sums of many integers in few elements, which the CPU adds in tables of their own.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "cpu/executor.h"
#include "support/kernel_test.h"
#include "weft/kernels/index.h"

namespace weft::test {
namespace {

template <class T, class I>
void expect_sums(DType type, DType index_type, std::int64_t size, std::int64_t count, std::int64_t update_stride) {
  SCOPED_TRACE(testing::Message() << name(type) << " by " << name(index_type) << ": " << count << " in " << size);
  Rng rng{static_cast<std::uint64_t>(count)};
  const View indices(Buffer::host(byte_size(index_type, static_cast<std::uint64_t>(count))), 0, index_type, {count});
  const View updates(Buffer::host(byte_size(type, static_cast<std::uint64_t>(count))), 0, type, {count},
                     Strides{update_stride});
  const View y(Buffer::host(byte_size(type, static_cast<std::uint64_t>(size))), 0, type, {size});
  auto* const at = reinterpret_cast<I*>(indices.buffer.data());
  auto* const added = reinterpret_cast<T*>(updates.buffer.data());
  auto* const sums = reinterpret_cast<T*>(y.buffer.data());
  std::vector<T> expected(static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i < size; ++i) sums[i] = expected[static_cast<std::size_t>(i)] = static_cast<T>(i);
  for (std::int64_t i = 0; i < count; ++i) added[i] = static_cast<T>(rng());  // sums wrap
  for (std::int64_t i = 0; i < count; ++i) {
    // Also from the end, and outside.
    at[i] = static_cast<I>(static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(3 * size)) - size);
    if (i == 7) at[i] = std::numeric_limits<I>::min();
    if (i == 8) at[i] = std::numeric_limits<I>::max();
    const std::int64_t k = at[i] < 0 ? at[i] + size : at[i];
    if (k < 0 || k >= size) continue;
    T& sum = expected[static_cast<std::size_t>(k)];
    sum = static_cast<T>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(added[i * update_stride]));
  }
  cpu::Executor executor;
  kernels::scatter(executor, kernels::ScatterKind::add, indices, updates, y, 0);
  EXPECT_EQ(std::vector<T>(sums, sums + size), expected);
}

TEST(ScatterCpu, ManyIntegersInFewElements) {
  for (const std::int64_t size : {1, 3, 100, 4096}) {
    for (const std::int64_t count : {8 * size - 1, 8 * size, 8 * size + 3, 40 * size + 9}) {
      for (const std::int64_t stride : {0, 1}) {
        expect_sums<std::int32_t, std::int32_t>(DType::i32, DType::i32, size, count, stride);
        expect_sums<std::int64_t, std::int32_t>(DType::i64, DType::i32, size, count, stride);
        expect_sums<std::uint8_t, std::int64_t>(DType::u8, DType::i64, size, count, stride);
      }
    }
  }
}

}  // namespace
}  // namespace weft::test
