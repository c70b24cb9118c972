// Reductions of rows by any operation, in the form that suits the rows. Each of the sources that has operations
// includes it once.
#pragma once

#include <algorithm>
#include <complex>
#include <concepts>
#include <cstdint>
#include <format>
#include <functional>
#include <optional>
#include <type_traits>
#include <vector>

#include "core/host_memory.h"
#include "cpu/kernel_form.h"
#include "kernels/common/rows_cpu.h"
#include "kernels/elementwise/block_loops.h"
#include "kernels/elementwise/expression_cpu.h"
#include "kernels/reduce/cpu/forms.h"
#include "kernels/reduce/cpu/values.h"

namespace weft::kernels {
namespace {

constexpr int kLanes = 8;

// An operation on values of T (double, int64, uint64, Complex): the conversion of an element to an accumulator, the
// combination of two, and the result of the last. Folds is the operation whose loops it shares: those that differ in
// their results alone have one.
template <class T>
struct Plain {
  using Acc = T;
  static constexpr bool kSums = false;         // it adds up values as they are
  static constexpr bool kTakesFloats = false;  // of f64 it folds f32 where they are, too
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

constexpr std::int64_t kChunk = 1024;   // values converted at a time
constexpr std::int64_t kPiece = 65536;  // of a row, folded by one task: results do not depend on the cores

// What is folded where it is in memory, without a copy: values of T, floats that count as double, floats of which NaN
// counts as 0, or booleans that count as integers.
enum class InPlace : std::uint8_t { none, values, floats, numbers, truths };

// Op is its own Folds; what it is for, by which operations differ, is a function.
template <class Op, class T>
struct Reducer {
  using Acc = typename Op::Acc;
  using Folder = LaneFold<Op, T>;
  // The results of `count` rows.
  using Finish = void (*)(const Acc* accs, std::int64_t count, std::int64_t length, double correction, T* results);
  // Takes those of some rows from `first` on.
  using Put = std::function<void(std::int64_t first, std::int64_t count, const T* results)>;

  static constexpr bool kInLanes = !requires(T* values) { Op::of_run(values, 0); };
  static constexpr bool kSums = Op::kSums, kFloats = std::is_same_v<T, double> && Op::kTakesFloats,
                        kTruths = std::is_integral_v<T> && sizeof(T) == 8 && kSums;

  const ReduceProblem& problem;
  Finish finish;
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
  Acc along(Feed& feed, std::int64_t row, std::int64_t begin, std::int64_t end) const {
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
  void across(Feed& feed, std::int64_t first, std::int64_t count, std::int64_t begin, std::int64_t end,
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
  void together(Feed& feed, std::int64_t first, std::int64_t count, Acc* accs) const {
    if (whole_rows_in_place(feed, first, count, accs)) return;
    T values[CpuExpression::kBlock];
    const std::int64_t length = problem.rows.length;
    feed.load_block_of(first, count, 0, length, true, values);
    for (std::int64_t r = 0; r < count; ++r) accs[r] = fold(values + r * length, length);
  }
  // Reduces `count` rows from `first` on if all of them are adjacent elements in memory.
  bool whole_rows_in_place(Feed& feed, std::int64_t first, std::int64_t count, Acc* accs) const {
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
    if (n < kLanes && !std::is_same_v<T, std::complex<double>>) return lanes[0];
    for (int k = 1; k < kLanes; ++k) lanes[0] = Op::combine(lanes[0], lanes[k]);
    return lanes[0];
  }

  // Calls put for some rows at a time, of at most a block, on any core.
  void run(cpu::Executor& executor, const Put& put) const {
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
    const auto fold_piece = [&](Feed& feed, std::int64_t first, std::int64_t count, std::int64_t p, Acc* target) {
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
    const auto finish_rows = [&](const Acc* accs, std::int64_t first, std::int64_t count) {
      T results[CpuExpression::kBlock];
      finish(accs, count, rows.length, problem.correction, results);
      // Without elements, minimum and maximum are the limits of the narrow type.
      if constexpr (std::is_integral_v<T>) {
        for (std::int64_t r = 0; r < count && rows.length == 0; ++r)
          results[r] = std::clamp(results[r], from.least, from.largest);
      }
      put(first, count, results);
    };
    auto pieces_of = host_list<Acc>(pieces == 1 ? 0 : rows.count * pieces);  // [blocks, pieces, rows of the block]
    parallel(executor, blocks * pieces, grain, [&](std::int64_t begin, std::int64_t end) {
      Feed feed(problem, from.load, prologue);
      Acc accs[CpuExpression::kBlock];
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t first = task / pieces * block, count = std::min(block, rows.count - first),
                           p = task % pieces;
        fold_piece(feed, first, count, p, pieces == 1 ? accs : pieces_of.data() + first * pieces + p * count);
        if (pieces == 1) finish_rows(accs, first, count);
      }
    });
    for (std::int64_t first = 0; pieces > 1 && first < rows.count; first += block) {
      const std::int64_t count = std::min(block, rows.count - first);
      Acc accs[CpuExpression::kBlock];
      for (std::int64_t r = 0; r < count; ++r) {
        const Acc* const source = pieces_of.data() + first * pieces + r;
        accs[r] = source[0];
        for (std::int64_t p = 1; p < pieces; ++p) accs[r] = Op::combine(accs[r], source[p * count]);
      }
      finish_rows(accs, first, count);
    }
  }
};

template <class Op, class T>
void finish_rows(const typename Op::Acc* accs, std::int64_t count, std::int64_t length, double correction, T* results) {
  for (std::int64_t r = 0; r < count; ++r) results[r] = Op::finish(accs[r], length, correction);
}

template <class Op, class T>
void reduce_by(typename Reducer<Op, T>::Finish finish, cpu::Executor& all_cores, const ReduceProblem& problem,
               bool truth) {
  // Adjacent packed elements share bytes.
  const auto shares_bytes = [](const View& v) { return bits(v.dtype) < 8; };
  const bool packed = shares_bytes(problem.y) || std::ranges::any_of(problem.extra_outputs, shares_bytes);
  cpu::Executor one_core(1);
  cpu::Executor& executor = packed ? one_core : all_cores;
  Reducer<Op, T> reducer{problem, finish, access<T>(problem.dtype, truth), {}};
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
  if constexpr (!std::is_same_v<T, std::complex<double>>) {
    if (problem.epilogue) {
      std::vector<float> results(problem.rows.count);
      reducer.run(executor, [&](std::int64_t first, std::int64_t count, const T* values) {
        for (std::int64_t i = 0; i < count; ++i) results[first + i] = static_cast<float>(values[i]);
      });
      return store_by_epilogue(problem, results);
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

template <template <class> class Op, class T>
void run(cpu::Executor& executor, const ReduceProblem& problem, bool truth = false) {
  reduce_by<typename Op<T>::Folds, T>(finish_rows<Op<T>, T>, executor, problem, truth);
}

// Runs the operation for the kinds of numbers that it takes.
template <template <class> class Op>
void run_numbers(cpu::Executor& executor, const ReduceProblem& problem) {
  if (is_floating(problem.dtype)) return run<Op, double>(executor, problem);
  if (is_signed(problem.dtype)) return run<Op, std::int64_t>(executor, problem);
  return run<Op, std::uint64_t>(executor, problem);
}

}  // namespace
}  // namespace weft::kernels
