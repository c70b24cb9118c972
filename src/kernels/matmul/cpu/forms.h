// The forms that matrix products have on the CPU, and what they share. Each stores its sums by `store`, which has the
// problem's epilogue.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "cpu/executor.h"
#include "kernels/call.h"
#include "kernels/cpu_loops.h"
#include "kernels/matmul/cpu/pairs.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/row_store.h"

namespace weft::kernels {

template <class Sum>
constexpr DType kSumType = std::is_same_v<Sum, double> ? DType::f64 : DType::f32;

// By panels of b (panels.h), or by rows or columns of b where it lies; `gather`: of a, null where it is in memory.
template <class Sum>
void multiply_by_panels(cpu::Executor& executor, const MatmulProblem& problem, const Expression* epilogue,
                        const RowStore& store, const GatherRows<Sum>* gather = nullptr);

// Integers of 8 bits, in f32: in parts of k that an f32 sums exactly.
inline bool are_bytes(const MatmulProblem& p) {
  const auto is_byte = [](DType t) { return t == DType::u8 || t == DType::i8; };
  return is_byte(p.a.dtype) && is_byte(p.b.dtype);
}
void multiply_bytes_by_panels(cpu::Executor& executor, const MatmulProblem& problem, const RowStore& store);

// Integers of up to 16 bits, in pairs along k (pairs.h).
inline bool are_pairs(const MatmulProblem& p) { return pair_type(p.a.dtype) >= 0 && pair_type(p.b.dtype) >= 0; }
void multiply_by_pairs(cpu::Executor& executor, const MatmulProblem& problem, const RowStore& store);
void multiply_by_pairs(cpu::Executor& executor, const MatmulProblem& problem, const RowStore& store,
                       const GatherRows<std::int16_t>& gather);

// Batches of matrices of at most kSmall rows and columns, whose products would take less time than their panels.
inline constexpr std::int64_t kSmall = 16;
void multiply_small(cpu::Executor& executor, const MatmulProblem& problem, const Expression* epilogue,
                    const RowStore& store);

// The strides of copies of a view's matrices, of so many elements each, over a batch: repeated ones (stride 0) are
// stored once. And the shape of those that are stored.
inline Strides strides_of_copies(const View& view, const Shape& batch, std::int64_t elements) {
  Strides strides = batch_strides(view);
  for (int d = batch.rank() - 1; d >= 0; --d) {
    if (strides[d] == 0) continue;
    strides[d] = elements;
    elements *= batch[d];
  }
  return strides;
}
inline Shape distinct_of(const Shape& batch, const Strides& strides) {
  Shape distinct;
  for (int d = 0; d < batch.rank(); ++d) distinct.push_back(strides[d] == 0 ? 1 : batch[d]);
  return distinct;
}

// The sizes of the blocks of y that a core works on.
struct Cut {
  std::int64_t rows, cols;
};

// Computes each tile of y in a task of its own, with memory for its sums.
template <class Sum, class F>
void in_tiles(cpu::Executor& executor, const MatmulProblem& p, const RowStore& store, F&& sum_tile) {
  constexpr std::int64_t kRows = 32, kCols = 256;
  constexpr std::int64_t kUnit = 64;  // whole panels are written
  const std::int64_t across = ceil_div(p.n, kCols), down = ceil_div(p.m, kRows);
  const std::int64_t pitch = std::min(kCols, ceil_div(p.n, kUnit) * kUnit);
  const std::int64_t grain = std::max<std::int64_t>(1, kRows * kCols / (std::min(kRows, p.m) * pitch));
  parallel(executor, p.batches() * across * down, grain, [&](std::int64_t begin, std::int64_t end) {
    std::vector<Sum> sums(std::min(kRows, p.m) * pitch);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t batch = i / (across * down), row = i / across % down * kRows, col = i % across * kCols;
      const std::int64_t rows = std::min(kRows, p.m - row), cols = std::min(kCols, p.n - col);
      std::ranges::fill(sums, Sum(0));
      sum_tile(batch, row, rows, col, cols, pitch, sums.data());
      store.rows(sums.data(), pitch, batch, row, rows, col, cols);
    }
  });
}

}  // namespace weft::kernels
