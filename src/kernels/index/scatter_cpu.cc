// Scatters on the CPU. All updates of one element are combined in order, by one thread: threads divide the elements,
// not the updates.
#include <concepts>
#include <functional>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/compiler.h"
#include "kernels/cpu_loops.h"
#include "kernels/elementwise/block_memory.h"
#include "kernels/index/line_cpu.h"
#include "kernels/index/scatter.h"
#include "kernels/index/selected_cpu.h"

namespace weft::kernels {
namespace {

template <class T>
WEFT_INLINE T combined(ScatterKind op, T a, T b) {
  if constexpr (std::is_same_v<T, std::complex<float>>) {
    return op == ScatterKind::add
               ? a + b
               : T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
  } else if constexpr (std::is_integral_v<T>) {
    // Integers wrap, so they are computed unsigned.
    const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
    switch (op) {
      case ScatterKind::add:
        return static_cast<T>(ua + ub);
      case ScatterKind::mul:
        return static_cast<T>(ua * ub);
      case ScatterKind::min:
        return std::min(a, b);
      default:
        return std::max(a, b);
    }
  } else {
    using F = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const F x = a, y = b;
    if (op == ScatterKind::add) return T(x + y);
    if (op == ScatterKind::mul) return T(x * y);
    if (x != x) return a;
    if (y != y) return b;
    const bool less = x < y || (x == y && std::signbit(x) && !std::signbit(y));
    return less == (op == ScatterKind::min) ? a : b;
  }
}

// y[to] combined with updates[from].
template <class T, ScatterKind kind>
struct Combine {
  T* y;
  const T* updates;

  void operator()(std::int64_t to, std::int64_t from) const { y[to] = combined(kind, y[to], updates[from]); }
  // The updates of a line whose indices are in [low, high). An element that the next one has, too, stays in a register.
  template <class I>
  void run(const IndexLine& line, const I* indices, std::int64_t low, std::int64_t high) const {
    constexpr std::int64_t kFew = 4096;
    if constexpr (std::is_integral_v<T> && kind == ScatterKind::add) {
      if (line.size <= kFew && line.count >= 8 * line.size && high - low == line.size)
        return add_in_tables(line, indices);
    }
    const auto next = static_cast<std::uint64_t>(high - low);
    for (std::int64_t i = 0; i < line.count;) {
      const I index = indices[i];
      const std::int64_t at = index < 0 ? index + line.size : index;
      if (static_cast<std::uint64_t>(at - low) >= next) {
        ++i;
        continue;
      }
      T value = y[at * line.stride];
      do value = combined(kind, value, updates[i++ * line.part_stride]);
      while (i < line.count && indices[i] == index);
      y[at * line.stride] = value;
    }
  }

 private:
  // Sums of many integers in few elements: one update of four goes to each of four tables, since an addition waits for
  // the one before it to the same element. Integers wrap, so their order does not count.
  template <class I>
  void add_in_tables(const IndexLine& line, const I* indices) const {
    constexpr std::size_t kTables = 4;
    const auto size = static_cast<std::size_t>(line.size);
    std::vector<T> tables(kTables * size);
    const auto add = [&](std::size_t table, std::int64_t i) {
      const I index = indices[i];
      const auto at = static_cast<std::uint64_t>(index < 0 ? index + line.size : index);
      if (at >= size) return;
      T& sum = tables[table * size + at];
      sum = combined(kind, sum, updates[i * line.part_stride]);
    };
    std::int64_t i = 0;
    for (; i + 4 <= line.count; i += 4) {
      for (std::size_t k = 0; k < kTables; ++k) add(k, i + static_cast<std::int64_t>(k));
    }
    for (; i < line.count; ++i) add(0, i);
    for (std::size_t at = 0; at < size; ++at) {
      T& sum = y[static_cast<std::int64_t>(at) * line.stride];
      for (std::size_t k = 0; k < kTables; ++k) sum = combined(kind, sum, tables[k * size + at]);
    }
  }
};

// What is done with pairs of elements of the whole and of the part: with those of a block of rows, and, unless it is
// null, with a line whose indices are in [low, high). So the loops that find pairs are compiled once.
struct Pairs {
  std::function<void(const SelectedElements& selected, const SelectedElements::Rows& rows)> of_rows;
  std::function<void(const IndexLine& line, std::int64_t low, std::int64_t high)> of_line = nullptr;
};
// Calls f(element of the whole, element of the part).
template <class F>
Pairs each_pair(const F& f) {
  return {[f](const SelectedElements& selected, const SelectedElements::Rows& rows) {
    if (selected.length() == 1 && rows.adjacent) {
      for (int i = 0; i < rows.count; ++i) {
        if (rows.whole[i] != SelectedElements::kNone) f(rows.whole[i], rows.part[0] + i);
      }
      return;
    }
    for (int i = 0; i < rows.count; ++i) {
      if (rows.whole[i] == SelectedElements::kNone) continue;
      for (std::int64_t j = 0; j < selected.length(); ++j) {
        f(rows.whole[i] + j * selected.whole_stride(), rows.part_of(i) + j * selected.part_stride());
      }
    }
  }};
}
template <class T, ScatterKind kind>
Pairs combining(const Selection& s) {
  const Combine<T, kind> combine{data<T>(s.whole), data<const T>(s.part)};
  Pairs pairs = each_pair(combine);
  pairs.of_line = [combine](const IndexLine& line, std::int64_t low, std::int64_t high) {
    line.with_indices([&](const auto* indices) { combine.run(line, indices, low, high); });
  };
  return pairs;
}

// All pairs whose first index is in [low, high), in the order of the part. `c` has the strides of whole, indices and
// part.
void take_pairs(const Selection& s, Collapsed c, const std::array<std::int64_t, 3>& start, std::int64_t low,
                std::int64_t high, const Pairs& pairs) {
  const SelectedElements selected(s, s.starts, std::move(c), start);
  SelectedElements::Rows rows;
  for (std::int64_t block = 0; block < selected.blocks(); ++block) {
    selected.find(block, low, high, rows);
    pairs.of_rows(selected, rows);
  }
}

// All pairs, on the executor's cores. If there is an axis along which the whole's stride is not 0, each core takes a
// part of it, since different parts update different elements; else each core takes a range of indices.
void take_pairs(cpu::Executor& executor, const Selection& s, const Pairs& pairs) {
  const Strides strides[] = {s.whole.strides(), s.indices.strides(), s.part.strides()};
  const Collapsed c = collapse(s.part.shape(), strides);
  constexpr std::int64_t kEvery = std::numeric_limits<std::int64_t>::max();
  const std::int64_t count = element_count(c.shape);
  const std::int64_t parts = std::clamp<std::int64_t>(count / 16384, 1, executor.threads());
  if (pairs.of_line) {
    if (const auto line = IndexLine::of(s, c)) {
      // Threads would all read every index, which pays where most elements are not in a cache.
      const bool near = line->size * bits(s.whole.dtype) / 8 <= std::int64_t{1} << 20;
      const std::int64_t ranges = near ? 1 : parts;
      parallel(executor, ranges, 1, [&](std::int64_t begin, std::int64_t end) {
        pairs.of_line(*line, line->size * begin / ranges, line->size * end / ranges);
      });
      return;
    }
  }
  int axis = -1;
  for (int d = 0; d < c.shape.rank(); ++d) {
    if (c.strides[0][d] != 0 && c.shape[d] >= parts && (axis < 0 || c.shape[d] > c.shape[axis])) axis = d;
  }
  if (parts == 1 || (axis < 0 && s.axes.empty())) return take_pairs(s, c, {}, 0, kEvery, pairs);
  const std::int64_t extent = axis < 0 ? s.axes[0].size : c.shape[axis];
  parallel(executor, parts, 1, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t low = extent * begin / parts, high = extent * end / parts;
    if (axis < 0) return take_pairs(s, c, {}, low, high, pairs);
    Collapsed share = c;
    share.shape[axis] = high - low;
    take_pairs(s, std::move(share), {low * c.strides[0][axis], low * c.strides[1][axis], low * c.strides[2][axis]}, 0,
               kEvery, pairs);
  });
}

// Elements of T that are moved as they are: those of numbers, and booleans, as integers of their size.
template <class T>
Pairs moving(const Selection& s) {
  using Bits = std::conditional_t<
      sizeof(T) == 1, std::uint8_t,
      std::conditional_t<sizeof(T) == 2, std::uint16_t,
                         std::conditional_t<sizeof(T) == 4, std::uint32_t,
                                            std::conditional_t<std::is_arithmetic_v<T>, std::uint64_t, T>>>>;
  return each_pair([y = data<Bits>(s.whole), updates = data<const Bits>(s.part)](std::int64_t to, std::int64_t from) {
    y[to] = updates[from];
  });
}
// Integers wrap, so those of a size have one sum and product.
template <class T>
struct Wrapped {
  using type = T;
};
template <std::integral T>
struct Wrapped<T> {
  using type = std::make_unsigned_t<T>;
};

}  // namespace

void scatter_cpu(cpu::Executor& executor, ScatterKind op, const Selection& s) {
  if (bits(s.whole.dtype) < 8) {
    const auto load = load_block(s.whole.dtype);
    std::byte* y = s.whole.buffer.data() + s.whole.offset;
    const std::byte* updates = s.part.buffer.data() + s.part.offset;
    cpu::Executor one_core(1);  // packed elements share bytes
    take_pairs(one_core, s, each_pair([&](std::int64_t to, std::int64_t from) {
                 std::int64_t a = 0, b = 0;
                 load(y, to, 0, 1, &a);
                 load(updates, from, 0, 1, &b);
                 const std::int64_t r = op == ScatterKind::assign ? b : combined(op, a, b);
                 store_block(s.whole.dtype)(y, to, 0, 1, &r);
               }));
    return;
  }
  const Pairs pairs = with_type(s.whole.dtype, [&]<class T>() -> Pairs {
    if (op == ScatterKind::assign) return moving<T>(s);
    if constexpr (std::is_same_v<T, bool>) {
      return each_pair([op, y = data<std::uint8_t>(s.whole), updates = data<const std::uint8_t>(s.part)](
                           std::int64_t to, std::int64_t from) {
        y[to] = op == ScatterKind::min ? y[to] && updates[from] : y[to] || updates[from];
      });
    } else {
      switch (op) {
        case ScatterKind::add:
          return combining<typename Wrapped<T>::type, ScatterKind::add>(s);
        case ScatterKind::mul:
          return combining<typename Wrapped<T>::type, ScatterKind::mul>(s);
        case ScatterKind::min:
          return combining<T, ScatterKind::min>(s);
        default:
          return combining<T, ScatterKind::max>(s);
      }
    }
  });
  take_pairs(executor, s, pairs);
}

}  // namespace weft::kernels
