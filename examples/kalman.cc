// A Kalman filter follows a target through 100,000 noisy measurements: kalman [STEPS]. Each step is computed when its
// measurement comes in, so that this is also a measure of what a small step costs.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <numbers>
#include <vector>

#include "weft/array.h"
#include "weft/evaluate.h"
#include "weft/graph.h"
#include "weft/indexing.h"
#include "weft/random.h"

using namespace weft;

namespace {

// The inverse of a 2x2 matrix: its adjugate, which is the trace times 1, less the matrix, by its determinant.
Tensor inverse(const Tensor& s) {
  auto determinant = s[{0, 0}] * s[{1, 1}] - s[{0, 1}] * s[{1, 0}];
  return ((s[{0, 0}] + s[{1, 1}]) * eye(2) - s) / determinant;
}

// Bytes of the process that are in memory; 0 where the system does not tell.
double resident_bytes() {
  double pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * 4096;
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 100'000;
  if (steps < 1000) {
    std::fprintf(stderr, "usage: kalman [STEPS], at least 1000\n");
    return 2;
  }
  // The state is x, y and their velocities; one second passes in a step. The target accelerates by about 0.1 m/s² and
  // is seen with an error of 5 m in each direction.
  const float noise = 5, acceleration = 0.1f;
  const auto move = tensor({4, 4}, {1, 0, 1, 0,  //
                                    0, 1, 0, 1,  //
                                    0, 0, 1, 0,  //
                                    0, 0, 0, 1});
  const auto push = tensor({4, 2}, {0.5f, 0, 0, 0.5f, 1, 0, 0, 1});
  const auto process = contiguous(matmul(push, push.T()) * (acceleration * acceleration));
  const auto see = tensor({2, 4}, {1, 0, 0, 0, 0, 1, 0, 0});
  const auto measurement = contiguous(eye(2) * (noise * noise));

  auto state = zeros({4, 1});
  auto covariance = eye(4) * 1000.0f;
  auto squares = zeros({});  // of the estimate's errors
  random::seed(1);
  const auto errors = random::normal({steps, 2}, 0, noise).to_vector<float>();
  std::vector<double> bytes;  // after each quarter of the steps
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < steps; ++i) {
    // A figure of eight, once in ten minutes.
    const double turn = 2 * std::numbers::pi * i / 600;
    const auto x = static_cast<float>(100 * std::sin(turn)), y = static_cast<float>(50 * std::sin(2 * turn));
    const auto truth = tensor({2, 1}, {x, y});
    const auto seen = tensor({2, 1}, {x + errors[2 * i], y + errors[2 * i + 1]});

    state = matmul(move, state);
    covariance = matmul(matmul(move, covariance), move.T()) + process;
    auto cross = matmul(covariance, see.T());
    auto gain = matmul(cross, inverse(matmul(see, cross) + measurement));
    state += matmul(gain, seen - matmul(see, state));
    covariance -= matmul(gain, cross.T());
    if (i >= 100) squares += square(matmul(see, state) - truth).sum();
    eval({state, covariance, squares});
    if ((i + 1) % (steps / 4) == 0) bytes.push_back(resident_bytes());
  }
  const double error = std::sqrt(squares.item<double>() / (2 * (steps - 100)));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  // Steps that kept memory would take more in every quarter; what is allocated once, at any time, does not count.
  double grown = std::numeric_limits<double>::max();
  for (std::size_t k = 1; k < bytes.size(); ++k) grown = std::min(grown, bytes[k] - bytes[k - 1]);
  std::printf(
      "%s: %d steps, %.1f us each; error %.2f m, of the measurements %.2f m; memory grew by %.1f MB in a quarter\n",
      default_device().name().c_str(), steps, took.count() / steps * 1e6, error, noise, grown / 1e6);
  return error < noise / 2 && grown < 1.5e6 ? 0 : 1;
}
