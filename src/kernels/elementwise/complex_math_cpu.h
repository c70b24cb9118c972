// Functions of complex numbers for the CPU: those of common/complex_math.wgsl, in double and rounded once, with the
// branch cuts and special values of C's Annex G.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "kernels/elementwise/special_math_cpu.h"

namespace weft::kernels::complex_math {

using Wide = std::complex<double>;

inline Wide wide(Complex z) { return {z.real(), z.imag()}; }
inline Complex narrow(Wide z) { return {static_cast<float>(z.real()), static_cast<float>(z.imag())}; }

// ln |z| of parts that f32 holds: no square overflows, and near 1 all that is rounded is one sum.
inline double log_magnitude(Wide z) {
  const double a = std::abs(z.real()), b = std::abs(z.imag());
  if (std::isinf(a) || std::isinf(b)) return std::numeric_limits<double>::infinity();
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  const double larger = std::max(a, b), smaller = std::min(a, b);
  if (larger > 0.5 && larger < 2) return 0.5 * std::log1p((larger - 1) * (larger + 1) + smaller * smaller);
  return 0.5 * std::log(a * a + b * b);
}
inline Wide log(Wide z) { return {log_magnitude(z), std::atan2(z.imag(), z.real())}; }

inline Wide log1p(Wide z) {
  const double x = z.real(), y = z.imag(), angle = std::atan2(y, 1 + x);
  if (std::abs(x) < 0.5 && std::abs(y) < 0.5) return {0.5 * std::log1p(x * (2 + x) + y * y), angle};
  return {log_magnitude({1 + x, y}), angle};
}

// A real exponent gives the real exponential, infinite or not; exponential() of special_math_cpu.h in double.
inline Wide exp(Wide z) {
  const double e = std::exp(z.real());
  if (z.imag() == 0) return {e, z.imag()};
  if (!std::isfinite(z.imag()) && std::isinf(z.real())) {
    return {e, z.real() < 0 ? 0.0 : std::numeric_limits<double>::quiet_NaN()};
  }
  return {e * std::cos(z.imag()), e * std::sin(z.imag())};
}

inline Wide expm1(Wide z) {
  if (z.imag() == 0) return {std::expm1(z.real()), z.imag()};
  const Wide e = exp(z);
  if (!std::isfinite(z.imag())) return {e.real() - 1, e.imag()};
  const double s = std::sin(0.5 * z.imag());
  return {std::expm1(z.real()) * std::cos(z.imag()) - 2 * s * s, e.imag()};
}

inline Wide pow(Wide z, Wide w) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  if (w.real() == 0 && w.imag() == 0) return 1;
  if (z.real() == 0 && z.imag() == 0) {
    return w.real() > 0 && std::isfinite(w.imag()) ? Wide(0) : Wide(kNaN, kNaN);
  }
  const Wide l = log(z);
  const double x = w.real() * l.real(), y = w.real() * l.imag();
  const Wide e = w.imag() == 0 ? Wide(x, y) : Wide(x - w.imag() * l.imag(), y + w.imag() * l.real());
  const double steps = std::abs(w.real());
  const bool whole = w.imag() == 0 && steps <= 64 && std::nearbyint(steps) == steps;
  if (!whole || !(std::abs(x) < 80)) return exp(e);
  const auto product = [](Wide a, Wide b) {
    return Wide(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
  };
  const double square = z.real() * z.real() + z.imag() * z.imag();
  Wide base = w.real() < 0 ? Wide(z.real() / square, -z.imag() / square) : z, result = 1;
  for (int n = static_cast<int>(steps); n > 0; n /= 2) {
    if (n % 2 != 0) result = product(result, base);
    if (n > 1) base = product(base, base);
  }
  return result;
}

}  // namespace weft::kernels::complex_math
