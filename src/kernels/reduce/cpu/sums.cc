// Sums, products and norms.
#include <cmath>

#include "kernels/reduce/cpu/reducer.h"

namespace weft::kernels {
namespace {

using Complex = std::complex<double>;

template <class T>
struct Sum : Plain<T> {
  using Folds = Sum;
  static constexpr bool kSums = true, kTakesFloats = true;
  static T identity() { return 0; }
  static T combine(T a, T b) { return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b)); }
};
template <class T>
struct Mean : Sum<T> {
  static T finish(T a, std::int64_t n, double) { return a / static_cast<T>(n); }
};
template <>
struct Mean<Complex> : Sum<Complex> {
  static Complex finish(Complex a, std::int64_t n, double) { return a / static_cast<double>(n); }
};
template <class T>
struct Product : Plain<T> {
  using Folds = Product;
  static T identity() { return 1; }
  static T combine(T a, T b) { return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b)); }
};
template <>
struct Product<Complex> : Plain<Complex> {
  using Folds = Product;
  static Complex identity() { return 1; }
  // The plain formula, without the library's special cases for infinite parts.
  static Complex combine(Complex a, Complex b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }
};
template <class T>
struct SumSquares : Sum<T> {
  using Folds = SumSquares;
  static constexpr bool kSums = false;
  static T lift(T v) { return Product<T>::combine(v, v); }
};
template <class T>
struct L1 : Sum<T> {
  using Folds = L1;
  static constexpr bool kSums = false;
  static T lift(T v) { return v < 0 ? static_cast<T>(-static_cast<Wrapping<T>>(v)) : v; }
};
template <>
struct L1<std::uint64_t> : Sum<std::uint64_t> {};
template <class T>
struct L2 : SumSquares<T> {
  static T finish(T a, std::int64_t, double) { return std::sqrt(a); }
};
// The norm of f64, whose squares may leave the range: sums of three sizes. Source: Blue, "A portable Fortran program to
// find the Euclidean norm of a vector", 1978.
template <class T>
struct WideL2 {
  using Folds = WideL2;
  static constexpr bool kSums = false, kTakesFloats = false;
  static constexpr T kMiddle = 0x1p500, kScale = 0x1p600;
  struct Acc {
    T small, middle, large;  // those below 2^-500 times 2^600, those above 2^500 times 2^-600
  };
  static Acc identity() { return {0, 0, 0}; }
  static Acc lift(T v) {
    const T size = std::abs(v);
    const bool large = size > kMiddle, small = size < 1 / kMiddle;
    const auto squared = [](bool chosen, T x) { return chosen ? x * x : T(0); };
    return {squared(small, v * kScale), squared(!small && !large, v), squared(large, v / kScale)};
  }
  static Acc combine(Acc a, Acc b) { return {a.small + b.small, a.middle + b.middle, a.large + b.large}; }
  static T finish(Acc a, std::int64_t, double) {
    if (a.large > 0) return std::sqrt(a.large + a.middle / kScale / kScale) * kScale;
    if (a.middle > 0 || std::isnan(a.middle)) return std::sqrt(a.middle + a.small / kScale / kScale);
    return std::sqrt(a.small) / kScale;
  }
};
template <class T>
struct LogSum : Sum<T> {
  static T finish(T a, std::int64_t, double) { return std::log(a); }
};
template <template <class> class Op>
void run_any(cpu::Executor& executor, const ReduceProblem& problem) {
  if (problem.dtype == DType::c64) return run<Op, Complex>(executor, problem);
  run_numbers<Op>(executor, problem);
}

}  // namespace

void reduce_sums(cpu::Executor& executor, const ReduceProblem& problem) {
  switch (problem.op) {
    case ReduceKind::sum:
      return run_any<Sum>(executor, problem);
    case ReduceKind::prod:
      return run_any<Product>(executor, problem);
    case ReduceKind::sum_squares:
      return run_numbers<SumSquares>(executor, problem);
    case ReduceKind::l1:
      return run_numbers<L1>(executor, problem);
    case ReduceKind::mean:
      return problem.dtype == DType::c64 ? run<Mean, Complex>(executor, problem) : run<Mean, double>(executor, problem);
    case ReduceKind::l2:
      return problem.dtype == DType::f64 ? run<WideL2, double>(executor, problem) : run<L2, double>(executor, problem);
    case ReduceKind::log_sum:
      return run<LogSum, double>(executor, problem);
    default:
      return run<Sum, std::uint64_t>(executor, problem, true);
  }
}

}  // namespace weft::kernels
