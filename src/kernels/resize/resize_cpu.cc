// Resampling on the CPU's cores, row by row of y along the axis whose elements are adjacent: the rows of x that it is
// made of are added up with their weights, and the sum is resampled along the row. A prologue makes the rows of x, an
// epilogue takes those of y.
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "kernels/common/prologue.h"
#include "kernels/cpu_loops.h"
#include "kernels/elementwise/block_memory.h"
#include "kernels/resize/problem.h"

namespace weft::kernels {
namespace {

// The rows of x that a row of y is made of.
template <class A>
struct Parts {
  std::vector<A> weights;
  std::vector<std::int64_t> offsets;  // of each input, for one row after the other
};

template <class T>
constexpr DType kTypeOf = std::is_same_v<T, double>  ? DType::f64
                          : std::is_same_v<T, float> ? DType::f32
                                                     : DType::i32;

// Where row `offset` of a view begins, for an expression.
CpuExpression::Row row_of(const View& v, std::int64_t offset, std::int64_t stride) {
  return {v.buffer.data() + v.offset, offset, stride};
}

// The epilogue's half of a pass, for one thread: takes rows of y.
class EpilogueRows {
 public:
  EpilogueRows(const ResizePass& pass, const ResizeOrder& order, const CpuExpression& expression)
      : pass_(pass), order_(order), expression_(expression), registers_(expression) {}
  // Stores the row at `at`, all axes but the last, of the result `row`.
  void operator()(const Dims& at, const void* row) {
    const int last = order_.shape.rank() - 1;
    const auto offset = [&](const Strides& strides) {
      std::int64_t o = 0;
      for (int d = 0; d < last; ++d) o += at[d] * strides[d];
      return o;
    };
    std::vector<CpuExpression::Row> inputs{{static_cast<std::byte*>(const_cast<void*>(row)), 0, 1}};
    for (std::size_t k = 0; k < pass_.operands.size(); ++k) {
      inputs.push_back(row_of(pass_.operands[k], offset(order_.operands[k]), order_.operands[k][last]));
    }
    const CpuExpression::Row output = row_of(pass_.y, offset(order_.y), order_.y[last]);
    expression_.evaluate(registers_, inputs, std::span(&output, 1), order_.shape[last]);
  }

 private:
  const ResizePass& pass_;
  const ResizeOrder& order_;
  const CpuExpression& expression_;
  CpuExpression::Registers registers_;
};

// The type in which elements of T are summed.
template <class T>
using SumOf = std::conditional_t<std::is_same_v<T, double>, double,
                                 std::conditional_t<std::is_integral_v<T>, std::int32_t, float>>;
template <class T, class A>
constexpr bool kSums = (std::is_arithmetic_v<T> || sizeof(T) <= 2) && std::is_convertible_v<T, A> &&
                       std::is_same_v<SumOf<T>, A> && sizeof(T) <= sizeof(A);

// sum[j] += weight · x[offset + j · stride], or = for the first.
template <class A>
class AddRow {
 public:
  explicit AddRow(DType type) {
    if (std::is_same_v<A, float> && type != DType::f32) {
      load_ = load_block(type);
      return;
    }
    add_ = with_type(type, [&]<class T>() -> Add {
      if constexpr (kSums<T, A>) {
        return add<T>;
      } else {
        throw InternalError("resize of {}", name(type));
      }
    });
  }

  void operator()(const std::byte* x, std::int64_t offset, std::int64_t stride, std::int64_t n, A weight, bool first,
                  A* sum) const {
    if (!load_) return add_(x, offset, stride, n, weight, first, sum);
    // Narrow floats are widened many at a time.
    constexpr std::int64_t kBlock = 512;
    A block[kBlock];
    for (std::int64_t j = 0; j < n; j += kBlock) {
      const std::int64_t count = std::min(kBlock, n - j);
      load_(x, offset + j * stride, stride, static_cast<int>(count), block);
      add<A>(reinterpret_cast<const std::byte*>(block), 0, 1, count, weight, first, sum + j);
    }
  }

 private:
  using Add = void (*)(const std::byte* x, std::int64_t offset, std::int64_t stride, std::int64_t n, A weight,
                       bool first, A* sum);
  template <class T>
  static void add(const std::byte* bytes, std::int64_t offset, std::int64_t stride, std::int64_t n, A w, bool first,
                  A* sum) {
    const T* x = reinterpret_cast<const T*>(bytes) + offset;
    const auto run = [&](auto step) {
      if (first) {
        for (std::int64_t j = 0; j < n; ++j) sum[j] = w * static_cast<A>(x[j * step]);
      } else {
        for (std::int64_t j = 0; j < n; ++j) sum[j] += w * static_cast<A>(x[j * step]);
      }
    };
    if (stride == 1) {
      run(std::integral_constant<std::int64_t, 1>());
    } else {
      run(stride);
    }
  }

  Add add_ = nullptr;
  LoadBlock load_ = nullptr;
};

// Stores sums; those of integers are shifted, rounded and saturated.
template <class A>
class StoreRow {
 public:
  explicit StoreRow(const ResizePass& pass) {
    if constexpr (std::is_integral_v<A>) {
      shift_ = result_shift(pass);
      std::tie(low_, high_) = limits_of(pass.to_type);
      value_ = fixed_point(pass.value, pass.to_type);
    } else {
      value_ = static_cast<A>(pass.value.value());
    }
    if (pass.epilogue) return;  // which stores them
    if (std::is_same_v<A, float> && pass.y.dtype != DType::f32) {
      narrow_ = store_block(pass.y.dtype);
      return;
    }
    store_ = with_type(pass.y.dtype, [&]<class T>() -> Store {
      if constexpr (kSums<T, A>) {
        return [](std::byte* bytes, std::int64_t offset, std::int64_t stride, std::int64_t n, const A* v) {
          T* y = reinterpret_cast<T*>(bytes) + offset;
          for (std::int64_t i = 0; i < n; ++i) y[i * stride] = static_cast<T>(v[i]);
        };
      } else {
        throw InternalError("resize to {}", name(pass.y.dtype));
      }
    });
  }
  A value() const { return value_; }
  A finished(A sum) const {
    if constexpr (std::is_integral_v<A>) {
      return std::clamp((sum + (A{1} << (shift_ - 1))) >> shift_, low_, high_);
    } else {
      return sum;
    }
  }
  void operator()(std::byte* y, std::int64_t offset, std::int64_t stride, std::int64_t n, const A* v) const {
    if (narrow_) return narrow_(y, offset, stride, static_cast<int>(n), v);
    store_(y, offset, stride, n, v);
  }

 private:
  using Store = void (*)(std::byte* y, std::int64_t offset, std::int64_t stride, std::int64_t n, const A* v);
  Store store_ = nullptr;
  StoreBlock narrow_ = nullptr;
  A value_ = 0, low_ = 0, high_ = 0;
  int shift_ = 0;
};

// A table's weights as the sums take them.
template <class A>
std::vector<A> weights_of(const AxisTable& t) {
  std::vector<A> weights(t.weights.size());
  for (std::int64_t i = 0; i < t.to(); ++i) {
    const auto at = static_cast<std::size_t>(i * t.pitch);
    if constexpr (std::is_integral_v<A>) {
      std::ranges::copy(integer_weights(t, i), weights.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      for (std::int64_t k = 0; k < t.pitch; ++k) {
        weights[at + static_cast<std::size_t>(k)] = static_cast<A>(t.row(i)[k]);
      }
    }
  }
  return weights;
}

// The index of each of y's rows: all axes but the last.
template <class F>
void for_each_row(cpu::Executor& executor, const ResizeOrder& o, F&& f) {
  Shape rows = o.shape;
  const std::int64_t length = rows.back();
  rows.pop_back();
  parallel(executor, element_count(rows), std::max<std::int64_t>(8192 / std::max<std::int64_t>(length, 1), 1),
           [&](std::int64_t begin, std::int64_t end) {
             auto row = f();
             Dims at = Dims::filled(rows.rank(), 0);
             std::int64_t rest = begin;
             for (int d = rows.rank() - 1; d >= 0; --d) at[d] = rest % rows[d], rest /= rows[d];
             for (std::int64_t r = begin; r < end; ++r) {
               row(at);
               for (int d = rows.rank() - 1; d >= 0 && ++at[d] == rows[d]; --d) at[d] = 0;
             }
           });
}

template <class A>
void sum_pass(cpu::Executor& executor, const ResizePass& pass) {
  const ResizeOrder o = order_of(pass);
  const int last = o.shape.rank() - 1;
  const auto table_at = [&](int d) {
    const int k = o.table[static_cast<std::size_t>(d)];
    return k < 0 ? nullptr : &pass.tables[static_cast<std::size_t>(k)];
  };
  const AxisTable* along = table_at(last);
  std::vector<std::vector<A>> weights;
  std::vector<char> skips;  // what has a weight of 0, which only counts where x may be infinite
  for (int d = 0; d <= last; ++d) {
    weights.push_back(table_at(d) ? weights_of<A>(*table_at(d)) : std::vector<A>());
    skips.push_back(std::is_floating_point_v<A> && table_at(d) && table_at(d)->has_zeros());
  }
  std::optional<PrologueRows> prologue;
  if (pass.prologue) prologue.emplace(*pass.prologue, kTypeOf<A>);
  std::optional<CpuExpression> epilogue;
  if (pass.epilogue) epilogue.emplace(*pass.epilogue);
  const AddRow<A> add(prologue ? kTypeOf<A> : pass.from_type);
  const StoreRow<A> store(pass);
  std::byte* y = pass.y.buffer.data() + pass.y.offset;
  const std::int64_t n = o.shape[last], from = o.x_shape[last];
  const std::size_t inputs = pass.inputs.size();

  for_each_row(executor, o, [&] {
    std::optional<CpuExpression::Registers> registers;
    if (prologue) registers.emplace(prologue->registers());
    std::optional<EpilogueRows> after;
    if (epilogue) after.emplace(pass, o, *epilogue);
    return [&, parts = Parts<A>(), more = Parts<A>(), registers = std::move(registers), after = std::move(after),
            made = std::vector<A>(prologue ? static_cast<std::size_t>(from) : 0),
            sum = std::vector<A>(static_cast<std::size_t>(from)),
            result = std::vector<A>(static_cast<std::size_t>(n))](const Dims& at) mutable {
      // Weights of 1, to begin with; integers have no products of two axes.
      parts.weights.assign(1, A{1});
      parts.offsets.assign(inputs, 0);
      std::int64_t target = 0;
      for (int d = 0; d < last; ++d) {
        target += at[d] * o.y[d];
        const AxisTable* t = table_at(d);
        if (!t) {
          for (std::size_t p = 0; p < parts.offsets.size(); ++p) parts.offsets[p] += at[d] * o.inputs[p % inputs][d];
          continue;
        }
        more.weights.clear();
        more.offsets.clear();
        const auto i = static_cast<std::size_t>(at[d]);
        const A* w = weights[static_cast<std::size_t>(d)].data() + at[d] * t->pitch;
        for (std::size_t p = 0; p < parts.weights.size(); ++p) {
          for (std::int64_t k = 0; k < t->count[i]; ++k) {
            if (skips[static_cast<std::size_t>(d)] && t->row(at[d])[k] == 0) continue;
            more.weights.push_back(static_cast<A>(parts.weights[p] * w[k]));
            for (std::size_t v = 0; v < inputs; ++v) {
              more.offsets.push_back(parts.offsets[p * inputs + v] + (t->first[i] + k) * o.inputs[v][d]);
            }
          }
        }
        std::swap(parts, more);
      }
      const auto give = [&] {
        if (after) return (*after)(at, result.data());
        store(y, target, o.y[last], n, result.data());
      };
      if (parts.weights.empty()) {
        std::ranges::fill(result, store.value());
        return give();
      }
      std::vector<A>& total = along ? sum : result;
      for (std::size_t p = 0; p < parts.weights.size(); ++p) {
        const std::int64_t* offsets = parts.offsets.data() + p * inputs;
        const auto length = static_cast<std::int64_t>(total.size());
        if (!prologue) {
          const View& x = pass.inputs[0];
          add(x.buffer.data() + x.offset, offsets[0], o.inputs[0][last], length, parts.weights[p], p == 0,
              total.data());
          continue;
        }
        std::vector<CpuExpression::Row> rows;
        for (std::size_t v = 0; v < inputs; ++v) {
          rows.push_back(row_of(pass.inputs[v], offsets[v], o.inputs[v][last]));
        }
        (*prologue)(*registers, rows, length, made.data());
        add(reinterpret_cast<const std::byte*>(made.data()), 0, 1, length, parts.weights[p], p == 0, total.data());
      }
      if (!along) {
        for (A& v : result) v = store.finished(v);
        return give();
      }
      const A* w = weights[static_cast<std::size_t>(last)].data();
      for (std::int64_t i = 0; i < n; ++i, w += along->pitch) {
        const auto k = static_cast<std::size_t>(i);
        const std::int64_t count = along->count[k];
        const A* source = sum.data() + along->first[k];
        A v{};
        if (skips[static_cast<std::size_t>(last)]) {
          for (std::int64_t j = 0; j < count; ++j) v += w[j] == 0 ? A{} : w[j] * source[j];
        } else {
          for (std::int64_t j = 0; j < count; ++j) v += w[j] * source[j];
        }
        result[k] = count ? store.finished(v) : store.value();
      }
      give();
    };
  });
}

// Elements of Size bytes.
template <class T>
void move_pass(cpu::Executor& executor, const ResizePass& pass) {
  const ResizeOrder o = order_of(pass);
  const int last = o.shape.rank() - 1;
  // Which element of x each of y is along an axis, along the last one how far it is in memory; or kOutside.
  constexpr std::int64_t kOutside = std::numeric_limits<std::int64_t>::min();
  std::vector<std::vector<std::int64_t>> places;
  for (int d = 0; d <= last; ++d) {
    const int k = o.table[static_cast<std::size_t>(d)];
    const std::int64_t step = d == last && !pass.prologue ? o.inputs[0][last] : 1;
    auto& own = places.emplace_back();
    for (std::int64_t i = 0; i < o.shape[d]; ++i) {
      const auto row = static_cast<std::size_t>(i);
      if (k < 0)
        own.push_back(i * step);
      else {
        const AxisTable& t = pass.tables[static_cast<std::size_t>(k)];
        own.push_back(t.count[row] ? t.first[row] * step : kOutside);
      }
    }
  }
  std::optional<CpuExpression> prologue, epilogue;
  if (pass.prologue) prologue.emplace(*pass.prologue);
  if (pass.epilogue) epilogue.emplace(*pass.epilogue);
  T* y = reinterpret_cast<T*>(pass.y.buffer.data() + pass.y.offset);
  const T value = static_cast<T>(pass.value.bits(pass.from_type));
  const std::int64_t n = o.shape[last], from = o.x_shape[last];
  for_each_row(executor, o, [&] {
    std::optional<CpuExpression::Registers> registers;
    if (prologue) registers.emplace(*prologue);
    std::optional<EpilogueRows> after;
    if (epilogue) after.emplace(pass, o, *epilogue);
    return [&, registers = std::move(registers), after = std::move(after),
            made = std::vector<T>(prologue ? static_cast<std::size_t>(from) : 0),
            result = std::vector<T>(epilogue ? static_cast<std::size_t>(n) : 0)](const Dims& at) mutable {
      std::int64_t target = 0;
      bool inside = true;
      for (int d = 0; d < last; ++d) {
        inside &= places[static_cast<std::size_t>(d)][static_cast<std::size_t>(at[d])] != kOutside;
        target += at[d] * o.y[d];
      }
      const auto offset = [&](const Strides& strides) {
        std::int64_t source = 0;
        for (int d = 0; d < last; ++d) {
          source += places[static_cast<std::size_t>(d)][static_cast<std::size_t>(at[d])] * strides[d];
        }
        return source;
      };
      const T* x = made.data();
      if (inside && prologue) {
        std::vector<CpuExpression::Row> rows;
        for (std::size_t k = 0; k < pass.inputs.size(); ++k) {
          rows.push_back(row_of(pass.inputs[k], offset(o.inputs[k]), o.inputs[k][last]));
        }
        const CpuExpression::Row to{reinterpret_cast<std::byte*>(made.data()), 0, 1};
        prologue->evaluate(*registers, rows, std::span(&to, 1), from);
      } else if (inside) {
        x = reinterpret_cast<const T*>(pass.inputs[0].buffer.data() + pass.inputs[0].offset) + offset(o.inputs[0]);
      }
      T* to = after ? result.data() : y + target;
      const std::int64_t stride = after ? 1 : o.y[last];
      const std::int64_t* place = places[static_cast<std::size_t>(last)].data();
      for (std::int64_t i = 0; i < n; ++i) {
        to[i * stride] = inside && place[i] != kOutside ? x[place[i]] : value;
      }
      if (after) (*after)(at, result.data());
    };
  });
}

}  // namespace

void resize_cpu(cpu::Executor& executor, const ResizePass& whole) {
  if (whole.moves) {
    switch (bits(whole.from_type)) {
      case 8:
        return move_pass<std::uint8_t>(executor, whole);
      case 16:
        return move_pass<std::uint16_t>(executor, whole);
      case 32:
        return move_pass<std::uint32_t>(executor, whole);
      default:
        return move_pass<std::uint64_t>(executor, whole);
    }
  }
  const auto memory = [](std::uint64_t bytes) {
    return View(Buffer::host(bytes), 0, DType::u8, {static_cast<std::int64_t>(bytes)});
  };
  for (const ResizePass& pass : passes_of(whole, memory)) {
    if (sums_integers(pass))
      sum_pass<std::int32_t>(executor, pass);
    else if (pass.from_type == DType::f64)
      sum_pass<double>(executor, pass);
    else
      sum_pass<float>(executor, pass);
  }
}

}  // namespace weft::kernels
