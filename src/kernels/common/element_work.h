// What kernels of whole families do, in one count for a GPU's dispatches, the CPU's steps and estimates.
#pragma once

#include "weft/expression.h"
#include "weft/kernels/reduce.h"
#include "weft/kernels/scan.h"
#include "weft/work.h"

namespace weft::kernels {

// For each element that a kernel goes through, beside elementwise work around it. Operations are those of the plain
// formula, each once; functions as Work counts them, measured on CPUs.
struct ElementWork {
  double flops = 0, functions = 0;
};

// Largest, difference, exponential, sum, and a product or difference more.
inline ElementWork softmax_work(bool log) { return {5, log ? 1.3 : 0.6}; }
// Sums and squares, about the mean or not, and the way back.
inline ElementWork norm_work(bool centred, std::size_t weights) {
  return {(centred ? 5.0 : 3.0) + static_cast<double>(weights), 0.3};
}
inline ElementWork reduce_work(ReduceOp op) {
  switch (op) {
    case ReduceOp::log_sum_exp: return {4, 1.3};
    case ReduceOp::variance:
    case ReduceOp::deviation: return {4, 0.2};
    case ReduceOp::sum_squares:
    case ReduceOp::l1:
    case ReduceOp::l2: return {2, 0.1};
    default: return {1, 0.1};
  }
}
inline ElementWork scan_work(ScanOp op) { return op == ScanOp::log_sum_exp ? ElementWork{4, 16} : ElementWork{1, 2}; }

// The work of a call but its bytes: `before` for each element, `after` for each result.
inline Work work_of(const ElementWork& own, double elements, const Expression* before, double results,
                    const Expression* after) {
  Work work{.flops = elements * own.flops, .functions = elements * own.functions};
  const auto add = [&](const Expression* e, double times) {
    if (!e) return;
    work.flops += times * e->operation_count();
    work.functions += times * e->cost();
  };
  add(before, elements);
  add(after, results);
  return work;
}

}  // namespace weft::kernels
