// Products by panels: panels (panels.h) multiply blocks of y that stay in a core's cache, and the epilogue runs over
// each block while it is cached.
#include <cstring>
#include <format>

#include "cpu/kernel_form.h"
#include "cpu/packed_weight_cache.h"
#include "kernels/common/instruction_sets.h"
#include "kernels/common/rows_cpu.h"
#include "kernels/common/scratch_cpu.h"
#include "kernels/elementwise/block_memory.h"
#include "kernels/matmul/cpu/forms.h"
#include "kernels/matmul/cpu/panels.h"

namespace weft::kernels {
namespace {

// The matrices converted to type `to`, each dense; repeated batches (stride 0) are stored once.
View packed(cpu::Executor& executor, const View& view, DType to = DType::f32) {
  const int rank = view.rank();
  Layout layout;
  layout.shape = view.shape();
  layout.strides = Strides::filled(rank, 0);
  std::int64_t count = 1;
  for (int d = rank - 1; d >= 0; --d) {
    if (d < rank - 2 && view.strides()[d] == 0) continue;
    layout.strides[d] = count;
    count *= view.shape()[d];
  }
  const View result(Buffer::host(byte_size(to, static_cast<std::uint64_t>(count))), 0, to, layout.shape,
                    layout.strides);

  Expression widen;
  const int v = widen.input(view.dtype);
  widen.output(view.dtype == to ? v : widen.cast(v, to));
  const CpuExpression run(widen);
  Shape rows;
  for (int d = 0; d < rank - 1; ++d) rows.push_back(layout.strides[d] == 0 && d < rank - 2 ? 1 : view.shape()[d]);
  const std::int64_t cols = view.shape()[-1];
  parallel(executor, element_count(rows), std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(cols, 1)),
           [&](std::int64_t begin, std::int64_t end) {
             CpuExpression::Registers registers(run);
             for (std::int64_t r = begin; r < end; ++r) {
               const CpuExpression::Row source{view.buffer.data() + view.offset, batch_offset(view, rows, r),
                                               view.strides()[-1]};
               const CpuExpression::Row target{result.buffer.data(), batch_offset(result, rows, r), 1};
               run.evaluate(registers, std::span(&source, 1), std::span(&target, 1), cols);
             }
           });
  return result;
}

// b in the form that the panel loops need.
template <class Sum>
class RightSide {
 public:
  RightSide(cpu::Executor& executor, const MatmulProblem& p)
      : loops_(panel_loops<Sum>()), problem_(p), k_(p.k), view_(p.b), batch_(p.batch) {
    if (p.reader && p.reader_is_b) {
      const bool along_k = view_.strides()[-2] == 1 && (view_.strides()[-1] != 1 || view_.shape()[-1] == 1);
      form_ = along_k ? Form::read_columns : Form::read_rows;
      row_ = view_.strides()[along_k ? -1 : -2];
      say(along_k ? "decoded_dots" : "decoded_rows", "weights are decoded a few at a time");
      return;
    }
    const auto plain = [&](int inner, int outer) {
      return panel_type<Sum>(view_.dtype) >= 0 && (view_.strides()[inner] == 1 || view_.shape()[inner] == 1) &&
             (view_.strides()[outer] >= 0 || view_.shape()[outer] == 1);
    };
    if (PackedWeightCache* packed_weights = executor.packed_weights()) {
      memory_ = packed_weights->form(view_, kFormName, [&] { return panels(executor); });
    }
    if (memory_) {
      use_panels();
      say("panels", "b is a constant, packed once");
      return;
    }
    // Packing pays from 24 rows on.
    const bool narrow = 2 * p.n <= loops_.width && p.k >= 512;  // panels would be empty for the most part
    if ((p.m < 24 || narrow) && plain(-2, -1)) {
      form_ = Form::columns;
      row_ = view_.strides()[-1];
      say("dots", p.m < 24 ? "fewer than 24 rows, and b is dense along k: it is read where it lies"
                           : "fewer columns than half a panel, and b is dense along k: it is read where it lies");
    } else if (p.m < 24 && plain(-1, -2) && p.n % loops_.width == 0) {
      form_ = Form::in_place;
      row_ = view_.strides()[-2];
      say("rows_in_place", "fewer than 24 rows, and b is dense along n: it is read where it lies");
    } else {
      memory_ = panels(executor);
      use_panels();
      say("panels", p.m < 24 ? "b is packed, because its strides or type fit no loop"
                             : "b is packed, which pays from 24 rows on");
      return;
    }
    type_ = panel_type<Sum>(view_.dtype);
    data_ = view_.buffer.data() + view_.offset;
    batch_strides_ = batch_strides(view_);
  }

  // Blocks have multiples of that many columns, and whole panels of them are written.
  std::int64_t unit() const { return form_ == Form::columns || form_ == Form::read_columns ? 4 : loops_.width; }
  // True if k advances from row to row of b in place: then it takes few rows at a time, so that each is read
  // sequentially.
  bool goes_by_rows() const { return form_ == Form::in_place || form_ == Form::read_rows; }
  // Elements of k at a time, if there are many more: as many as the first-level cache can hold of that many rows, and
  // whole blocks of weights.
  std::int64_t depth(std::int64_t rows) const {
    constexpr std::int64_t kDepth = 1024;
    return goes_by_rows() ? 32 : std::max(kDepth, 8 * kDepth / rows / 256 * 256);
  }
  bool writes_only(std::int64_t cols) const { return unit() == 4 || cols % loops_.width == 0; }

  // y[rows][cols] = a[rows][depth] · b[k … k + depth][col … col + cols], or, with `add`, is added to y. `col` must be a
  // multiple of unit().
  void multiply(const Sum* a, std::int64_t a_row, std::int64_t rows, std::int64_t batch, std::int64_t col,
                std::int64_t cols, std::int64_t k, std::int64_t depth, Sum* y, std::int64_t pitch, bool add) const {
    if (form_ == Form::read_columns || form_ == Form::read_rows) {
      return multiply_read(a, a_row, rows, problem_.first_read(batch), col, cols, k, depth, y, pitch, add);
    }
    const std::int64_t size = panel_element_bytes<Sum>(type_), width = loops_.width;
    const std::int64_t first = offset_of({batch_, batch_strides_}, batch);
    const auto at = [&](std::int64_t element) { return data_ + (first + element) * size; };
    PanelRun<Sum> r{a, a_row, nullptr, row_, y, pitch, rows, cols, depth, add};
    if (form_ == Form::columns) {
      r.b = at(col * row_ + k);
      return loops_.dots[type_](r);
    }
    for (std::int64_t c = col; c < col + cols; c += width, r.y += width) {
      r.b = form_ == Form::panels ? at((c / width * k_ + k) * width) : at(k * row_ + c);
      loops_.panel[type_](r);
    }
  }

 private:
  enum class Form : std::uint8_t { panels, in_place, columns, read_columns, read_rows };
  static constexpr std::string_view kFormName = std::is_same_v<Sum, double> ? "panels_f64" : "panels";

  static void say(std::string_view form, std::string_view why) {
    cpu::say_form([&] {
      return std::pair(std::format("{}{}_{}", form, std::is_same_v<Sum, double> ? "_f64" : "", instruction_set_name()),
                       std::string(why));
    });
  }

  // The number of elements of a matrix as panels.
  std::int64_t panel_elements() const { return ceil_div(view_.shape()[-1], loops_.width) * loops_.width * k_; }

  void use_panels() {
    form_ = Form::panels;
    type_ = direct() ? panel_type<Sum>(view_.dtype) : 0;
    data_ = memory_.data();
    row_ = loops_.width;
    batch_strides_ = strides_of_copies(view_, batch_, panel_elements());
  }

  // True if panels are made directly from b, in its own type; else from a copy in the type of sums.
  bool direct() const {
    return panel_type<Sum>(view_.dtype) >= 0 && (view_.strides()[-2] == 1 || view_.strides()[-1] == 1 || k_ == 1);
  }

  Buffer panels(cpu::Executor& executor) const {
    const View from = direct() ? view_ : packed(executor, view_, kSumType<Sum>);
    const Strides strides = strides_of_copies(view_, batch_, panel_elements());
    const Shape distinct = distinct_of(batch_, strides);
    const int type = panel_type<Sum>(from.dtype);
    const std::int64_t size = panel_element_bytes<Sum>(type), n = from.shape()[-1], width = loops_.width,
                       across = ceil_div(n, width);
    const std::int64_t matrices = element_count(distinct);
    const Buffer memory = Buffer::host(static_cast<std::uint64_t>(matrices * panel_elements() * size));
    const std::int64_t grain = std::max<std::int64_t>(1, 16384 / (k_ * width));
    parallel(executor, matrices * across, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t col = i % across * width, cols = std::min(width, n - col);
        const std::int64_t at = offset_of({distinct, batch_strides(from)}, i / across) + col * from.strides()[-1];
        const std::byte* source = from.buffer.data() + from.offset + at * size;
        std::byte* target = memory.data() + (offset_of({distinct, strides}, i / across) + col * k_) * size;
        if (from.strides()[-2] == 1 || k_ == 1) {
          loops_.pack[type](source, from.strides()[-1], k_, cols, width, target);
          continue;
        }
        for (std::int64_t k = 0; k < k_; ++k, target += width * size) {
          std::memcpy(target, source + k * from.strides()[-2] * size, static_cast<std::size_t>(cols * size));
          std::memset(target + cols * size, 0, static_cast<std::size_t>((width - cols) * size));
        }
      }
    });
    return memory;
  }

  // The same of a read operand whose first element is `first`: a few columns, or all columns of the rows, are decoded.
  void multiply_read(const Sum* a, std::int64_t a_row, std::int64_t rows, std::int64_t first, std::int64_t col,
                     std::int64_t cols, std::int64_t k, std::int64_t depth, Sum* y, std::int64_t pitch,
                     bool add) const {
    constexpr std::int64_t kColumns = 8, kDepth = 512;  // whose decoded elements stay in the first-level cache
    thread_local Scratch decoded, widened;
    const auto load = [&](std::int64_t at, std::int64_t count, std::int64_t into, Sum* to) {
      if constexpr (std::is_same_v<Sum, float>) {
        problem_.reader->load(at, count, to + into);
      } else {
        float* const narrow = decoded.need<float>(count);
        problem_.reader->load(at, count, narrow);
        std::copy_n(narrow, count, to + into);
      }
    };
    if (form_ == Form::read_columns) {
      if constexpr (std::is_same_v<Sum, float>) {
        const std::int64_t at = first + col * row_ + k;
        if (problem_.reader->multiply({a, a_row, nullptr, 0, y, pitch, rows, cols, depth, add}, at, row_)) return;
      }
      constexpr std::int64_t kPitch = kDepth + 16;
      Sum* const b = widened.need<Sum>(kColumns * kPitch);
      for (std::int64_t c = 0; c < cols; c += kColumns) {
        const std::int64_t part = std::min(kColumns, cols - c);
        for (std::int64_t e = 0; e < depth; e += kDepth) {
          const std::int64_t count = std::min(kDepth, depth - e);
          for (std::int64_t i = 0; i < part; ++i) load(first + (col + c + i) * row_ + k + e, count, i * kPitch, b);
          loops_.dots[0]({a + e, a_row, b, kPitch, y + c, pitch, rows, part, count, add || e > 0});
        }
      }
      return;
    }
    const std::int64_t width = loops_.width, padded = ceil_div(cols, width) * width;
    Sum* const b = widened.need<Sum>(depth * padded);
    for (std::int64_t i = 0; i < depth; ++i) {
      load(first + (k + i) * row_ + col, cols, i * padded, b);
      std::fill_n(b + i * padded + cols, padded - cols, Sum(0));
    }
    for (std::int64_t c = 0; c < cols; c += width) {
      loops_.panel[0]({a, a_row, b + c, padded, y + c, pitch, rows, width, depth, add});
    }
  }

  const PanelLoops<Sum>& loops_;
  const MatmulProblem& problem_;
  Form form_ = Form::panels;
  int type_ = 0;
  std::int64_t k_, row_ = 0;
  const std::byte* data_ = nullptr;
  View view_;
  Shape batch_;
  Strides batch_strides_;
  Buffer memory_;
};

// The rows of a, as sums are, contiguous along k: in place, or a copy of some of them. For f64 a is of that type.
template <class Sum>
class LeftSide {
 public:
  explicit LeftSide(const View& view, const GatherRows<Sum>* gather = nullptr)
      : view_(view), load_(load_block(view.dtype)), gather_(gather) {
    in_place_ = view.dtype == kSumType<Sum> && (view.strides()[-1] == 1 || view.shape()[-1] == 1);
    // Rows a page apart would evict each other from the first-level cache.
    if (view.strides()[-2] % static_cast<std::int64_t>(4096 / sizeof(Sum)) == 0 && view.shape()[-2] > 4)
      in_place_ = false;
  }
  // Sets `pitch` to the rows' stride.
  const Sum* rows(const Shape& batch, std::int64_t index, std::int64_t row, std::int64_t rows, std::int64_t k,
                  std::int64_t depth, Scratch& scratch, std::int64_t& pitch) const {
    const std::int64_t along = view_.strides()[-1], down = view_.strides()[-2];
    const std::int64_t first = batch_offset(view_, batch, index) + row * down + k * along;
    if (gather_) {
      pitch = depth + 16;
      Sum* const copy = scratch.need<Sum>(rows * pitch);
      (*gather_)(index, row, rows, k, depth, copy, pitch);
      return copy;
    }
    if (in_place_) {
      pitch = down;
      return data<const Sum>(view_) + first;
    }
    pitch = depth + 16;
    Sum* const copy = scratch.need<Sum>(rows * pitch);
    for (std::int64_t i = 0; i < rows; ++i) {
      load_(view_.buffer.data() + view_.offset, first + i * down, along, static_cast<int>(depth), copy + i * pitch);
    }
    return copy;
  }

 private:
  View view_;
  LoadBlock load_;
  const GatherRows<Sum>* gather_;
  bool in_place_;
};

Cut cut(const MatmulProblem& p, int threads, std::int64_t unit) {
  constexpr std::int64_t kRows = 96, kBlock = 64 << 10;  // elements of a block: a part of the second-level cache
  constexpr std::int64_t kLeastWork = 512 << 10;         // multiplications worth a task of their own
  const auto round_up = [](std::int64_t size, std::int64_t to) { return ceil_div(size, to) * to; };
  Cut c{round_up(ceil_div(p.m, ceil_div(p.m, kRows)), 8), round_up(p.n, unit)};
  const std::int64_t work = p.products() * p.k;
  const std::int64_t wanted = threads == 1 ? 1 : threads * (work > 8 * kLeastWork ? 4 : 1);
  const auto blocks = [&] { return p.batches() * ceil_div(p.m, c.rows) * ceil_div(p.n, c.cols); };
  const auto too_few = [&] { return blocks() < wanted && c.rows * c.cols * p.k > 2 * kLeastWork; };
  while (c.cols > unit && (c.rows * c.cols > kBlock || too_few())) c.cols = round_up(c.cols / 2, unit);
  while (c.rows > 8 && too_few()) c.rows = round_up(c.rows / 2, 8);
  return c;
}

}  // namespace

template <class Sum>
void multiply_by_panels(cpu::Executor& executor, const MatmulProblem& p, const Expression* epilogue,
                        const RowStore& store, const GatherRows<Sum>* gather) {
  View a_view = p.a;
  if (std::is_same_v<Sum, double> && a_view.dtype != DType::f64) a_view = packed(executor, p.a, DType::f64);
  const LeftSide<Sum> left(a_view, gather);
  const RightSide<Sum> right(executor, p);
  const bool straight = !epilogue && p.y.dtype == kSumType<Sum> && p.y.strides()[-1] == 1;

  const Cut size = cut(p, executor.threads(), right.unit());
  const std::int64_t across = ceil_div(p.n, size.cols), down = ceil_div(p.m, size.rows);
  parallel(executor, p.batches() * across * down, 1, [&](std::int64_t begin, std::int64_t end) {
    thread_local Scratch a_scratch, y_scratch;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t batch = i / (across * down);
      const std::int64_t row = i / across % down * size.rows, col = i % across * size.cols;
      const std::int64_t rows = std::min(size.rows, p.m - row), cols = std::min(size.cols, p.n - col);
      const bool in_place = straight && right.writes_only(cols);
      const std::int64_t pitch = in_place ? p.y.strides()[-2] : ceil_div(cols, right.unit()) * right.unit();
      Sum* const y = in_place ? data<Sum>(p.y) + batch_offset(p.y, p.batch, batch) + row * pitch + col
                              : y_scratch.need<Sum>(rows * pitch);
      const std::int64_t most = right.depth(rows);
      const std::int64_t step = p.k < 2 * most ? p.k : most;
      for (std::int64_t k = 0; k < p.k; k += step) {
        const std::int64_t depth = std::min(step, p.k - k);
        std::int64_t a_row = 0;
        const Sum* const a = left.rows(p.batch, batch, row, rows, k, depth, a_scratch, a_row);
        right.multiply(a, a_row, rows, batch, col, cols, k, depth, y, pitch, k > 0);
      }
      if (!in_place) store.rows(y, pitch, batch, row, rows, col, cols);
    }
  });
}
template void multiply_by_panels(cpu::Executor&, const MatmulProblem&, const Expression*, const RowStore&,
                                 const GatherRows<float>*);
template void multiply_by_panels(cpu::Executor&, const MatmulProblem&, const Expression*, const RowStore&,
                                 const GatherRows<double>*);

void multiply_bytes_by_panels(cpu::Executor& executor, const MatmulProblem& p, const RowStore& store) {
  const auto largest = [](DType t) { return t == DType::u8 ? 255 : 128; };
  const std::int64_t exact = (std::int64_t{1} << 24) / (largest(p.a.dtype) * largest(p.b.dtype));
  const View a = packed(executor, p.a);
  const RightSide<float> right(executor, p);
  const std::int64_t step = right.goes_by_rows() ? 32 : exact;
  in_tiles<std::uint32_t>(executor, p, store,
                          [&](std::int64_t batch, std::int64_t row, std::int64_t rows, std::int64_t col,
                              std::int64_t cols, std::int64_t pitch, std::uint32_t* sums) {
                            thread_local Scratch scratch;
                            float* const part = scratch.need(rows * pitch);
                            const std::int64_t a0 = batch_offset(a, p.batch, batch) + row * p.k;
                            for (std::int64_t k = 0; k < p.k; k += exact) {
                              const std::int64_t stop = std::min(k + exact, p.k);
                              for (std::int64_t at = k; at < stop; at += step) {
                                right.multiply(data<const float>(a) + a0 + at, p.k, rows, batch, col, cols, at,
                                               std::min(step, stop - at), part, pitch, at > k);
                              }
                              for (std::int64_t r = 0; r < rows; ++r) {
                                for (std::int64_t c = 0; c < cols; ++c) {
                                  sums[r * pitch + c] +=
                                      static_cast<std::uint32_t>(static_cast<std::int32_t>(part[r * pitch + c]));
                                }
                              }
                            }
                          });
}

}  // namespace weft::kernels
