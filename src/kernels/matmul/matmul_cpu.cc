// Matrix products on the CPU's cores: which form suits a problem (cpu/forms.h), and the plain loop of integers that fit
// none.
#include "cpu/kernel_form.h"
#include "kernels/common/rows_cpu.h"
#include "kernels/common/scratch_cpu.h"
#include "kernels/matmul/cpu/forms.h"

namespace weft::kernels {
namespace {

// Stores the product for an empty k.
void store_zeros(const MatmulProblem& p, const RowStore& store) {
  const std::vector<double> row(static_cast<std::size_t>(p.n));  // zeros, whatever the type of the sums
  for (std::int64_t batch = 0; batch < p.batches(); ++batch) store.rows(row.data(), 0, batch, 0, p.m, 0, p.n);
}

// sums[r][c] += a[r][k] · w[k][c] for four k, wrapping. Rows of a have stride a_row, those of w and of sums `pitch`.
WEFT_VECTOR_CLONES
void add_products(const std::uint32_t* a, std::int64_t a_row, const std::uint32_t* w, std::int64_t rows,
                  std::int64_t cols, std::int64_t pitch, std::uint32_t* sums) {
  for (std::int64_t r = 0; r < rows; ++r, a += a_row, sums += pitch) {
    const std::uint32_t a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3];
    for (std::int64_t c = 0; c < cols; ++c) {
      sums[c] += a0 * w[c] + a1 * w[pitch + c] + a2 * w[2 * pitch + c] + a3 * w[3 * pitch + c];
    }
  }
}

// Converts `count` elements of an integer type, `stride` apart, to 32 bits.
template <class X>
void take_words(const View& view, std::int64_t first, std::int64_t stride, std::int64_t count, std::uint32_t* words) {
  const X* x = data<const X>(view) + first;
  if (stride == 1) {
    for (std::int64_t i = 0; i < count; ++i) words[i] = static_cast<std::uint32_t>(x[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) words[i] = static_cast<std::uint32_t>(x[i * stride]);
  }
}
auto words_of(DType type) {
  switch (type) {
    case DType::i8:
      return take_words<std::int8_t>;
    case DType::u8:
      return take_words<std::uint8_t>;
    case DType::i16:
      return take_words<std::int16_t>;
    case DType::u16:
      return take_words<std::uint16_t>;
    default:
      return take_words<std::uint32_t>;
  }
}

// Integers of up to 32 bits, wrapping, four rows of b at a time.
void wide_integers(cpu::Executor& executor, const MatmulProblem& p, const RowStore& store) {
  cpu::say_form([] { return std::pair(std::string("loop_i32"), std::string("sums wrap, which f32 cannot do")); });
  constexpr std::int64_t kDepth = 4, kRows = 32;
  const auto take_a = words_of(p.a.dtype), take_b = words_of(p.b.dtype);
  in_tiles<std::uint32_t>(executor, p, store,
                          [&](std::int64_t batch, std::int64_t row, std::int64_t rows, std::int64_t col,
                              std::int64_t cols, std::int64_t pitch, std::uint32_t* sums) {
                            thread_local Scratch scratch;
                            auto* const w = reinterpret_cast<std::uint32_t*>(scratch.need(kDepth * pitch));
                            std::uint32_t a[kRows * kDepth];
                            const std::int64_t a0 = batch_offset(p.a, p.batch, batch) + row * p.a.strides()[-2],
                                               b0 = batch_offset(p.b, p.batch, batch) + col * p.b.strides()[-1];
                            for (std::int64_t k = 0; k < p.k; k += kDepth) {
                              const std::int64_t depth = std::min(kDepth, p.k - k);
                              for (std::int64_t e = 0; e < kDepth; ++e) {
                                if (e < depth)
                                  take_b(p.b, b0 + (k + e) * p.b.strides()[-2], p.b.strides()[-1], cols, w + e * pitch);
                                else
                                  std::fill_n(w + e * pitch, cols, 0u);
                              }
                              for (std::int64_t r = 0; r < rows; ++r) {
                                std::fill_n(a + r * kDepth, kDepth, 0u);
                                take_a(p.a, a0 + r * p.a.strides()[-2] + k * p.a.strides()[-1], p.a.strides()[-1],
                                       depth, a + r * kDepth);
                              }
                              add_products(a, kDepth, w, rows, cols, pitch, sums);
                            }
                          });
}

// The same where a is the operand that is read.
template <class Sum>
void of_read_rows(cpu::Executor& executor, const MatmulProblem& p, const Expression* epilogue) {
  const std::int64_t down = p.a.strides()[-2], along = p.a.strides()[-1];
  MatmulProblem q = p;
  q.a.dtype = kSumType<Sum>;
  matmul_cpu_of_rows<Sum>(executor, q, epilogue,
                          [&](std::int64_t batch, std::int64_t row, std::int64_t rows, std::int64_t k,
                              std::int64_t depth, Sum* to, std::int64_t pitch) {
                            thread_local Scratch scratch;
                            const std::int64_t first = p.first_read(batch) + row * down + k * along;
                            // Along whichever axis elements are adjacent.
                            const bool by_rows = along == 1 || depth == 1;
                            const std::int64_t count = by_rows ? depth : rows;
                            float* const values = scratch.need<float>(count);
                            for (std::int64_t i = 0; i < (by_rows ? rows : depth); ++i) {
                              p.reader->load(first + i * (by_rows ? down : along), count, values);
                              for (std::int64_t e = 0; e < count; ++e)
                                to[by_rows ? i * pitch + e : e * pitch + i] = static_cast<Sum>(values[e]);
                            }
                          });
}

}  // namespace

void matmul_cpu(cpu::Executor& executor, const MatmulProblem& p, const Expression* epilogue) {
  const RowStore store(p, epilogue);
  const auto say = [](const char* form, const char* why) {
    cpu::say_form([&] { return std::pair(std::string(form), std::string(why)); });
  };
  if (p.k == 0) {
    say("zeros", "a product over no elements");
    return store_zeros(p, store);
  }
  if (p.ranges || (p.chosen && !p.reader)) {
    say("products", "each has a matrix, or a part of k, of its own");
    for (std::int64_t i = 0; i < p.batches(); ++i) matmul_cpu(executor, p.of_batch(i), epilogue);
    return;
  }
  const DType product = p.sum_type();
  if (p.reader && !p.reader_is_b)
    return product == DType::f64 ? of_read_rows<double>(executor, p, epilogue)
                                 : of_read_rows<float>(executor, p, epilogue);
  if (product == DType::i32) {
    constexpr std::int64_t kFewRows = 4;  // for which b is not worth being packed
    if (are_pairs(p) && p.m >= kFewRows) return multiply_by_pairs(executor, p, store);
    return are_bytes(p) ? multiply_bytes_by_panels(executor, p, store) : wide_integers(executor, p, store);
  }
  if (product == DType::f64) return multiply_by_panels<double>(executor, p, epilogue, store);
  if (!p.reader && p.batches() > 1 && std::max({p.m, p.n, p.k}) <= kSmall)
    return multiply_small(executor, p, epilogue, store);
  multiply_by_panels<float>(executor, p, epilogue, store);
}

template <class Sum>
void matmul_cpu_of_rows(cpu::Executor& executor, const MatmulProblem& p, const Expression* epilogue,
                        const GatherRows<Sum>& gather) {
  if constexpr (std::is_same_v<Sum, std::int16_t>)
    multiply_by_pairs(executor, p, RowStore(p, epilogue), gather);
  else
    multiply_by_panels(executor, p, epilogue, RowStore(p, epilogue), &gather);
}
template void matmul_cpu_of_rows(cpu::Executor&, const MatmulProblem&, const Expression*,
                                 const GatherRows<std::int16_t>&);
template void matmul_cpu_of_rows(cpu::Executor&, const MatmulProblem&, const Expression*, const GatherRows<float>&);
template void matmul_cpu_of_rows(cpu::Executor&, const MatmulProblem&, const Expression*, const GatherRows<double>&);

}  // namespace weft::kernels
