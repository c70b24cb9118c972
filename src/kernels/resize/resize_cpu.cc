// Resampling on the CPU's cores, row by row of y along the axis whose elements are adjacent: the rows of x that it is
// made of are added up with their weights, and the sum is resampled along the row. A prologue makes the rows of x, an
// epilogue takes those of y.
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "core/format.h"
#include "kernels/common/prologue.h"
#include "kernels/cpu_loops.h"
#include "kernels/elementwise/block_loops.h"
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

constexpr std::int64_t kPixelChannels = 256;  // most channels of a row of pixels

// The type in which elements of T are summed.
template <class T>
using SumOf = std::conditional_t<std::is_same_v<T, double>, double,
                                 std::conditional_t<std::is_integral_v<T>, std::int32_t, float>>;
template <class T, class A>
constexpr bool kSums = (std::is_arithmetic_v<T> || sizeof(T) <= 2) && std::is_convertible_v<T, A> &&
                       std::is_same_v<SumOf<T>, A> && sizeof(T) <= sizeof(A);

template <class T, class A>
struct AddLoop {
  static WEFT_INLINE void run(const std::byte* bytes, std::int64_t offset, std::int64_t stride, std::int64_t n, A w,
                              bool first, A* WEFT_RESTRICT sum) {
    const T* x = reinterpret_cast<const T*>(bytes) + offset;
    if (stride == 1 && first) {
      for (std::int64_t j = 0; j < n; ++j) sum[j] = w * static_cast<A>(x[j]);
    } else if (stride == 1) {
      for (std::int64_t j = 0; j < n; ++j) sum[j] += w * static_cast<A>(x[j]);
    } else {
      for (std::int64_t j = 0; j < n; ++j) {
        const A product = w * static_cast<A>(x[j * stride]);
        sum[j] = first ? product : sum[j] + product;
      }
    }
  }
};

// sum[j] += weight · x[offset + j · stride], or = for the first.
template <class A>
class AddRow {
 public:
  explicit AddRow(DType type) {
    if (std::is_same_v<A, float> && type != DType::f32) {
      load_ = load_block(type);
      add_ = loop<A>();
      return;
    }
    add_ = with_type(type, [&]<class T>() -> Add {
      if constexpr (kSums<T, A>) {
        return loop<T>();
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
      add_(reinterpret_cast<const std::byte*>(block), 0, 1, count, weight, first, sum + j);
    }
  }

 private:
  using Add = void (*)(const std::byte* x, std::int64_t offset, std::int64_t stride, std::int64_t n, A weight,
                       bool first, A* sum);
  template <class T>
  static Add loop() {
    return CompiledLoop<AddLoop<T, A>, const std::byte*, std::int64_t, std::int64_t, std::int64_t, A, bool,
                        A*>::choose();
  }

  Add add_ = nullptr;
  LoadBlock load_ = nullptr;
};

template <class A>
struct FinishLoop {
  static WEFT_INLINE void run(A* sums, std::int64_t n, int shift, A low, A high) {
    for (std::int64_t i = 0; i < n; ++i) {
      A v = (sums[i] + (A{1} << (shift - 1))) >> shift;
      v = v < low ? low : v;
      sums[i] = v > high ? high : v;
    }
  }
};
template <class T, class A>
struct StoreLoop {
  static WEFT_INLINE void run(std::byte* bytes, std::int64_t offset, std::int64_t stride, std::int64_t n,
                              const A* WEFT_RESTRICT v) {
    T* WEFT_RESTRICT y = reinterpret_cast<T*>(bytes) + offset;
    if (stride == 1) {
      for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<T>(v[i]);
    } else {
      for (std::int64_t i = 0; i < n; ++i) y[i * stride] = static_cast<T>(v[i]);
    }
  }
};

// Stores sums; those of integers are shifted, rounded and saturated.
template <class A>
class StoreRow {
 public:
  explicit StoreRow(const ResizePass& pass) {
    if constexpr (std::is_integral_v<A>) {
      finish_ = Finish::choose();
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
        return CompiledLoop<StoreLoop<T, A>, std::byte*, std::int64_t, std::int64_t, std::int64_t, const A*>::choose();
      } else {
        throw InternalError("resize to {}", name(pass.y.dtype));
      }
    });
  }
  A value() const { return value_; }
  void finish(A* sums, std::int64_t n) const {
    if constexpr (std::is_integral_v<A>) finish_(sums, n, shift_, low_, high_);
  }
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
  using Finish =
      CompiledLoop<FinishLoop<std::conditional_t<std::is_integral_v<A>, A, std::int32_t>>, A*, std::int64_t, int, A, A>;
  typename Finish::Function finish_ = nullptr;
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
      integer_weights(t, i, weights.data() + at);
    } else {
      for (std::int64_t k = 0; k < t.pitch; ++k) {
        weights[at + static_cast<std::size_t>(k)] = static_cast<A>(t.row(i)[k]);
      }
    }
  }
  return weights;
}

// The index of each of y's rows: all axes but the last, or but the last `inner`.
template <class F>
void for_each_row(cpu::Executor& executor, const ResizeOrder& o, F&& f, int inner = 1) {
  Shape rows = o.shape;
  std::int64_t length = 1;
  for (int d = 0; d < inner; ++d) length *= rows.back(), rows.pop_back();
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

// A row of pixels, whose channels are adjacent, each the sum of some pixels of x.
template <class A>
struct PixelRow {
  const std::byte* x;
  std::span<const A> weights;             // of the rows of x that it is made of
  std::span<const std::int64_t> offsets;  // of these rows
  const AxisTable* table;                 // along the row; null: each pixel is made of x's at its place
  const A* along;                         // the table's weights
  bool skips;                             // weights of 0, as in sum_pass()
  std::int64_t stride;                    // of x's pixels
  std::int64_t width, channels;
  A value;  // of pixels without elements, before the sums are finished
  A* result;
  std::vector<char>* empty;  // those pixels
};

// Products are added in the order of sum_pass(). `fixed`: the number of channels, or 0.
template <class T, class A, int fixed>
struct PixelLoop {
  static WEFT_INLINE void run(const PixelRow<A>& r) {
    const T* x = reinterpret_cast<const T*>(r.x);
    const std::int64_t channels = fixed ? fixed : r.channels;
    for (std::int64_t i = 0; i < r.width; ++i) {
      const auto at = static_cast<std::size_t>(i);
      A* WEFT_RESTRICT y = r.result + i * channels;
      const std::int64_t count = r.table ? r.table->count[at] : 1;
      const std::int64_t begin = (r.table ? r.table->first[at] : i) * r.stride;
      const A* along = r.table ? r.along + i * r.table->pitch : nullptr;
      const double* exact = r.skips ? r.table->row(i) : nullptr;
      bool first = true;
      A sum[fixed ? fixed : 1] = {};
      for (std::size_t p = 0; p < r.weights.size(); ++p) {
        const T* source = x + r.offsets[p] + begin;
        for (std::int64_t k = 0; k < count; ++k, source += r.stride) {
          if (exact && exact[k] == 0) continue;
          const A w = along ? static_cast<A>(r.weights[p] * along[k]) : r.weights[p];
          if constexpr (fixed > 0) {
            for (int c = 0; c < fixed; ++c) {
              const A product = w * static_cast<A>(source[c]);
              sum[c] = first ? product : sum[c] + product;
            }
          } else if (first) {
            for (std::int64_t c = 0; c < channels; ++c) y[c] = w * static_cast<A>(source[c]);
          } else {
            for (std::int64_t c = 0; c < channels; ++c) y[c] += w * static_cast<A>(source[c]);
          }
          first = false;
        }
      }
      if (first) {
        for (std::int64_t c = 0; c < channels; ++c) y[c] = r.value;
        (*r.empty)[at] = 1;
      } else if constexpr (fixed > 0) {
        for (int c = 0; c < fixed; ++c) y[c] = sum[c];
      }
    }
  }
};

template <class T, class A>
auto pixel_loop(std::int64_t channels) {
  const auto of = []<int fixed>() { return CompiledLoop<PixelLoop<T, A, fixed>, const PixelRow<A>&>::choose(); };
  switch (channels) {
    case 1:
      return of.template operator()<1>();
    case 2:
      return of.template operator()<2>();
    case 3:
      return of.template operator()<3>();
    case 4:
      return of.template operator()<4>();
    default:
      return of.template operator()<0>();
  }
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

  // The rows of x that a row of y at `at` is made of, by the axes before `axes`; returns the row's offset in y.
  const auto find_parts = [&](const Dims& at, int axes, Parts<A>& parts, Parts<A>& more) {
    // Weights of 1, to begin with; integers have no products of two axes.
    parts.weights.assign(1, A{1});
    parts.offsets.assign(inputs, 0);
    std::int64_t target = 0;
    for (int d = 0; d < axes; ++d) {
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
    return target;
  };

  // Channels that are adjacent: rows of pixels instead of each pixel's own row.
  const int pixels = last - 1;
  if (!prologue && !epilogue && !along && pixels >= 0 && n <= kPixelChannels && o.y[last] == 1 && o.y[pixels] == n &&
      o.inputs[0][last] == 1 && o.inputs[0][pixels] >= n) {
    const View& x = pass.inputs[0];
    const std::int64_t stride = o.inputs[0][pixels], width = o.shape[pixels];
    const bool narrow = std::is_same_v<A, float> && pass.from_type != DType::f32;
    using Loop = void (*)(const PixelRow<A>&);
    const Loop loop = with_type(narrow ? DType::f32 : pass.from_type, [&]<class T>() -> Loop {
      if constexpr (kSums<T, A>) {
        return pixel_loop<T, A>(n);
      } else {
        throw InternalError("resize of {}", name(pass.from_type));
      }
    });
    // Narrow floats are widened row by row.
    const std::int64_t length = (o.x_shape[pixels] - 1) * stride + n;
    for_each_row(
        executor, o,
        [&] {
          return [&, parts = Parts<A>(), more = Parts<A>(), wide = std::vector<A>(),
                  empty = std::vector<char>(static_cast<std::size_t>(width)),
                  result = std::vector<A>(static_cast<std::size_t>(width * n))](const Dims& at) mutable {
            const std::int64_t target = find_parts(at, pixels, parts, more);
            const std::byte* source = x.buffer.data() + x.offset;
            if (narrow) {
              wide.resize(parts.offsets.size() * static_cast<std::size_t>(length));
              for (std::size_t p = 0; p < parts.offsets.size(); ++p) {
                const std::int64_t to = static_cast<std::int64_t>(p) * length;
                constexpr std::int64_t kBlock = 512;
                for (std::int64_t j = 0; j < length; j += kBlock) {
                  load_block(pass.from_type)(source, parts.offsets[p] + j, 1,
                                             static_cast<int>(std::min(kBlock, length - j)), wide.data() + to + j);
                }
                parts.offsets[p] = to;
              }
              source = reinterpret_cast<const std::byte*>(wide.data());
            }
            std::ranges::fill(empty, 0);
            loop({.x = source,
                  .weights = parts.weights,
                  .offsets = parts.offsets,
                  .table = table_at(pixels),
                  .along = weights[static_cast<std::size_t>(pixels)].data(),
                  .skips = skips[static_cast<std::size_t>(pixels)] != 0,
                  .stride = stride,
                  .width = width,
                  .channels = n,
                  .value = store.value(),
                  .result = result.data(),
                  .empty = &empty});
            store.finish(result.data(), width * n);
            if constexpr (std::is_integral_v<A>) {
              for (std::int64_t i = 0; i < width; ++i) {
                if (empty[static_cast<std::size_t>(i)]) std::fill_n(result.data() + i * n, n, store.value());
              }
            }
            store(y, target, 1, width * n, result.data());
          };
        },
        2);
    return;
  }

  for_each_row(executor, o, [&] {
    std::optional<CpuExpression::Registers> registers;
    if (prologue) registers.emplace(prologue->registers());
    std::optional<EpilogueRows> after;
    if (epilogue) after.emplace(pass, o, *epilogue);
    return [&, parts = Parts<A>(), more = Parts<A>(), registers = std::move(registers), after = std::move(after),
            made = std::vector<A>(prologue ? static_cast<std::size_t>(from) : 0),
            sum = std::vector<A>(static_cast<std::size_t>(from)),
            result = std::vector<A>(static_cast<std::size_t>(n))](const Dims& at) mutable {
      const std::int64_t target = find_parts(at, last, parts, more);
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
        store.finish(result.data(), n);
        return give();
      }
      const A* w = weights[static_cast<std::size_t>(last)].data();
      if (along->pitch == 2 && !skips[static_cast<std::size_t>(last)]) {
        for (std::int64_t i = 0; i < n; ++i, w += 2) {
          const auto k = static_cast<std::size_t>(i);
          const std::int64_t count = along->count[k];
          const A* source = sum.data() + along->first[k];
          if (count == 0) {
            result[k] = store.value();
          } else {
            const A v = A{} + w[0] * source[0];
            result[k] = store.finished(count == 1 ? v : v + w[1] * source[1]);
          }
        }
        return give();
      }
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

// y[i] = x[places[i] · stride] for pixels of `size` bytes, which are `known` unless that is 0.
template <std::size_t known>
void move_pixels(const std::byte* x, const std::int64_t* places, std::int64_t stride, std::int64_t n, std::byte* y,
                 std::size_t size) {
  const std::size_t bytes = known ? known : size;
  for (std::int64_t i = 0; i < n; ++i)
    std::memcpy(y + static_cast<std::size_t>(i) * bytes, x + places[i] * stride, bytes);
}
auto pixel_mover(std::size_t bytes) {
  switch (bytes) {
    case 2:
      return move_pixels<2>;
    case 3:
      return move_pixels<3>;
    case 4:
      return move_pixels<4>;
    case 6:
      return move_pixels<6>;
    case 8:
      return move_pixels<8>;
    case 12:
      return move_pixels<12>;
    case 16:
      return move_pixels<16>;
    case 24:
      return move_pixels<24>;
    case 32:
      return move_pixels<32>;
    default:
      return move_pixels<0>;
  }
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
  // Channels that are adjacent: rows of pixels instead of each pixel's own row.
  const int pixels = last - 1;
  const auto has_outside = [&](int d) {
    return std::ranges::find(places[static_cast<std::size_t>(d)], kOutside) !=
           places[static_cast<std::size_t>(d)].end();
  };
  if (!prologue && !epilogue && pixels >= 0 && n <= kPixelChannels && o.table[static_cast<std::size_t>(last)] < 0 &&
      o.y[last] == 1 && o.y[pixels] == n && o.inputs[0][last] == 1 && !has_outside(pixels)) {
    const T* x = reinterpret_cast<const T*>(pass.inputs[0].buffer.data() + pass.inputs[0].offset);
    const auto move = pixel_mover(static_cast<std::size_t>(n) * sizeof(T));
    for_each_row(
        executor, o,
        [&] {
          return [&](const Dims& at) {
            std::int64_t target = 0, source = 0;
            bool inside = true;
            for (int d = 0; d < pixels; ++d) {
              const std::int64_t place = places[static_cast<std::size_t>(d)][static_cast<std::size_t>(at[d])];
              inside &= place != kOutside;
              target += at[d] * o.y[d];
              source += inside ? place * o.inputs[0][d] : 0;
            }
            const std::int64_t width = o.shape[pixels];
            if (!inside) {
              std::fill_n(y + target, width * n, value);
              return;
            }
            move(reinterpret_cast<const std::byte*>(x + source), places[static_cast<std::size_t>(pixels)].data(),
                 o.inputs[0][pixels] * static_cast<std::int64_t>(sizeof(T)), width,
                 reinterpret_cast<std::byte*>(y + target), static_cast<std::size_t>(n) * sizeof(T));
          };
        },
        2);
    return;
  }
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
  for (const ResizePass& pass : passes_of(whole, true, memory)) {
    if (sums_integers(pass))
      sum_pass<std::int32_t>(executor, pass);
    else if (pass.from_type == DType::f64)
      sum_pass<double>(executor, pass);
    else
      sum_pass<float>(executor, pass);
  }
}

}  // namespace weft::kernels
