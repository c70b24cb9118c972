// A call's rows, checked.
#pragma once

#include <algorithm>

#include "kernels/common/rows.h"
#include "weft/kernels/fft.h"

namespace weft::kernels {

struct FftProblem {
  FftKind kind;
  FftOptions options;
  View x, y;
  int axis;
  // The rows, and the steps of x and y along them.
  Collapsed rows;
  std::int64_t count = 1, x_step = 0, y_step = 0;

  std::int64_t length() const { return options.length; }
  std::int64_t x_size() const { return x.shape()[axis]; }
  std::int64_t y_size() const { return y.shape()[axis]; }
  // Elements of x that count.
  std::int64_t given() const {
    return std::min(x_size(), kind == FftKind::complex_to_real ? length() / 2 + 1 : length());
  }
};

}  // namespace weft::kernels
