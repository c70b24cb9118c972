// Narrow floats: every pattern, and rounding against a search among all values.
#include "weft/small_float.h"

#include <cmath>
#include <random>

namespace weft {
namespace {

template <class F>
class SmallFloats : public testing::Test {
 public:
  static constexpr int kPatterns = 1 << F::kBits;
  // The finite values that are not negative, in order; index and pattern agree.
  static std::vector<double> finite() {
    std::vector<double> v;
    for (int b = 0; b < kPatterns / 2; ++b) {
      const float f = F::from_bits(static_cast<typename F::Bits>(b));
      if (std::isfinite(f)) v.push_back(f);
    }
    return v;
  }
};
using Types = testing::Types<float16, bfloat16, float8_e4m3, float8_e5m2>;
TYPED_TEST_SUITE(SmallFloats, Types);

template <class F>
constexpr int mantissa_bits() {
  return std::is_same_v<F, float16> ? 10 : std::is_same_v<F, bfloat16> ? 7 : std::is_same_v<F, float8_e4m3> ? 3 : 2;
}

TYPED_TEST(SmallFloats, EveryPatternIsItsValue) {
  using F = TypeParam;
  constexpr int m = mantissa_bits<F>();
  constexpr int e = F::kBits - 1 - m;
  for (int b = 0; b < TestFixture::kPatterns; ++b) {
    const float f = F::from_bits(static_cast<typename F::Bits>(b));
    const int exponent = (b >> m) & ((1 << e) - 1);
    const int mantissa = b & ((1 << m) - 1);
    const bool negative = b >> (F::kBits - 1);
    EXPECT_EQ(std::signbit(f), negative) << b;
    const bool top = exponent == (1 << e) - 1;
    if (std::is_same_v<F, float8_e4m3> ? top && mantissa == 7 : top && mantissa != 0) {
      EXPECT_TRUE(std::isnan(f)) << b;
    } else if (top && !std::is_same_v<F, float8_e4m3>) {
      EXPECT_TRUE(std::isinf(f)) << b;
    } else {
      const double want = exponent ? std::ldexp(1.0 + std::ldexp(mantissa, -m), exponent - F::kBias)
                                   : std::ldexp(mantissa, 1 - F::kBias - m);
      EXPECT_EQ(std::abs(f), want) << b;
    }
  }
}

TYPED_TEST(SmallFloats, EveryPatternComesBack) {
  using F = TypeParam;
  for (int b = 0; b < TestFixture::kPatterns; ++b) {
    const auto bits = static_cast<typename F::Bits>(b);
    const F back(static_cast<float>(F::from_bits(bits)));
    if (std::isnan(static_cast<float>(F::from_bits(bits)))) {
      EXPECT_TRUE(std::isnan(static_cast<float>(back))) << b;
    } else {
      EXPECT_EQ(back.bits, bits);
    }
  }
}

// Nearest value, ties to the even pattern; past the largest by half a step or more: infinity or NaN.
template <class F>
void expect_rounded(float f, const std::vector<double>& values) {
  const F got(f);
  const double a = std::abs(static_cast<double>(f));
  const std::size_t above = static_cast<std::size_t>(std::ranges::lower_bound(values, a) - values.begin());
  std::size_t want;
  if (above == values.size()) {
    const double step = values.back() - values[values.size() - 2];
    const bool even = values.size() % 2 == 0;  // the pattern after the largest
    want = a > values.back() + step / 2 || (a == values.back() + step / 2 && even) ? values.size() : values.size() - 1;
  } else if (above == 0) {
    want = 0;
  } else {
    const double middle = (values[above] + values[above - 1]) / 2;
    want = a > middle || (a == middle && above % 2 == 0) ? above : above - 1;
  }
  const float g = got;
  EXPECT_EQ(std::signbit(g), std::signbit(f)) << f;
  if (want == values.size()) {
    EXPECT_FALSE(std::isfinite(g)) << f;
  } else {
    EXPECT_EQ(std::abs(g), values[want]) << f;
  }
}

TYPED_TEST(SmallFloats, RoundsToNearestEven) {
  using F = TypeParam;
  const std::vector<double> values = TestFixture::finite();
  // Around every value and every midpoint.
  for (std::size_t k = 0; k + 1 < values.size(); ++k) {
    for (double v : {values[k], (values[k] + values[k + 1]) / 2}) {
      const auto f = static_cast<float>(v);
      for (float near : {std::nextafter(f, 0.0f), f, std::nextafter(f, INFINITY)}) {
        expect_rounded<F>(near, values);
        expect_rounded<F>(-near, values);
      }
    }
  }
  std::mt19937 rng(3);
  for (int k = 0; k < 200000; ++k) {
    const float f = std::bit_cast<float>(static_cast<std::uint32_t>(rng()));
    if (std::isfinite(f)) expect_rounded<F>(f, values);
  }
  for (float f : {INFINITY, -INFINITY}) {
    const float g = F(f);
    EXPECT_TRUE((std::is_same_v<F, float8_e4m3> ? std::isnan(g) : g == f));
  }
  EXPECT_TRUE(std::isnan(static_cast<float>(F(NAN))));
  EXPECT_TRUE(std::isnan(static_cast<float>(F(std::bit_cast<float>(0x7f800001u)))));  // must not turn into infinity
}

}  // namespace
}  // namespace weft
