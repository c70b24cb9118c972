#include "kernels/reduce/reduce_cpu.h"

#include <cmath>
#include <limits>

#include "core/host_memory.h"
#include "kernels/common/rows_cpu.h"
#include "kernels/elementwise/block_memory.h"
#include "kernels/elementwise/expression_cpu.h"

namespace weft::kernels {
namespace {

using Complex = std::complex<double>;

// An operation on values of T (double, int64, uint64, Complex): the conversion of an element to an accumulator, the
// combination of two, and the result of the last.
template <class T>
struct Plain {
  using Acc = T;
  static T lift(T v) { return v; }
  static T finish(T a, std::int64_t, double) { return a; }
};
// Integer arithmetic wraps, so it is computed unsigned.
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
  static T finish(T a, std::int64_t n, double) { return a / static_cast<T>(n); }
};
template <>
struct Mean<Complex> : Sum<Complex> {
  static Complex finish(Complex a, std::int64_t n, double) { return a / static_cast<double>(n); }
};
template <class T>
struct Product : Plain<T> {
  static T identity() { return 1; }
  static T combine(T a, T b) { return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b)); }
};
template <>
struct Product<Complex> : Plain<Complex> {
  static Complex identity() { return 1; }
  // The plain formula, without the library's special cases for infinite parts.
  static Complex combine(Complex a, Complex b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }
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
  static T finish(T a, std::int64_t, double) { return std::sqrt(a); }
};
template <class T>
struct LogSum : Sum<T> {
  static T finish(T a, std::int64_t, double) { return std::log(a); }
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
    if (!(a.top < b.top)) std::swap(a, b);  // now b is the larger one, or one is NaN
    if (a.top == b.top) return {b.top, a.sum + b.sum};
    return {b.top, b.sum + a.sum * std::exp(a.top - b.top)};
  }
  static T finish(Acc a, std::int64_t, double) { return a.top + std::log(a.sum); }
};
// Moments combined pairwise (Chan, Golub and LeVeque, 1983).
template <class T>
struct Variance {
  struct Acc {
    T count, mean, squares;  // squares of deviations from the mean
  };
  static Acc identity() { return {0, 0, 0}; }
  static Acc lift(T v) { return {1, v, v - v}; }
  static Acc combine(Acc a, Acc b) {
    const T count = a.count + b.count;
    if (count == 0) return a;
    const T step = b.mean - a.mean;
    return {count, a.mean + step * (b.count / count),
            a.squares + b.squares + step * step * (a.count * b.count / count)};
  }
  static T finish(Acc a, std::int64_t n, double correction) {
    return a.squares / std::max(static_cast<T>(n) - static_cast<T>(correction), T(0));
  }
};
template <class T>
struct Deviation : Variance<T> {
  static T finish(typename Variance<T>::Acc a, std::int64_t n, double correction) {
    return std::sqrt(Variance<T>::finish(a, n, correction));
  }
};

// Loads strided elements of a view's type as values of T, and stores a value.
template <class T>
struct Access {
  void (*load)(const std::byte* base, std::int64_t offset, std::int64_t stride, std::int64_t count, T* values);
  void (*store)(std::byte* base, std::int64_t offset, T value);
  T least, largest;  // of the view's type
};
template <class X>
constexpr DType narrow_type() {
  return std::is_same_v<X, float16>      ? DType::f16
         : std::is_same_v<X, bfloat16>   ? DType::bf16
         : std::is_same_v<X, float8_e4m3> ? DType::f8e4m3
                                          : DType::f8e5m2;
}
// Elements of 4 or 2 bits.
template <class T, DType type>
Access<T> packed_access(bool truth) {
  using Load = decltype(Access<T>::load);
  const Load load = [](const std::byte* base, std::int64_t offset, std::int64_t stride, std::int64_t count, T* values) {
    static const LoadBlock block = load_block(type);
    block(base, offset, stride, static_cast<int>(count), values);  // at most a chunk
  };
  const Load load_truth = [](const std::byte* base, std::int64_t offset, std::int64_t stride, std::int64_t count,
                             T* values) {
    static const LoadBlock block = load_block(type);
    block(base, offset, stride, static_cast<int>(count), values);
    for (std::int64_t i = 0; i < count; ++i) values[i] = values[i] != 0;
  };
  const auto store = [](std::byte* base, std::int64_t offset, T value) {
    static const StoreBlock block = store_block(type);
    block(base, offset, 1, 1, &value);
  };
  // Truth values are counted in T, whatever the element type.
  if (truth) return {load_truth, store, std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max()};
  const T last = (T{1} << (bits(type) - (is_signed(type) ? 1 : 0))) - 1;
  return {load, store, is_signed(type) ? static_cast<T>(-last - 1) : T{0}, last};
}

template <class T>
Access<T> real_access(DType type, bool truth) {
  if constexpr (std::is_integral_v<T>) {
    switch (type) {
      case DType::i4: return packed_access<T, DType::i4>(truth);
      case DType::u4: return packed_access<T, DType::u4>(truth);
      case DType::i2: return packed_access<T, DType::i2>(truth);
      case DType::u2: return packed_access<T, DType::u2>(truth);
      default: break;
    }
  }
  return with_type(type, [truth]<class X>() -> Access<T> {
    if constexpr (std::is_same_v<X, std::complex<float>>) {
      if (!truth) throw InternalError("reduce: complex numbers as real ones");
      const auto load = [](const std::byte* base, std::int64_t offset, std::int64_t stride, std::int64_t count,
                           T* values) {
        const X* x = reinterpret_cast<const X*>(base) + offset;
        for (std::int64_t i = 0; i < count; ++i) values[i] = static_cast<T>(x[i * stride] != X(0));
      };
      return {.load = load, .store = nullptr, .least = 0, .largest = 1};
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
      if constexpr (std::is_same_v<T, double> && std::is_class_v<X>) {  // narrow floats
        a.load = [](const std::byte* base, std::int64_t offset, std::int64_t stride, std::int64_t count, T* values) {
          static const LoadBlock load = load_block(narrow_type<X>());
          float wide[256];
          for (std::int64_t at = 0; at < count; at += 256) {
            const int n = static_cast<int>(std::min<std::int64_t>(256, count - at));
            load(base, offset + at * stride, stride, n, wide);
            for (int i = 0; i < n; ++i) values[at + i] = static_cast<T>(wide[i]);
          }
        };
      }
      if (truth) {
        a.load = [](const std::byte* base, std::int64_t offset, std::int64_t stride, std::int64_t count, T* values) {
          // A boolean may be any byte, of which only 0 is false.
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

template <class T>
Access<T> access(DType type, bool truth) {
  if constexpr (std::is_same_v<T, Complex>) {
    using X = std::complex<float>;
    const auto load = [](const std::byte* base, std::int64_t offset, std::int64_t stride, std::int64_t count,
                         T* values) {
      const X* x = reinterpret_cast<const X*>(base) + offset;
      for (std::int64_t i = 0; i < count; ++i) values[i] = x[i * stride];
    };
    const auto store = [](std::byte* base, std::int64_t offset, T value) {
      reinterpret_cast<X*>(base)[offset] = X(static_cast<float>(value.real()), static_cast<float>(value.imag()));
    };
    return {load, store, {}, {}};
  } else {
    return real_access<T>(type, truth);
  }
}

// Calls f(first, count) for each run of [begin, end) in row-major order along the last dimension.
template <class F>
void for_each_run(const Shape& shape, std::int64_t begin, std::int64_t end, F&& f) {
  const std::int64_t width = shape.empty() ? 1 : shape.back();
  for (std::int64_t i = begin; i < end;) {
    const std::int64_t count = std::min(end - i, width - i % width);
    f(i, count);
    i += count;
  }
}

constexpr std::int64_t kChunk = 1024;   // values converted at a time
constexpr std::int64_t kPiece = 65536;  // of a row, folded by one task: results do not depend on the cores
constexpr int kLanes = 8;

// The values to reduce, a run at a time: adjacent elements of a row, or the same element of adjacent rows. For one
// thread.
template <class T>
class Feed {
 public:
  Feed(const ReduceProblem& problem, const Access<T>& access, const std::optional<CpuExpression>& prologue)
      : problem_(problem), access_(access), prologue_(prologue) {
    if (prologue) registers_.emplace(*prologue);
  }

  // Loads `n` values from element `step` of row `row` on, along the row or across rows, within the last dimension, and
  // stores the extra outputs.
  void load(std::int64_t row, std::int64_t step, bool along, std::int64_t n, T* values) {
    if (!prologue_) {
      const auto [offset, stride] = place(0, row, step, along);
      return access_.load(memory(0), offset, stride, n, values);
    }
    alignas(64) std::byte made[CpuExpression::kBlock * 8];
    for (std::int64_t at = 0; at < n; at += CpuExpression::kBlock) {
      const int count = static_cast<int>(std::min<std::int64_t>(CpuExpression::kBlock, n - at));
      for (std::size_t k = 0; k < problem_.inputs.size(); ++k) {
        const auto [offset, stride] = place(k, row, step, along);
        prologue_->load(*registers_, static_cast<int>(k), 0, memory(k), offset + at * stride, stride, count);
      }
      prologue_->run(*registers_, count);
      prologue_->store(*registers_, prologue_->output_count() - 1, 0, made, 0, 1, count);
      for (std::size_t k = 0; k < problem_.extra_outputs.size(); ++k) {
        const auto [offset, stride] = place(problem_.extra_outputs_index() + k, row, step, along);
        const View& v = problem_.extra_outputs[k];
        prologue_->store(*registers_, static_cast<int>(k) + 1, 0, v.buffer.data() + v.offset, offset + at * stride,
                         stride, count);
      }
      access_.load(made, 0, 1, count, values + at);
    }
  }

 private:
  std::pair<std::int64_t, std::int64_t> place(std::size_t k, std::int64_t row, std::int64_t step, bool along) const {
    const Rows& rows = problem_.rows;
    const Collapsed& runs = along ? rows.inner : rows.outer;
    return {offset_of({rows.outer.shape, rows.outer.strides[k]}, row) +
                offset_of({rows.inner.shape, rows.inner.strides[k]}, step),
            runs.shape.empty() ? 0 : runs.strides[k].back()};
  }
  const std::byte* memory(std::size_t k) const { return problem_.inputs[k].buffer.data() + problem_.inputs[k].offset; }

  const ReduceProblem& problem_;
  const Access<T>& access_;
  const std::optional<CpuExpression>& prologue_;
  std::optional<CpuExpression::Registers> registers_;
};

template <class Op, class T>
struct Reducer {
  using Acc = typename Op::Acc;

  const ReduceProblem& problem;
  Access<T> from;
  std::optional<CpuExpression> prologue;

  // Reduces the elements [begin, end) of one row.
  Acc along(Feed<T>& feed, std::int64_t row, std::int64_t begin, std::int64_t end) const {
    Acc lanes[kLanes];
    std::fill(lanes, lanes + kLanes, Op::identity());
    T values[kChunk];
    for_each_run(problem.rows.inner.shape, begin, end, [&](std::int64_t first, std::int64_t count) {
      for (std::int64_t at = 0; at < count; at += kChunk) {
        const std::int64_t n = std::min(kChunk, count - at);
        feed.load(row, first + at, true, n, values);
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

  // Reduces the elements [begin, end) of `count` rows from `first` on, at most kChunk of them.
  void across(Feed<T>& feed, std::int64_t first, std::int64_t count, std::int64_t begin, std::int64_t end,
              Acc* accs) const {
    std::fill(accs, accs + count, Op::identity());
    T values[kChunk];
    for (std::int64_t j = begin; j < end; ++j) {
      for_each_run(problem.rows.outer.shape, first, first + count, [&](std::int64_t row, std::int64_t n) {
        feed.load(row, j, false, n, values);
        Acc* a = accs + (row - first);
        for (std::int64_t i = 0; i < n; ++i) a[i] = Op::combine(a[i], Op::lift(values[i]));
      });
    }
  }

  // Calls put(row, result) for each row, in order.
  template <class F>
  void run(cpu::Executor& executor, F&& put) const {
    const Rows& rows = problem.rows;
    const std::int64_t block = runs_across(rows, 0) ? 256 : 1;  // rows of a task
    const std::int64_t blocks = ceil_div(rows.count, block);
    const std::int64_t piece = std::max<std::int64_t>(kPiece / block, 1);
    const std::int64_t pieces = std::max<std::int64_t>(ceil_div(rows.length, piece), 1);
    auto accs = host_list<Acc>(rows.count * pieces);  // [blocks, pieces, rows of the block]
    const std::int64_t grain = std::max<std::int64_t>(kPiece / (block * std::min(rows.length, piece) + 1), 1);
    cpu::say_form([&] {
      return std::pair(std::string(block > 1 ? "across_rows" : "along_rows"),
                       std::format("{} rows of {}", rows.count, rows.length));
    });
    parallel(executor, blocks * pieces, grain, [&](std::int64_t begin, std::int64_t end) {
      Feed<T> feed(problem, from, prologue);
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t first = task / pieces * block;
        const std::int64_t count = std::min(block, rows.count - first);
        const std::int64_t from_step = task % pieces * piece;
        const std::int64_t to_step = std::min(from_step + piece, rows.length);
        Acc* target = accs.data() + first * pieces + task % pieces * count;
        if (block == 1) {
          *target = along(feed, first, from_step, to_step);
        } else {
          across(feed, first, count, from_step, to_step, target);
        }
      }
    });
    for (std::int64_t row = 0; row < rows.count; ++row) {
      const std::int64_t first = row / block * block;
      const std::int64_t count = std::min(block, rows.count - first);
      const Acc* source = accs.data() + first * pieces + (row - first);
      Acc a = source[0];
      for (std::int64_t p = 1; p < pieces; ++p) a = Op::combine(a, source[p * count]);
      auto result = Op::finish(a, rows.length, problem.correction);
      // Without elements, minimum and maximum are the limits of the narrow type.
      if constexpr (std::is_integral_v<T>) {
        if (rows.length == 0) result = std::clamp(result, from.least, from.largest);
      }
      put(row, result);
    }
  }
};

// y = epilogue(results, operands…), a run of rows at a time.
void finish(const ReduceProblem& problem, const std::vector<float>& results) {
  const CpuExpression epilogue(*problem.epilogue);
  CpuExpression::Registers registers(epilogue);
  const Collapsed& outer = problem.rows.outer;
  const auto memory = [](const View& v) { return v.buffer.data() + v.offset; };
  for_each_run(outer.shape, 0, problem.rows.count, [&](std::int64_t run, std::int64_t length) {
    for (std::int64_t row = run; row < run + length; row += CpuExpression::kBlock) {
      const int n = static_cast<int>(std::min<std::int64_t>(CpuExpression::kBlock, run + length - row));
      const auto place = [&](std::size_t k) {
        return std::pair(offset_of({outer.shape, outer.strides[k]}, row),
                         outer.shape.empty() ? 0 : outer.strides[k].back());
      };
      epilogue.load(registers, 0, 0, reinterpret_cast<const std::byte*>(results.data()), row, 1, n);
      for (std::size_t k = 0; k < problem.operands.size(); ++k) {
        const auto [offset, stride] = place(problem.y_index() + 1 + k);
        epilogue.load(registers, static_cast<int>(k) + 1, 0, memory(problem.operands[k]), offset, stride, n);
      }
      epilogue.run(registers, n);
      const auto [offset, stride] = place(problem.y_index());
      epilogue.store(registers, 0, 0, memory(problem.y), offset, stride, n);
    }
  });
}

template <template <class> class Op, class T>
void run(cpu::Executor& all_cores, const ReduceProblem& problem, bool truth = false) {
  // Adjacent packed elements share bytes.
  const bool packed = std::ranges::any_of(problem.extra_outputs, [](const View& v) { return bits(v.dtype) < 8; });
  cpu::Executor one_core(1);
  cpu::Executor& executor = packed ? one_core : all_cores;
  Reducer<Op<T>, T> reducer{problem, access<T>(problem.dtype, truth), {}};
  if (problem.prologue) {
    // The last output is what is reduced: narrow floats as they were computed, without rounding.
    Expression prologue = *problem.prologue;
    const bool narrow = is_floating(problem.dtype) && bits(problem.dtype) < 32;
    const int x = prologue.outputs()[0];
    if (narrow) prologue.output(prologue.cast(x, DType::f32));
    else if (!problem.extra_outputs.empty()) prologue.output(x);
    reducer.prologue.emplace(prologue);
    if (narrow) reducer.from = access<T>(DType::f32, truth);
  }
  if constexpr (!std::is_same_v<T, Complex>) {
    if (problem.epilogue) {
      std::vector<float> results(problem.rows.count);
      reducer.run(executor, [&](std::int64_t row, T result) { results[row] = static_cast<float>(result); });
      return finish(problem, results);
    }
  }
  const Layout outer{problem.rows.outer.shape, problem.rows.outer.strides[problem.y_index()]};
  const Access<T> to = access<T>(problem.y.dtype, false);
  std::byte* y = problem.y.buffer.data() + problem.y.offset;
  reducer.run(executor, [&](std::int64_t row, T result) { to.store(y, offset_of(outer, row), result); });
}

// Runs the operation for the kinds of numbers that it takes.
template <template <class> class Op>
void run_numbers(cpu::Executor& executor, const ReduceProblem& problem) {
  if (is_floating(problem.dtype)) return run<Op, double>(executor, problem);
  if (is_signed(problem.dtype)) return run<Op, std::int64_t>(executor, problem);
  return run<Op, std::uint64_t>(executor, problem);
}

template <template <class> class Op>
void run_any(cpu::Executor& executor, const ReduceProblem& problem) {
  if (problem.dtype == DType::c64) return run<Op, Complex>(executor, problem);
  run_numbers<Op>(executor, problem);
}

}  // namespace

void reduce_cpu(cpu::Executor& executor, const ReduceProblem& problem) {
  const bool complex = problem.dtype == DType::c64;
  switch (problem.op) {
    case ReduceKind::sum: return run_any<Sum>(executor, problem);
    case ReduceKind::prod: return run_any<Product>(executor, problem);
    case ReduceKind::min: return run_numbers<Min>(executor, problem);
    case ReduceKind::max: return run_numbers<Max>(executor, problem);
    case ReduceKind::sum_squares: return run_numbers<SumSquares>(executor, problem);
    case ReduceKind::l1: return run_numbers<L1>(executor, problem);
    case ReduceKind::mean:
      return complex ? run<Mean, Complex>(executor, problem) : run<Mean, double>(executor, problem);
    case ReduceKind::l2: return run<L2, double>(executor, problem);
    case ReduceKind::log_sum: return run<LogSum, double>(executor, problem);
    case ReduceKind::log_sum_exp: return run<LogSumExp, double>(executor, problem);
    case ReduceKind::any: return run<Any, std::uint64_t>(executor, problem, true);
    case ReduceKind::all: return run<All, std::uint64_t>(executor, problem, true);
    case ReduceKind::count: return run<Sum, std::uint64_t>(executor, problem, true);
    case ReduceKind::variance: return run<Variance, double>(executor, problem);
    case ReduceKind::deviation: return run<Deviation, double>(executor, problem);
  }
}

}  // namespace weft::kernels
