// The logarithm of a sum of exponentials, the variance, and the standard deviation.
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/elementwise/scalar_math_cpu.h"
#include "kernels/reduce/cpu/reducer.h"

namespace weft::kernels {
namespace {

// Σ exp(x − top) of finite numbers that were converted from f32, which it overwrites.
WEFT_VECTOR_CLONES double sum_of_exps(double* x, std::int64_t n, double top) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = wide::exp(x[i] - top);
  double lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int k = 0; k < kLanes; ++k) lanes[k] += x[i + k];
  }
  for (; i < n; ++i) lanes[0] += x[i];
  return std::accumulate(lanes, lanes + kLanes, 0.0);
}
// The largest of x; NaN if there is one.
WEFT_VECTOR_CLONES double largest_of(const double* x, std::int64_t n) {
  std::int64_t nans = 0;
  for (std::int64_t i = 0; i < n; ++i) nans += x[i] != x[i];
  if (nans > 0) return std::numeric_limits<double>::quiet_NaN();
  double lanes[kLanes];
  std::fill_n(lanes, kLanes, x[0]);
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int k = 0; k < kLanes; ++k) lanes[k] = lanes[k] > x[i + k] ? lanes[k] : x[i + k];
  }
  for (; i < n; ++i) lanes[0] = std::max(lanes[0], x[i]);
  return *std::max_element(lanes, lanes + kLanes);
}

template <class T>
struct LogSumExp {
  using Folds = LogSumExp;
  static constexpr bool kSums = false, kTakesFloats = false;
  struct Acc {
    T top, sum;  // sum of exp(x - top)
  };
  static Acc identity() { return {-std::numeric_limits<T>::infinity(), 0}; }
  static Acc lift(T v) { return {v, 1}; }
  // Of `n` numbers that were converted from f32, which it overwrites.
  static Acc of_run(T* x, std::int64_t n) {
    const T top = largest_of(x, n);
    if (std::isfinite(top)) return {top, sum_of_exps(x, n, top)};
    return {top, static_cast<T>(std::count(x, x + n, top))};
  }
  static Acc combine(Acc a, Acc b) {
    if (!(a.top < b.top)) std::swap(a, b);  // now b is the larger one, or one is NaN
    if (a.top == b.top) return {b.top, a.sum + b.sum};
    return {b.top, b.sum + a.sum * std::exp(a.top - b.top)};
  }
  static T finish(Acc a, std::int64_t, double) { return a.top + std::log(a.sum); }
};
// The mean of x, and the sum of squares of what it differs from it.
struct Moments {
  double mean, squares;
};
WEFT_VECTOR_CLONES void find_moments(const double* x, std::int64_t n, Moments& moments) {
  double sums[32] = {}, squares[32] = {};
  const auto add_up = [n](double* lanes, const auto& value) WEFT_INLINE_LAMBDA {
    std::int64_t i = 0;
    for (; i + 32 <= n; i += 32) {
      for (int k = 0; k < 32; ++k) lanes[k] += value(i + k);
    }
    for (int k = 0; i < n; ++i, ++k) lanes[k] += value(i);
    for (int half = 16; half > 0; half /= 2) {
      for (int k = 0; k < half; ++k) lanes[k] += lanes[k + half];
    }
    return lanes[0];
  };
  const double mean = add_up(sums, [x](std::int64_t i) WEFT_INLINE_LAMBDA { return x[i]; }) / static_cast<double>(n);
  moments = {mean,
             add_up(squares, [x, mean](std::int64_t i) WEFT_INLINE_LAMBDA { return (x[i] - mean) * (x[i] - mean); })};
}
// Moments combined pairwise (Chan, Golub and LeVeque, 1983).
template <class T>
struct Variance {
  using Folds = Variance;
  static constexpr bool kSums = false, kTakesFloats = false;
  struct Acc {
    T count, mean, squares;  // squares of deviations from the mean
  };
  // Of `n` numbers that were converted from f32, whose sum is finite if they are.
  static Acc of_run(T* x, std::int64_t n) {
    Moments moments;
    find_moments(x, n, moments);
    return {static_cast<T>(n), moments.mean, moments.squares};
  }
  static Acc identity() { return {0, 0, 0}; }
  static Acc lift(T v) { return {1, v, v - v}; }
  static Acc combine(Acc a, Acc b) {
    const T count = a.count + b.count;
    if (count == 0) return a;
    const T step = b.mean - a.mean;
    return {count, a.mean + step * (b.count / count),
            a.squares + b.squares + step * step * (a.count * b.count / count)};
  }
  static T finish(Acc a, std::int64_t n, double correction) {
    return a.squares / std::max(static_cast<T>(n) - static_cast<T>(correction), T(0));
  }
};
template <class T>
struct Deviation : Variance<T> {
  static T finish(typename Variance<T>::Acc a, std::int64_t n, double correction) {
    return std::sqrt(Variance<T>::finish(a, n, correction));
  }
};

}  // namespace

void reduce_moments(cpu::Executor& executor, const ReduceProblem& problem) {
  switch (problem.op) {
    case ReduceKind::log_sum_exp:
      return run<LogSumExp, double>(executor, problem);
    case ReduceKind::variance:
      return run<Variance, double>(executor, problem);
    default:
      return run<Deviation, double>(executor, problem);
  }
}

}  // namespace weft::kernels
