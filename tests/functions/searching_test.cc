// Functions made of searches and of long transforms, against the C++ library's searches and plain sums.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/devices.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/device.h"
#include "weft/numeric.h"
#include "weft/statistics.h"

namespace weft::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();

class Searching : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { set_default_device(GetParam() == "cpu" ? Device::cpu() : Device(device(GetParam()))); }
  void TearDown() override { set_default_device(before_); }

 private:
  Device before_ = default_device();
};
std::vector<std::string> devices() {
  std::vector<std::string> all = device_names();
  if (std::ranges::find(all, "cpu") == all.end()) all.push_back("cpu");
  return all;
}
INSTANTIATE_TEST_SUITE_P(Devices, Searching, testing::ValuesIn(devices()), [](const auto& i) { return i.param; });

// NaN comes after all numbers.
bool before(float a, float b) { return b != b ? a == a : a < b; }

TEST_P(Searching, EveryPlaceAmongEveryNumberOfElements) {
  for (std::int64_t n = 0; n <= 70; n += n < 20 ? 1 : 7) {
    std::vector<float> sorted;
    for (std::int64_t i = 0; i < n; ++i) sorted.push_back(static_cast<float>(i / 3));  // each three times
    if (n > 4)
      sorted[0] = sorted[1] = -kInf, sorted[static_cast<std::size_t>(n) - 1] = kNaN,
      sorted[static_cast<std::size_t>(n) - 2] = kInf;
    std::vector<float> values{-kInf, kInf, kNaN, -1};
    for (std::int64_t i = 0; i <= n; ++i) values.push_back(static_cast<float>(i) / 2 - 0.5f);
    for (const Side side : {Side::left, Side::right}) {
      const auto got = searchsorted(tensor(sorted), tensor(values), side).to_vector<std::int32_t>();
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto at = side == Side::left ? std::lower_bound(sorted.begin(), sorted.end(), values[i], before)
                                           : std::upper_bound(sorted.begin(), sorted.end(), values[i], before);
        ASSERT_EQ(got[i], at - sorted.begin()) << values[i] << " among " << n;
      }
    }
    std::vector<std::int64_t> longs, wanted{-5, std::int64_t{1} << 40, 0, 3};
    for (std::int64_t i = 0; i < n; ++i) longs.push_back(i / 2 * (std::int64_t{1} << 33));
    for (std::int64_t i = 0; i <= n; ++i) wanted.push_back(i * (std::int64_t{1} << 32));
    const auto got = searchsorted(tensor(longs), tensor(wanted), Side::right).to_vector<std::int32_t>();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_EQ(got[i], std::upper_bound(longs.begin(), longs.end(), wanted[i]) - longs.begin())
          << wanted[i] << " among " << n;
    }
  }
}

TEST_P(Searching, NumbersInPlaceOfInfinities) {
  const struct {
    DType type;
    double most;
  } types[] = {{DType::f32, 0x1.fffffep127}, {DType::f16, 65504}, {DType::bf16, 0x1.fep127}, {DType::f8e5m2, 57344}};
  for (const auto& [type, most] : types) {
    const Tensor x = cast(tensor(std::vector<float>{kNaN, kInf, -kInf, -0.0f, 1.5f}), type);
    const auto got = cast(nan_to_num(x), DType::f32).to_vector<float>();
    EXPECT_EQ(got, (std::vector<float>{0, static_cast<float>(most), static_cast<float>(-most), 0, 1.5f})) << name(type);
    EXPECT_TRUE(std::signbit(got[3])) << name(type);
    EXPECT_EQ(cast(nan_to_num(x, 2, 3, -4), DType::f32).to_vector<float>(), (std::vector<float>{2, 3, -4, 0, 1.5f}));
  }
  if (GetParam() == "cpu") {
    EXPECT_EQ(nan_to_num(cast(tensor(std::vector<float>{kInf, -kInf}), DType::f64)).to_vector<double>(),
              (std::vector<double>{std::numeric_limits<double>::max(), std::numeric_limits<double>::lowest()}));
  }
}

// Windows so long that the convolution is a product of transforms, of lengths with large primes too.
TEST_P(Searching, ConvolutionsWithLongWindows) {
  for (const auto& [n, m] : {std::pair(1500, 1024), std::pair(1100, 1337), std::pair(1024, 1024)}) {
    std::vector<float> a, b;
    for (int i = 0; i < n; ++i) a.push_back(static_cast<float>(i * 37 % 101 - 50) / 32);
    for (int i = 0; i < m; ++i) b.push_back(static_cast<float>(i * 53 % 89 - 44) / 32);
    for (const ConvolveMode mode : {ConvolveMode::full, ConvolveMode::same, ConvolveMode::valid}) {
      const auto got = convolve(tensor(a), tensor(b), mode).to_vector<float>();
      const int least = std::min(n, m), most = std::max(n, m);
      const int count = mode == ConvolveMode::full ? n + m - 1 : mode == ConvolveMode::same ? most : most - least + 1;
      const int first = mode == ConvolveMode::full ? 0 : mode == ConvolveMode::same ? (least - 1) / 2 : least - 1;
      ASSERT_EQ(static_cast<int>(got.size()), count);
      for (int k = 0; k < count; k += 29) {
        double sum = 0;
        for (int i = std::max(0, k + first - m + 1); i <= std::min(n - 1, k + first); ++i) {
          sum += static_cast<double>(a[static_cast<std::size_t>(i)]) * b[static_cast<std::size_t>(k + first - i)];
        }
        ASSERT_NEAR(got[static_cast<std::size_t>(k)], sum, 2e-3) << n << " with " << m << " at " << k;
      }
    }
  }
}

}  // namespace
}  // namespace weft::test
