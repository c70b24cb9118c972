// Rows on the CPU with a prologue and an epilogue: each row of the prologue's results is passed to a function as a
// dense array, and the function's results to the epilogue, in the blocks in which expressions are evaluated.
#pragma once

#include <format>

#include "kernels/common/row_fusion.h"
#include "kernels/common/rows_cpu.h"
#include "kernels/elementwise/expression_cpu.h"

namespace weft::kernels {

// The elements of a few rows in blocks of an expression's registers: calls f(runs, elements) for each block. A run
// belongs to one row and lies along its last axis; rows alternate, so that cache lines which adjacent rows share are
// used whole.
class RowBlocks {
 public:
  struct Run {
    int at, n;               // begin and size in the block
    std::int64_t row, step;  // row: among these rows
  };
  explicit RowBlocks(const Rows& rows) : rows_(rows) {}

  template <class F>
  void operator()(std::int64_t count, F&& f) {
    const std::int64_t width = rows_.inner.shape.empty() ? 1 : rows_.inner.shape.back();
    const std::int64_t chunk = CpuExpression::kBlock / count;
    for (std::int64_t begin = 0; begin < rows_.length; begin += chunk) {
      const std::int64_t end = std::min(begin + chunk, rows_.length);
      runs_.clear();
      int filled = 0;
      for (std::int64_t row = 0; row < count; ++row) {
        for (std::int64_t step = begin; step < end;) {
          const auto n = static_cast<int>(std::min(end - step, width - step % width));
          runs_.push_back({filled, n, row, step});
          filled += n;
          step += n;
        }
      }
      f(std::span<const Run>(runs_), filled);
    }
  }

 private:
  const Rows& rows_;
  std::vector<Run> runs_;
};

// Prologue and epilogue, for one thread.
template <class T>
class RowWorker {
 public:
  static constexpr std::int64_t kMaxRows = RowReader<T>::kBlock;
  static constexpr DType kType = sizeof(T) == 8 ? DType::f64 : DType::f32;

  RowWorker(const RowViews& views, const Rows& rows, const std::optional<CpuExpression>& prologue,
            const std::optional<CpuExpression>& epilogue)
      : views_(views), rows_(rows), prologue_(prologue), epilogue_(epilogue), blocks_(rows) {
    if (prologue) prologue_registers_.emplace(*prologue);
    if (epilogue) epilogue_registers_.emplace(*epilogue);
  }

  // Computes x of `count` rows from `first` on, one after the other, and stores the extra outputs.
  void take(std::int64_t first, std::int64_t count, T* x) {
    if (count == 1 && long_runs()) {
      std::vector<CpuExpression::Row> in(views_.inputs.size()), out(views_.extra_outputs.size() + 2);
      return each_run([&](std::int64_t step, std::int64_t n) {
        for (std::size_t k = 0; k < in.size(); ++k) in[k] = row_of(views_.inputs[k], k, first, step);
        for (std::size_t k = 0; k < views_.extra_outputs.size(); ++k) {
          out[k + 1] = row_of(views_.extra_outputs[k], extra_outputs_at() + k, first, step);
        }
        out.back() = {reinterpret_cast<std::byte*>(x), step, 1};
        prologue_->evaluate(*prologue_registers_, in, out, n);
      });
    }
    blocks_(count, [&](std::span<const RowBlocks::Run> runs, int elements) {
      for (const RowBlocks::Run& run : runs) {
        for (std::size_t k = 0; k < views_.inputs.size(); ++k) {
          load(*prologue_, *prologue_registers_, k, views_.inputs[k], k, first, run);
        }
      }
      prologue_->run(*prologue_registers_, elements);
      const int x_output = prologue_->output_count() - 1;
      for (const RowBlocks::Run& run : runs) {
        prologue_->store(*prologue_registers_, x_output, run.at, reinterpret_cast<std::byte*>(x),
                         run.row * rows_.length + run.step, 1, run.n);
        for (std::size_t k = 0; k < views_.extra_outputs.size(); ++k) {
          store(*prologue_, *prologue_registers_, k + 1, views_.extra_outputs[k], extra_outputs_at() + k, first, run);
        }
      }
    });
  }
  // Stores the epilogue's results for the function's results of these rows.
  void give(std::int64_t first, std::int64_t count, const T* y) {
    const bool narrow = views_.result_type() != kType;
    if (count == 1 && !narrow && long_runs()) {
      std::vector<CpuExpression::Row> in(views_.operands.size() + 1), out(views_.results.size());
      return each_run([&](std::int64_t step, std::int64_t n) {
        in[0] = {reinterpret_cast<std::byte*>(const_cast<T*>(y)), step, 1};
        for (std::size_t k = 0; k < views_.operands.size(); ++k) {
          in[k + 1] = row_of(views_.operands[k], views_.inputs.size() + k, first, step);
        }
        for (std::size_t k = 0; k < out.size(); ++k) out[k] = row_of(views_.results[k], results_at() + k, first, step);
        epilogue_->evaluate(*epilogue_registers_, in, out, n);
      });
    }
    blocks_(count, [&](std::span<const RowBlocks::Run> runs, int elements) {
      for (const RowBlocks::Run& run : runs) {
        const T* from = y + run.row * rows_.length + run.step;
        float rounded[CpuExpression::kBlock];
        if (narrow) std::transform(from, from + run.n, rounded, [](T v) { return static_cast<float>(v); });
        const void* values = narrow ? static_cast<const void*>(rounded) : from;
        epilogue_->load(*epilogue_registers_, 0, run.at, static_cast<const std::byte*>(values), 0, 1, run.n);
        for (std::size_t k = 0; k < views_.operands.size(); ++k) {
          load(*epilogue_, *epilogue_registers_, k + 1, views_.operands[k], views_.inputs.size() + k, first, run);
        }
      }
      epilogue_->run(*epilogue_registers_, elements);
      for (const RowBlocks::Run& run : runs) {
        for (std::size_t k = 0; k < views_.results.size(); ++k) {
          store(*epilogue_, *epilogue_registers_, k, views_.results[k], results_at() + k, first, run);
        }
      }
    });
  }

 private:
  std::size_t results_at() const { return views_.inputs.size() + views_.operands.size(); }
  std::size_t extra_outputs_at() const { return results_at() + views_.results.size(); }
  std::int64_t width() const { return rows_.inner.shape.empty() ? 1 : rows_.inner.shape.back(); }
  // True if runs along the last axis are long enough for an evaluation each.
  bool long_runs() const { return width() >= CpuExpression::kBlock / 4; }
  // Calls f(first step, steps) for each run.
  template <class F>
  void each_run(F&& f) const {
    for (std::int64_t step = 0; step < rows_.length; step += width()) f(step, width());
  }

  static std::int64_t offset_in(const Collapsed& dims, std::size_t k, std::int64_t i) {
    std::int64_t offset = 0;
    for (int d = dims.shape.rank() - 1; d > 0; --d) {
      offset += i % dims.shape[d] * dims.strides[k][d];
      i /= dims.shape[d];
    }
    return dims.shape.empty() ? offset : offset + i * dims.strides[k][0];
  }
  std::pair<std::int64_t, std::int64_t> place(std::size_t k, std::int64_t row, std::int64_t step) const {
    return {offset_in(rows_.outer, k, row) + offset_in(rows_.inner, k, step),
            rows_.inner.shape.empty() ? 0 : rows_.inner.strides[k].back()};
  }
  CpuExpression::Row row_of(const View& v, std::size_t k, std::int64_t row, std::int64_t step) const {
    const auto [offset, stride] = place(k, row, step);
    return {v.buffer.data() + v.offset, offset, stride};
  }
  // Loads or stores port `port` of an expression, which is operand `k` of the rows.
  void load(const CpuExpression& e, CpuExpression::Registers& registers, std::size_t port, const View& v, std::size_t k,
            std::int64_t first, const RowBlocks::Run& run) const {
    const auto [offset, stride] = place(k, first + run.row, run.step);
    e.load(registers, static_cast<int>(port), run.at, v.buffer.data() + v.offset, offset, stride, run.n);
  }
  void store(const CpuExpression& e, const CpuExpression::Registers& registers, std::size_t port, const View& v,
             std::size_t k, std::int64_t first, const RowBlocks::Run& run) const {
    const auto [offset, stride] = place(k, first + run.row, run.step);
    e.store(registers, static_cast<int>(port), run.at, v.buffer.data() + v.offset, offset, stride, run.n);
  }

  const RowViews& views_;
  const Rows& rows_;
  const std::optional<CpuExpression>&prologue_, &epilogue_;
  std::optional<CpuExpression::Registers> prologue_registers_, epilogue_registers_;
  RowBlocks blocks_;
};

// Calls f(row of x, row of y, length, index of the row) for each row, on all cores.
template <class T, class F>
void for_each_row(cpu::Executor& all_cores, const RowViews& views, const Rows& rows, F&& f) {
  std::optional<CpuExpression> prologue, epilogue;
  if (views.prologue) {
    // The last output is x as it was computed, not rounded to a narrower type.
    Expression e = *views.prologue;
    e.output(e.cast(e.outputs()[0], RowWorker<T>::kType));
    prologue.emplace(e);
  }
  if (views.epilogue) epilogue.emplace(*views.epilogue);
  // Adjacent packed elements share bytes.
  const auto packed = [](const std::vector<View>& list) {
    return std::ranges::any_of(list, [](const View& v) { return bits(v.dtype) < 8; });
  };
  cpu::Executor one_core(1);
  cpu::Executor& executor = packed(views.results) || packed(views.extra_outputs) ? one_core : all_cores;

  const std::size_t y = views.inputs.size() + views.operands.size();
  const RowReader<T> from(views.inputs[0], rows, 0), to(views.results[0], rows, y);
  const bool read = !prologue && from.direct(), written = !epilogue && to.direct();
  const bool across = runs_across(rows, 0) || runs_across(rows, y);
  const std::int64_t short_rows =
      std::max<std::int64_t>(CpuExpression::kBlock / std::max<std::int64_t>(rows.length, 1), 1);
  const std::int64_t block = across             ? RowWorker<T>::kMaxRows
                             : views.is_fused() ? std::min(short_rows, RowWorker<T>::kMaxRows)
                                                : 1;
  const std::int64_t grain = std::max<std::int64_t>(16384 / std::max<std::int64_t>(rows.length * block, 1), 1);
  cpu::say_form([&] {
    return std::pair(std::string(across      ? "row_blocks_across"
                                 : block > 1 ? "row_blocks"
                                             : "rows"),
                     std::format("{} rows of {}", rows.count, rows.length));
  });
  parallel(executor, ceil_div(rows.count, block), grain, [&](std::int64_t begin, std::int64_t end) {
    std::vector<T> in(read ? 0 : block * rows.length), out(written ? 0 : block * rows.length);
    RowWorker<T> worker(views, rows, prologue, epilogue);
    for (std::int64_t b = begin; b < end; ++b) {
      const std::int64_t first = b * block;
      const std::int64_t count = std::min(block, rows.count - first);
      if (prologue)
        worker.take(first, count, in.data());
      else if (!read)
        from.gather(first, count, in.data());
      for (std::int64_t r = 0; r < count; ++r) {
        const T* x_row = read ? from.direct_row(first + r) : in.data() + r * rows.length;
        T* y_row = written ? to.direct_row(first + r) : out.data() + r * rows.length;
        f(x_row, y_row, rows.length, first + r);
      }
      if (epilogue)
        worker.give(first, count, out.data());
      else if (!written)
        to.scatter(first, count, out.data());
    }
  });
}

}  // namespace weft::kernels
