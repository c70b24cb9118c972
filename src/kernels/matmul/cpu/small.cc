// Batches of products of small matrices.
#include <format>

#include "cpu/kernel_form.h"
#include "kernels/common/instruction_sets.h"
#include "kernels/common/rows_cpu.h"
#include "kernels/elementwise/block_memory.h"
#include "kernels/matmul/cpu/forms.h"

namespace weft::kernels {
namespace {

// y[m][kSmall] = a[m][k] · b[k][kSmall], in the order of the panels' sums.
WEFT_VECTOR_CLONES
void small_product(const float* a, std::int64_t a_row, const float* b, std::int64_t m, std::int64_t k, float* y) {
  for (std::int64_t r = 0; r < m; ++r, a += a_row, y += kSmall) {
    float sums[kSmall] = {};
    for (std::int64_t i = 0; i < k; ++i) {
      for (std::int64_t c = 0; c < kSmall; ++c) sums[c] += b[i * kSmall + c] * a[i];
    }
    for (std::int64_t c = 0; c < kSmall; ++c) y[c] = sums[c];
  }
}

// Rows [0, rows) × columns [0, cols) of the matrix at element `first`, as f32 with kSmall columns a row.
void take_small(const View& view, LoadBlock load, std::int64_t first, std::int64_t rows, std::int64_t cols, float* to) {
  const std::int64_t down = view.strides()[-2], along = view.strides()[-1];
  if (view.dtype == DType::f32) {
    const float* const from = data<const float>(view) + first;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < cols; ++c) to[r * kSmall + c] = from[r * down + c * along];
    }
    return;
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    load(view.buffer.data() + view.offset, first + r * down, along, static_cast<int>(cols), to + r * kSmall);
  }
}

}  // namespace

void multiply_small(cpu::Executor& executor, const MatmulProblem& p, const Expression* epilogue,
                    const RowStore& store) {
  cpu::say_form([&] {
    return std::pair(std::format("small_{}", instruction_set_name()),
                     std::format("{} products of up to {} rows and columns", p.batches(), kSmall));
  });
  const bool straight = !epilogue && p.y.dtype == DType::f32;
  const LoadBlock load_a = load_block(p.a.dtype), load_b = load_block(p.b.dtype);
  const std::int64_t grain = std::max<std::int64_t>(1, 65536 / (p.m * p.n * p.k));
  parallel(executor, p.batches(), grain, [&](std::int64_t begin, std::int64_t end) {
    float a[kSmall * kSmall], b[kSmall * kSmall] = {}, y[kSmall * kSmall];
    for (std::int64_t i = begin; i < end; ++i) {
      take_small(p.a, load_a, batch_offset(p.a, p.batch, i), p.m, p.k, a);
      take_small(p.b, load_b, batch_offset(p.b, p.batch, i), p.k, p.n, b);
      small_product(a, kSmall, b, p.m, p.k, y);
      if (!straight) {
        store.rows(y, kSmall, i, 0, p.m, 0, p.n);
        continue;
      }
      float* const to = data<float>(p.y) + batch_offset(p.y, p.batch, i);
      for (std::int64_t r = 0; r < p.m; ++r) {
        for (std::int64_t c = 0; c < p.n; ++c) to[r * p.y.strides()[-2] + c * p.y.strides()[-1]] = y[r * kSmall + c];
      }
    }
  });
}

}  // namespace weft::kernels
