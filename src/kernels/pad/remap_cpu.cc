#include <algorithm>
#include <cstring>

#include "kernels/cpu_loops.h"
#include "kernels/elementwise/block_memory.h"
#include "kernels/pad/remap.h"

namespace weft::kernels {
namespace {

// Outputs that follow each other, whose inputs begin at `index` and are `step` apart, or are outside (index -1).
struct Run {
  std::int64_t index, step, length;
};

// The longest run from output `c` on. Runs are computed, not looked up: a table would be as long as the axis.
Run run_from(const RemapProblem& problem, const RemapAxis& axis, std::int64_t c) {
  const std::int64_t left = axis.to - c;
  if (!axis.mapped) return {c, 1, left};
  const std::int64_t index = remapped(problem, axis, c), j = c + axis.shift;
  const auto run = [&](std::int64_t step, std::int64_t length) { return Run{index, step, std::min(length, left)}; };
  switch (problem.mode) {
    case Remap::constant:
    case Remap::keep:
    case Remap::edge:
      if (j < 0) return run(0, -j);
      return j < axis.from ? run(1, axis.from - j) : run(0, left);
    case Remap::wrap:
      return run(1, axis.period - index);
    case Remap::reflect:
    case Remap::symmetric: {
      // Indices ascend from 0 to from - 1 and come back.
      const std::int64_t u = (j % axis.period + axis.period) % axis.period;
      return u < axis.from ? run(1, axis.from - u) : run(-1, axis.period - u);
    }
    case Remap::repeat:
      return run(0, axis.period - j % axis.period);
  }
  return run(0, 1);
}

// Elements of whole bytes, as unsigned integers.
template <class T>
void move(const std::byte* from, std::int64_t first, std::int64_t step, std::int64_t count, std::byte* to,
          std::int64_t target, std::int64_t stride) {
  const T* x = reinterpret_cast<const T*>(from) + first;
  T* y = reinterpret_cast<T*>(to) + target;
  if (step == 1 && stride == 1) {
    std::memcpy(y, x, static_cast<std::size_t>(count) * sizeof(T));
  } else if (step == 0) {
    const T value = *x;
    for (std::int64_t i = 0; i < count; ++i) y[i * stride] = value;
  } else {
    for (std::int64_t i = 0; i < count; ++i) y[i * stride] = x[i * step];
  }
}

using Move = void (*)(const std::byte* from, std::int64_t first, std::int64_t step, std::int64_t count, std::byte* to,
                      std::int64_t target, std::int64_t stride);
Move move_of(int bits) {
  switch (bits) {
    case 8:
      return move<std::uint8_t>;
    case 16:
      return move<std::uint16_t>;
    case 32:
      return move<std::uint32_t>;
    default:
      return move<std::uint64_t>;
  }
}

// Stores one row of y, whose inputs begin at `source`; all of it is outside if that is nothing.
class RowMover {
 public:
  explicit RowMover(const RemapProblem& problem)
      : problem_(problem),
        row_(problem.axes[problem.rank - 1]),
        x_(problem.x.buffer.data() + problem.x.offset),
        y_(problem.y.buffer.data() + problem.y.offset),
        load_(load_block(problem.x.dtype)),
        store_(store_block(problem.y.dtype)) {}

  void operator()(std::int64_t target, bool inside, std::int64_t source) const {
    const bool packed = bits(problem_.x.dtype) < 8;
    for (std::int64_t c = 0; c < row_.to;) {
      const Run run = inside ? run_from(problem_, row_, c) : Run{-1, 0, row_.to - c};
      const std::int64_t to = target + c * row_.y_stride, from = source + run.index * row_.x_stride;
      if (run.index >= 0 || problem_.mode != Remap::keep) {
        const bool value = run.index < 0;
        const std::byte* x = value ? reinterpret_cast<const std::byte*>(&problem_.value) : x_;
        const std::int64_t first = value ? 0 : from, step = value ? 0 : run.step * row_.x_stride;
        if (packed) {
          move_packed(x, first, step, run.length, to);
        } else {
          move_(x, first, step, run.length, y_, to, row_.y_stride);
        }
      }
      c += run.length;
    }
  }

 private:
  // Packed elements, many at a time, as numbers.
  void move_packed(const std::byte* x, std::int64_t first, std::int64_t step, std::int64_t count,
                   std::int64_t target) const {
    constexpr std::int64_t kNumbers = 1024;
    std::uint64_t numbers[kNumbers];
    for (std::int64_t i = 0; i < count; i += kNumbers) {
      const auto n = static_cast<int>(std::min(kNumbers, count - i));
      load_(x, first + i * step, step, n, numbers);
      store_(y_, target + i * row_.y_stride, row_.y_stride, n, numbers);
    }
  }

  const RemapProblem& problem_;
  const RemapAxis& row_;
  const std::byte* x_;
  std::byte* y_;
  LoadBlock load_;
  StoreBlock store_;
  Move move_ = move_of(bits(problem_.x.dtype));
};

}  // namespace

void remap_cpu(cpu::Executor& all_cores, const RemapProblem& problem) {
  const int last = problem.rank - 1;
  Shape outer;
  for (int d = 0; d < last; ++d) outer.push_back(problem.axes[d].to);
  const RowMover row(problem);
  cpu::Executor one_core(1);  // packed elements share bytes
  cpu::Executor& executor = bits(problem.x.dtype) < 8 ? one_core : all_cores;
  const std::int64_t grain = std::max<std::int64_t>(16384 / problem.axes[last].to, 1);
  parallel(executor, element_count(outer), grain, [&](std::int64_t begin, std::int64_t end) {
    Dims at = Dims::filled(last, 0), from = at;
    std::int64_t rest = begin;
    for (int d = last - 1; d >= 0; --d) {
      at[d] = rest % outer[d];
      rest /= outer[d];
      from[d] = remapped(problem, problem.axes[d], at[d]);
    }
    for (std::int64_t r = begin; r < end; ++r) {
      std::int64_t source = 0, target = 0;
      bool inside = true;
      for (int d = 0; d < last; ++d) {
        inside &= from[d] >= 0;
        source += from[d] * problem.axes[d].x_stride;
        target += at[d] * problem.axes[d].y_stride;
      }
      row(target, inside, source);
      for (int d = last - 1; d >= 0; --d) {
        const bool next = ++at[d] < outer[d];
        if (!next) at[d] = 0;
        from[d] = remapped(problem, problem.axes[d], at[d]);
        if (next) break;
      }
    }
  });
}

}  // namespace weft::kernels
