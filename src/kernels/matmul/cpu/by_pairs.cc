// Products of integers by pairs along k (pairs.h).
#include "cpu/kernel_form.h"
#include "cpu/packed_weight_cache.h"
#include "kernels/common/scratch_cpu.h"
#include "kernels/matmul/cpu/forms.h"

namespace weft::kernels {
namespace {

// b in pairs along k.
class PairSide {
 public:
  PairSide(cpu::Executor& executor, const MatmulProblem& p)
      : loops_(pair_loops()), view_(p.b), batch_(p.batch), k_(p.k) {
    if (PackedWeightCache* packed_weights = executor.packed_weights()) {
      memory_ = packed_weights->form(view_, "pairs", [&] { return panels(executor); });
    }
    const bool is_constant = bool(memory_);
    if (!is_constant) memory_ = panels(executor);
    strides_ = strides_of_copies(view_, batch_, elements());
    cpu::say_form([&] {
      return std::pair(std::string(loops_.name),
                       std::string(is_constant ? "b is a constant, packed once" : "b is packed"));
    });
  }

  std::int64_t width() const { return loops_.width; }
  // Of columns from `col` on, a multiple of width(); `pair` is the first of k.
  void multiply(PairRun r, std::int64_t batch, std::int64_t col, std::int64_t cols, std::int64_t pair) const {
    const std::int64_t first = offset_of({batch_, strides_}, batch);
    for (std::int64_t c = col; c < col + cols; c += width(), r.y += width()) {
      r.b = memory_.data() + (first + (c * pairs() + pair * width()) * 2) * size();
      loops_.panel[pair_type(view_.dtype)](r);
    }
  }

 private:
  std::int64_t pairs() const { return ceil_div(k_, 2); }
  std::int64_t size() const { return bits(view_.dtype) / 8; }
  std::int64_t elements() const { return ceil_div(view_.shape()[-1], width()) * width() * pairs() * 2; }

  template <class T>
  static void pack(const T* from, std::int64_t down, std::int64_t along, std::int64_t k, std::int64_t cols,
                   std::int64_t width, T* to) {
    for (std::int64_t i = 0; i < k; i += 2, from += 2 * down, to += 2 * width) {
      for (std::int64_t c = 0; c < cols; ++c) {
        to[2 * c] = from[c * along];
        to[2 * c + 1] = i + 1 < k ? from[c * along + down] : T(0);
      }
      std::fill_n(to + 2 * cols, 2 * (width - cols), T(0));
    }
  }

  Buffer panels(cpu::Executor& executor) const {
    const Strides strides = strides_of_copies(view_, batch_, elements());
    const Shape distinct = distinct_of(batch_, strides);
    const std::int64_t n = view_.shape()[-1], across = ceil_div(n, width()), matrices = element_count(distinct);
    const Buffer memory = Buffer::host(static_cast<std::uint64_t>(matrices * elements() * size()));
    const std::int64_t grain = std::max<std::int64_t>(1, 16384 / (k_ * width()));
    parallel(executor, matrices * across, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t col = i % across * width(), cols = std::min<std::int64_t>(width(), n - col);
        const std::int64_t from = offset_of({distinct, batch_strides(view_)}, i / across) + col * view_.strides()[-1];
        const std::int64_t to = offset_of({distinct, strides}, i / across) + col * pairs() * 2;
        const auto of_type = [&]<class T>(T) {
          pack(data<const T>(view_) + from, view_.strides()[-2], view_.strides()[-1], k_, cols, width(),
               reinterpret_cast<T*>(memory.data()) + to);
        };
        if (view_.dtype == DType::i16)
          of_type(std::int16_t());
        else
          of_type(std::int8_t());
      }
    });
    return memory;
  }

  const PairLoops& loops_;
  View view_;
  Shape batch_;
  Strides strides_;
  std::int64_t k_;
  Buffer memory_;
};

// Elements of rows of an integer type as i16.
template <class X>
void take_halves(const View& view, std::int64_t first, std::int64_t stride, std::int64_t count, std::int16_t* to) {
  const X* x = data<const X>(view) + first;
  if (stride == 1) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<std::int16_t>(x[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<std::int16_t>(x[i * stride]);
  }
}

// Blocks with all columns where they can: rows are gathered for each block.
Cut pair_cut(const MatmulProblem& p, int threads, std::int64_t width) {
  constexpr std::int64_t kBlock = 48 << 10, kLeastRows = 16, kMostRows = 96;
  const auto round_up = [](std::int64_t size, std::int64_t to) { return ceil_div(size, to) * to; };
  Cut c{kMostRows, round_up(p.n, width)};
  while (c.cols > width && c.cols * kLeastRows > kBlock) c.cols = round_up(c.cols / 2, width);
  c.rows = std::min(std::max(kBlock / c.cols / 8 * 8, kLeastRows), std::min(kMostRows, round_up(p.m, 8)));
  const std::int64_t wanted = threads == 1 ? 1 : threads * 4;
  const auto blocks = [&] { return p.batches() * ceil_div(p.m, c.rows) * ceil_div(p.n, c.cols); };
  const auto too_few = [&] { return blocks() < wanted && c.rows * c.cols * p.k > (1 << 20); };
  while (c.rows > kLeastRows && too_few()) c.rows = round_up(c.rows / 2, 8);
  while (c.cols > 2 * width && too_few()) c.cols = round_up(c.cols / 2, width);
  return c;
}

// `rows` writes a's rows as GatherRows says; null: they lie as the loops read them, in pairs.
void by_pairs(cpu::Executor& executor, const MatmulProblem& p, const RowStore& store,
              const GatherRows<std::int16_t>* rows) {
  const PairSide right(executor, p);
  const Cut size = pair_cut(p, executor.threads(), right.width());
  const std::int64_t across = ceil_div(p.n, size.cols), down = ceil_div(p.m, size.rows);
  parallel(executor, p.batches() * across * down, 1, [&](std::int64_t begin, std::int64_t end) {
    thread_local Scratch a_scratch, y_scratch;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t batch = i / (across * down);
      const std::int64_t row = i / across % down * size.rows, col = i % across * size.cols;
      const std::int64_t count = std::min(size.rows, p.m - row), cols = std::min(size.cols, p.n - col);
      const std::int64_t pitch = ceil_div(cols, right.width()) * right.width();
      std::uint32_t* const y = y_scratch.need<std::uint32_t>(count * pitch);
      constexpr std::int64_t kMost = 2048;  // of k at a time, which a core's caches hold
      const std::int64_t step = p.k < 2 * kMost ? p.k : kMost;
      for (std::int64_t k = 0; k < p.k; k += step) {
        const std::int64_t depth = std::min(step, p.k - k);
        std::int64_t a_row = ceil_div(depth, 2) * 2 + 32;
        const std::int16_t* a = nullptr;
        if (rows) {
          std::int16_t* const copied = a_scratch.need<std::int16_t>(count * a_row);
          (*rows)(batch, row, count, k, depth, copied, a_row);
          for (std::int64_t r = 0; r < count && depth % 2; ++r) copied[r * a_row + depth] = 0;
          a = copied;
        } else {
          a_row = p.a.strides()[-2];
          a = data<const std::int16_t>(p.a) + batch_offset(p.a, p.batch, batch) + row * a_row + k;
        }
        right.multiply({a, a_row, nullptr, y, pitch, count, ceil_div(depth, 2), k > 0}, batch, col, cols, k / 2);
      }
      store.rows(y, pitch, batch, row, count, col, cols);
    }
  });
}

}  // namespace

void multiply_by_pairs(cpu::Executor& executor, const MatmulProblem& p, const RowStore& store) {
  const auto take = p.a.dtype == DType::i8   ? take_halves<std::int8_t>
                    : p.a.dtype == DType::u8 ? take_halves<std::uint8_t>
                                             : take_halves<std::int16_t>;
  const std::int64_t down = p.a.strides()[-2], along = p.a.strides()[-1];
  if (p.a.dtype == DType::i16 && along == 1 && p.k % 2 == 0) return by_pairs(executor, p, store, nullptr);
  const GatherRows<std::int16_t> rows = [&](std::int64_t batch, std::int64_t row, std::int64_t count, std::int64_t k,
                                            std::int64_t depth, std::int16_t* to, std::int64_t pitch) {
    const std::int64_t first = batch_offset(p.a, p.batch, batch) + row * down + k * along;
    for (std::int64_t r = 0; r < count; ++r) take(p.a, first + r * down, along, depth, to + r * pitch);
  };
  by_pairs(executor, p, store, &rows);
}
void multiply_by_pairs(cpu::Executor& executor, const MatmulProblem& p, const RowStore& store,
                       const GatherRows<std::int16_t>& gather) {
  by_pairs(executor, p, store, &gather);
}

}  // namespace weft::kernels
