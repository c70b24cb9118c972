// The CPU's stores of a product: rows of sums (of product_type()), through the epilogue, to y.
#pragma once

#include "kernels/elementwise/expression_cpu.h"
#include "kernels/matmul/problem.h"

namespace weft::kernels {

// The element offset in `view` of batch `index` (row-major over `batch`).
std::int64_t batch_offset(const View& view, const Shape& batch, std::int64_t index);

// Safe to use from several threads.
class RowStore {
 public:
  RowStore(const MatmulProblem& problem, const Expression* expression);

  // Stores rows [row, row + rows) × columns [col, col + cols) of batch `batch`, given as sums, `pitch` elements a row.
  // `values` may be y's own memory.
  void rows(const void* values, std::int64_t pitch, std::int64_t batch, std::int64_t row, std::int64_t rows,
            std::int64_t col, std::int64_t cols) const;

 private:
  const MatmulProblem& problem_;
  CpuExpression expression_;
};

}  // namespace weft::kernels
