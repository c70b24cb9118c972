#include "kernels/reduce/reduce_cpu.h"

#include <cmath>
#include <limits>

#include "kernels/common/rows_cpu.h"

namespace weft::kernels {
namespace {

// An operation on values of T (double, int64, uint64): how an element becomes an accumulator, how two join, and what
// comes of the last.
template <class T>
struct Plain {
  using Acc = T;
  static T lift(T v) { return v; }
  static T finish(T a, std::int64_t) { return a; }
};
// Integer arithmetic wraps, so it is done unsigned.
template <class T>
struct Arithmetic {
  using type = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
};
template <class T>
using Wrapping = typename Arithmetic<T>::type;

template <class T>
struct Sum : Plain<T> {
  static T identity() { return 0; }
  static T combine(T a, T b) { return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b)); }
};
template <class T>
struct Mean : Sum<T> {
  static T finish(T a, std::int64_t n) { return a / static_cast<T>(n); }
};
template <class T>
struct Product : Plain<T> {
  static T identity() { return 1; }
  static T combine(T a, T b) { return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b)); }
};
template <class T>
struct SumSquares : Sum<T> {
  static T lift(T v) { return Product<T>::combine(v, v); }
};
template <class T>
struct L1 : Sum<T> {
  static T lift(T v) { return v < 0 ? static_cast<T>(-static_cast<Wrapping<T>>(v)) : v; }
};
template <>
struct L1<std::uint64_t> : Sum<std::uint64_t> {};
template <class T>
struct L2 : SumSquares<T> {
  static T finish(T a, std::int64_t) { return std::sqrt(a); }
};
template <class T>
struct LogSum : Sum<T> {
  static T finish(T a, std::int64_t) { return std::log(a); }
};
template <class T>
struct Min : Plain<T> {
  static T identity() {
    return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  }
  static T combine(T a, T b) { return a < b || a != a ? a : b; }
};
template <class T>
struct Max : Plain<T> {
  static T identity() {
    return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::lowest();
  }
  static T combine(T a, T b) { return a > b || a != a ? a : b; }
};
template <class T>
struct Any : Plain<T> {
  static T identity() { return 0; }
  static T combine(T a, T b) { return a | b; }
};
template <class T>
struct All : Plain<T> {
  static T identity() { return 1; }
  static T combine(T a, T b) { return a & b; }
};
template <class T>
struct LogSumExp {
  struct Acc {
    T top, sum;  // sum of exp(x - top)
  };
  static Acc identity() { return {-std::numeric_limits<T>::infinity(), 0}; }
  static Acc lift(T v) { return {v, 1}; }
  static Acc combine(Acc a, Acc b) {
    if (!(a.top < b.top)) std::swap(a, b);  // b is the larger, or one is NaN
    if (a.top == b.top) return {b.top, a.sum + b.sum};
    return {b.top, b.sum + a.sum * std::exp(a.top - b.top)};
  }
  static T finish(Acc a, std::int64_t) { return a.top + std::log(a.sum); }
};

// Strided elements of a view's type as values of T, and a value back.
template <class T>
struct Access {
  void (*load)(const std::byte* base, std::int64_t offset, std::int64_t stride, std::int64_t count, T* values);
  void (*store)(std::byte* base, std::int64_t offset, T value);
  T least, largest;  // of the view's type
};
template <class T>
Access<T> access(DType type, bool truth) {
  return with_type(type, [truth]<class X>() -> Access<T> {
    if constexpr (std::is_same_v<X, std::complex<float>>) {
      throw Unsupported("reduce: no complex form yet");
    } else {
      Access<T> a{.least = std::numeric_limits<T>::lowest(), .largest = std::numeric_limits<T>::max()};
      if constexpr (std::is_integral_v<X>) {
        if (!truth) {
          a.least = static_cast<T>(std::numeric_limits<X>::lowest());
          a.largest = static_cast<T>(std::numeric_limits<X>::max());
        }
      }
      a.load = [](const std::byte* base, std::int64_t offset, std::int64_t stride, std::int64_t count, T* values) {
        const X* x = reinterpret_cast<const X*>(base) + offset;
        for (std::int64_t i = 0; i < count; ++i) values[i] = static_cast<T>(x[i * stride]);
      };
      if (truth) {
        a.load = [](const std::byte* base, std::int64_t offset, std::int64_t stride, std::int64_t count, T* values) {
          // A boolean is any byte here, of which only zero is false.
          using Stored = std::conditional_t<std::is_same_v<X, bool>, std::uint8_t, X>;
          const Stored* x = reinterpret_cast<const Stored*>(base) + offset;
          for (std::int64_t i = 0; i < count; ++i) values[i] = static_cast<T>(x[i * stride] != Stored(0));
        };
      }
      a.store = [](std::byte* base, std::int64_t offset, T value) {
        X& y = reinterpret_cast<X*>(base)[offset];
        if constexpr (std::is_same_v<X, double> || std::is_integral_v<X>) {
          y = static_cast<X>(value);
        } else {
          y = X(static_cast<float>(value));
        }
      };
      return a;
    }
  });
}

// f(first index, offset, stride, count) for each run of [begin, end) in row-major order along the last dimension.
template <class F>
void for_each_run(const Shape& shape, const Strides& strides, std::int64_t begin, std::int64_t end, F&& f) {
  const Layout layout{shape, strides};
  const std::int64_t width = shape.empty() ? 1 : shape.back();
  const std::int64_t stride = shape.empty() ? 0 : strides.back();
  for (std::int64_t i = begin; i < end;) {
    const std::int64_t count = std::min(end - i, width - i % width);
    f(i, offset_of(layout, i), stride, count);
    i += count;
  }
}

constexpr std::int64_t kChunk = 1024;   // values converted at a time
constexpr std::int64_t kPiece = 65536;  // of a row: what one task folds, so that results do not depend on the cores
constexpr int kLanes = 8;

template <class Op, class T>
struct Reducer {
  using Acc = typename Op::Acc;

  const std::byte* x;
  Access<T> from;
  const Rows& rows;

  // Elements [begin, end) of one row.
  Acc along(std::int64_t row, std::int64_t begin, std::int64_t end) const {
    Acc lanes[kLanes];
    std::fill(lanes, lanes + kLanes, Op::identity());
    const std::int64_t start = offset_of({rows.outer.shape, rows.outer.strides[0]}, row);
    T values[kChunk];
    for_each_run(rows.inner.shape, rows.inner.strides[0], begin, end,
                 [&](std::int64_t, std::int64_t offset, std::int64_t stride, std::int64_t count) {
                   for (std::int64_t at = 0; at < count; at += kChunk) {
                     const std::int64_t n = std::min(kChunk, count - at);
                     from.load(x, start + offset + at * stride, stride, n, values);
                     std::int64_t i = 0;
                     for (; i + kLanes <= n; i += kLanes) {
                       for (int k = 0; k < kLanes; ++k) lanes[k] = Op::combine(lanes[k], Op::lift(values[i + k]));
                     }
                     for (; i < n; ++i) lanes[0] = Op::combine(lanes[0], Op::lift(values[i]));
                   }
                 });
    Acc a = lanes[0];
    for (int k = 1; k < kLanes; ++k) a = Op::combine(a, lanes[k]);
    return a;
  }

  // Elements [begin, end) of `count` rows from `first` on, at most kChunk of them.
  void across(std::int64_t first, std::int64_t count, std::int64_t begin, std::int64_t end, Acc* accs) const {
    std::fill(accs, accs + count, Op::identity());
    T values[kChunk];
    const Layout inner{rows.inner.shape, rows.inner.strides[0]};
    for (std::int64_t j = begin; j < end; ++j) {
      const std::int64_t step = offset_of(inner, j);
      for_each_run(rows.outer.shape, rows.outer.strides[0], first, first + count,
                   [&](std::int64_t row, std::int64_t offset, std::int64_t stride, std::int64_t n) {
                     from.load(x, step + offset, stride, n, values);
                     Acc* a = accs + (row - first);
                     for (std::int64_t i = 0; i < n; ++i) a[i] = Op::combine(a[i], Op::lift(values[i]));
                   });
    }
  }

  void run(cpu::Executor& executor, std::byte* y, Access<T> to) const {
    const std::int64_t block = runs_across(rows, 0) ? 256 : 1;  // rows that a task takes together
    const std::int64_t blocks = ceil_div(rows.count, block);
    const std::int64_t piece = std::max<std::int64_t>(kPiece / block, 1);
    const std::int64_t pieces = std::max<std::int64_t>(ceil_div(rows.length, piece), 1);
    std::vector<Acc> accs(rows.count * pieces);  // [blocks, pieces, rows of the block]
    const std::int64_t grain = std::max<std::int64_t>(kPiece / (block * std::min(rows.length, piece) + 1), 1);
    parallel(executor, blocks * pieces, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t first = task / pieces * block;
        const std::int64_t count = std::min(block, rows.count - first);
        const std::int64_t from_step = task % pieces * piece;
        const std::int64_t to_step = std::min(from_step + piece, rows.length);
        Acc* target = accs.data() + first * pieces + task % pieces * count;
        if (block == 1) {
          *target = along(first, from_step, to_step);
        } else {
          across(first, count, from_step, to_step, target);
        }
      }
    });
    const Layout outer{rows.outer.shape, rows.outer.strides[1]};
    for (std::int64_t row = 0; row < rows.count; ++row) {
      const std::int64_t first = row / block * block;
      const std::int64_t count = std::min(block, rows.count - first);
      const Acc* source = accs.data() + first * pieces + (row - first);
      Acc a = source[0];
      for (std::int64_t p = 1; p < pieces; ++p) a = Op::combine(a, source[p * count]);
      auto result = Op::finish(a, rows.length);
      // Over no elements minimum and maximum are what the narrow type has.
      if (std::is_integral_v<T> && rows.length == 0) result = std::clamp(result, from.least, from.largest);
      to.store(y, offset_of(outer, row), result);
    }
  }
};

template <template <class> class Op, class T>
void run(cpu::Executor& executor, const View& x, const View& y, const Rows& rows, bool truth = false) {
  const Reducer<Op<T>, T> reducer{x.buffer.data() + x.offset, access<T>(x.dtype, truth), rows};
  reducer.run(executor, y.buffer.data() + y.offset, access<T>(y.dtype, false));
}

// On the kinds of number that an operation takes.
template <template <class> class Op>
void run_numbers(cpu::Executor& executor, const View& x, const View& y, const Rows& rows) {
  if (is_floating(x.dtype)) return run<Op, double>(executor, x, y, rows);
  if (is_signed(x.dtype)) return run<Op, std::int64_t>(executor, x, y, rows);
  return run<Op, std::uint64_t>(executor, x, y, rows);
}

}  // namespace

void reduce_cpu(cpu::Executor& executor, ReduceOp op, const View& x, const View& y, const Rows& rows) {
  switch (op) {
    case ReduceOp::sum: return run_numbers<Sum>(executor, x, y, rows);
    case ReduceOp::prod: return run_numbers<Product>(executor, x, y, rows);
    case ReduceOp::min: return run_numbers<Min>(executor, x, y, rows);
    case ReduceOp::max: return run_numbers<Max>(executor, x, y, rows);
    case ReduceOp::sum_squares: return run_numbers<SumSquares>(executor, x, y, rows);
    case ReduceOp::l1: return run_numbers<L1>(executor, x, y, rows);
    case ReduceOp::mean: return run<Mean, double>(executor, x, y, rows);
    case ReduceOp::l2: return run<L2, double>(executor, x, y, rows);
    case ReduceOp::log_sum: return run<LogSum, double>(executor, x, y, rows);
    case ReduceOp::log_sum_exp: return run<LogSumExp, double>(executor, x, y, rows);
    case ReduceOp::any: return run<Any, std::uint64_t>(executor, x, y, rows, true);
    case ReduceOp::all: return run<All, std::uint64_t>(executor, x, y, rows, true);
  }
}

}  // namespace weft::kernels
