// Reductions on the CPU, by kinds of operations: each is a source of its own, since its loops are many.
#pragma once

#include <vector>

#include "kernels/reduce/reduce_cpu.h"

namespace weft::kernels {

// sum, mean, prod, sum_squares, l1, l2, log_sum, count.
void reduce_sums(cpu::Executor& executor, const ReduceProblem& problem);
// min, max, any, all.
void reduce_extremes(cpu::Executor& executor, const ReduceProblem& problem);
// log_sum_exp, variance, deviation.
void reduce_moments(cpu::Executor& executor, const ReduceProblem& problem);

// y = epilogue(results, operands…), a run of rows at a time.
void store_by_epilogue(const ReduceProblem& problem, const std::vector<float>& results);

}  // namespace weft::kernels
