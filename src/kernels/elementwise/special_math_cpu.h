// More scalar functions for the CPU: functions in double that the C library lacks, and f32 versions that become vector
// code.
#pragma once

#include <math.h>  // lgamma_r, j0

#include <array>
#include <complex>

#include "kernels/elementwise/scalar_math_cpu.h"

namespace weft::kernels {

// ---- Double, by the C library or based on it.

inline double lgamma_f64(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);  // lgamma itself writes a global
}

// Recurrence up to 12, then the asymptotic series (Abramowitz and Stegun 6.3.18); reflection for negative arguments.
inline double digamma_f64(double x) {
  constexpr double kPi = 3.14159265358979323846;
  if (x != x || x == wide::kInfinity) return x;
  if (x == 0.0) return std::copysign(wide::kInfinity, -x);
  if (x < 0.0) {
    const double r = x - std::nearbyint(x);
    if (r == 0.0 || x == -wide::kInfinity) return wide::kNaN;
    return digamma_f64(1.0 - x) - kPi / std::tan(kPi * r);
  }
  double sum = 0.0;
  for (; x < 12.0; x += 1.0) sum -= 1.0 / x;
  const double z = 1.0 / (x * x);
  const double series =
      z * (1.0 / 12 -
           z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12.0))))));
  return sum + std::log(x) - 0.5 / x - series;
}

// An estimate by a polynomial, and Newton's method on erf, or on log erfc where erf is flat.
inline double erfinv_f64(double x) {
  constexpr double kSlope = 1.1283791670955126;  // 2/√π
  const double a = std::abs(x);
  if (!(a < 1.0)) return a == 1.0 ? std::copysign(wide::kInfinity, x) : wide::kNaN;
  if (a < 0.5) {
    const double z = x * x;
    double y =
        x * (0.88622692616988097 + z * (0.2320133948653527 + z * (0.1275729455929844 + z * (0.0861664 + z * 0.1))));
    for (int i = 0; i < 3; ++i) y -= (std::erf(y) - x) / (kSlope * std::exp(-y * y));
    return y;
  }
  const double target = std::log1p(-a);
  double y = std::sqrt(-target) - 0.3;
  for (int i = 0; i < 60; ++i) {
    const double tail = std::erfc(y);
    const double step = (std::log(tail) - target) * tail / (kSlope * std::exp(-y * y));
    y += step;
    if (std::abs(step) < 1e-16 * y) break;
  }
  return std::copysign(y, x);
}

// The C library's; of infinities, where some have NaN, the limit.
inline double j0_f64(double x) { return std::abs(x) == wide::kInfinity ? 0 : ::j0(x); }
inline double j1_f64(double x) { return std::abs(x) == wide::kInfinity ? std::copysign(0.0, x) : ::j1(x); }
inline double y0_f64(double x) {
  return x > 0 ? (x == wide::kInfinity ? 0 : ::y0(x)) : x == 0 ? -wide::kInfinity : wide::kNaN;
}
inline double y1_f64(double x) {
  return x > 0 ? (x == wide::kInfinity ? 0 : ::y1(x)) : x == 0 ? -wide::kInfinity : wide::kNaN;
}

// exp(x) K(x) of order 0 or 1 for x >= 1: the integral of exp(-x (cosh t - 1)) cosh(order t) over t > 0 (Abramowitz and
// Stegun 9.6.24) by the trapezoidal rule for s = √(2x) sinh(t/2). Its error decreases exponentially with the distance
// of the nearest singularity, s = ±i √(2x), over the step.
inline double bessel_k_far(int order, double x) {
  constexpr int kNodes = 31;
  constexpr double kStep = 0.205;
  static const std::array<double, kNodes> weights = [] {
    std::array<double, kNodes> w{};
    for (int i = 0; i < kNodes; ++i) w[static_cast<std::size_t>(i)] = std::exp(-(i * kStep) * (i * kStep));
    return w;
  }();
  double sum = 0;
  for (int i = kNodes; i-- > 1;) {
    const double r = (i * kStep) * (i * kStep) / x, root = std::sqrt(1 + 0.5 * r);
    sum += weights[static_cast<std::size_t>(i)] * (order == 0 ? 1 : 1 + r) / root;
  }
  return kStep * (0.5 + sum) * std::sqrt(2 / x);
}

// K(x) of order 0 or 1 for x in (0, 1], by its power series (Abramowitz and Stegun 9.6.11, 9.6.13).
inline double bessel_k_near(int order, double x) {
  constexpr double kEuler = 0.57721566490153286;
  const double z = 0.25 * x * x, l = std::log(0.5 * x) + kEuler;
  double term = 1, harmonic = 0.5 * order, first = 1, second = harmonic;  // z^k / (k! (k + order)!)
  for (int k = 1; k < 14; ++k) {
    term *= z / (k * (k + order));
    harmonic += order == 0 ? 1.0 / k : 0.5 / k + 0.5 / (k + 1);
    first += term;
    second += term * harmonic;
  }
  return order == 0 ? second - l * first : 1 / x + 0.5 * x * (l * first - second);
}

// K(x), or exp(x) K(x), of order 0 or 1: infinite of 0, NaN of negative numbers.
inline double bessel_k(int order, double x, bool scaled) {
  if (!(x > 0)) return x == 0 ? wide::kInfinity : wide::kNaN;
  if (x == wide::kInfinity) return 0;
  if (x <= 1) return bessel_k_near(order, x) * (scaled ? std::exp(x) : 1);
  return bessel_k_far(order, x) * (scaled ? 1 : std::exp(-x));
}

inline double mish_f64(double x) {
  if (x < -700.0) return -0.0;
  if (x > 40.0) return x;
  const double e = std::exp(x);
  const double n = e * (e + 2.0);
  return x * (n / (n + 2.0));
}

inline double softplus_f64(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

inline double logaddexp_f64(double a, double b) {
  if (a != a || b != b) return a + b;
  if (a == b) return a + 0.69314718055994530942;
  return std::fmax(a, b) + std::log1p(std::exp(-std::abs(a - b)));
}

namespace wide {

// ---- f32 in double without branches, as in scalar_math_cpu.h.

WEFT_INLINE double log10(double x) { return log(x) * 0.43429448190325183; }

WEFT_INLINE double expm1(double x) {
  const double small = x * polynomial(x, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0);
  return std::abs(x) < 0.03 ? small : exp(x) - 1.0;
}

WEFT_INLINE double log1p(double x) {
  const double u = 1.0 + x;
  // The rounding error of the sum; only for |x| below 1.
  const double rest = (x - (u - 1.0)) / u;
  const double r = log(u) + choose(std::abs(x) < 1.0, rest, 0.0);
  return choose(std::abs(x) < 1e-14, x, choose(x == -1.0, -kInfinity, r));
}

WEFT_INLINE double sinh(double x) {
  const double z = x * x;
  const double small = x + x * z * polynomial(z, 1.0 / 362880, 1.0 / 5040, 1.0 / 120, 1.0 / 6);
  const double e = exp(x);
  return std::abs(x) < 0.5 ? small : 0.5 * (e - 1.0 / e);
}

WEFT_INLINE double cosh(double x) {
  const double e = exp(x);
  return 0.5 * (e + 1.0 / e);
}

WEFT_INLINE double asinh(double x) {
  const double a = std::abs(x);
  const double r = log1p(a + a * a / (1.0 + std::sqrt(1.0 + a * a)));
  return std::copysign(a == kInfinity ? a : r, x);
}

WEFT_INLINE double acosh(double x) {
  const double t = x - 1.0;
  const double r = log1p(t + std::sqrt(t * (t + 2.0)));
  return x >= 1.0 ? r : kNaN;
}

WEFT_INLINE double atanh(double x) {
  const double a = std::abs(x);
  double r = 0.5 * log1p(2.0 * a / (1.0 - a));
  r = a == 1.0 ? kInfinity : r;
  return a <= 1.0 ? std::copysign(r, x) : kNaN;
}

WEFT_INLINE double erfc(double x) {
  const double a = std::abs(x);
  const double tail = 2.0 * normal_tail(a * 1.4142135623730951);
  const double r = x < 0.0 ? 2.0 - tail : tail;
  return a < 0.5 ? 1.0 - erf(x) : r;
}

WEFT_INLINE double logsigmoid(double x) { return -softplus(-x); }

WEFT_INLINE double mish(double x) {
  const double c = x > 40.0 ? 40.0 : x;
  const double e = exp(c);
  const double n = e * (e + 2.0);
  const double r = x * (n / (n + 2.0));
  return x < -150.0 ? -0.0 : x > 40.0 ? x : r;
}

WEFT_INLINE double cbrt(double x) {
  const double a = std::abs(x);
  double t = exp(log_positive(a) * (1.0 / 3));
  t -= (t * t * t - a) / (3.0 * t * t);
  return ((a == 0.0) | (a == kInfinity)) ? x : std::copysign(t, x);
}

WEFT_INLINE double hypot(double a, double b) {
  const double r = std::sqrt(a * a + b * b);
  const bool infinite_a = std::abs(a) == kInfinity, infinite_b = std::abs(b) == kInfinity;
  return (infinite_a | infinite_b) ? kInfinity : r;
}

// log(e^a + e^b)
WEFT_INLINE double logaddexp(double a, double b) {
  const double u = exp(a == b ? 0.0 : -std::abs(a - b));
  const double rest = u < 1e-4 ? u - u * u * (0.5 - u * (1.0 / 3)) : log_positive(1.0 + u);
  return (a > b ? a : b) + rest + (a != a ? a : 0.0);
}

// With the special cases of C's pow: 0, 1, infinities, NaN and negative bases.
WEFT_INLINE double pow(double x, double y) {
  const double a = std::abs(x);
  const double l = choose(a == 0.0, -kInfinity, choose(a < kInfinity, log_positive<true>(a), a));
  double r = exp(choose(a == 1.0, 0.0, y * l));
  const bool whole = std::nearbyint(y) == y, even = std::nearbyint(0.5 * y) == 0.5 * y;
  const bool negative = std::copysign(1.0, x) < 0.0;
  r = negated_if(r, negative & whole & !even);
  r = choose((x < 0.0) & (a < kInfinity) & !whole, kNaN, r);
  return choose((x == 1.0) | (y == 0.0), 1.0, choose(y == y, r, kNaN));
}

// True if the truncated quotient is below 2^28: its product with b is exact then.
WEFT_INLINE bool has_exact_quotient(float a, float b) {
  const bool small_quotient = std::abs(a) < std::abs(b) * 0x1p28f, small_divisor = std::abs(b) < 0x1p99f;
  return small_quotient & small_divisor;
}
WEFT_INLINE double rem(double a, double b) {
  double r = a - std::trunc(a / b) * b;
  // The quotient may have been rounded up to the next integer.
  r = ((r < 0.0) & (a > 0.0)) ? r + std::abs(b) : ((r > 0.0) & (a < 0.0)) ? r - std::abs(b) : r;
  return std::copysign(r, a);
}

}  // namespace wide

// ---- Complex numbers: the same formulas as common/complex_math.wgsl, in f32.

using Complex = std::complex<float>;

WEFT_INLINE Complex multiply(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

WEFT_INLINE Complex divide(Complex a, Complex b) {
  if (b.real() == 0.0f && b.imag() == 0.0f) return {a.real() / std::abs(b.real()), a.imag() / std::abs(b.real())};
  if (std::abs(b.real()) < std::abs(b.imag())) {
    const float r = b.real() / b.imag();
    const float s = b.imag() + b.real() * r;
    return {(a.real() * r + a.imag()) / s, (a.imag() * r - a.real()) / s};
  }
  const float r = b.imag() / b.real();
  const float s = b.real() + b.imag() * r;
  return {(a.real() + a.imag() * r) / s, (a.imag() - a.real() * r) / s};
}

inline Complex exponential(Complex a) {
  const double e = std::exp(static_cast<double>(a.real()));
  if (a.imag() == 0.0f) return {static_cast<float>(e), a.imag()};
  // For an infinite exponent and an undefined angle the result is still 0 or infinite.
  if (!std::isfinite(a.imag()) && std::isinf(a.real())) {
    return {static_cast<float>(e), a.real() < 0 ? 0.0f : std::numeric_limits<float>::quiet_NaN()};
  }
  return {static_cast<float>(e * std::cos(static_cast<double>(a.imag()))),
          static_cast<float>(e * std::sin(static_cast<double>(a.imag())))};
}

}  // namespace weft::kernels
