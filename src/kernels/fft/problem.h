// A call's rows, checked.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/common/rows.h"
#include "weft/kernels/fft.h"

namespace weft::kernels {

struct FftProblem {
  FftKind kind;
  FftOptions options;
  int axis;
  View y;
  // x, or what the prologue makes it of, all of x's shape; and the epilogue's operands, of y's.
  std::vector<View> inputs, operands;
  const Expression *prologue = nullptr, *epilogue = nullptr;
  // The rows, by strides of the inputs, of y, and of the operands; and all their steps along the rows.
  Collapsed rows = {};
  std::vector<std::int64_t> steps = {};
  std::int64_t count = 1;

  std::int64_t length() const { return options.length; }
  const View& x() const { return inputs[0]; }
  std::int64_t x_size() const { return x().shape()[axis]; }
  std::int64_t y_size() const { return y.shape()[axis]; }
  std::size_t y_place() const { return inputs.size(); }
  std::size_t operand_place(std::size_t k) const { return inputs.size() + 1 + k; }
  // Elements of x that count.
  std::int64_t given() const {
    return std::min(x_size(), kind == FftKind::complex_to_real ? length() / 2 + 1 : length());
  }
};

}  // namespace weft::kernels
