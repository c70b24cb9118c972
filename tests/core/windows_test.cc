#include "core/windows.h"

#include <gtest/gtest.h>

#include <limits>

namespace weft {
namespace {

constexpr std::int64_t k31 = std::int64_t{1} << 31, k62 = std::int64_t{1} << 62;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(), kLeast = -kMost - 1;

// Against the definition, one window after the other.
TEST(Windows, CountThoseThatFit) {
  for (std::int64_t elements = 0; elements < 9; ++elements) {
    for (std::int64_t size = 1; size < 5; ++size) {
      for (std::int64_t stride = 1; stride < 5; ++stride) {
        for (std::int64_t dilation = 1; dilation < 4; ++dilation) {
          for (std::int64_t before = -2; before < 3; ++before) {
            for (std::int64_t after = -2; after < 3; ++after) {
              const std::int64_t end = elements + before + after;
              const auto last = [&](std::int64_t i) { return i * stride + (size - 1) * dilation; };
              std::int64_t count = 0;
              while (last(count) < end) ++count;
              const auto fit = fit_windows(elements, size, stride, dilation, before, after);
              ASSERT_TRUE(fit);
              EXPECT_EQ(fit->count, count);
              EXPECT_EQ(fit->padded, end);
              EXPECT_EQ(fit->reach, last(0) + 1);
              // By less than a step more it would fit.
              EXPECT_EQ(fit->partial, last(count) - end + 1 < stride);
              if (count > 0) {
                EXPECT_EQ(windows_extent(count, stride, size, dilation), last(count - 1) + 1);
              }
            }
          }
        }
      }
    }
  }
}

TEST(Windows, PastThirtyTwoBits) {
  EXPECT_EQ(window_reach(k31 + 1, 3), 3 * k31 + 1);
  EXPECT_EQ(windows_extent(k31 + 5, k31, 2), (k31 + 4) * k31 + 2);
  const auto fit = fit_windows(4 * k31, 3, 2, k31, k31, k31 + 1);
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->reach, 2 * k31 + 1);
  EXPECT_EQ(fit->padded, 6 * k31 + 1);
  EXPECT_EQ(fit->count, 2 * k31 + 1);
  EXPECT_FALSE(fit->partial);
}

TEST(Windows, AtTheEndsOfSixtyFourBits) {
  EXPECT_EQ(window_reach(k62, 1), k62);
  EXPECT_EQ(window_reach(2, kMost - 1), kMost);
  EXPECT_EQ(window_reach(2, kMost), std::nullopt);
  EXPECT_EQ(window_reach(k62, 2), kMost);
  EXPECT_EQ(window_reach(k62 + 1, 2), std::nullopt);
  EXPECT_EQ(window_reach(k62, 3), std::nullopt);

  EXPECT_EQ(windows_extent(k62, 1, k62), kMost);
  EXPECT_EQ(windows_extent(k62, 2, 1), kMost);
  EXPECT_EQ(windows_extent(k62, 2, 2), std::nullopt);
  EXPECT_EQ(windows_extent(k62 + 1, 1, k62), std::nullopt);
  EXPECT_EQ(windows_extent(k62, 3, 1), std::nullopt);
  EXPECT_EQ(windows_extent(1, 1, k62, 3), std::nullopt);

  EXPECT_EQ(fit_windows(k62, 1, 1)->count, k62);
  EXPECT_EQ(fit_windows(k62, k62, 1)->count, 1);
  EXPECT_EQ(fit_windows(k62, 1, 1, 1, k62 - 1)->count, kMost);
  EXPECT_EQ(fit_windows(kMost, 1, kMost)->count, 1);
  EXPECT_TRUE(fit_windows(kMost, 1, kMost)->partial);
  EXPECT_EQ(fit_windows(0, kMost, kMost)->count, 0);
  EXPECT_EQ(fit_windows(k62, 1, 1, 1, k62), std::nullopt);
  EXPECT_EQ(fit_windows(k62, 1, 1, 1, 0, k62), std::nullopt);
  EXPECT_EQ(fit_windows(k62, k62, 1, 4), std::nullopt);
  EXPECT_EQ(fit_windows(0, 2, 1, 1, kLeast), std::nullopt);
  EXPECT_EQ(fit_windows(k62, 3, 2, 1, -k62, 5)->count, 2);
}

TEST(Windows, RoundedUp) {
  // 0 1 2 3 4 | 5: windows of 2 at 0, 2 and 4, the last of which has an element of five.
  EXPECT_EQ(windows_rounded_up(*fit_windows(5, 2, 2), 2, 5), 3);
  EXPECT_EQ(windows_rounded_up(*fit_windows(6, 2, 2), 2, 6), 3);
  // It would begin in the padding behind.
  EXPECT_EQ(windows_rounded_up(*fit_windows(4, 2, 2, 1, 0, 1), 2, 4), 2);
  EXPECT_EQ(windows_rounded_up(*fit_windows(1, 3, 4), 4, 1), 1);
  EXPECT_EQ(windows_rounded_up(*fit_windows(0, 3, 4), 4, 0), 0);
  EXPECT_EQ(windows_rounded_up(*fit_windows(kMost, 1, kMost - 1), kMost - 1, kMost), 2);
  // A further one would begin past 64 bits.
  EXPECT_EQ(windows_rounded_up(*fit_windows(kMost, k62, k62 - 2), k62 - 2, kMost), 3);
  EXPECT_EQ(windows_rounded_up(*fit_windows(kMost, 1, k62 + 1), k62 + 1, kMost), 2);
}

}  // namespace
}  // namespace weft
