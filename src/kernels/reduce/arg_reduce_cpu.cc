#include "kernels/reduce/arg_reduce_cpu.h"

#include <array>
#include <cmath>
#include <vector>

#include "kernels/common/rows_cpu.h"
#include "kernels/elementwise/block_loops.h"

namespace weft::kernels {
namespace {

// True if `v` replaces `best`, which came before it.
template <class T>
bool better(T v, T best, bool max) {
  return (best == best) & ((v != v) | (max ? v > best : v < best));
}

// Stores an index of either type.
void store_index(const View& y, std::int64_t offset, std::int64_t index) {
  if (bits(y.dtype) == 32) {
    data<std::uint32_t>(y)[offset] = static_cast<std::uint32_t>(index);
  } else {
    data<std::int64_t>(y)[offset] = index;
  }
}

constexpr int kLanes = 64, kChunk = 1024;

// lanes[k] becomes the best of itself and each n / kLanes-th element from k on; true if there is NaN, which lanes
// ignore.
template <bool max, class T>
WEFT_INLINE bool update_lanes(const T* WEFT_RESTRICT x, int n, T* WEFT_RESTRICT lanes) {
  int nans[kLanes] = {};
  for (int i = 0; i < n; i += kLanes) {
    for (int k = 0; k < kLanes; ++k) {
      const T v = x[i + k];
      lanes[k] = (max ? v > lanes[k] : v < lanes[k]) ? v : lanes[k];
      nans[k] |= v != v;
    }
  }
  int any = 0;
  for (int k = 0; k < kLanes; ++k) any |= nans[k];
  return any != 0;
}
template <class T>
struct LaneLoops {
  using Function = bool (*)(const T* x, int n, T* lanes);
  template <bool max>
  static bool plain(const T* x, int n, T* lanes) {
    return update_lanes<max>(x, n, lanes);
  }
#if WEFT_X86
  template <bool max>
  WEFT_TARGET_V3 static bool v3(const T* x, int n, T* lanes) {
    return update_lanes<max>(x, n, lanes);
  }
  template <bool max>
  WEFT_TARGET_V4 static bool v4(const T* x, int n, T* lanes) {
    return update_lanes<max>(x, n, lanes);
  }
#endif
  template <bool max>
  static Function choose() {
#if WEFT_X86
    if (instruction_set() == 4) return v4<max>;
    if (instruction_set() == 3) return v3<max>;
#endif
    return plain<max>;
  }
};

// The index of the first best element, or of the first NaN. load(first, n, buffer) gives n elements from `first` on.
template <class T, class Load>
std::int64_t best_of_row(bool max, std::int64_t length, const Load& load) {
  const auto update = max ? LaneLoops<T>::template choose<true>() : LaneLoops<T>::template choose<false>();
  T buffer[kChunk], lanes[kLanes];
  std::int64_t at = 0;
  T best = *load(0, 1, buffer);
  for (std::int64_t first = 0; first < length; first += kChunk) {
    const int n = static_cast<int>(std::min<std::int64_t>(kChunk, length - first)), whole = n / kLanes * kLanes;
    const T* const x = load(first, n, buffer);
    std::fill(lanes, lanes + kLanes, best);
    const bool has_nan = update(x, whole, lanes);
    for (int half = kLanes / 2; half > 0; half /= 2) {
      for (int k = 0; k < half; ++k) {
        lanes[k] = (max ? lanes[k + half] > lanes[k] : lanes[k + half] < lanes[k]) ? lanes[k + half] : lanes[k];
      }
    }
    T most = lanes[0];
    for (int i = whole; i < n; ++i) most = better(x[i], most, max) ? x[i] : most;
    // NaN stays the best, once there is one.
    const bool is_nan = has_nan | (most != most);
    if (!is_nan && most == best) continue;
    int i = 0;
    if (is_nan) {
      while (x[i] == x[i]) ++i;
    } else {
      for (bool found = false; i < whole; i += kLanes) {
        for (int k = 0; k < kLanes; ++k) found |= x[i + k] == most;
        if (found) break;
      }
      while (x[i] != most) ++i;
    }
    best = x[i];
    at = first + i;
    if (best != best) break;
  }
  return at;
}

// Elements in the form in which they are compared: narrow floats as f32. Booleans, of which any byte but 0 is true, and
// those of less than a byte are 64-bit integers.
template <class X>
using Compared = std::conditional_t<std::is_arithmetic_v<X>, X, float>;

// A view's elements as values of T.
template <class T>
class Elements {
 public:
  explicit Elements(const View& view)
      : base_(view.buffer.data() + view.offset),
        load_(load_block(view.dtype)),
        gather_(gather_block(view.dtype)),
        same_(bits(view.dtype) == 8 * static_cast<int>(sizeof(T))) {}

  // `n` elements, `stride` apart, in their own memory or in `buffer`.
  const T* load(std::int64_t first, std::int64_t stride, int n, T* buffer) const {
    if (!same_) {
      load_(base_, first, stride, n, buffer);
      return buffer;
    }
    const T* const x = reinterpret_cast<const T*>(base_) + first;
    if (stride == 1) return x;
    for (int i = 0; i < n; ++i) buffer[i] = x[i * stride];
    return buffer;
  }
  // Elements first + offsets[i].
  void gather(std::int64_t first, const std::int64_t* offsets, int n, T* values) const {
    if (!same_) return gather_(base_, first, offsets, n, values);
    const T* const x = reinterpret_cast<const T*>(base_) + first;
    for (int i = 0; i < n; ++i) values[i] = x[offsets[i]];
  }

 private:
  const std::byte* base_;
  LoadBlock load_;
  GatherBlock gather_;
  bool same_;
};

// The distinct elements of a row by their index and offset, in order: along an axis of stride 0 all are the first one.
// Nothing is kept for each element, of which views can have any number.
class RowElements {
 public:
  explicit RowElements(const Collapsed& inner) {
    std::int64_t behind = 1;
    for (int d = inner.shape.rank() - 1; d >= 0; --d) {
      const std::int64_t size = inner.shape[d], stride = inner.strides[0][d];
      if (size > 1 && stride != 0) axes_.push_back({size, behind, stride});
      behind *= size;
    }
    if (axes_.empty()) axes_.push_back({1, 1, 1});
  }

  // Calls f(index, offset).
  template <class F>
  void for_each(F&& f) const {
    const Axis& along = axes_[0];  // the last one
    std::array<std::int64_t, kMaxRank> at{};
    for (std::int64_t index = 0, offset = 0;;) {
      for (std::int64_t k = 0; k < along.size; ++k) f(index + k * along.index, offset + k * along.stride);
      std::size_t d = 1;
      for (; d < axes_.size(); ++d) {
        const Axis& a = axes_[d];
        index += a.index, offset += a.stride;
        if (++at[d] < a.size) break;
        index -= a.index * a.size, offset -= a.stride * a.size;
        at[d] = 0;
      }
      if (d == axes_.size()) return;
    }
  }

 private:
  struct Axis {
    std::int64_t size, index, stride;  // of a step along it
  };
  std::vector<Axis> axes_;  // the innermost first
};

// Rows that are short, or adjacent in memory, are processed together, in blocks.
template <class T>
void run(cpu::Executor& executor, bool max, const View& x, const View& y, const Rows& rows) {
  constexpr int kRows = 64;
  constexpr std::int64_t kShort = 32;
  const RowElements row(rows.inner);
  const Layout from{rows.outer.shape, rows.outer.strides[0]}, to{rows.outer.shape, rows.outer.strides[1]};
  const std::int64_t stride = rows.inner.shape.rank() == 1 ? rows.inner.strides[0][0] : rows.length == 1 ? 1 : 0;
  const bool even = stride != 0;
  const std::int64_t block = runs_across(rows, 0) || rows.length < kShort || !even ? kRows : 1;
  const std::int64_t grain = std::max<std::int64_t>(16384 / (block * rows.length), 1);
  const Elements<T> elements(x);
  parallel(executor, ceil_div(rows.count, block), grain, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t start[kRows], target[kRows];
    for (std::int64_t b = begin; b < end; ++b) {
      const std::int64_t first = b * block;
      const int count = static_cast<int>(std::min(block, rows.count - first));
      offsets_of(from, first, count, start);
      offsets_of(to, first, count, target);
      if (block == 1) {
        const std::int64_t at = best_of_row<T>(max, rows.length, [&](std::int64_t j, int n, T* buffer) {
          return elements.load(start[0] + j * stride, stride, n, buffer);
        });
        store_index(y, target[0], at);
        continue;
      }
      T best[kRows], v[kRows];
      std::int64_t at[kRows] = {};
      elements.gather(0, start, count, best);
      row.for_each([&](std::int64_t j, std::int64_t step) {
        elements.gather(step, start, count, v);
        for (int r = 0; r < count; ++r) {
          const bool replaces = better(v[r], best[r], max);
          best[r] = replaces ? v[r] : best[r];
          at[r] = replaces ? j : at[r];
        }
      });
      for (int r = 0; r < count; ++r) store_index(y, target[r], at[r]);
    }
  });
}

}  // namespace

void arg_reduce_cpu(cpu::Executor& executor, ArgKind op, const View& x, const View& y, const Rows& rows) {
  const bool max = op == ArgKind::max;
  if (bits(x.dtype) < 8 || x.dtype == DType::boolean) {
    if (is_signed(x.dtype)) return run<std::int64_t>(executor, max, x, y, rows);
    return run<std::uint64_t>(executor, max, x, y, rows);
  }
  with_type(x.dtype, [&]<class X>() {
    if constexpr (!std::is_same_v<X, std::complex<float>> && !std::is_same_v<X, bool>) {
      run<Compared<X>>(executor, max, x, y, rows);
    }
  });
}

}  // namespace weft::kernels
