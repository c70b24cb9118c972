// Functions of complex numbers on every device: special values, branch cuts and magnitudes of all sizes against the C++
// library's functions in double, whose special values are those of C's Annex G.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <format>
#include <vector>

#include "kernels/scalar_cases.h"
#include "support/on_device.h"
#include "weft/derivatives.h"

namespace weft::test {
namespace {

using Complex = std::complex<float>;
using Wide = std::complex<double>;

struct Case {
  ScalarOp op;
  Wide (*expected)(Wide z);
};
#define WEFT_CASE(name) {ScalarOp::name, [](Wide z) { return std::name(z); }}
const Case kCases[] = {
    WEFT_CASE(sqrt),
    WEFT_CASE(log),
    WEFT_CASE(sin),
    WEFT_CASE(cos),
    WEFT_CASE(tan),
    WEFT_CASE(asin),
    WEFT_CASE(acos),
    WEFT_CASE(atan),
    WEFT_CASE(sinh),
    WEFT_CASE(cosh),
    WEFT_CASE(tanh),
    WEFT_CASE(asinh),
    WEFT_CASE(acosh),
    WEFT_CASE(atanh),
    WEFT_CASE(exp),
    {ScalarOp::log10, [](Wide z) { return std::log(z) * 0.43429448190325182; }},
    {ScalarOp::log2, [](Wide z) { return std::log(z) * 1.4426950408889634; }},
};
#undef WEFT_CASE

class ComplexFunctions : public OnDevice {
 protected:
  std::vector<Complex> computed(ScalarOp op, const std::vector<Complex>& z) {
    const auto n = static_cast<std::int64_t>(z.size());
    const Tensor x = tensor(DType::c64, {n}, std::as_bytes(std::span(z)));
    std::vector<Complex> y(z.size());
    unary(op, x).read_bytes(std::as_writable_bytes(std::span(y)));
    return y;
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, ComplexFunctions, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

// `any_sign`: C leaves the sign of an infinite part open where the angle is none.
bool same_part(float got, double expected, double error, bool any_sign = false) {
  const auto rounded = static_cast<float>(expected);
  if (std::isnan(rounded)) return std::isnan(got);
  if (any_sign && std::isinf(rounded)) return std::isinf(got);
  if (std::isinf(rounded) || std::isinf(got)) return got == rounded;
  return std::abs(static_cast<double>(got) - expected) <= error;
}

std::string text(Complex z) { return std::format("({}, {})", z.real(), z.imag()); }

TEST_P(ComplexFunctions, SpecialValuesAndBranchCuts) {
  const float nan = NAN, inf = INFINITY;
  const float parts[] = {0.0f, -0.0f, 1.0f, -1.0f, 2.5f, -0.5f, inf, -inf, nan};
  std::vector<Complex> z;
  for (const float re : parts) {
    for (const float im : parts) z.emplace_back(re, im);
  }
  for (const Case& c : kCases) {
    const std::vector<Complex> y = computed(c.op, z);
    for (std::size_t i = 0; i < z.size(); ++i) {
      const Wide e = c.expected(Wide(z[i].real(), z[i].imag()));
      const double error = 1e-6 * (1 + (std::isfinite(std::abs(e)) ? std::abs(e) : 0));
      const bool any_sign = !std::isfinite(z[i].real()) || !std::isfinite(z[i].imag());
      EXPECT_TRUE(same_part(y[i].real(), e.real(), error, any_sign && std::isnan(e.imag())) &&
                  same_part(y[i].imag(), e.imag(), error, any_sign && std::isnan(e.real())))
          << name(c.op) << text(z[i]) << " is " << text(y[i]) << ", expected " << e;
      // Of which side of a cut it is, the sign of a zero says.
      if (!any_sign && e.imag() == 0 && c.op != ScalarOp::cos && c.op != ScalarOp::cosh) {
        EXPECT_EQ(std::signbit(y[i].imag()), std::signbit(e.imag())) << name(c.op) << text(z[i]);
      }
    }
  }
}

// Of all magnitudes that f32 has, but those whose squares or results are denormal; also near the points ±1, ±i and 0.
TEST_P(ComplexFunctions, Magnitudes) {
  Rng rng(5);
  const auto number = [&](int exponents) {
    const double m = 1 + static_cast<double>(rng() % 4096) / 4096;
    const double x = std::ldexp(m, static_cast<int>(rng() % static_cast<unsigned>(2 * exponents)) - exponents);
    return static_cast<float>(rng() % 2 ? -x : x);
  };
  std::vector<Complex> far, near;
  for (int i = 0; i < 2000; ++i) {
    far.emplace_back(number(120), number(120));
    const Complex around[] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}, {0, 0}};
    near.push_back(around[i % 5] + Complex(number(20) * 0x1p-19f, number(20) * 0x1p-19f));
  }
  using enum ScalarOp;
  for (const Case& c : kCases) {
    // Exponentials, and angles, of what is far are no numbers, or depend on its last bits.
    const bool grows = c.op == ScalarOp::sin || c.op == ScalarOp::cos || c.op == ScalarOp::tan ||
                       c.op == ScalarOp::sinh || c.op == ScalarOp::cosh || c.op == ScalarOp::tanh ||
                       c.op == ScalarOp::exp;
    for (const auto* z : {&far, &near}) {
      if (grows && z == &far) continue;
      const std::vector<Complex> y = computed(c.op, *z);
      double largest = 0;
      for (std::size_t i = 0; i < z->size(); ++i) {
        const Wide e = c.expected(Wide((*z)[i].real(), (*z)[i].imag()));
        const Wide d = Wide(y[i].real(), y[i].imag()) - e;
        const double error = std::abs(d) / std::max(std::abs(e), 0x1p-100);
        largest = std::max(largest, error);
        ASSERT_LE(error, 2e-6) << name(c.op) << text((*z)[i]) << " is " << text(y[i]) << ", expected " << e;
      }
      RecordProperty(std::format("{}_{}", name(c.op), z == &far ? "far" : "near"), std::format("{}", largest));
    }
  }
}

TEST_P(ComplexFunctions, OthersThanTheLibrarys) {
  const std::vector<Complex> z = {{1e-5f, 2e-6f}, {-3e-4f, 1e-4f}, {0.25f, -0.3f}, {3, 4}, {-2, 0.5f}, {0, 0}};
  const std::vector<Complex> log1p = computed(ScalarOp::log1p, z), expm1 = computed(ScalarOp::expm1, z);
  const std::vector<Complex> rsqrt = computed(ScalarOp::rsqrt, z);
  for (std::size_t i = 0; i < z.size(); ++i) {
    // In long double nothing is lost beside 1.
    const std::complex<long double> w(z[i].real(), z[i].imag());
    const auto l = std::log(1.0L + w), e = std::exp(w) - 1.0L;
    const auto close = [](Complex got, std::complex<long double> expected) {
      const std::complex<long double> g(got.real(), got.imag());
      return std::abs(g - expected) <= 1e-6L * std::abs(expected);
    };
    EXPECT_TRUE(close(log1p[i], l)) << text(z[i]) << text(log1p[i]);
    EXPECT_TRUE(close(expm1[i], e)) << text(z[i]) << text(expm1[i]);
    if (i + 1 == z.size()) continue;
    EXPECT_TRUE(close(rsqrt[i], 1.0L / std::sqrt(w))) << text(z[i]) << text(rsqrt[i]);
  }
}

TEST_P(ComplexFunctions, Powers) {
  const float nan = NAN;
  struct Power {
    Complex z, w, expected;
    bool rounded = false;
  };
  // Powers to integers of Gaussian integers are exact. Where a product is not, a device may or may not round it before
  // the other one is subtracted.
  const Power powers[] = {{{1, 2}, {2, 0}, {-3, 4}},
                          {{0, 1}, {2, 0}, {-1, 0}},
                          {{1, 1}, {8, 0}, {16, 0}},
                          {{3, -4}, {1, 0}, {3, -4}},
                          {{0, 2}, {-2, 0}, {-0.25f, 0}},
                          {{nan, 1}, {0, 0}, {1, 0}},
                          {{0, 0}, {0, 0}, {1, 0}},
                          {{0, 0}, {2, 1}, {0, 0}},
                          {{0, 0}, {-1, 0}, {nan, nan}},
                          {{0, 0}, {0, 1}, {nan, nan}},
                          {{-4, 0}, {0.5f, 0}, {0, 2}},
                          {{-4, -0.0f}, {0.5f, 0}, {0, -2}},
                          {{0, 1}, {0, 1}, {0.20787958f, 0}},
                          {{2, 3}, {-1.5f, 0.5f}, {0.060110286f, -0.06611759f}},
                          {{1e20f, 0}, {-3, 0}, {0, 0}},
                          {{0x1p33f, 0x1p33f}, {2, 0}, {0, 0x1p67f}},
                          {{1e10f, 1e10f}, {2, 0}, {0, 2e20f}, true},
                          {{2, 0}, {70, 0}, {1.1805916e21f, 0}}};
  std::vector<Complex> z, w;
  for (const Power& p : powers) {
    z.push_back(p.z);
    w.push_back(p.w);
  }
  const auto n = static_cast<std::int64_t>(z.size());
  std::vector<Complex> y(z.size());
  pow(tensor(DType::c64, {n}, std::as_bytes(std::span(z))), tensor(DType::c64, {n}, std::as_bytes(std::span(w))))
      .read_bytes(std::as_writable_bytes(std::span(y)));
  for (std::size_t i = 0; i < z.size(); ++i) {
    const Power& p = powers[i];
    const bool product = p.w.imag() == 0 && std::nearbyint(p.w.real()) == p.w.real() && std::abs(p.w.real()) < 65;
    const double relative = product ? (p.rounded ? 2e-6 : 0) : 3e-5;
    const double error = relative * std::abs(Wide(p.expected.real(), p.expected.imag()));
    EXPECT_TRUE(same_part(y[i].real(), p.expected.real(), error) && same_part(y[i].imag(), p.expected.imag(), error))
        << text(z[i]) << "^" << text(w[i]) << " is " << text(y[i]) << ", expected " << text(p.expected);
  }
}

// The derivative of a function of one complex variable f is one number f': a tangent t becomes f' t, a cotangent g
// becomes conj(f') g.
TEST_P(ComplexFunctions, Derivatives) {
  std::vector<Case> cases(std::begin(kCases), std::end(kCases));
  cases.push_back({ScalarOp::log1p, [](Wide z) { return std::log(1.0 + z); }});
  cases.push_back({ScalarOp::expm1, [](Wide z) { return std::exp(z) - 1.0; }});
  cases.push_back({ScalarOp::rsqrt, [](Wide z) { return 1.0 / std::sqrt(z); }});
  const std::vector<Complex> z = {{0.5f, 0.25f}, {-1.5f, 0.75f}, {0.25f, -2}, {3, 1.5f}, {-0.125f, -0.5f}};
  const std::vector<Complex> g = {{1, 0}, {0, 1}, {0.5f, -2}, {-1, -1}, {2, 0.25f}};
  const auto n = static_cast<std::int64_t>(z.size());
  const auto tensor_of = [&](const std::vector<Complex>& v) {
    return tensor(DType::c64, {n}, std::as_bytes(std::span(v)));
  };
  const auto expect = [&](const Tensor& got, const std::vector<Wide>& expected, const std::string& what) {
    std::vector<Complex> y(z.size());
    got.read_bytes(std::as_writable_bytes(std::span(y)));
    for (std::size_t i = 0; i < y.size(); ++i) {
      EXPECT_LE(std::abs(Wide(y[i].real(), y[i].imag()) - expected[i]), 1e-5 * (1 + std::abs(expected[i])))
          << what << text(z[i]) << ": " << text(y[i]) << ", expected " << expected[i];
    }
  };
  const auto check = [&](const std::string& what, const auto& f, const auto& derivative) {
    std::vector<Wide> forward, backward;
    for (std::size_t i = 0; i < z.size(); ++i) {
      const Wide d = derivative(i), v(g[i].real(), g[i].imag());
      forward.push_back(d * v);
      backward.push_back(std::conj(d) * v);
    }
    const auto [y, pull] = vjp(f)(tensor_of(z));
    expect(pull(tensor_of(g)), backward, what + "'s vjp ");
    const auto [same, tangent] = jvp(f)(tensor_of(z), tensor_of(g));
    expect(tangent, forward, what + "'s jvp ");
  };
  const double h = 1e-5;
  for (const Case& c : cases) {
    check(
        std::string(name(c.op)), [&](const Tensor& x) { return unary(c.op, x); },
        [&](std::size_t i) {
          const Wide at(z[i].real(), z[i].imag());
          return (c.expected(at + h) - c.expected(at - h)) / (2 * h);
        });
  }
  const std::vector<Complex> w = {{2, 0}, {0.5f, 1}, {-1, 0.5f}, {3, 0}, {0, 1}};
  const auto wide = [](Complex v) { return Wide(v.real(), v.imag()); };
  check(
      "pow", [&](const Tensor& x) { return pow(x, tensor_of(w)); },
      [&](std::size_t i) { return wide(w[i]) * std::pow(wide(z[i]), wide(w[i]) - 1.0); });
  check(
      "pow", [&](const Tensor& x) { return pow(tensor_of(w), x); },
      [&](std::size_t i) { return std::pow(wide(w[i]), wide(z[i])) * std::log(wide(w[i])); });
}

}  // namespace
}  // namespace weft::test
