#include "kernels/reduce/arg_reduce_cpu.h"

#include <array>
#include <cmath>
#include <vector>

#include "kernels/common/rows_cpu.h"

namespace weft::kernels {
namespace {

// True if `v` replaces `best`, which came before it.
template <class T>
bool better(T v, T best, bool max) {
  if (best != best) return false;
  return v != v || (max ? v > best : v < best);
}

// Stores an index of either type.
void store_index(const View& y, std::int64_t offset, std::int64_t index) {
  if (bits(y.dtype) == 32) {
    data<std::uint32_t>(y)[offset] = static_cast<std::uint32_t>(index);
  } else {
    data<std::int64_t>(y)[offset] = index;
  }
}

// Elements of 4 or 2 bits, as an array.
template <DType type>
struct Packed {
  const std::byte* data;
  int operator[](std::int64_t i) const {
    static const LoadBlock load = load_block(type);
    std::int64_t element;
    load(data, i, 1, 1, &element);
    return static_cast<int>(element);
  }
};

// Elements in the form in which they are compared: narrow floats as f32, booleans as bytes that are zero or not.
template <class X>
auto elements_of(const View& view) {
  return data<const std::conditional_t<std::is_same_v<X, bool>, std::uint8_t, X>>(view);
}
template <class X>
using Compared = std::conditional_t<std::is_arithmetic_v<X>, X, float>;

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

// Rows that are adjacent in memory are processed together, in blocks.
template <class T, class Elements>
void run(cpu::Executor& executor, bool max, Elements base, const View& y, const Rows& rows) {
  const RowElements elements(rows.inner);
  const Layout from{rows.outer.shape, rows.outer.strides[0]}, to{rows.outer.shape, rows.outer.strides[1]};
  const std::int64_t block = runs_across(rows, 0) ? 64 : 1;
  const std::int64_t grain = std::max<std::int64_t>(16384 / block / rows.length, 1);
  parallel(executor, ceil_div(rows.count, block), grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      const std::int64_t first = b * block, count = std::min(block, rows.count - first);
      std::int64_t start[64], at[64] = {};
      T best[64];
      for (std::int64_t r = 0; r < count; ++r) {
        start[r] = offset_of(from, first + r);
        best[r] = static_cast<T>(base[start[r]]);
      }
      elements.for_each([&](std::int64_t j, std::int64_t step) {
        for (std::int64_t r = 0; r < count; ++r) {
          const T v = static_cast<T>(base[start[r] + step]);
          if (!better(v, best[r], max)) continue;
          best[r] = v;
          at[r] = j;
        }
      });
      for (std::int64_t r = 0; r < count; ++r) store_index(y, offset_of(to, first + r), at[r]);
    }
  });
}

}  // namespace

void arg_reduce_cpu(cpu::Executor& executor, ArgKind op, const View& x, const View& y, const Rows& rows) {
  const bool max = op == ArgKind::max;
  const std::byte* packed = x.buffer.data() + x.offset;
  switch (x.dtype) {
    case DType::i4:
      return run<int>(executor, max, Packed<DType::i4>{packed}, y, rows);
    case DType::u4:
      return run<int>(executor, max, Packed<DType::u4>{packed}, y, rows);
    case DType::i2:
      return run<int>(executor, max, Packed<DType::i2>{packed}, y, rows);
    case DType::u2:
      return run<int>(executor, max, Packed<DType::u2>{packed}, y, rows);
    default:
      break;
  }
  with_type(x.dtype, [&]<class X>() {
    if constexpr (!std::is_same_v<X, std::complex<float>>) {
      run<Compared<X>>(executor, max, elements_of<X>(x), y, rows);
    }
  });
}

}  // namespace weft::kernels
