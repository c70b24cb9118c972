// The derivative of a sample of a gamma distribution for its concentration, where the probability below the sample
// stays: dx/da = -(dF/da) / (dF/dx). Source: Figurnov, Mohamed and Mnih, "Implicit reparameterization gradients", 2018.
#include <cmath>

#include "kernels/cpu_loops.h"
#include "kernels/random/sampler.h"

namespace weft::kernels {
namespace {

// Of Gauss and Laguerre's quadrature with 16 points.
constexpr double kNodes[] = {0.0876494105, 0.462696329, 1.14105777, 2.12928365, 3.43708663, 5.07801861,
                             7.07033854,   9.43831434,  12.2142234, 15.4415274, 19.1801569, 23.5159057,
                             28.5787297,   34.5833987,  41.9404526, 51.7011603};
constexpr double kWeights[] = {0.206151715,    0.331057855,    0.265795778,    0.136296934,
                               0.0473289287,   0.0112999001,   0.00184907094,  0.000204271915,
                               1.48445869e-05, 6.82831933e-07, 1.88102484e-08, 2.86235024e-10,
                               2.12707903e-12, 6.297967e-15,   5.0504737e-18,  4.16146237e-22};

// digamma(a + 1).
double digamma_above(double a) {
  const double r = 1 / (a + 7), z = r * r;
  double y = std::log(a + 7) - r / 2 - z * (1.0 / 12 - z * (1.0 / 120 - z / 252));
  for (int i = 1; i < 7; ++i) y -= 1 / (a + i);
  return y;
}

// Over x, for x up to about a: F is x^a e^-x times the series of x^n / Γ(a + n + 1), of which each term's derivative
// has the factor log(x) - digamma(a + n + 1).
double by_series(double a, double x, double log_x) {
  double psi = digamma_above(a), term = 1, sum = 0;
  for (int n = 1; n < 100; ++n) {
    sum += term * (psi - log_x);
    psi += 1 / (a + n);
    term *= x / (a + n);
    if (term < 1e-9 && n > x) break;
  }
  return sum / a;
}

// For larger x: the integral over all t > x of (log(t) - digamma(a)) times the density at t over that at x.
double by_quadrature(double a, double x) {
  const double psi = digamma_above(a) - 1 / a;
  double sum = 0;
  for (int k = 0; k < 16; ++k) {
    sum += kWeights[k] * (std::log(x + kNodes[k]) - psi) * std::pow(1 + kNodes[k] / x, a - 1);
  }
  return sum;
}

// For a from 30 on: of Cornish and Fisher's expansion of x by the normal number z with the same probability below it.
double normal_like(double a, double x) {
  const double root = std::sqrt(a), first = 1 / (36 * root), second = 1 / (810 * a), third = 1 / (38880 * a) / root;
  const double distance = x - a;
  double z = distance / root, s = 0;
  for (int i = 0; i < 6; ++i) {
    s = z * z;
    const double f = z * root - distance + (s - 1) / 3 + z * (s - 7) * first - ((3 * s + 7) * s - 16) * second +
                     z * ((9 * s + 256) * s - 433) * third;
    const double slope =
        root + z * 2 / 3 + (3 * s - 7) * first - z * (12 * s + 14) * second + ((45 * s + 768) * s - 433) * third;
    z -= f / slope;
  }
  s = z * z;
  return 1 + z / (2 * root) - z * (s - 7) * first / (2 * a) + ((3 * s + 7) * s - 16) * second / a -
         3 * z * ((9 * s + 256) * s - 433) * third / (2 * a);
}

double gradient(double a, double given, bool logarithm) {
  if (!(a > 0) || std::isnan(given)) return std::nan("");
  const double x = logarithm ? std::exp(given) : given;
  if (!logarithm && x <= 0) return 0;
  if (a < 30 && x <= std::max(a, 1.0)) return by_series(a, x, logarithm ? given : std::log(x)) * (logarithm ? 1 : x);
  const double y = a < 30 ? by_quadrature(a, x) : normal_like(a, x);
  return logarithm ? y / x : y;
}

}  // namespace

void gamma_gradient_cpu(cpu::Executor& executor, const View& a, const View& x, const View& y, bool logarithm) {
  const auto number = [](const View& v, std::int64_t i) -> double {
    const std::int64_t at = offset_of(v.layout, i);
    switch (v.dtype) {
      case DType::f16:
        return static_cast<float>(data<float16>(v)[at]);
      case DType::bf16:
        return static_cast<float>(data<bfloat16>(v)[at]);
      default:
        return data<float>(v)[at];
    }
  };
  with_type(y.dtype, [&]<class T>() {
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
      parallel(executor, y.count(), 64, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const double d = gradient(number(a, i), number(x, i), logarithm);
          data<T>(y)[offset_of(y.layout, i)] = T(static_cast<float>(d));
        }
      });
    }
  });
}

}  // namespace weft::kernels
