// Gaussian-process regression of noisy measurements: gaussian_process [OUTPUT.svg]. The length scale, the variance and
// the noise are fitted by gradient descent on the marginal likelihood, whose derivatives go through a Cholesky factor.
// (Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, algorithm 2.1 and section 5.4.)
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <numbers>
#include <string>
#include <vector>

#include "weft/array.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/evaluate.h"
#include "weft/graph.h"
#include "weft/linalg.h"
#include "weft/random.h"
#include "weft/traced.h"

using namespace weft;

namespace {

constexpr int kMeasurements = 32, kPoints = 241, kSamples = 5, kSteps = 400;
constexpr double kBegin = -4, kEnd = 4, kNoise = 0.15;

// Logarithms, so that the numbers stay positive.
struct Parameters {
  Tensor length, deviation, noise;
};

// What is measured.
Tensor truth(const Tensor& x) { return sin(2 * x) + 0.4f * x; }

// How much the values at x [n] and z [m] vary together, [n, m]: the less the farther they are apart.
Tensor covariance(const Parameters& p, const Tensor& x, const Tensor& z) {
  const Tensor distance = (expand_dims(x, 1) - expand_dims(z, 0)) / exp(p.length);
  return exp(2 * p.deviation - square(distance) / 2);
}

// The Cholesky factor of the covariance of the measurements at x.
Tensor factor(const Parameters& p, const Tensor& x) {
  return cholesky(covariance(p, x, x) + exp(2 * p.noise) * eye(x.size()));
}

// The negative logarithm of the probability density of the measurements y at x, for each of them. Of the covariance
// l lᵀ the determinant is the square of the product of l's diagonal.
Tensor loss(const Parameters& p, const Tensor& x, const Tensor& y) {
  const Tensor l = factor(p, x);
  const Tensor exponent = sum(square(solve_triangular(l, y))) / 2, log_determinant = sum(log(diagonal(l)));
  return (exponent + log_determinant) / x.size() + std::log(2 * std::numbers::pi) / 2;
}

struct Posterior {
  Tensor mean, deviation, samples;  // at each point, [points]; [samples, points]
};

Posterior posterior(const Parameters& p, const Tensor& x, const Tensor& y, const Tensor& points) {
  const Tensor l = factor(p, x), across = covariance(p, x, points);
  const Tensor mean = matmul(across.T(), cholesky_solve(y, l));
  const Tensor explained = solve_triangular(l, across);
  // Neighbouring points are nearly the same: a little noise keeps the factor's rounded numbers positive.
  const Tensor rest = covariance(p, points, points) - matmul(explained.T(), explained) + 1e-4f * eye(points.size());
  const Tensor samples = mean + matmul(random::normal({kSamples, points.size()}), cholesky(rest).T());
  return {mean, sqrt(diagonal(rest)), samples};
}

std::string curve(const std::vector<float>& x, const std::vector<float>& y) {
  std::string points;
  for (std::size_t i = 0; i < x.size(); ++i) {
    points +=
        std::to_string(40 + (x[i] - kBegin) / (kEnd - kBegin) * 720) + "," + std::to_string(210 - y[i] * 56) + " ";
  }
  return points;
}

void draw(const std::string& path, const Tensor& x, const Tensor& y, const Tensor& points, const Posterior& of) {
  const auto numbers = [](const Tensor& t) { return t.to_vector<float>(); };
  const auto at = numbers(points);
  // There along the upper edge, back along the lower one.
  const auto band = curve(numbers(concat({points, flip(points)})),
                          numbers(concat({of.mean + 2 * of.deviation, flip(of.mean - 2 * of.deviation)})));
  std::ofstream svg(path);
  svg << R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 420" font-family="sans-serif" font-size="13">
<rect width="800" height="420" fill="#fff"/>
<line x1="40" y1="210" x2="760" y2="210" stroke="#ddd"/>
<polygon fill="#0b62d6" fill-opacity="0.16" points=")"
      << band << "\"/>\n";
  for (const Tensor& sample : unstack(of.samples)) {
    svg << R"(<polyline fill="none" stroke="#0b62d6" stroke-opacity="0.4" points=")" << curve(at, numbers(sample))
        << "\"/>\n";
  }
  svg << R"(<polyline fill="none" stroke="#555" stroke-dasharray="5 4" points=")" << curve(at, numbers(truth(points)))
      << R"("/>
<polyline fill="none" stroke="#0b62d6" stroke-width="2.5" points=")"
      << curve(at, numbers(of.mean)) << "\"/>\n";
  const auto places = numbers(x), values = numbers(y);
  for (std::size_t i = 0; i < places.size(); ++i) {
    // A line of no length with a round end is a dot.
    const std::string dot = curve({places[i], places[i]}, {values[i], values[i]});
    svg << R"(<polyline stroke="#111" stroke-width="6" stroke-linecap="round" points=")" << dot << "\"/>\n";
  }
  svg << R"(<text x="40" y="28" font-size="15">A Gaussian process through )" << kMeasurements << R"( measurements</text>
<line x1="560" y1="352" x2="590" y2="352" stroke="#0b62d6" stroke-width="2.5"/><text x="600" y="356">the mean, and samples</text>
<rect x="560" y="364" width="30" height="14" fill="#0b62d6" fill-opacity="0.16"/><text x="600" y="376">two standard deviations</text>
<line x1="560" y1="392" x2="590" y2="392" stroke="#555" stroke-dasharray="5 4"/><text x="600" y="396">the measured curve</text>
</svg>
)";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
    const bool asked = argc == 2 && (!std::strcmp(argv[1], "--help") || !std::strcmp(argv[1], "-h"));
    std::fprintf(asked ? stdout : stderr,
                 "usage: gaussian_process [OUTPUT.svg]\n"
                 "fits a Gaussian process to noisy measurements and draws it, by default to gaussian_process.svg\n");
    return asked ? 0 : 2;
  }
  random::seed(5);
  // Nothing is measured between 0.5 and 2.
  const Tensor left = random::uniform({kMeasurements * 3 / 4}, kBegin + 0.3, 0.5);
  const Tensor x = concat({left, random::uniform({kMeasurements / 4}, 2, kEnd - 0.3)});
  const Tensor y = truth(x) + random::normal({kMeasurements}, 0, kNoise);

  Parameters p{tensor(0.0f), tensor(0.0f), tensor(0.0f)};
  // A step of gradient descent is one function: it is traced once, and runs as a few kernels.
  const auto step = compile([](const Parameters& p, const Tensor& x, const Tensor& y) {
    constexpr float kRate = 0.1f;
    const auto [value, gradient] = value_and_grad(loss)(p, x, y);
    return std::tuple(Parameters{p.length - kRate * gradient.length, p.deviation - kRate * gradient.deviation,
                                 p.noise - kRate * gradient.noise},
                      value);
  });
  Tensor value;
  for (int i = 0; i <= kSteps; ++i) {
    std::tie(p, value) = step(p, x, y);
    if (i % 100 == 0) std::printf("step %3d  loss %.4f\n", i, value.item<double>());
  }
  const auto number = [](const Tensor& t) { return exp(t).item<double>(); };
  std::printf("length scale %.2f, deviation %.2f, noise %.2f (it is %.2f)\n", number(p.length), number(p.deviation),
              number(p.noise), kNoise);

  const Tensor points = linspace(kBegin, kEnd, kPoints);
  const Posterior of = posterior(p, x, y, points);
  const Tensor covered = abs(of.mean - truth(points)) <= 2 * of.deviation;
  const double share = cast(logical_and(covered, is_finite(of.samples).all(0)), DType::f32).mean().item<double>();
  const std::string path = argc > 1 ? argv[1] : "gaussian_process.svg";
  draw(path, x, y, points, of);
  std::printf("%.0f %% of the curve are within two standard deviations; %s shows it\n", 100 * share, path.c_str());
  return share > 0.85 && std::abs(number(p.noise) - kNoise) < 0.08 ? 0 : 1;
}
