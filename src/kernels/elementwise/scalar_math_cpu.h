// Functions of f32 for the CPU, computed in double without branches so that loops over them become vector code.
// Relative errors are below 2^-29 before the single rounding to f32. Arguments: any double that was converted from an
// f32. Method: range reduction and minimax polynomials (made by tests/reference/scalar_polynomials.py).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/compiler.h"

namespace weft::kernels::wide {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// c ? a : b by bits, for places where a compiler would make one branch of several selections.
template <class T>
WEFT_INLINE T choose(bool c, T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const Bits mask = -static_cast<Bits>(c);
  return std::bit_cast<T>((std::bit_cast<Bits>(a) & mask) | (std::bit_cast<Bits>(b) & ~mask));
}
WEFT_INLINE double negated_if(double x, std::uint64_t condition) {  // 0 or 1
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) ^ condition << 63);
}

// Coefficients from the highest power down.
template <class... C>
WEFT_INLINE double polynomial(double x, double first, C... rest) {
  double r = first;
  ((r = r * x + rest), ...);
  return r;
}

// Clamped to e^±200, which is beyond f32's range on both sides.
WEFT_INLINE double exp(double x) {
  x = x < -200.0 ? -200.0 : x;
  x = x > 200.0 ? 200.0 : x;
  const double shifted = x * 1.4426950408889634 + 0x1.8p52;  // its low bits are the nearest integer
  const double n = shifted - 0x1.8p52;
  const double r = (x - n * 0x1.62e42fefa0000p-1) - n * 0x1.cf79abc9e3b3ap-40;
  const double p = polynomial(r, 2.7640355501321584e-06, 2.4876315198465795e-05, 0.00019841172121888055,
                              0.0013888821404493908, 0.0083333333812135261, 0.041666666892328778, 0.16666666666582264,
                              0.4999999999979628, 1.0000000000000024);
  return (1.0 + r * p) * std::bit_cast<double>((std::bit_cast<std::uint64_t>(shifted) + 1023) << 52);
}

// For positive, finite numbers. `fine`: within 2^-50, for powers.
template <bool fine = false>
WEFT_INLINE double log_positive(double x) {
  constexpr std::uint64_t kRootHalf = 0x3fe6a09e667f3bcdu;
  constexpr std::uint64_t kOne = 0x3ff0000000000000u;
  // exponent + 1023; mantissas above √2 are counted to the next exponent
  const std::uint64_t biased = (std::bit_cast<std::uint64_t>(x) + (kOne - kRootHalf)) >> 52;
  const double k = std::bit_cast<double>(biased | 0x4330000000000000u) - (0x1p52 + 1023.0);
  const double m = std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) + ((1023 - biased) << 52));
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  const double p =
      fine ? polynomial(z, 0.13272200103912957, 0.1324763659457755, 0.15387211812550303, 0.18181772545660996,
                        0.22222222692339644, 0.28571428568711515, 0.40000000000007863, 0.66666666666666663, 2.0)
           : polynomial(z, 0.1684760838935957, 0.18121116229275064, 0.22223459633403603, 0.28571415669067662,
                        0.40000000063956254, 0.66666666666547869, 2.0000000000000004);
  return k * 0.69314718055994531 + s * p;
}

WEFT_INLINE double log(double x) {
  double r = log_positive(x);
  r = x == kInfinity ? kInfinity : r;
  r = x == 0.0 ? -kInfinity : r;
  return x >= 0.0 ? r : kNaN;
}

WEFT_INLINE double log2(double x) { return log(x) * 1.4426950408889634; }

WEFT_INLINE double exp2(double x) { return exp(x * 0.69314718055994531); }

WEFT_INLINE double tanh(double x) {
  const double a = std::abs(x);
  const double z = x * x;
  const double small = a + a * z * polynomial(z, 62.0 / 2835, -17.0 / 315, 2.0 / 15, -1.0 / 3);
  const double r = a < 0.06 ? small : 1.0 - 2.0 / (exp(2.0 * a) + 1.0);
  return std::copysign(r, x);
}

WEFT_INLINE double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }

// x · sigmoid(z); -0 in the limit of -infinity.
WEFT_INLINE double gated(double x, double z) { return z < -150.0 ? -0.0 : x / (1.0 + exp(-z)); }

WEFT_INLINE double softplus(double x) {
  const double u = exp(-std::abs(x));
  const double rest = u < 1e-4 ? u - u * u * (0.5 - u * (1.0 / 3)) : log_positive(1.0 + u);
  return x < 0.0 ? rest : x + rest;
}

// Upper tail of the normal distribution, ½ erfc(x/√2), for x >= 0.
WEFT_INLINE double normal_tail(double x) {
  const double t = 1.0 / (x + 3.0);
  const double p = polynomial((x - 3.0) * t, 5.4463417490811859e-05, 0.00013127265, -0.00024474852, -0.0010325362,
                              0.0010247766472890971, 0.0069693044358546032, -0.010462518532025053,
                              -0.047262687690728077, 0.23001769982581793, -0.50933199140795526, 0.72908369037143972);
  const double r = exp(-0.5 * x * x) * p * t;
  return x > 14.6 ? 0.0 : r;
}

WEFT_INLINE double erf(double x) {
  const double a = std::abs(x);
  const double z = x * x;
  const double small =
      a * polynomial(z, -9.6391062481434505e-06, 0.00011257168899659795, -0.00084830091265615483, 0.0052209682350399175,
                     -0.026865411828707126, 0.11283782236765451, -0.37612638455449832, 1.1283791670606296);
  return std::copysign(a < 1.0 ? small : 1.0 - 2.0 * normal_tail(a * 1.4142135623730951), x);
}

WEFT_INLINE double gelu_erf(double x) {
  const double q = x * normal_tail(std::abs(x));
  const double r = x <= 0.0 ? q : x - q;  // -0 for -0
  return std::abs(x) > 14.6 ? (x > 0.0 ? x : -0.0) : r;
}

WEFT_INLINE double gelu_tanh(double x) { return gated(x, x * (1.5957691216057308 + 0.07135481627159226 * (x * x))); }

WEFT_INLINE double gelu_quick(double x) { return gated(x, 1.702 * x); }

WEFT_INLINE double silu(double x) { return gated(x, x); }

}  // namespace weft::kernels::wide
