#include "kernels/reduce/reduce_cpu.h"

#include <algorithm>
#include <cmath>
#include <format>
#include <limits>
#include <numeric>

#include "core/host_memory.h"
#include "kernels/common/rows_cpu.h"
#include "kernels/elementwise/block_loops.h"
#include "kernels/elementwise/block_memory.h"
#include "kernels/elementwise/expression_cpu.h"
#include "kernels/elementwise/scalar_math_cpu.h"

namespace weft::kernels {
namespace {

using Complex = std::complex<double>;

constexpr int kLanes = 8;

// An operation on values of T (double, int64, uint64, Complex): the conversion of an element to an accumulator, the
// combination of two, and the result of the last. Folds is the operation whose loops it shares: those that differ in
// their results alone have one.
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
  using Folds = Sum;
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
  using Folds = Product;
  static T identity() { return 1; }
  static T combine(T a, T b) { return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b)); }
};
template <>
struct Product<Complex> : Plain<Complex> {
  using Folds = Product;
  static Complex identity() { return 1; }
  // The plain formula, without the library's special cases for infinite parts.
  static Complex combine(Complex a, Complex b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }
};
template <class T>
struct SumSquares : Sum<T> {
  using Folds = SumSquares;
  static T lift(T v) { return Product<T>::combine(v, v); }
};
template <class T>
struct L1 : Sum<T> {
  using Folds = L1;
  static T lift(T v) { return v < 0 ? static_cast<T>(-static_cast<Wrapping<T>>(v)) : v; }
};
template <>
struct L1<std::uint64_t> : Sum<std::uint64_t> {};
template <class T>
struct L2 : SumSquares<T> {
  static T finish(T a, std::int64_t, double) { return std::sqrt(a); }
};
// The norm of f64, whose squares may leave the range: sums of three sizes. Source: Blue, "A portable Fortran program to
// find the Euclidean norm of a vector", 1978.
template <class T>
struct WideL2 {
  using Folds = WideL2;
  static constexpr T kMiddle = 0x1p500, kScale = 0x1p600;
  struct Acc {
    T small, middle, large;  // those below 2^-500 times 2^600, those above 2^500 times 2^-600
  };
  static Acc identity() { return {0, 0, 0}; }
  static Acc lift(T v) {
    const T size = std::abs(v);
    const bool large = size > kMiddle, small = size < 1 / kMiddle;
    const auto squared = [](bool chosen, T x) { return chosen ? x * x : T(0); };
    return {squared(small, v * kScale), squared(!small && !large, v), squared(large, v / kScale)};
  }
  static Acc combine(Acc a, Acc b) { return {a.small + b.small, a.middle + b.middle, a.large + b.large}; }
  static T finish(Acc a, std::int64_t, double) {
    if (a.large > 0) return std::sqrt(a.large + a.middle / kScale / kScale) * kScale;
    if (a.middle > 0 || std::isnan(a.middle)) return std::sqrt(a.middle + a.small / kScale / kScale);
    return std::sqrt(a.small) / kScale;
  }
};
template <class T>
struct LogSum : Sum<T> {
  static T finish(T a, std::int64_t, double) { return std::log(a); }
};
template <class T>
struct Min : Plain<T> {
  using Folds = Min;
  static T identity() {
    return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  }
  static T combine(T a, T b) { return a < b || a != a ? a : b; }
};
template <class T>
struct Max : Plain<T> {
  using Folds = Max;
  static T identity() {
    return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::lowest();
  }
  static T combine(T a, T b) { return a > b || a != a ? a : b; }
};
template <class T>
struct Any : Plain<T> {
  using Folds = Any;
  static T identity() { return 0; }
  static T combine(T a, T b) { return a | b; }
};
template <class T>
struct All : Plain<T> {
  using Folds = All;
  static T identity() { return 1; }
  static T combine(T a, T b) { return a & b; }
};
// Σ exp(x − top) of finite numbers that were converted from f32, which it overwrites.
WEFT_VECTOR_CLONES double sum_of_exps(double* x, std::int64_t n, double top) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = wide::exp(x[i] - top);
  double lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int k = 0; k < kLanes; ++k) lanes[k] += x[i + k];
  }
  for (; i < n; ++i) lanes[0] += x[i];
  return std::accumulate(lanes, lanes + kLanes, 0.0);
}
// The largest of x; NaN if there is one.
WEFT_VECTOR_CLONES double largest_of(const double* x, std::int64_t n) {
  std::int64_t nans = 0;
  for (std::int64_t i = 0; i < n; ++i) nans += x[i] != x[i];
  if (nans > 0) return std::numeric_limits<double>::quiet_NaN();
  double lanes[kLanes];
  std::fill_n(lanes, kLanes, x[0]);
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int k = 0; k < kLanes; ++k) lanes[k] = lanes[k] > x[i + k] ? lanes[k] : x[i + k];
  }
  for (; i < n; ++i) lanes[0] = std::max(lanes[0], x[i]);
  return *std::max_element(lanes, lanes + kLanes);
}

template <class T>
struct LogSumExp {
  using Folds = LogSumExp;
  struct Acc {
    T top, sum;  // sum of exp(x - top)
  };
  static Acc identity() { return {-std::numeric_limits<T>::infinity(), 0}; }
  static Acc lift(T v) { return {v, 1}; }
  // Of `n` numbers that were converted from f32, which it overwrites.
  static Acc of_run(T* x, std::int64_t n) {
    const T top = largest_of(x, n);
    if (std::isfinite(top)) return {top, sum_of_exps(x, n, top)};
    return {top, static_cast<T>(std::count(x, x + n, top))};
  }
  static Acc combine(Acc a, Acc b) {
    if (!(a.top < b.top)) std::swap(a, b);  // now b is the larger one, or one is NaN
    if (a.top == b.top) return {b.top, a.sum + b.sum};
    return {b.top, b.sum + a.sum * std::exp(a.top - b.top)};
  }
  static T finish(Acc a, std::int64_t, double) { return a.top + std::log(a.sum); }
};
// The mean of x, and the sum of squares of what it differs from it.
struct Moments {
  double mean, squares;
};
WEFT_VECTOR_CLONES void find_moments(const double* x, std::int64_t n, Moments& moments) {
  double sums[32] = {}, squares[32] = {};
  const auto add_up = [n](double* lanes, const auto& value) WEFT_INLINE_LAMBDA {
    std::int64_t i = 0;
    for (; i + 32 <= n; i += 32) {
      for (int k = 0; k < 32; ++k) lanes[k] += value(i + k);
    }
    for (int k = 0; i < n; ++i, ++k) lanes[k] += value(i);
    for (int half = 16; half > 0; half /= 2) {
      for (int k = 0; k < half; ++k) lanes[k] += lanes[k + half];
    }
    return lanes[0];
  };
  const double mean = add_up(sums, [x](std::int64_t i) WEFT_INLINE_LAMBDA { return x[i]; }) / static_cast<double>(n);
  moments = {mean,
             add_up(squares, [x, mean](std::int64_t i) WEFT_INLINE_LAMBDA { return (x[i] - mean) * (x[i] - mean); })};
}
// Moments combined pairwise (Chan, Golub and LeVeque, 1983).
template <class T>
struct Variance {
  using Folds = Variance;
  struct Acc {
    T count, mean, squares;  // squares of deviations from the mean
  };
  // Of `n` numbers that were converted from f32, whose sum is finite if they are.
  static Acc of_run(T* x, std::int64_t n) {
    Moments moments;
    find_moments(x, n, moments);
    return {static_cast<T>(n), moments.mean, moments.squares};
  }
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

// An f32 in memory that counts as 0 if it is NaN.
struct NumberOrZero {
  float stored;
  WEFT_INLINE explicit operator double() const { return stored != stored ? 0.0 : static_cast<double>(stored); }
};
// A byte in memory that counts as 1 unless it is 0.
struct TruthByte {
  std::uint8_t stored;
  template <std::integral T>
  WEFT_INLINE explicit operator T() const {
    return stored != 0;
  }
};

// Folds runs of values into lanes, which the last step combines pairwise. The values are of T, or of a type in memory
// that each is converted from where it is folded.
template <class Op, class T>
struct LaneFold {
  using Acc = typename Op::Acc;
  // As many as fill four of the largest vectors; of larger accumulators some.
  static constexpr int kCount = std::is_arithmetic_v<Acc> ? 32 : kLanes;

  template <class X>
  static WEFT_INLINE Acc lifted(const X& x) {
    return Op::lift(static_cast<T>(x));
  }

  template <class X>
  struct Run {
    static WEFT_INLINE void run(const X* values, std::int64_t n, Acc* given) {
      Acc lanes[kCount];
      std::copy_n(given, kCount, lanes);
      std::int64_t i = 0;
      for (; i + kCount <= n; i += kCount) {
        for (int k = 0; k < kCount; ++k) lanes[k] = Op::combine(lanes[k], lifted(values[i + k]));
      }
      if constexpr (std::is_arithmetic_v<Acc>) {
        // The rest with values that change nothing, so that lanes stay in registers.
        T rest[kCount];
        for (int k = 0; k < kCount; ++k) rest[k] = Op::identity();
        for (int k = 0; i + k < n; ++k) rest[k] = static_cast<T>(values[i + k]);
        for (int k = 0; k < kCount; ++k) lanes[k] = Op::combine(lanes[k], Op::lift(rest[k]));
      } else {
        for (int k = 0; i < n; ++i, ++k) lanes[k] = Op::combine(lanes[k], lifted(values[i]));
      }
      std::copy_n(lanes, kCount, given);
    }
  };
  struct Last {
    static WEFT_INLINE void run(Acc* lanes) {
      for (int half = kCount / 2; half > 0; half /= 2) {
        for (int k = 0; k < half; ++k) lanes[k] = Op::combine(lanes[k], lanes[k + half]);
      }
    }
  };
  // accs[r] combined with values[r].
  struct Across {
    static WEFT_INLINE void run(const T* values, std::int64_t n, Acc* WEFT_RESTRICT accs) {
      for (std::int64_t r = 0; r < n; ++r) accs[r] = Op::combine(accs[r], Op::lift(values[r]));
    }
  };

  // Rows of a few hundred values, by so few lanes that putting them together is not most of the work.
  template <class X>
  struct Whole {
    static WEFT_INLINE void run(const X* values, std::int64_t stride, std::int64_t rows, std::int64_t n,
                                Acc* WEFT_RESTRICT results) {
      for (std::int64_t r = 0; r < rows; ++r, values += stride) {
        Acc lanes[kLanes];
        for (int k = 0; k < kLanes; ++k) lanes[k] = Op::identity();
        std::int64_t i = 0;
        for (; i + kLanes <= n; i += kLanes) {
          for (int k = 0; k < kLanes; ++k) lanes[k] = Op::combine(lanes[k], lifted(values[i + k]));
        }
        static_assert(kLanes == 8);
        for (int k = 0; k < 4; ++k) lanes[k] = Op::combine(lanes[k], lanes[k + 4]);
        for (int k = 0; k < 2; ++k) lanes[k] = Op::combine(lanes[k], lanes[k + 2]);
        Acc all = Op::combine(lanes[0], lanes[1]);
        for (; i < n; ++i) all = Op::combine(all, lifted(values[i]));
        results[r] = all;
      }
    }
  };

  static constexpr std::int64_t kMostOfWhole = 256;
  // results[r] of the `n` values from values[r * stride] on.
  template <class X>
  static void whole(const X* values, std::int64_t stride, std::int64_t rows, std::int64_t n, Acc* results) {
    using Loop = CompiledLoop<Whole<X>, const X*, std::int64_t, std::int64_t, std::int64_t, Acc*>;
    static const auto loop = Loop::choose();
    loop(values, stride, rows, n, results);
  }
  template <class X>
  static void fold(const X* values, std::int64_t n, Acc* lanes) {
    static const auto loop = CompiledLoop<Run<X>, const X*, std::int64_t, Acc*>::choose();
    loop(values, n, lanes);
  }
  static Acc last(Acc* lanes) {
    static const auto loop = CompiledLoop<Last, Acc*>::choose();
    loop(lanes);
    return lanes[0];
  }
  static void across(const T* values, std::int64_t n, Acc* accs) {
    static const auto loop = CompiledLoop<Across, const T*, std::int64_t, Acc*>::choose();
    loop(values, n, accs);
  }
};

template <class T>
struct As {
  template <class X>
  WEFT_INLINE T operator()(X x) const {
    return static_cast<T>(x);
  }
};
template <class T>
struct IsNotZero {
  template <class X>
  WEFT_INLINE T operator()(X x) const {
    return static_cast<T>(x != X(0));
  }
};
// values[i] = F()(x[i · stride]); at most a chunk of them.
template <class F, class X, class T>
void convert(const X* x, std::int64_t stride, std::int64_t count, T* values) {
  if (stride == 1) {
    static const auto loop = BlockLoop<F, T, X>::choose(true);
    return loop(x, nullptr, nullptr, values, static_cast<int>(count));
  }
  for (std::int64_t i = 0; i < count; ++i) values[i] = F()(x[i * stride]);
}

// Loads strided elements of a view's type as values of T, and stores a value.
template <class T>
struct Access {
  void (*load)(const std::byte* base, std::int64_t offset, std::int64_t stride, std::int64_t count, T* values);
  void (*store)(std::byte* base, std::int64_t offset, T value);
  T least, largest;  // of the view's type
};
template <class X>
constexpr DType narrow_type() {
  return std::is_same_v<X, float16>       ? DType::f16
         : std::is_same_v<X, bfloat16>    ? DType::bf16
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
  if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
    switch (type) {
      case DType::i4:
        return packed_access<T, DType::i4>(truth);
      case DType::u4:
        return packed_access<T, DType::u4>(truth);
      case DType::i2:
        return packed_access<T, DType::i2>(truth);
      case DType::u2:
        return packed_access<T, DType::u2>(truth);
      default:
        break;
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
        convert<As<T>>(reinterpret_cast<const X*>(base) + offset, stride, count, values);
      };
      if constexpr (std::is_same_v<T, float> && std::is_class_v<X>) {  // narrow floats
        a.load = [](const std::byte* base, std::int64_t offset, std::int64_t stride, std::int64_t count, T* values) {
          static const LoadBlock load = load_block(narrow_type<X>());
          load(base, offset, stride, static_cast<int>(count), values);
        };
      } else if constexpr (std::is_same_v<T, double> && std::is_class_v<X>) {
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
          convert<IsNotZero<T>>(reinterpret_cast<const Stored*>(base) + offset, stride, count, values);
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
  if constexpr (std::is_integral_v<T> && sizeof(T) == 4) {
    // Of the type itself alone, in which extremes are exact.
    if (type != (std::is_signed_v<T> ? DType::i32 : DType::u32) || truth)
      throw InternalError("reduce: {} as an integer of 32 bits", name(type));
    const auto load = [](const std::byte* base, std::int64_t offset, std::int64_t stride, std::int64_t count,
                         T* values) {
      convert<As<T>>(reinterpret_cast<const T*>(base) + offset, stride, count, values);
    };
    const auto store = [](std::byte* base, std::int64_t offset, T value) {
      reinterpret_cast<T*>(base)[offset] = value;
    };
    return {load, store, std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max()};
  } else if constexpr (std::is_same_v<T, Complex>) {
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

// The values to reduce: adjacent elements of a row, or a block of several rows. For one thread.
template <class T>
class Feed {
 public:
  Feed(const ReduceProblem& problem, const Access<T>& access, const std::optional<CpuExpression>& prologue)
      : problem_(problem), access_(access), prologue_(prologue) {
    if (prologue) registers_.emplace(*prologue);
  }

  // Loads `n` values from element `step` of row `row` on, within the last dimension, and stores the extra outputs.
  void load(std::int64_t row, std::int64_t step, std::int64_t n, T* values) {
    if (!prologue_) {
      const auto [offset, stride] = place(0, row, step);
      return access_.load(memory(0), offset, stride, n, values);
    }
    alignas(64) std::byte made[CpuExpression::kBlock * 8];
    for (std::int64_t at = 0; at < n; at += CpuExpression::kBlock) {
      const int count = static_cast<int>(std::min<std::int64_t>(CpuExpression::kBlock, n - at));
      compute(row, step, at, count);
      access_.load(reduced(made, count), 0, 1, count, values + at);
    }
  }

  // Where elements at…at+n-1 after element `step` of a row are as in memory of their type; null if nowhere. Of an
  // expression's results at most a block, of which those before `at` are computed.
  const std::byte* in_place(std::int64_t row, std::int64_t step, std::int64_t at, std::int64_t n) {
    if (!prologue_) {
      const auto [offset, stride] = place(0, row, step);
      return stride == 1 ? memory(0) + (offset + at) * bits(problem_.inputs[0].dtype) / 8 : nullptr;
    }
    const int last = prologue_->output_count() - 1;
    if (!prologue_->has_result(last)) return nullptr;
    compute(row, step, at, static_cast<int>(n));
    return prologue_->result(*registers_, last);
  }

  // Loads a block of at most kBlock values: those of `rows` rows from `row` on at `steps` steps from `step` on, step by
  // step or row by row, and stores the extra outputs.
  void load_block_of(std::int64_t row, std::int64_t rows, std::int64_t step, std::int64_t steps, bool by_rows,
                     T* values) {
    const int n = static_cast<int>(rows * steps);
    if (!prologue_) {
      const CpuExpression::Row from = elements(0, memory(0), row, rows, step, steps, by_rows);
      if (!from.offsets) return access_.load(from.data, from.first, from.stride, n, values);
      for (int i = 0; i < n; ++i) access_.load(from.data, from.offsets[i], 0, 1, values + i);
      return;
    }
    alignas(64) std::byte made[CpuExpression::kBlock * 8];
    for (std::size_t k = 0; k < problem_.inputs.size(); ++k) {
      prologue_->load(*registers_, static_cast<int>(k), elements(k, memory(k), row, rows, step, steps, by_rows), 0, n);
    }
    prologue_->run(*registers_, n);
    for (std::size_t k = 0; k < problem_.extra_outputs.size(); ++k) {
      const View& v = problem_.extra_outputs[k];
      prologue_->store(
          *registers_, static_cast<int>(k) + 1,
          elements(problem_.extra_outputs_index() + k, v.buffer.data() + v.offset, row, rows, step, steps, by_rows), 0,
          n);
    }
    access_.load(reduced(made, n), 0, 1, n, values);
  }

 private:
  // Computes the expression of elements at…at+count-1 after element `step` of a row, of which those before `at` are
  // computed, and stores the extra outputs.
  void compute(std::int64_t row, std::int64_t step, std::int64_t at, int count) {
    for (std::size_t k = 0; k < problem_.inputs.size(); ++k) {
      const auto [offset, stride] = place(k, row, step);
      if (at > 0 && stride == 0) continue;  // what repeats is there from the first block
      prologue_->load(*registers_, static_cast<int>(k), {memory(k), offset, stride}, at, count);
    }
    prologue_->run(*registers_, count);
    for (std::size_t k = 0; k < problem_.extra_outputs.size(); ++k) {
      const auto [offset, stride] = place(problem_.extra_outputs_index() + k, row, step);
      const View& v = problem_.extra_outputs[k];
      prologue_->store(*registers_, static_cast<int>(k) + 1, 0, v.buffer.data() + v.offset, offset + at * stride,
                       stride, count);
    }
  }
  // The elements that the prologue computed last, where they are or in memory for a block.
  const std::byte* reduced(std::byte* made, int count) const {
    const int last = prologue_->output_count() - 1;
    if (const std::byte* const there = prologue_->result(*registers_, last)) return there;
    prologue_->store(*registers_, last, 0, made, 0, 1, count);
    return made;
  }
  // Operand k's elements of a block.
  CpuExpression::Row elements(std::size_t k, std::byte* memory, std::int64_t row, std::int64_t rows, std::int64_t step,
                              std::int64_t steps, bool by_rows) {
    const Collapsed &outer = problem_.rows.outer, &inner = problem_.rows.inner;
    // The stride of elements that are in one run of the last axis; a stride of fewer than two does not matter.
    const auto in_run = [](const Collapsed& dims, std::int64_t first, std::int64_t count) {
      return count == 1 || first % dims.shape.back() + count <= dims.shape.back();
    };
    const auto stride_of = [k](const Collapsed& dims) { return dims.shape.empty() ? 0 : dims.strides[k].back(); };
    const std::int64_t of_rows = stride_of(outer), of_steps = stride_of(inner);
    const bool even = in_run(outer, row, rows) && in_run(inner, step, steps) &&
                      (rows == 1 || steps == 1 || (by_rows ? of_rows == steps * of_steps : of_steps == rows * of_rows));
    if (even) {
      const std::int64_t first =
          offset_of({outer.shape, outer.strides[k]}, row) + offset_of({inner.shape, inner.strides[k]}, step);
      return {memory, first, rows == 1 || (by_rows && steps > 1) ? of_steps : of_rows};
    }
    std::int64_t row_offsets[CpuExpression::kBlock], step_offsets[CpuExpression::kBlock];
    offsets_of({outer.shape, outer.strides[k]}, row, rows, row_offsets);
    offsets_of({inner.shape, inner.strides[k]}, step, steps, step_offsets);
    std::int64_t* next = offsets_.data();
    if (by_rows) {
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t j = 0; j < steps; ++j) *next++ = row_offsets[r] + step_offsets[j];
      }
    } else {
      for (std::int64_t j = 0; j < steps; ++j) {
        for (std::int64_t r = 0; r < rows; ++r) *next++ = row_offsets[r] + step_offsets[j];
      }
    }
    return {memory, 0, 0, offsets_.data()};
  }
  std::pair<std::int64_t, std::int64_t> place(std::size_t k, std::int64_t row, std::int64_t step) const {
    const Rows& rows = problem_.rows;
    return {offset_of({rows.outer.shape, rows.outer.strides[k]}, row) +
                offset_of({rows.inner.shape, rows.inner.strides[k]}, step),
            rows.inner.shape.empty() ? 0 : rows.inner.strides[k].back()};
  }
  std::byte* memory(std::size_t k) const { return problem_.inputs[k].buffer.data() + problem_.inputs[k].offset; }

  const ReduceProblem& problem_;
  const Access<T>& access_;
  const std::optional<CpuExpression>& prologue_;
  std::optional<CpuExpression::Registers> registers_;
  std::array<std::int64_t, CpuExpression::kBlock> offsets_;  // of one operand
};

// What is folded where it is in memory, without a copy: values of T, floats that count as double, floats of which NaN
// counts as 0, or booleans that count as integers.
enum class InPlace : std::uint8_t { none, values, floats, numbers, truths };

template <class Op, class T>
struct Reducer {
  using Acc = typename Op::Acc;
  using Folder = LaneFold<typename Op::Folds, T>;

  static constexpr bool kInLanes = !requires(T* values) { Op::of_run(values, 0); };
  static constexpr bool kSums = std::is_same_v<typename Op::Folds, Sum<T>>;
  static constexpr bool kFloats =
      std::is_same_v<T, double> &&
      (kSums || std::is_same_v<typename Op::Folds, SumSquares<T>> || std::is_same_v<typename Op::Folds, L1<T>>);
  static constexpr bool kTruths = std::is_integral_v<T> && sizeof(T) == 8 && kSums;

  const ReduceProblem& problem;
  Access<T> from;
  std::optional<CpuExpression> prologue;
  InPlace in_place = InPlace::none;

  // As what a fold takes the input itself in the place of the expression's results, if every row is adjacent elements:
  // 0 for NaN, or a boolean as an integer.
  InPlace in_place_of_input() const {
    const Rows& rows = problem.rows;
    if (problem.inputs.size() > 2 || problem.prologue->outputs().size() != 1 || !problem.extra_outputs.empty() ||
        !has_adjacent_elements() || runs_across(rows, 0) || rows.length < kShort) {
      return InPlace::none;
    }
    const auto& nodes = problem.prologue->nodes();
    const auto& last = nodes[static_cast<std::size_t>(problem.prologue->outputs()[0])];
    const auto arg = [&](std::size_t k) -> const Expression::Node& {
      return nodes[static_cast<std::size_t>(last.args[k])];
    };
    const DType type = problem.inputs[0].dtype;
    if (kFloats && kSums && type == DType::f32 && last.op == ScalarOp::select && arg(0).op == ScalarOp::is_nan &&
        arg(0).args[0] == last.args[2] && arg(2).op == ScalarOp::input && arg(2).input == 0 && is_zero(arg(1))) {
      return InPlace::numbers;
    }
    if (kTruths && type == DType::boolean && last.op == ScalarOp::cast && last.type != DType::boolean &&
        arg(0).op == ScalarOp::input && arg(0).input == 0) {
      return InPlace::truths;
    }
    return InPlace::none;
  }
  // Whether a node of f32 is the number 0: a constant, or an input that is one number.
  bool is_zero(const Expression::Node& node) const {
    if (node.op == ScalarOp::constant) return node.bits == 0;
    if (node.op != ScalarOp::input) return false;
    const auto k = static_cast<std::size_t>(node.input);
    for (const Collapsed* dims : {&problem.rows.outer, &problem.rows.inner}) {
      if (std::ranges::any_of(dims->strides[k], [](std::int64_t stride) { return stride != 0; })) return false;
    }
    return *reinterpret_cast<const std::uint32_t*>(problem.inputs[k].buffer.data() + problem.inputs[k].offset) == 0;
  }
  // For elements of that type.
  static InPlace in_place_of(DType type, bool truth) {
    if constexpr (kInLanes) {
      if (truth) return kTruths && type == DType::boolean ? InPlace::truths : InPlace::none;
      if (type == type_of_values()) return InPlace::values;
      if (kFloats && type == DType::f32) return InPlace::floats;
    }
    return InPlace::none;
  }
  static std::optional<DType> type_of_values() {
    if constexpr (std::is_same_v<T, float>) return DType::f32;
    if constexpr (std::is_same_v<T, double>) return DType::f64;
    if constexpr (std::is_same_v<T, std::int64_t>) return DType::i64;
    if constexpr (std::is_same_v<T, std::uint64_t>) return DType::u64;
    if constexpr (std::is_same_v<T, std::int32_t>) return DType::i32;
    if constexpr (std::is_same_v<T, std::uint32_t>) return DType::u32;
    return std::nullopt;
  }
  // Calls f with the elements there as what they are.
  template <class F>
  void with_elements(const std::byte* there, F&& f) const {
    if constexpr (kFloats) {
      if (in_place == InPlace::floats) return f(reinterpret_cast<const float*>(there));
    }
    if constexpr (kFloats && kSums) {
      if (in_place == InPlace::numbers) return f(reinterpret_cast<const NumberOrZero*>(there));
    }
    if constexpr (kTruths) {
      if (in_place == InPlace::truths) return f(reinterpret_cast<const TruthByte*>(there));
    }
    f(reinterpret_cast<const T*>(there));
  }

  static constexpr std::int64_t kShort = 64;

  // Reduces the elements [begin, end) of one row.
  Acc along(Feed<T>& feed, std::int64_t row, std::int64_t begin, std::int64_t end) const {
    if (kInLanes && begin < end && end <= Folder::kMostOfWhole && problem.rows.inner.shape.rank() <= 1) {
      Acc result;
      if (in_place != InPlace::none) {
        if (const std::byte* const there = feed.in_place(row, begin, 0, end - begin)) {
          with_elements(there, [&](const auto* x) { Folder::whole(x, 0, 1, end - begin, &result); });
          return result;
        }
      }
      T values[Folder::kMostOfWhole];
      feed.load(row, begin, end - begin, values);
      Folder::whole(values, 0, 1, end - begin, &result);
      return result;
    }
    Acc lanes[Folder::kCount];
    std::fill(lanes, lanes + Folder::kCount, Op::identity());
    T values[kChunk];
    for_each_run(problem.rows.inner.shape, begin, end, [&](std::int64_t first, std::int64_t count) {
      if (in_place != InPlace::none) {
        const std::int64_t most = prologue ? CpuExpression::kBlock : count;
        std::int64_t at = 0;
        for (; at < count; at += most) {
          const std::int64_t n = std::min(most, count - at);
          const std::byte* const there = feed.in_place(row, first, at, n);
          if (!there) break;  // at the first block, if at any
          with_elements(there, [&](const auto* x) { Folder::fold(x, n, lanes); });
        }
        if (at >= count) return;
      }
      for (std::int64_t at = 0; at < count; at += kChunk) {
        const std::int64_t n = std::min(kChunk, count - at);
        feed.load(row, first + at, n, values);
        if constexpr (requires { Op::of_run(values, n); }) {
          if (problem.dtype != DType::f64) {
            lanes[0] = Op::combine(lanes[0], Op::of_run(values, n));
            continue;
          }
        }
        Folder::fold(values, n, lanes);
      }
    });
    return Folder::last(lanes);
  }

  // Reduces the elements [begin, end) of `count` rows from `first` on, at most a block of them.
  void across(Feed<T>& feed, std::int64_t first, std::int64_t count, std::int64_t begin, std::int64_t end,
              Acc* accs) const {
    std::fill(accs, accs + count, Op::identity());
    T values[CpuExpression::kBlock];
    // Rows side by side are read where they are, a few of them together.
    const std::int64_t most = count >= 32 ? 1 : CpuExpression::kBlock / count;
    for (std::int64_t step = begin; step < end; step += most) {
      const std::int64_t steps = std::min(most, end - step);
      feed.load_block_of(first, count, step, steps, false, values);
      for (std::int64_t j = 0; j < steps; ++j) {
        Folder::across(values + j * count, count, accs);
      }
    }
  }

  // Reduces `count` rows from `first` on, which are at most a block together.
  void together(Feed<T>& feed, std::int64_t first, std::int64_t count, Acc* accs) const {
    if (whole_rows_in_place(feed, first, count, accs)) return;
    T values[CpuExpression::kBlock];
    const std::int64_t length = problem.rows.length;
    feed.load_block_of(first, count, 0, length, true, values);
    for (std::int64_t r = 0; r < count; ++r) accs[r] = fold(values + r * length, length);
  }
  // Reduces `count` rows from `first` on if all of them are adjacent elements in memory.
  bool whole_rows_in_place(Feed<T>& feed, std::int64_t first, std::int64_t count, Acc* accs) const {
    const Collapsed& outer = problem.rows.outer;
    if (in_place == InPlace::none || prologue || !has_adjacent_elements()) return false;
    const std::int64_t stride = outer.shape.empty() ? 0 : outer.strides[0].back(), length = problem.rows.length;
    for_each_run(outer.shape, first, first + count, [&](std::int64_t row, std::int64_t rows) {
      with_elements(feed.in_place(row, 0, 0, length), [&](const auto* x) {
        Acc* const results = accs + (row - first);
        if (length >= kShort) return Folder::whole(x, stride, rows, length, results);
        for (std::int64_t r = 0; r < rows; ++r) results[r] = fold(x + r * stride, length);
      });
    });
    return true;
  }
  bool has_adjacent_elements() const {
    const Collapsed& inner = problem.rows.inner;
    return inner.shape.rank() == 1 && inner.strides[0].back() == 1;
  }
  // A short row's values.
  template <class X>
  static Acc fold(const X* values, std::int64_t n) {
    Acc lanes[kLanes];
    std::fill(lanes, lanes + kLanes, Op::identity());
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (int k = 0; k < kLanes; ++k) lanes[k] = Op::combine(lanes[k], Folder::lifted(values[i + k]));
    }
    for (; i < n; ++i) lanes[0] = Op::combine(lanes[0], Folder::lifted(values[i]));
    // Empty lanes change nothing but a product of complex numbers with infinite parts.
    if (n < kLanes && !std::is_same_v<T, Complex>) return lanes[0];
    for (int k = 1; k < kLanes; ++k) lanes[0] = Op::combine(lanes[0], lanes[k]);
    return lanes[0];
  }

  // Calls put(first row, rows, results) for some rows at a time, of at most a block, on any core.
  template <class F>
  void run(cpu::Executor& executor, F&& put) const {
    const Rows& rows = problem.rows;
    const bool is_across = runs_across(rows, 0), short_rows = !is_across && rows.length > 0 && rows.length < kShort;
    const bool whole_rows = !is_across && !short_rows && rows.length > 0 && rows.length <= Folder::kMostOfWhole &&
                            in_place != InPlace::none && !prologue && has_adjacent_elements();
    const std::int64_t block =  // rows of a task
        is_across    ? 256
        : short_rows ? CpuExpression::kBlock / rows.length
        : whole_rows ? 32
                     : 1;
    const std::int64_t blocks = ceil_div(rows.count, block);
    const std::int64_t piece = std::max<std::int64_t>(kPiece / block, 1);
    const std::int64_t pieces = std::max<std::int64_t>(ceil_div(rows.length, piece), 1);
    const std::int64_t grain = std::max<std::int64_t>(kPiece / (block * std::min(rows.length, piece) + 1), 1);
    cpu::say_form([&] {
      return std::pair(std::string(is_across    ? "across_rows"
                                   : short_rows ? "short_rows"
                                                : "along_rows"),
                       std::format("{} rows of {}", rows.count, rows.length));
    });
    const auto fold_piece = [&](Feed<T>& feed, std::int64_t first, std::int64_t count, std::int64_t p, Acc* target) {
      const std::int64_t begin = p * piece, end = std::min(begin + piece, rows.length);
      if (is_across)
        across(feed, first, count, begin, end, target);
      else if (short_rows)
        together(feed, first, count, target);
      else if (whole_rows)
        whole_rows_in_place(feed, first, count, target);
      else
        *target = along(feed, first, begin, end);
    };
    const auto result_of = [&](const Acc& a) {
      T result = Op::finish(a, rows.length, problem.correction);
      // Without elements, minimum and maximum are the limits of the narrow type.
      if constexpr (std::is_integral_v<T>) {
        if (rows.length == 0) result = std::clamp(result, from.least, from.largest);
      }
      return result;
    };
    if (pieces == 1) {
      parallel(executor, blocks, grain, [&](std::int64_t begin, std::int64_t end) {
        Feed<T> feed(problem, from, prologue);
        Acc accs[CpuExpression::kBlock];
        T results[CpuExpression::kBlock];
        for (std::int64_t b = begin; b < end; ++b) {
          const std::int64_t first = b * block, count = std::min(block, rows.count - first);
          fold_piece(feed, first, count, 0, accs);
          for (std::int64_t r = 0; r < count; ++r) results[r] = result_of(accs[r]);
          put(first, count, results);
        }
      });
      return;
    }
    auto accs = host_list<Acc>(rows.count * pieces);  // [blocks, pieces, rows of the block]
    parallel(executor, blocks * pieces, grain, [&](std::int64_t begin, std::int64_t end) {
      Feed<T> feed(problem, from, prologue);
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t first = task / pieces * block, count = std::min(block, rows.count - first),
                           p = task % pieces;
        fold_piece(feed, first, count, p, accs.data() + first * pieces + p * count);
      }
    });
    for (std::int64_t first = 0; first < rows.count; first += block) {
      const std::int64_t count = std::min(block, rows.count - first);
      T results[CpuExpression::kBlock];
      for (std::int64_t r = 0; r < count; ++r) {
        const Acc* const source = accs.data() + first * pieces + r;
        Acc a = source[0];
        for (std::int64_t p = 1; p < pieces; ++p) a = Op::combine(a, source[p * count]);
        results[r] = result_of(a);
      }
      put(first, count, results);
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
  const auto shares_bytes = [](const View& v) { return bits(v.dtype) < 8; };
  const bool packed = shares_bytes(problem.y) || std::ranges::any_of(problem.extra_outputs, shares_bytes);
  cpu::Executor one_core(1);
  cpu::Executor& executor = packed ? one_core : all_cores;
  Reducer<Op<T>, T> reducer{problem, access<T>(problem.dtype, truth), {}};
  reducer.in_place = reducer.in_place_of(problem.dtype, truth);
  const InPlace of_input = problem.prologue ? reducer.in_place_of_input() : InPlace::none;
  if (of_input != InPlace::none) {
    reducer.in_place = of_input;
  } else if (problem.prologue) {
    // The last output is what is reduced: narrow floats as they were computed, without rounding.
    Expression prologue = *problem.prologue;
    const bool narrow = is_floating(problem.dtype) && bits(problem.dtype) < 32;
    const int x = prologue.outputs()[0];
    if (narrow)
      prologue.output(prologue.cast(x, DType::f32));
    else if (!problem.extra_outputs.empty())
      prologue.output(x);
    reducer.prologue.emplace(prologue);
    if (narrow) {
      reducer.from = access<T>(DType::f32, truth);
      reducer.in_place = reducer.in_place_of(DType::f32, truth);
    }
  }
  if constexpr (!std::is_same_v<T, Complex>) {
    if (problem.epilogue) {
      std::vector<float> results(problem.rows.count);
      reducer.run(executor, [&](std::int64_t first, std::int64_t count, const T* values) {
        for (std::int64_t i = 0; i < count; ++i) results[first + i] = static_cast<float>(values[i]);
      });
      return finish(problem, results);
    }
  }
  const Layout outer{problem.rows.outer.shape, problem.rows.outer.strides[problem.y_index()]};
  const Access<T> to = access<T>(problem.y.dtype, false);
  std::byte* y = problem.y.buffer.data() + problem.y.offset;
  reducer.run(executor, [&](std::int64_t first, std::int64_t count, const T* values) {
    std::int64_t offsets[CpuExpression::kBlock];
    offsets_of(outer, first, count, offsets);
    for (std::int64_t i = 0; i < count; ++i) to.store(y, offsets[i], values[i]);
  });
}

// Runs the operation for the kinds of numbers that it takes.
template <template <class> class Op>
void run_numbers(cpu::Executor& executor, const ReduceProblem& problem) {
  if (is_floating(problem.dtype)) return run<Op, double>(executor, problem);
  if (is_signed(problem.dtype)) return run<Op, std::int64_t>(executor, problem);
  return run<Op, std::uint64_t>(executor, problem);
}

template <template <class> class Op>
void run_extreme(cpu::Executor& executor, const ReduceProblem& problem) {
  // An extreme of f32 is exact in it.
  if (is_floating(problem.dtype) && problem.dtype != DType::f64) return run<Op, float>(executor, problem);
  if (problem.dtype == DType::i32) return run<Op, std::int32_t>(executor, problem);
  if (problem.dtype == DType::u32) return run<Op, std::uint32_t>(executor, problem);
  run_numbers<Op>(executor, problem);
}
// Of truth values, which booleans' bytes hold.
template <template <class> class Op>
void run_truth(cpu::Executor& executor, const ReduceProblem& problem) {
  if (problem.dtype == DType::boolean) return run<Op, std::uint8_t>(executor, problem, true);
  run<Op, std::uint64_t>(executor, problem, true);
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
    case ReduceKind::sum:
      return run_any<Sum>(executor, problem);
    case ReduceKind::prod:
      return run_any<Product>(executor, problem);
    case ReduceKind::min:
      return run_extreme<Min>(executor, problem);
    case ReduceKind::max:
      return run_extreme<Max>(executor, problem);
    case ReduceKind::sum_squares:
      return run_numbers<SumSquares>(executor, problem);
    case ReduceKind::l1:
      return run_numbers<L1>(executor, problem);
    case ReduceKind::mean:
      return complex ? run<Mean, Complex>(executor, problem) : run<Mean, double>(executor, problem);
    case ReduceKind::l2:
      return problem.dtype == DType::f64 ? run<WideL2, double>(executor, problem) : run<L2, double>(executor, problem);
    case ReduceKind::log_sum:
      return run<LogSum, double>(executor, problem);
    case ReduceKind::log_sum_exp:
      return run<LogSumExp, double>(executor, problem);
    case ReduceKind::any:
      return run_truth<Any>(executor, problem);
    case ReduceKind::all:
      return run_truth<All>(executor, problem);
    case ReduceKind::count:
      return run<Sum, std::uint64_t>(executor, problem, true);
    case ReduceKind::variance:
      return run<Variance, double>(executor, problem);
    case ReduceKind::deviation:
      return run<Deviation, double>(executor, problem);
  }
}

}  // namespace weft::kernels
