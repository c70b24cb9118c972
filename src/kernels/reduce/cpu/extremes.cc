// Extremes, and truth of any or all.
#include <limits>

#include "kernels/reduce/cpu/reducer.h"

namespace weft::kernels {
namespace {

template <class T>
struct Min : Plain<T> {
  using Folds = Min;
  static T identity() {
    return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  }
  static T combine(T a, T b) { return a < b || a != a ? a : b; }
};
template <class T>
struct Max : Plain<T> {
  using Folds = Max;
  static T identity() {
    return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::lowest();
  }
  static T combine(T a, T b) { return a > b || a != a ? a : b; }
};
template <class T>
struct Any : Plain<T> {
  using Folds = Any;
  static T identity() { return 0; }
  static T combine(T a, T b) { return a | b; }
};
template <class T>
struct All : Plain<T> {
  using Folds = All;
  static T identity() { return 1; }
  static T combine(T a, T b) { return a & b; }
};
template <template <class> class Op>
void run_extreme(cpu::Executor& executor, const ReduceProblem& problem) {
  // An extreme of f32 is exact in it.
  if (is_floating(problem.dtype) && problem.dtype != DType::f64) return run<Op, float>(executor, problem);
  if (problem.dtype == DType::i32) return run<Op, std::int32_t>(executor, problem);
  if (problem.dtype == DType::u32) return run<Op, std::uint32_t>(executor, problem);
  run_numbers<Op>(executor, problem);
}
// Of truth values, which booleans' bytes hold.
template <template <class> class Op>
void run_truth(cpu::Executor& executor, const ReduceProblem& problem) {
  if (problem.dtype == DType::boolean) return run<Op, std::uint8_t>(executor, problem, true);
  run<Op, std::uint64_t>(executor, problem, true);
}

}  // namespace

void reduce_extremes(cpu::Executor& executor, const ReduceProblem& problem) {
  switch (problem.op) {
    case ReduceKind::min:
      return run_extreme<Min>(executor, problem);
    case ReduceKind::max:
      return run_extreme<Max>(executor, problem);
    case ReduceKind::any:
      return run_truth<Any>(executor, problem);
    default:
      return run_truth<All>(executor, problem);
  }
}

}  // namespace weft::kernels
