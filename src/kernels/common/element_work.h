// The operations of kernels, for a GPU's dispatches, the CPU's steps and estimates alike.
#pragma once

#include "weft/expression.h"
#include "weft/kernels/reduce.h"
#include "weft/kernels/scan.h"
#include "weft/work.h"

namespace weft::kernels {

// Operations for each element that a kernel processes, besides its prologue and epilogue: those of the plain formula,
// each once; `functions` as in Work, measured on CPUs.
struct ElementWork {
  double flops = 0, functions = 0;
};

// Maximum, difference, exponential, sum, and one more product or difference.
inline ElementWork softmax_work(bool log) { return {5, log ? 1.3 : 0.6}; }
// Sums and squares, of deviations from the mean or not, and the normalisation.
inline ElementWork norm_work(bool centred, std::size_t weights) {
  return {(centred ? 5.0 : 3.0) + static_cast<double>(weights), 0.3};
}
inline ElementWork reduce_work(ReduceKind op) {
  switch (op) {
    case ReduceKind::log_sum_exp:
      return {4, 1.3};
    case ReduceKind::variance:
    case ReduceKind::deviation:
      return {4, 0.2};
    case ReduceKind::sum_squares:
    case ReduceKind::l1:
    case ReduceKind::l2:
      return {2, 0.1};
    default:
      return {1, 0.1};
  }
}
inline ElementWork scan_work(ScanKind op) {
  return op == ScanKind::log_sum_exp ? ElementWork{4, 16} : ElementWork{1, 2};
}

// The work of a call without the bytes: `prologue` for each element, `epilogue` for each result.
inline Work work_of(const ElementWork& own, double elements, const Expression* prologue, double results,
                    const Expression* epilogue) {
  Work work{.flops = elements * own.flops, .functions = elements * own.functions};
  const auto add = [&](const Expression* e, double times) {
    if (!e) return;
    work.flops += times * e->operation_count();
    work.functions += times * e->cost();
  };
  add(prologue, elements);
  add(epilogue, results);
  return work;
}

}  // namespace weft::kernels
