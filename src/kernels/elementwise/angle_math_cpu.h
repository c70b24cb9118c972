// Trigonometric functions of f32 and their inverses for the CPU, in double without branches, as in scalar_math_cpu.h.
#pragma once

#include "kernels/elementwise/scalar_math_cpu.h"

namespace weft::kernels::wide {

// sin and cos of |r| <= π/4.
WEFT_INLINE double sin_kernel(double r) {
  const double z = r * r;
  return r * (1.0 + z * polynomial(z, -2.480074378433703e-08, 2.7555937642782505e-06, -0.00019841266739377273,
                                   0.0083333333308951516, -0.16666666666663599));
}
WEFT_INLINE double cos_kernel(double r) {
  const double z = r * r;
  return 1.0 - 0.5 * z +
         z * z *
             polynomial(z, 2.0697098289511992e-09, -2.7556331545819567e-07, 2.4801585083811486e-05,
                        -0.0013888888887145503, 0.041666666666664472);
}

// Past this angle the product of the quadrant and the first part of π/2 is no longer exact.
inline constexpr float kLargestAngle = 0x1p20f;

// x = quadrant π/2 + rest, for |x| <= kLargestAngle; only the two low bits of the quadrant matter.
struct Angle {
  double rest;
  std::uint64_t quadrant;
};
WEFT_INLINE Angle angle(double x) {
  const double shifted = x * 0.63661977236758134 + 0x1.8p52;
  const double n = shifted - 0x1.8p52;
  return {(x - n * 0x1.921fb54400000p+0) - n * 0x1.0b4611a626331p-34, std::bit_cast<std::uint64_t>(shifted)};
}

WEFT_INLINE double sin(double x) {
  const Angle a = angle(x);
  return negated_if(a.quadrant & 1 ? cos_kernel(a.rest) : sin_kernel(a.rest), a.quadrant >> 1 & 1);
}
WEFT_INLINE double cos(double x) {
  const Angle a = angle(x);
  return negated_if(a.quadrant & 1 ? sin_kernel(a.rest) : cos_kernel(a.rest), (a.quadrant >> 1 ^ a.quadrant) & 1);
}
WEFT_INLINE double tan(double x) {
  const Angle a = angle(x);
  const double s = sin_kernel(a.rest), c = cos_kernel(a.rest);
  return negated_if((a.quadrant & 1 ? c : s) / (a.quadrant & 1 ? s : c), a.quadrant & 1);
}

inline constexpr double kHalfPi = 1.5707963267948966;

// asin(a) for a below ½, else asin(√((1-a)/2)), twice which is subtracted from π/2.
WEFT_INLINE double asin_part(double a) {
  const double z = a < 0.5 ? a * a : 0.5 - 0.5 * a;
  const double s = a < 0.5 ? a : std::sqrt(z);
  return s * (1.0 + z * polynomial(z, 0.029536914643448695, 0.0052416276630529706, 0.019375122653473211,
                                   0.022120783560937551, 0.030398646952116352, 0.044642316628881712,
                                   0.075000006636147629, 0.16666666665331661));
}
WEFT_INLINE double asin(double x) {
  const double a = std::abs(x);
  const double p = asin_part(a);
  return std::copysign(a < 0.5 ? p : kHalfPi - 2.0 * p, x);
}
WEFT_INLINE double acos(double x) {
  const double a = std::abs(x);
  const double p = asin_part(a);
  const double near = kHalfPi - std::copysign(p, x);
  const double far = x < 0.0 ? 2.0 * kHalfPi - 2.0 * p : 2.0 * p;
  return a < 0.5 ? near : far;
}

// The angle of (b, a), both at least 0 and not both infinite; that of (0, 0) is 0.
WEFT_INLINE double first_quadrant(double a, double b) {
  constexpr double kEighth = 0.41421356237309503, kThreeEighths = 2.4142135623730949;  // tan π/8, tan 3π/8
  const bool low = a <= kEighth * b, high = a > kThreeEighths * b;
  const double above = low ? a : high ? -b : a - b;
  const double below = low ? b : high ? a : a + b;
  const double t = above / (below == 0.0 ? 1.0 : below);
  const double z = t * t;
  const double r =
      t * (1.0 + z * polynomial(z, -0.040494694476957686, 0.071387139448761905, -0.09029671725553029,
                                0.11107559447149171, -0.14285615224303552, 0.19999998959110543, -0.33333333331545223));
  return (low ? 0.0 : high ? kHalfPi : 0.5 * kHalfPi) + r;
}
WEFT_INLINE double atan(double x) { return std::copysign(first_quadrant(std::abs(x), 1.0), x); }
WEFT_INLINE double atan2(double y, double x) {
  double a = std::abs(y), b = std::abs(x);
  const bool both = (a == kInfinity) & (b == kInfinity);
  a = both ? 1.0 : a;
  b = both ? 1.0 : b;
  const double r = first_quadrant(a, b);
  return std::copysign(std::copysign(1.0, x) < 0.0 ? 2.0 * kHalfPi - r : r, y);
}

}  // namespace weft::kernels::wide
