#include "kernels/scan/scan_cpu.h"

#include <cmath>
#include <limits>

#include "kernels/cpu_loops.h"
#include "kernels/elementwise/block_memory.h"
#include "kernels/elementwise/scalar_ops_cpu.h"

namespace weft::kernels {
namespace {

constexpr std::int64_t kBlock = 256;  // elements converted at a time

// Loads elements of a view as accumulators of T, and stores them, through the registers of its type.
template <class T>
struct Elements {
  explicit Elements(const View& view)
      : data(view.buffer.data() + view.offset),
        load_registers(load_block(view.dtype)),
        store_registers(store_block(view.dtype)),
        kind(cpu_register(view.dtype)) {}

  template <class R>
  void load_as(std::int64_t first, std::int64_t stride, std::int64_t n, T* values) const {
    R registers[kBlock];
    load_registers(data, first, stride, static_cast<int>(n), registers);
    for (std::int64_t i = 0; i < n; ++i) values[i] = static_cast<T>(registers[i]);
  }
  template <class R>
  void store_as(std::int64_t first, std::int64_t stride, std::int64_t n, const T* values) const {
    R registers[kBlock];
    for (std::int64_t i = 0; i < n; ++i) registers[i] = static_cast<R>(values[i]);
    store_registers(data, first, stride, static_cast<int>(n), registers);
  }
  void load(std::int64_t first, std::int64_t stride, std::int64_t n, T* values) const {
    if constexpr (std::is_same_v<T, std::complex<double>>)
      load_as<std::complex<float>>(first, stride, n, values);
    else if (kind == CpuRegister::f32)
      load_as<float>(first, stride, n, values);
    else if (kind == CpuRegister::f64)
      load_as<double>(first, stride, n, values);
    else if (kind == CpuRegister::i64)
      load_as<std::int64_t>(first, stride, n, values);
    else
      load_as<std::uint64_t>(first, stride, n, values);
  }
  void store(std::int64_t first, std::int64_t stride, std::int64_t n, const T* values) const {
    if constexpr (std::is_same_v<T, std::complex<double>>)
      store_as<std::complex<float>>(first, stride, n, values);
    else if (kind == CpuRegister::f32)
      store_as<float>(first, stride, n, values);
    else if (kind == CpuRegister::f64)
      store_as<double>(first, stride, n, values);
    else if (kind == CpuRegister::i64)
      store_as<std::int64_t>(first, stride, n, values);
    else
      store_as<std::uint64_t>(first, stride, n, values);
  }

  std::byte* data;
  LoadBlock load_registers;
  StoreBlock store_registers;
  CpuRegister kind;
};

// An operation: its initial accumulator, how it takes an element, and its result.
template <class T>
struct Sum {
  T a = T(0);
  void take(T v) { a += v; }
  T result() const { return a; }
};
template <>
struct Sum<std::int64_t> {  // wraps
  std::uint64_t a = 0;
  void take(std::int64_t v) { a += static_cast<std::uint64_t>(v); }
  std::int64_t result() const { return static_cast<std::int64_t>(a); }
};
template <class T>
struct Prod {
  T a = T(1);
  void take(T v) { a *= v; }
  T result() const { return a; }
};
template <>
struct Prod<std::int64_t> {
  std::uint64_t a = 1;
  void take(std::int64_t v) { a *= static_cast<std::uint64_t>(v); }
  std::int64_t result() const { return static_cast<std::int64_t>(a); }
};
template <class T>
struct Max {
  T a;
  void take(T v) {
    if (!(a > v || a != a)) a = v;
  }
  T result() const { return a; }
};
template <class T>
struct Min {
  T a;
  void take(T v) {
    if (!(a < v || a != a)) a = v;
  }
  T result() const { return a; }
};
struct LogSumExp {
  double top = -std::numeric_limits<double>::infinity(), sum = 0;  // sum of exp(x - top)
  void take(double v) {
    if (v != v || sum != sum) {
      sum = v + sum;
    } else if (v == top) {
      sum += 1;
    } else if (v > top) {
      sum = sum * std::exp(top - v) + 1;
      top = v;
    } else {
      sum += std::exp(v - top);
    }
  }
  double result() const { return top + std::log(sum); }
};

template <class T, class Op>
void run(cpu::Executor& executor, const View& x, const View& y, const Rows& rows, const ScanOptions& options,
         const Op& start) {
  const Elements<T> from(x), to(y);
  const Layout outer[2] = {{rows.outer.shape, rows.outer.strides[0]}, {rows.outer.shape, rows.outer.strides[1]}};
  const std::int64_t n = rows.length;
  const auto stride = [&](int k) { return rows.inner.shape.empty() ? 0 : rows.inner.strides[k][0]; };
  const std::int64_t sx = options.reverse ? -stride(0) : stride(0), sy = options.reverse ? -stride(1) : stride(1);
  const auto first = [&](int k) { return options.reverse ? stride(k) * (n - 1) : 0; };
  const auto step = [&](Op& op, T v) {
    if (!options.exclusive) {
      op.take(v);
      return static_cast<T>(op.result());
    }
    const T before = static_cast<T>(op.result());
    op.take(v);
    return before;
  };
  if (!runs_across(rows, 0)) {
    parallel(executor, rows.count, std::max<std::int64_t>(16384 / n, 1), [&](std::int64_t begin, std::int64_t end) {
      T values[kBlock];
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t x0 = offset_of(outer[0], row) + first(0), y0 = offset_of(outer[1], row) + first(1);
        Op op = start;
        for (std::int64_t j = 0; j < n; j += kBlock) {
          const std::int64_t count = std::min(kBlock, n - j);
          from.load(x0 + j * sx, sx, count, values);
          for (std::int64_t i = 0; i < count; ++i) values[i] = step(op, values[i]);
          to.store(y0 + j * sy, sy, count, values);
        }
      }
    });
    return;
  }
  // Adjacent rows: runs of them along the last of the outer axes, each step at once.
  const std::int64_t width = rows.outer.shape.back();
  const std::int64_t runs = ceil_div(width, kBlock);
  parallel(executor, rows.count / width * runs, std::max<std::int64_t>(16384 / (n * std::min(width, kBlock)), 1),
           [&](std::int64_t begin, std::int64_t end) {
             T values[kBlock];
             for (std::int64_t i = begin; i < end; ++i) {
               const std::int64_t row = i / runs * width + i % runs * kBlock;
               const std::int64_t count = std::min(kBlock, width - i % runs * kBlock);
               const std::int64_t x0 = offset_of(outer[0], row) + first(0), y0 = offset_of(outer[1], row) + first(1);
               std::vector<Op> ops(static_cast<std::size_t>(count), start);
               for (std::int64_t j = 0; j < n; ++j) {
                 from.load(x0 + j * sx, outer[0].strides.back(), count, values);
                 for (std::int64_t r = 0; r < count; ++r) values[r] = step(ops[static_cast<std::size_t>(r)], values[r]);
                 to.store(y0 + j * sy, outer[1].strides.back(), count, values);
               }
             }
           });
}

// The initial value of max (min): the least (largest) value of y's type.
template <class T>
T limit_of(DType y, bool least) {
  if constexpr (std::is_same_v<T, double>) {
    return least ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  } else {
    const std::uint64_t largest = ~std::uint64_t{0} >> (64 - bits(y) + (is_signed(y) ? 1 : 0));
    return static_cast<T>(!least ? largest : is_signed(y) ? ~largest : 0);
  }
}

template <class T>
void run_ordered(cpu::Executor& executor, ScanKind op, const View& x, const View& y, const Rows& rows,
                 const ScanOptions& options) {
  switch (op) {
    case ScanKind::sum:
      return run<T>(executor, x, y, rows, options, Sum<T>());
    case ScanKind::prod:
      return run<T>(executor, x, y, rows, options, Prod<T>());
    case ScanKind::max:
      return run<T>(executor, x, y, rows, options, Max<T>{limit_of<T>(y.dtype, true)});
    case ScanKind::min:
      return run<T>(executor, x, y, rows, options, Min<T>{limit_of<T>(y.dtype, false)});
    case ScanKind::log_sum_exp:
      break;
  }
  if constexpr (std::is_same_v<T, double>) run<double>(executor, x, y, rows, options, LogSumExp());
}

}  // namespace

void scan_cpu(cpu::Executor& executor, ScanKind op, const View& x, const View& y, const Rows& rows,
              const ScanOptions& options) {
  if (x.dtype == DType::c64) {
    using C = std::complex<double>;
    if (op == ScanKind::sum) return run<C>(executor, x, y, rows, options, Sum<C>());
    return run<C>(executor, x, y, rows, options, Prod<C>());
  }
  if (is_floating(x.dtype)) return run_ordered<double>(executor, op, x, y, rows, options);
  if (is_integer(x.dtype) && is_signed(x.dtype)) return run_ordered<std::int64_t>(executor, op, x, y, rows, options);
  run_ordered<std::uint64_t>(executor, op, x, y, rows, options);
}

}  // namespace weft::kernels
