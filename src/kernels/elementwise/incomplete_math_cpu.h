// The regularised incomplete gamma and beta functions in double for the CPU, by the methods of
// common/incomplete_math.wgsl.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "kernels/elementwise/special_math_cpu.h"

namespace weft::kernels::incomplete {

// The probabilities of a distribution below and above a number, of which the smaller one has all of its digits.
struct Tails {
  double lower, upper;
  Tails swapped() const { return {upper, lower}; }
};
inline Tails by_lower(double lower) { return {lower, 1 - lower}; }
inline Tails by_upper(double upper) { return {1 - upper, upper}; }
inline Tails by_smaller(bool is_lower, double v) { return is_lower ? by_lower(v) : by_upper(v); }

// A number as a sum of two.
struct Pair {
  double high, low;
};
inline Pair sum_pair(double a, double b) {
  const double s = a + b, t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}
inline Pair product_pair(Pair a, Pair b) {
  const double p = a.high * b.high;
  return {p, std::fma(a.high, b.high, -p) + (a.low * b.high + a.high * b.low)};
}

// (atanh(s) / s - 1) for |s| <= 0.2.
inline double atanh_rest(double s) {
  const double z = s * s;
  double sum = 0;
  for (int k = 12; k > 0; --k) sum = z * (sum + 1.0 / (2 * k + 1));
  return sum;
}

// v - log(1 + v)
inline double log1p_excess(double v) {
  if (std::abs(v) > 0.3) return v - std::log1p(v);
  const double s = v / (2 + v);
  return s * (v - 2 * atanh_rest(s));
}

// a (d / a - log(1 + d / a)) for x / unit = a + d.
inline double excess(double a, double x, double d, double unit = 1) {
  const double s = d / (x / unit + a);
  return std::abs(s) > 0.2 ? d - a * std::log(x / (a * unit)) : s * d - 2 * a * s * atanh_rest(s);
}

// log Γ(1 + a) for a >= 0, to the digits of a.
inline double lgamma1p(double a) {
  if (a > 0.125) return lgamma_f64(1 + a);
  // (-1)^k ζ(k) / k from k = 2 on
  constexpr double c[] = {0.8224670334241132,  -0.40068563438653143,  0.27058080842778454,  -0.20738555102867398,
                          0.16955717699740819, -0.14404989676884611,  0.12550966952474304,  -0.11133426586956469,
                          0.10009945751278181, -0.09095401714582904,  0.083353840546109004, -0.076932516411352195,
                          0.07143294629536133, -0.066668705882420465, 0.062500955141213038, -0.058823978658684585,
                          0.055555767627403614};
  double q = 0;
  for (std::size_t i = std::size(c); i-- > 0;) q = q * a + c[i];
  return a * (a * q - 0.57721566490153286);
}

// log(Γ(a) (e / a)^a √(a / 2π)), by the series of Stirling, from 12 on.
inline double stirling_rest(double a) {
  const double r = 1 / a, z = r * r;
  return r * (1.0 / 12 - z * (1.0 / 360 -
                              z * (1.0 / 1260 - z * (1.0 / 1680 - z * (1.0 / 1188 - z * (691.0 / 360360 - z / 156))))));
}

// a^a exp(-a) / Γ(a)
inline double scaled_rgamma(double a) {
  if (a < 1) return a * std::exp(a * std::log(a) - a - lgamma1p(a));
  if (a < 12) return std::exp(a * (std::log(a) - 1) - lgamma_f64(a));
  return std::sqrt(a * (0.5 / std::numbers::pi)) * std::exp(-stirling_rest(a));
}

// Gauss and Legendre's quadrature on [0, 1].
template <int n>
struct Quadrature {
  std::array<double, n> nodes{}, weights{};
  Quadrature() {
    for (std::size_t i = 0; i < n; ++i) {
      double x = std::cos(std::numbers::pi * (static_cast<double>(i) + 0.75) / (n + 0.5)), slope = 1;
      for (int step = 0; step < 20; ++step) {  // Newton's method on Legendre's polynomial
        double before = 1, value = x;
        for (int k = 2; k <= n; ++k) before = std::exchange(value, ((2 * k - 1) * x * value - (k - 1) * before) / k);
        slope = n * (x * value - before) / (x * x - 1);
        x -= value / slope;
      }
      nodes[i] = (1 + x) / 2;
      weights[i] = 1 / ((1 - x * x) * slope * slope);
    }
  }
};

// The integral of exp(-slope t - α (u t - log(1 + u t)) - β (v t - log(1 + v t))) over t > 0, of which the exponent is
// convex: α and β are 0 or many.
inline double tail_integral(double slope, double alpha, double u, double beta, double v) {
  static const auto& rule = *new Quadrature<40>();
  constexpr double kReach = 38;
  const auto exponent = [&](double t) { return slope * t + alpha * log1p_excess(t * u) + beta * log1p_excess(t * v); };
  const double root = std::sqrt(alpha * u * u + beta * v * v), r = slope / root;
  // The parabola of the same slope and curvature has the reach there, and the exponent, which is convex, where this is
  // stretched by what it lacks.
  double end = 2 * kReach / (root * (r + std::sqrt(r * r + 2 * kReach)));
  if (u < 0) end = std::min(end, -1 / u);
  if (v < 0) end = std::min(end, -1 / v);
  end *= std::max(1.0, kReach / exponent((1 - 1e-9) * end));
  double sum = 0;
  for (std::size_t i = 0; i < rule.nodes.size(); ++i) sum += rule.weights[i] * std::exp(-exponent(rule.nodes[i] * end));
  return sum * end;
}

// 1 + f(0) + f(0) f(1) + …
template <class F>
double series(const F& f) {
  double term = 1, sum = 1;
  for (int k = 0; k < 1000 && term > 1e-17 * sum; ++k) sum += term *= f(k);
  return sum;
}

constexpr double kNothing = 750;  // exp(-x) is 0 from there on

// Of the gamma distribution of shape a at x.
inline Tails gamma_tails(double a, double x) {
  using wide::kInfinity, wide::kNaN;
  if (!(a >= 0 && x >= 0) || (a == 0 && x == 0) || (a == kInfinity && x == kInfinity)) return {kNaN, kNaN};
  if (a == 0 || x == kInfinity) return {1, 0};
  if (x == 0 || a == kInfinity) return {0, 1};
  if (std::max(a, x) > 1e100) return a == x ? Tails{0.5, 0.5} : x < a ? Tails{0, 1} : Tails{1, 0};
  if (x <= 1.1 && a < 1.25 && (a <= 1.1 * x || a * std::log(x) > -0.4)) {
    // The upper tail of a small shape, by the power series of the lower one.
    const double t = a * std::log(x) - lgamma1p(a);
    double term = 1, sum = 0;
    for (int k = 1; k <= 24; ++k) {
      term *= -x / k;
      sum += term / (a + k);
    }
    return by_upper(-std::expm1(t) - std::exp(t) * a * sum);
  }
  const double d = x - a, e = excess(a, x, d);
  if (e > kNothing) return d < 0 ? Tails{0, 1} : Tails{1, 0};
  const double density = scaled_rgamma(a) * std::exp(-e);
  if (a > 60 && std::abs(d) < 0.4 * a) {
    const double side = d < 0 ? -1 : 1;
    return by_smaller(d < 0, density * tail_integral(side * (d + 1), a - 1, side, 0, 0));
  }
  if (x < a || x <= 1.1) return by_lower(density / a * series([=](int k) { return x / (a + (k + 1)); }));
  double rest = 0;
  for (double k = std::floor(60 + 120 / x); k > 0; --k) rest = k * (k - a) / (((d + 1) + 2 * k) - rest);
  return by_upper(density / ((d + 1) - rest));
}

// log(Γ(b + a) / Γ(b)) for a in [0, ½], to the digits of a, less a log c, and c.
inline Pair lgamma_step(double b, double a) {
  double p = 0;
  for (; b < 15; ++b) {
    const double q = a / b;
    p += q + p * q;
  }
  const double c = b + a, r = 1 / b, s = 1 / c;
  // (s^k - r^k) / (s - r) for k = 3, 5, …
  const auto quotient = [=](int k) {
    double sum = 0, power = 1;
    for (int i = 0; i < k; ++i, power *= r) sum = sum * s + power;
    return sum;
  };
  const double stirling =
      -a * r * s * (1.0 / 12 - quotient(3) / 360 + quotient(5) / 1260 - quotient(7) / 1680 + quotient(9) / 1188);
  return {(b - 0.5) * std::log1p(a / b) - a + stirling - std::log1p(p), c};
}

// Of the beta distribution where b x and x are at most 0.7; `density` is x^a (1 - x)^b / B(a, b), and n = a + b.
inline Tails beta_tails_near(double a, double b, double n, double x, double density) {
  if (a < 0.5) {
    const Pair step = lgamma_step(b, a);
    const double t = a * std::log(x * step.low) + step.high - lgamma1p(a);
    double term = 1, sum = 0;
    for (int k = 1; k <= 150 && std::abs(term) > 1e-17; ++k) {
      term *= (k - b) * x / k;
      sum += term / (a + k);
    }
    const double upper = -std::expm1(t) - std::exp(t) * a * sum;
    if (upper < 0.5) return by_upper(upper);
  }
  return by_lower(density / a * series([=](int k) { return (n + k) * x / (a + 1 + k); }));
}

// The lower tail divided by x^a y^b / B(a, b), for x = 1 - y below the mean: λ = a - (a + b) x >= 0.
inline double beta_fraction(double a, double b, double x, double y, double lambda, double steps) {
  const double r = 1 / a, c = 1 + lambda;
  double rest = 0;
  for (double k = steps; k > 0; --k) {
    const double s = 1 / (a + (2 * k - 1)), p = 1 + (k - 1) * r, e = a * s, w = (b - k) * x, t = k * r;
    const double alpha = (p * e * e * k) * ((p + b * r) * x) * w;
    const double beta = k + k * w * s + (1 + t) / (1 + r + 2 * t) * (c + k * (1 + y));
    rest = alpha / (beta + rest);
  }
  return 1 / (c / (1 + r) + rest);
}

// The beta distribution of a and b about x = 1 - y: n = a + b, n x and n y, d = n x - a, and the density in log(x / y),
// which is x^a y^b / B(a, b); `beyond`: it is 0, and one of the tails, too.
struct BetaPoint {
  Pair y, n, nx, ny;
  double d, density;
  bool beyond;
};
inline BetaPoint beta_point(double a, double b, double x) {
  // A tiny x is scaled up: n x may be denormal.
  const double unit = x < 1e-100 ? 0x1p500 : 1;
  const Pair y = sum_pair(1, -x), n = sum_pair(a, b), ny = product_pair(n, y);
  const Pair scaled = product_pair(n, {x * unit, 0}), nx = {scaled.high / unit, scaled.low / unit};
  const double d = (nx.high - a) + nx.low;
  const double e = excess(a, scaled.high, d, unit) + excess(b, ny.high, -d);
  if (e > kNothing) return {y, n, nx, ny, d, 0, true};
  return {y, n, nx, ny, d, scaled_rgamma(a) / scaled_rgamma(n.high) * scaled_rgamma(b) * std::exp(-e), false};
}

// Of the beta distribution of a and b at x in (0, 1), for parameters that are neither 0 nor infinite nor huge.
inline Tails beta_tails_at(double a, double b, double x, const BetaPoint& at) {
  const auto& [y, n, nx, ny, d, density, beyond] = at;
  if (beyond) return d < 0 ? Tails{0, 1} : Tails{1, 0};
  if (std::min(a, b) > 60) {
    const double side = d < 0 ? 1 : -1;
    return by_smaller(d < 0, density * tail_integral(side * (x - y.high - d), a - 1, -side * y.high, b - 1, side * x));
  }
  if (x <= 0.7 && b * x <= 0.7) return beta_tails_near(a, b, n.high, x, density);
  if (y.high <= 0.7 && a * y.high <= 0.7) return beta_tails_near(b, a, n.high, y.high, density).swapped();
  const double steps = std::floor(60 + 120 / std::min(nx.high, ny.high));
  return d < 0 ? by_lower(density * beta_fraction(a, b, x, y.high, -d, steps))
               : by_upper(density * beta_fraction(b, a, y.high, x, d, steps));
}

// Of the beta distribution of a and b at x.
inline Tails beta_tails(double a, double b, double x) {
  using wide::kInfinity, wide::kNaN;
  if (!(a >= 0 && b >= 0 && x >= 0 && x <= 1) || (a == 0 && b == 0) || (a == kInfinity && b == kInfinity)) {
    return {kNaN, kNaN};
  }
  if (x == 0) return {0, 1};
  if (x == 1 || a == 0 || b == kInfinity) return {1, 0};
  if (b == 0 || a == kInfinity) return {0, 1};
  if (std::max(a, b) > 1e100) {
    // The limits of many events, or so many that only at the mean there is neither 0 nor 1.
    if (std::min(a, b) <= 1e50) return b > a ? gamma_tails(a, b * x) : gamma_tails(b, a * (1 - x)).swapped();
    a *= 0x1p-10;
    b *= 0x1p-10;
  }
  return beta_tails_at(a, b, x, beta_point(a, b, x));
}

// ---- Inverses in x. A tail's logarithm is concave in log x, of the beta distribution in log(x / y): the densities in
// these are log-concave. So Newton's method converges from one side; Halley's steps, by the density and its derivative,
// are cubic, and an interval of the solution bounds them.

// A number of which the standard normal distribution has about that upper tail (Hastings, "Approximations for digital
// computers", 1955).
inline double normal_quantile(double tail) {
  const double t = std::sqrt(-2 * std::log(tail));
  return t - (2.30753 + 0.27061 * t) / (1 + t * (0.99229 + 0.04481 * t));
}

// A step of Halley's method for log(tail / wanted) = g, whose derivative is `slope`; `curvature`: the second derivative
// divided by the first one.
struct HalleyStep {
  double by;
  bool last;  // what is left is below the tails' own errors
};
inline HalleyStep halley_step(double g, double slope, double curvature) {
  const double newton = -g / slope, bend = newton * curvature;
  const double by = newton / std::clamp(1 + 0.5 * bend, 0.5, 2.0);
  return {by, std::abs(g) < 1e-5 && std::abs(bend) < 1e-5};
}

constexpr double kLeast = 0x1p-1022;

// The x > 0 at which the gamma distribution of shape a has that lower, or upper, tail of (0, ½].
inline double gamma_quantile(double a, double tail, bool is_lower) {
  if (a < 1e-300) return 0;
  if (a > 1e100) return a;
  const double wanted = std::log(tail), gamma = lgamma1p(a);
  // x^a / Γ(a + 1) is above the lower tail.
  double x = std::exp(((is_lower ? wanted : std::log1p(-tail)) + gamma) / a);
  if (a >= 1) {  // Wilson and Hilferty, "The distribution of chi-square", 1931
    const double h = 1 / (9 * a), c = (1 - h) + (is_lower ? -1 : 1) * normal_quantile(tail) * std::sqrt(h);
    x = std::max(x, c > 0 ? a * c * c * c : 0);
  } else if (!is_lower) {  // exp(-x) / Γ(a) is above the upper tail from 1 on.
    x = std::max(x, std::log(a) - gamma - wanted);
  }
  double low = 0, high = wide::kInfinity;
  for (int k = 0; k < 200; ++k) {
    x = std::max(x, kLeast);
    const Tails both = gamma_tails(a, x);
    const double at = is_lower ? both.lower : both.upper, g = std::log(at) - wanted;
    const bool below = is_lower ? g < 0 : g > 0;
    if (x == kLeast && !below) return 0;
    (below ? low : high) = x;
    double next = wide::kNaN;
    if (at > 0) {
      const double density = scaled_rgamma(a) * std::exp(-excess(a, x, x - a));
      const double slope = (is_lower ? density : -density) / at;
      // The upper tail is nearly exponential: by steps in x.
      const bool by_x = !is_lower && x > 1;
      const HalleyStep step =
          by_x ? halley_step(g, slope / x, (a - 1 - slope) / x - 1) : halley_step(g, slope, a - x - slope);
      next = by_x ? x + step.by : x * std::exp(step.by);
      if (step.last || next == x) return next;
    }
    if (!(next < high && next > low)) {
      next = low == 0 ? x / 4 : high == wide::kInfinity ? x * 4 : std::sqrt(low) * std::sqrt(high);
      if (!(next < high && next > low)) break;  // they are neighbours
    }
    x = next;
  }
  return x;
}

// log(a / (a + b))
inline double log_share(double a, double b) { return b > a ? std::log(a) - std::log(a + b) : -std::log1p(b / a); }

// Of the beta distribution of a and b, as a number and its difference from 1.
inline Pair beta_quantile(double a, double b, double tail, bool is_lower) {
  if (std::max(a, b) > 1e100) {
    if (std::min(a, b) > 1e50) return {1 / (1 + b / a), 1 / (1 + a / b)};
    if (a > b) {
      const double y = gamma_quantile(b, tail, !is_lower) / a;
      return {1 - y, y};
    }
    const double x = gamma_quantile(a, tail, is_lower) / b;
    return {x, 1 - x};
  }
  const double wanted = std::log(tail), other = std::log1p(-tail);
  double x, y;
  if (std::min(a, b) >= 1) {  // Abramowitz and Stegun 26.5.22
    const double z = (is_lower ? 1 : -1) * normal_quantile(tail), r = 1 / (2 * a - 1), s = 1 / (2 * b - 1);
    const double h = 2 / (r + s), l = (z * z - 3) / 6;
    const double w = z * std::sqrt(l + h) / h - (s - r) * (l + 5.0 / 6 - 2 / (3 * h));
    x = 1 / (1 + b / a * std::exp(2 * w));
    y = 1 / (1 + a / b * std::exp(-2 * w));
  } else {
    // The density is about that of x^a / a below the mean, and that of y^b / b above it.
    const double log_a = a * log_share(a, b), log_b = b * log_share(b, a);
    const double ratio = (log_b - log_a) + (std::log(a) - std::log(b)), part = softplus_f64(ratio);
    const double lower = is_lower ? wanted : other, upper = is_lower ? other : wanted;
    const bool in_lower = lower < -part;
    const double v =
        std::exp(std::min(in_lower ? (log_a + part + lower) / a : (log_b + (part - ratio) + upper) / b, -1e-3));
    x = in_lower ? v : 1 - v;
    y = in_lower ? 1 - v : v;
  }
  Pair low{0, 1}, high{1, 0};
  constexpr double kLeastBelowOne = 0x1p-60;
  for (int k = 0; k < 200; ++k) {
    if (x < kLeast) x = kLeast, y = 1;
    if (y < kLeastBelowOne) x = 1, y = kLeastBelowOne;
    const bool turned = x > 0.5;
    const BetaPoint point = turned ? beta_point(b, a, y) : beta_point(a, b, x);
    const Tails both = turned ? beta_tails_at(b, a, y, point).swapped() : beta_tails_at(a, b, x, point);
    const double at = is_lower ? both.lower : both.upper, g = std::log(at) - wanted;
    const bool below = is_lower ? g < 0 : g > 0;
    if (x == kLeast && !below) return {0, 1};
    if (y == kLeastBelowOne && below) return {1, 0};
    (below ? low : high) = {x, y};
    double up = wide::kNaN;  // x / y relative to what it is
    if (at > 0 && point.density > 0) {
      const double slope = (is_lower ? point.density : -point.density) / at;
      const HalleyStep step = halley_step(g, slope, (turned ? point.d : -point.d) - slope);
      up = std::exp(std::clamp(step.by, -700.0, 700.0));
      if (step.last || std::abs(step.by) < 0x1p-52) return {x * up / (y + x * up), y / (y + x * up)};
    }
    if (x * up * high.low < y * high.high && x * up * low.low > y * low.high) {
      const double sum = y + x * up;
      x = x * up / sum;
      y = y / sum;
    } else {
      const double odds = low.high == 0   ? x / y / 16
                          : high.low == 0 ? x / y * 16
                                          : std::sqrt(low.high / low.low) * std::sqrt(high.high / high.low);
      if (odds == x / y) break;
      x = odds / (1 + odds);
      y = 1 / (1 + odds);
    }
  }
  return {x, y};
}

// NaN unless a >= 0 and a probability in [0, 1]; at 0 and 1 the ends of the distribution.
inline double gammaincinv(double a, double p) {
  if (!(a >= 0 && p >= 0 && p <= 1)) return wide::kNaN;
  if (p == 0 || p == 1) return p == 0 ? 0 : wide::kInfinity;
  if (a == 0 || a == wide::kInfinity) return wide::kNaN;
  return p <= 0.5 ? gamma_quantile(a, p, true) : gamma_quantile(a, 1 - p, false);
}
inline double gammainccinv(double a, double q) {
  if (!(a >= 0 && q >= 0 && q <= 1)) return wide::kNaN;
  if (q == 0 || q == 1) return q == 1 ? 0 : wide::kInfinity;
  if (a == 0 || a == wide::kInfinity) return wide::kNaN;
  return q <= 0.5 ? gamma_quantile(a, q, false) : gamma_quantile(a, 1 - q, true);
}
inline double betaincinv(double a, double b, double p) {
  if (!(a > 0 && b > 0 && p >= 0 && p <= 1)) return wide::kNaN;
  if (p == 0 || p == 1) return p == 0 ? 0 : 1;
  if (a == wide::kInfinity || b == wide::kInfinity) return a == b ? wide::kNaN : a > b ? 1 : 0;
  if (a == b && p == 0.5) return 0.5;  // also of tiny ones, of which every x is within a rounding error
  return (p <= 0.5 ? beta_quantile(a, b, p, true) : beta_quantile(a, b, 1 - p, false)).high;
}

}  // namespace weft::kernels::incomplete
