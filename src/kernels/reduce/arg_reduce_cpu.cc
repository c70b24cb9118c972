#include "kernels/reduce/arg_reduce_cpu.h"

#include <cmath>

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

// Rows that are adjacent in memory are processed together, in blocks.
template <class T, class Elements>
void run(cpu::Executor& executor, bool max, Elements base, const View& y, const Rows& rows) {
  const RowSteps steps(rows.inner, 0, rows.length);
  const Layout from{rows.outer.shape, rows.outer.strides[0]}, to{rows.outer.shape, rows.outer.strides[1]};
  const std::int64_t block = runs_across(rows, 0) ? 64 : 1;
  const std::int64_t grain = std::max<std::int64_t>(16384 / (block * rows.length), 1);
  parallel(executor, ceil_div(rows.count, block), grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      const std::int64_t first = b * block, count = std::min(block, rows.count - first);
      std::int64_t start[64], at[64] = {};
      T best[64];
      for (std::int64_t r = 0; r < count; ++r) {
        start[r] = offset_of(from, first + r);
        best[r] = static_cast<T>(base[start[r] + steps[0]]);
      }
      for (std::int64_t j = 1; j < rows.length; ++j) {
        const std::int64_t step = steps[j];
        for (std::int64_t r = 0; r < count; ++r) {
          const T v = static_cast<T>(base[start[r] + step]);
          if (!better(v, best[r], max)) continue;
          best[r] = v;
          at[r] = j;
        }
      }
      for (std::int64_t r = 0; r < count; ++r) store_index(y, offset_of(to, first + r), at[r]);
    }
  });
}

}  // namespace

void arg_reduce_cpu(cpu::Executor& executor, ArgKind op, const View& x, const View& y, const Rows& rows) {
  const bool max = op == ArgKind::max;
  const std::byte* packed = x.buffer.data() + x.offset;
  switch (x.dtype) {
    case DType::i4: return run<int>(executor, max, Packed<DType::i4>{packed}, y, rows);
    case DType::u4: return run<int>(executor, max, Packed<DType::u4>{packed}, y, rows);
    case DType::i2: return run<int>(executor, max, Packed<DType::i2>{packed}, y, rows);
    case DType::u2: return run<int>(executor, max, Packed<DType::u2>{packed}, y, rows);
    default: break;
  }
  with_type(x.dtype, [&]<class X>() {
    if constexpr (!std::is_same_v<X, std::complex<float>>) {
      run<Compared<X>>(executor, max, elements_of<X>(x), y, rows);
    }
  });
}

}  // namespace weft::kernels
