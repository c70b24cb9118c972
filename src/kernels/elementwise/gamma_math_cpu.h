// Inverse error function and gamma functions of f32 for the CPU, in double without branches, as in scalar_math_cpu.h.
// Polynomials on ranges, and Stirling's series from 3 up; for negative arguments reflection (Abramowitz and
// Stegun 6.1.17, 6.3.7).
#pragma once

#include "kernels/elementwise/angle_math_cpu.h"

namespace weft::kernels::wide {

WEFT_INLINE double erfinv(double x) {
  const double a = std::abs(x);
  const double z = x * x;
  const double middle =
      a * polynomial(z, 0.09710493224267068, -0.013904968041171896, 0.051438011519430019, 0.039984075733981078,
                     0.052060989961962692, 0.064936677621378308, 0.086553039906351742, 0.12755615701989859,
                     0.23201366667677037, 0.88622692545257586);
  // In s with a = 1 - exp(-s²)
  const double s = std::sqrt(-log_positive(1.0 - a));
  const double u = (s - 1.0) / (s + 1.0);
  const double tail =
      s * polynomial(u, -0.026009015533965448, 0.087365558955952535, -0.10829994244864259, 0.014800159970451077,
                     0.093086498442242482, -0.047390187859013423, -0.11367233085341413, 0.1125419556024034,
                     0.12871523293840109, -0.25765434472730292, -0.20251526068203649, 0.68260291677473495,
                     0.63671613721970888);
  const double r = a < 0.5 ? middle : tail;
  return std::copysign(a < 1.0 ? r : a == 1.0 ? kInfinity : kNaN, x);
}

// sin(πr) and cos(πr) for |r| <= ½, exact at their zeros.
WEFT_INLINE double sin_pi(double r) {
  return r * polynomial(r * r, 0.00044719265938643121, -0.0073637796694676653, 0.082144730711462291,
                        -0.59926442556704496, 2.5501640354102117, -5.1677127799771325, 3.1415926535895964);
}
WEFT_INLINE double cos_pi(double r) { return sin_pi(0.5 - std::abs(r)); }

// lgamma of x > 0. Below 3 both factors with zeros are exact, so that it is precise near its zeros, which are +0.
WEFT_INLINE double lgamma_positive(double x) {
  const double y = x < 1.0 ? x - 1.0 : x - 2.0;
  const double low =
      0.0 + y * (y + 1.0) *
                polynomial(y, 3.2372791367890824e-07, -6.341057768438681e-07, -2.0992451407402108e-07,
                           2.3519590670052887e-07, 2.6129997923769215e-06, -5.1668364800763232e-06,
                           7.6101541253325069e-06, -1.6748090345418792e-05, 3.8451008856542292e-05,
                           -8.3469836010609369e-05, 0.00018247440769034859, -0.00040561815833254131,
                           0.00091538929013406539, -0.0021081422621276567, 0.0049986401765997812, -0.012384191531378486,
                           0.032965000651675326, -0.10031730168556435, 0.42278433509831187);
  const double l = log_positive(x);
  const double w = 1.0 / x;
  const double tail =
      w * polynomial(w * w, 0.0017959356665828373, -0.0014258254867593743, 0.0008105112381775573,
                     -0.00059414080035512815, 0.00079363181005266887, -0.0027777776527011509, 0.083333333333198173);
  const double high = (x - 0.5) * (l - 1.0) + (tail + 0.41893853320467274);
  return choose(x < 1.0, low - l, choose(x <= 3.0, low, high));
}

WEFT_INLINE double lgamma(double x) {
  const double a = std::abs(x);
  const double above = lgamma_positive(a);
  const double s = std::abs(sin_pi(a - std::nearbyint(a)));
  // Γ(-a) = -π / (a sin(πa) Γ(a))
  const double below = log_positive(3.1415926535897931 / (a * s)) - above;
  const double r = choose(x > 0.0, above, choose(s == 0.0, kInfinity, below));
  return choose(a == kInfinity, kInfinity, choose(x == x, r, kNaN));
}

// digamma of x > 0
WEFT_INLINE double digamma_positive(double x) {
  const double t = x < 1.0 ? x + 1.0 : x;
  const double y = t - 2.0;
  const double near =
      (t - 0x1.762d86356be3fp+0) / t *
      polynomial(y, 1.4263394042521573e-07, -3.9399915677852817e-07, 6.9800619493175482e-07, -2.2542785568099633e-06,
                 7.6106660284911366e-06, -2.3425175941655319e-05, 7.3062293888428594e-05, -0.00023387541708198961,
                 0.00077045594121617181, -0.0026564219520632498, 0.0098978499218536527, -0.042739120130073992,
                 0.26382962927868003, 1.5706150772029184);
  const double w = 1.0 / x;
  const double z = w * w;
  const double far =
      log_positive(x) - 0.5 * w -
      z * polynomial(z, -0.060809303326596433, 0.043635223668317763, -0.018262181673352425, 0.007449875499030912,
                     -0.0041634514485375841, 0.0039682124863383858, -0.0083333331266397231, 0.083333333333163659);
  return choose(x < 1.0, near - w, choose(x <= 3.0, near, far));
}

WEFT_INLINE double digamma(double x) {
  const double a = std::abs(x);
  const double h = a - std::nearbyint(a);
  // ψ(-a) = ψ(1 + a) + π cot(πa)
  const double above = digamma_positive(x > 0.0 ? a : 1.0 + a);
  const double below = above + 3.1415926535897931 * cos_pi(h) / sin_pi(h);
  const double r = choose(x > 0.0, above, choose((h == 0.0) | (a == kInfinity), kNaN, below));
  return choose(a == 0.0, std::copysign(kInfinity, -x), choose((x == kInfinity) | (x != x), x, r));
}

}  // namespace weft::kernels::wide
