// Arithmetic of registers: floats, wrapping integers, complex numbers. scalar_ops.h defines the special cases.
#pragma once

#include <numeric>

#include "kernels/elementwise/special_math_cpu.h"

namespace weft::kernels {

// Wrapping arithmetic of signed and unsigned integers.
template <class T>
WEFT_INLINE std::uint64_t bits_of(T v) {
  return static_cast<std::uint64_t>(v);
}
template <class T>
constexpr bool is_float = std::is_floating_point_v<T>;
template <class T>
constexpr bool is_complex = std::is_same_v<T, Complex>;

template <class T>
WEFT_INLINE T integer_power(T base, T exponent) {
  if (exponent < T{0}) return base == T{1} ? T{1} : base == static_cast<T>(-1) ? (exponent & 1 ? base : T{1}) : T{0};
  std::uint64_t result = 1;
  std::uint64_t b = bits_of(base);
  for (std::uint64_t e = bits_of(exponent); e; e >>= 1) {
    if (e & 1) result *= b;
    b *= b;
  }
  return static_cast<T>(result);
}

template <class T>
WEFT_INLINE T add_(T a, T b) {
  if constexpr (is_float<T> || is_complex<T>)
    return a + b;
  else
    return static_cast<T>(bits_of(a) + bits_of(b));
}
template <class T>
WEFT_INLINE T sub_(T a, T b) {
  if constexpr (is_float<T> || is_complex<T>)
    return a - b;
  else
    return static_cast<T>(bits_of(a) - bits_of(b));
}
template <class T>
WEFT_INLINE T neg_(T x) {
  if constexpr (is_float<T> || is_complex<T>)
    return -x;
  else
    return sub_(T{0}, x);
}
template <class T>
WEFT_INLINE T mul_(T a, T b) {
  if constexpr (is_float<T>)
    return a * b;
  else if constexpr (is_complex<T>)
    return multiply(a, b);
  else
    return static_cast<T>(bits_of(a) * bits_of(b));
}
template <class T>
WEFT_INLINE T div_(T a, T b) {
  if constexpr (is_float<T>)
    return a / b;
  else if constexpr (is_complex<T>)
    return divide(a, b);
  else if (b == T{0})
    return T{0};
  else if (b == static_cast<T>(-1) && std::is_signed_v<T>)
    return sub_(T{0}, a);
  else
    return a / b;
}
template <class T>
WEFT_INLINE T rem_(T a, T b) {
  if constexpr (is_float<T>)
    return std::fmod(a, b);
  else if (b == T{0} || (b == static_cast<T>(-1) && std::is_signed_v<T>))
    return T{0};
  else
    return a % b;
}
// The remainder of floored division, from that of truncated division.
template <class T>
WEFT_INLINE T remainder_of(T r, T b) {
  if constexpr (is_float<T>) {
    const bool differ = std::copysign(T{1}, r) != std::copysign(T{1}, b);
    return r == T{0} ? std::copysign(r, b) : differ ? r + b : r;
  } else if constexpr (std::is_signed_v<T>) {
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  } else {
    return r;
  }
}
template <class T>
WEFT_INLINE T remainder_(T a, T b) {
  return remainder_of(rem_(a, b), b);
}
// The quotient of floored division of floats, given the remainder r of truncated division; b is not 0.
WEFT_INLINE double floor_quotient(double a, double b, double r) {
  double q = (a - r) / b;
  q = q == 0.0 ? std::copysign(0.0, a) * std::copysign(1.0, b) : std::nearbyint(q);
  const bool down = (r != 0.0) & (std::copysign(1.0, r) != std::copysign(1.0, b));
  return down ? q - 1.0 : q;
}
template <class T>
WEFT_INLINE T floor_divide_(T a, T b) {
  if constexpr (is_float<T>) {
    if (b == T{0}) return a / b;
    const double r = std::fmod(static_cast<double>(a), static_cast<double>(b));
    return static_cast<T>(r != r ? r : floor_quotient(a, b, r));
  } else if constexpr (std::is_signed_v<T>) {
    const T r = rem_(a, b);
    return r != 0 && (r < 0) != (b < 0) ? div_(a, b) - 1 : div_(a, b);
  } else {
    return div_(a, b);
  }
}
template <class T>
WEFT_INLINE std::uint64_t magnitude(T x) {
  if constexpr (std::is_signed_v<T>)
    return x < 0 ? std::uint64_t{0} - bits_of(x) : bits_of(x);
  else
    return x;
}
template <class T>
WEFT_INLINE T gcd_(T a, T b) {
  return static_cast<T>(std::gcd(magnitude(a), magnitude(b)));
}
template <class T>
WEFT_INLINE T lcm_(T a, T b) {
  const std::uint64_t g = std::gcd(magnitude(a), magnitude(b));
  return g ? static_cast<T>(magnitude(a) / g * magnitude(b)) : T{0};
}
template <class T>
WEFT_INLINE T lerp_(T a, T b, T t) {
  const T d = b - a, rest = T{1} - t;
  const T near = wide::choose(t >= T{0.5}, b - d * rest, a + t * d);
  return wide::choose(std::abs(d) <= std::numeric_limits<T>::max(), near, a * rest + b * t);
}
template <class T>
WEFT_INLINE T pow_(T a, T b) {
  if constexpr (is_float<T>)
    return static_cast<T>(std::pow(static_cast<double>(a), static_cast<double>(b)));
  else
    return integer_power(a, b);
}
// Of equal floats, which differ in the sign of zero alone: with the sign bit of both, or of one.
template <class T>
WEFT_INLINE T with_sign_of_both(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<T>(std::bit_cast<Bits>(a) & std::bit_cast<Bits>(b));
}
template <class T>
WEFT_INLINE T with_sign_of_one(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<T>(std::bit_cast<Bits>(a) | std::bit_cast<Bits>(b));
}
template <class T>
WEFT_INLINE T max_(T a, T b) {
  if constexpr (is_float<T>) {
    const T r = a > b ? a : b;  // b where one is NaN
    return wide::choose(a != a, a, wide::choose(a == b, with_sign_of_both(a, b), r));
  } else {
    return a > b ? a : b;
  }
}
template <class T>
WEFT_INLINE T min_(T a, T b) {
  if constexpr (is_float<T>) {
    const T r = a < b ? a : b;
    return wide::choose(a != a, a, wide::choose(a == b, with_sign_of_one(a, b), r));
  } else {
    return a < b ? a : b;
  }
}
template <class T>
WEFT_INLINE T fmax_(T a, T b) {
  if constexpr (is_float<T>)
    return a != a ? b : b != b ? a : max_(a, b);
  else
    return max_(a, b);
}
template <class T>
WEFT_INLINE T fmin_(T a, T b) {
  if constexpr (is_float<T>)
    return a != a ? b : b != b ? a : min_(a, b);
  else
    return min_(a, b);
}
// The number next to a on the way to b.
template <class T>
WEFT_INLINE T nextafter_(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr Bits kSign = Bits{1} << (8 * sizeof(T) - 1);
  const Bits from = std::bit_cast<Bits>(a), to = std::bit_cast<Bits>(b);
  const bool away = (a < b) == (a > T{0});  // from zero
  const Bits next = a == T{0} ? (to & kSign) | 1 : away ? from + 1 : from - 1;
  const T r = std::bit_cast<T>(a == b ? to : next);
  return wide::choose(a != a, a, wide::choose(b != b, b, r));
}
template <class T>
WEFT_INLINE auto abs_(T x) {
  if constexpr (is_float<T>)
    return std::abs(x);
  else if constexpr (is_complex<T>) {
    return static_cast<float>(wide::hypot(x.real(), x.imag()));
  } else if constexpr (std::is_signed_v<T>)
    return x < 0 ? sub_(T{0}, x) : x;
  else
    return x;
}
template <class T>
WEFT_INLINE T sign_(T x) {
  if constexpr (is_float<T>)
    return x > 0 ? T{1} : x < 0 ? T{-1} : x == 0 ? T{0} : x;
  else
    return static_cast<T>(T(x > 0) - T(x < T{0}));
}
template <class T>
WEFT_INLINE T relu_(T x) {
  if constexpr (is_float<T>)
    return x > 0 ? x : x != x ? x : T{0};
  else
    return x > T{0} ? x : T{0};
}
template <class T>
WEFT_INLINE T shift_left_(T a, T n) {
  return bits_of(n) > 63 ? T{0} : static_cast<T>(bits_of(a) << (bits_of(n) & 63));
}
template <class T>
WEFT_INLINE T shift_right_(T a, T n) {
  return bits_of(n) > 63 ? (a < T{0} ? static_cast<T>(-1) : T{0}) : static_cast<T>(a >> (bits_of(n) & 63));
}
template <class T>
WEFT_INLINE bool signbit_(T x) {
  if constexpr (is_float<T>)
    return std::signbit(x);
  else
    return x < T{0};
}
template <class T>
WEFT_INLINE T fma_(T a, T b, T c) {
  if constexpr (std::is_same_v<T, float>)
    return static_cast<float>(static_cast<double>(a) * b + c);
  else if constexpr (is_float<T>)
    return std::fma(a, b, c);
  else
    return add_(mul_(a, b), c);
}

}  // namespace weft::kernels
