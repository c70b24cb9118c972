// What a reduction computes, checked; and its CPU twin.
#pragma once

#include <optional>
#include <vector>

#include "kernels/reduce/reduction.h"
#include "weft/kernels/reduce.h"

namespace weft::kernels {

struct ReduceProblem {
  ReduceKind op;
  DType dtype;                     // of what is reduced
  Shape shape;
  std::vector<View> inputs;        // broadcast to `shape`
  const Expression* prologue = nullptr;
  View y;
  const Expression* epilogue = nullptr;
  std::vector<View> operands;      // of `epilogue`, broadcast to y
  std::vector<View> extra_outputs = {};   // further results of `prologue`, of the shape
  Rows rows = {};                  // strides of the inputs, of y, of the operands, of what is beside
  double correction = 0;           // of variance and deviation
  std::optional<ReduceForm> form = {};  // on a GPU, for tests and benchmarks
  int folds = 1;  // so many of `rows`, side by side, are one; on a GPU

  std::size_t y_index() const { return inputs.size(); }
  std::size_t extra_outputs_index() const { return y_index() + 1 + operands.size(); }
};

// Floats accumulate in double.
void reduce_cpu(cpu::Executor& executor, const ReduceProblem& problem);

}  // namespace weft::kernels
