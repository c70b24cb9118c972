// What a reduction computes, checked; and its CPU twin.
#pragma once

#include <optional>
#include <vector>

#include "kernels/reduce/reduction.h"
#include "weft/kernels/reduce.h"

namespace weft::kernels {

struct ReduceProblem {
  ReduceOp op;
  DType dtype;                     // of what is reduced
  Shape shape;
  std::vector<View> inputs;        // broadcast to `shape`
  const Expression* before = nullptr;
  View y;
  const Expression* after = nullptr;
  std::vector<View> operands;      // of `after`, broadcast to y
  Rows rows;                       // strides of the inputs, of y, of the operands
  double correction = 0;           // of variance and deviation
  std::optional<ReduceForm> form = {};  // on a GPU, for tests and benchmarks

  std::size_t y_index() const { return inputs.size(); }
};

// Floats accumulate in double.
void reduce_cpu(cpu::Executor& executor, const ReduceProblem& problem);

}  // namespace weft::kernels
