// A checked reduction, and the CPU's kernel.
#pragma once

#include <optional>
#include <vector>

#include "cpu/executor.h"
#include "kernels/reduce/reduction.h"
#include "weft/kernels/reduce.h"

namespace weft::kernels {

struct ReduceProblem {
  ReduceKind op;
  DType dtype;  // of what is reduced
  Shape shape;
  std::vector<View> inputs;  // broadcast to `shape`
  const Expression* prologue = nullptr;
  View y;
  const Expression* epilogue = nullptr;
  std::vector<View> operands;            // of `epilogue`, broadcast to y
  std::vector<View> extra_outputs = {};  // the other results of `prologue`, of `shape`
  Rows rows = {};                        // strides of the inputs, y, the operands and the extra outputs
  double correction = 0;                 // for variance and standard deviation
  std::optional<ReduceForm> form = {};   // on a GPU, for tests and benchmarks
  int folds = 1;                         // GPU: that many adjacent `rows` are one row

  std::size_t y_index() const { return inputs.size(); }
  std::size_t extra_outputs_index() const { return y_index() + 1 + operands.size(); }
};

// Floats accumulate in double.
void reduce_cpu(cpu::Executor& executor, const ReduceProblem& problem);

}  // namespace weft::kernels
