// A convolution as a matrix product: rows are places of the output, columns its channels, and k the channels and
// elements of a window.
#pragma once

#include <optional>
#include <vector>

#include "kernels/conv/problem.h"
#include "kernels/matmul/problem.h"

namespace weft::kernels {

struct ConvProduct {
  // Its a has only a shape: row r of a batch is the window of an output's place, which is zero outside of x.
  MatmulProblem matmul;
  // Axes of y: those that matmul.batch counts, and those that a row counts, each the outermost first.
  std::vector<int> batch_axes, row_axes;
  // Whether k counts an element's channels before the next element of the window, or the other way round.
  bool channels_first = false;
};

// The stride of these axes counted as one; nothing if they have none.
std::optional<std::int64_t> common_stride(const View& view, const std::vector<int>& axes);

// Nothing if the filter lies so that k has no stride of its own.
std::optional<ConvProduct> as_product(const ConvProblem& problem);

}  // namespace weft::kernels
