// Resampling on the CPU's cores, row by row of y along the axis whose elements are adjacent: the rows of x that it is
// made of are added up with their weights, and the sum is resampled along the row.
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/cpu_loops.h"
#include "kernels/elementwise/block_memory.h"
#include "kernels/resize/problem.h"

namespace weft::kernels {
namespace {

// A row of x, weighted, that is part of a row of y.
template <class A>
struct Part {
  std::int64_t offset;
  A weight;
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
      std::tie(low_, high_) = limits_of(pass.y.dtype);
      value_ = fixed_point(pass.value, pass.y.dtype);
    } else {
      value_ = static_cast<A>(pass.value.value());
    }
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
  for (int d = 0; d <= last; ++d) weights.push_back(table_at(d) ? weights_of<A>(*table_at(d)) : std::vector<A>());
  const AddRow<A> add(pass.x.dtype);
  const StoreRow<A> store(pass);
  const std::byte* x = pass.x.buffer.data() + pass.x.offset;
  std::byte* y = pass.y.buffer.data() + pass.y.offset;
  const std::int64_t n = o.shape[last], from = o.x_shape[last];

  for_each_row(executor, o, [&] {
    return [&, parts = std::vector<Part<A>>(), more = std::vector<Part<A>>(),
            sum = std::vector<A>(static_cast<std::size_t>(from)),
            result = std::vector<A>(static_cast<std::size_t>(n))](const Dims& at) mutable {
      // Weights of 1, to begin with; integers have no products of two axes.
      parts.assign(1, {0, A{1}});
      std::int64_t target = 0;
      for (int d = 0; d < last; ++d) {
        target += at[d] * o.y[d];
        const AxisTable* t = table_at(d);
        if (!t) {
          for (Part<A>& p : parts) p.offset += at[d] * o.x[d];
          continue;
        }
        more.clear();
        const auto i = static_cast<std::size_t>(at[d]);
        const A* w = weights[static_cast<std::size_t>(d)].data() + at[d] * t->pitch;
        for (const Part<A>& p : parts) {
          for (std::int64_t k = 0; k < t->count[i]; ++k) {
            more.push_back({p.offset + (t->first[i] + k) * o.x[d], static_cast<A>(p.weight * w[k])});
          }
        }
        parts.swap(more);
      }
      if (parts.empty()) {
        std::ranges::fill(result, store.value());
        return store(y, target, o.y[last], n, result.data());
      }
      if (!along) {
        bool first = true;
        for (const Part<A>& p : parts)
          add(x, p.offset, o.x[last], n, p.weight, std::exchange(first, false), result.data());
        for (A& v : result) v = store.finished(v);
        return store(y, target, o.y[last], n, result.data());
      }
      bool first = true;
      for (const Part<A>& p : parts)
        add(x, p.offset, o.x[last], from, p.weight, std::exchange(first, false), sum.data());
      const A* w = weights[static_cast<std::size_t>(last)].data();
      for (std::int64_t i = 0; i < n; ++i, w += along->pitch) {
        const auto k = static_cast<std::size_t>(i);
        const std::int64_t count = along->count[k];
        const A* source = sum.data() + along->first[k];
        A v{};
        for (std::int64_t j = 0; j < count; ++j) v += w[j] * source[j];
        result[k] = count ? store.finished(v) : store.value();
      }
      store(y, target, o.y[last], n, result.data());
    };
  });
}

// Elements of Size bytes.
template <class T>
void move_pass(cpu::Executor& executor, const ResizePass& pass) {
  const ResizeOrder o = order_of(pass);
  const int last = o.shape.rank() - 1;
  // Offsets in x, or kOutside.
  constexpr std::int64_t kOutside = std::numeric_limits<std::int64_t>::min();
  std::vector<std::vector<std::int64_t>> offsets;
  for (int d = 0; d <= last; ++d) {
    const int k = o.table[static_cast<std::size_t>(d)];
    auto& own = offsets.emplace_back();
    for (std::int64_t i = 0; i < o.shape[d]; ++i) {
      const auto row = static_cast<std::size_t>(i);
      if (k < 0)
        own.push_back(i * o.x[d]);
      else {
        const AxisTable& t = pass.tables[static_cast<std::size_t>(k)];
        own.push_back(t.count[row] ? t.first[row] * o.x[d] : kOutside);
      }
    }
  }
  const T* x = data<const T>(pass.x);
  T* y = data<T>(pass.y);
  const T value = static_cast<T>(pass.value.bits(pass.y.dtype));
  const std::int64_t n = o.shape[last], stride = o.y[last];
  for_each_row(executor, o, [&] {
    return [&](const Dims& at) {
      std::int64_t source = 0, target = 0;
      bool inside = true;
      for (int d = 0; d < last; ++d) {
        const std::int64_t offset = offsets[static_cast<std::size_t>(d)][static_cast<std::size_t>(at[d])];
        inside &= offset != kOutside;
        source += inside ? offset : 0;
        target += at[d] * o.y[d];
      }
      const std::int64_t* offset = offsets[static_cast<std::size_t>(last)].data();
      for (std::int64_t i = 0; i < n; ++i) {
        y[target + i * stride] = inside && offset[i] != kOutside ? x[source + offset[i]] : value;
      }
    };
  });
}

}  // namespace

void resize_cpu(cpu::Executor& executor, const ResizePass& whole) {
  if (whole.moves) {
    switch (bits(whole.x.dtype)) {
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
    else if (pass.x.dtype == DType::f64)
      sum_pass<double>(executor, pass);
    else
      sum_pass<float>(executor, pass);
  }
}

}  // namespace weft::kernels
