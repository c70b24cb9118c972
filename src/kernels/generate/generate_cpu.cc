// Ranges in double and in 64-bit integers.
#include "kernels/generate/generate_cpu.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu_loops.h"
#include "kernels/elementwise/block_memory.h"

namespace weft::kernels {
namespace {

// y[i] = f(i), where Register is the type in which y's type computes (scalar_ops_cpu.h).
template <class Register, class F>
void generate(cpu::Executor& all_cores, const View& y, F&& f) {
  constexpr std::int64_t kBlock = 256;
  cpu::Executor one_core(1);  // packed elements share bytes
  parallel(bits(y.dtype) < 8 ? one_core : all_cores, (y.count() + kBlock - 1) / kBlock, 64,
           [&](std::int64_t begin, std::int64_t end) {
             Register values[kBlock];
             for (std::int64_t b = begin; b < end; ++b) {
               const std::int64_t first = b * kBlock;
               const std::int64_t n = std::min(kBlock, y.count() - first);
               for (std::int64_t i = 0; i < n; ++i) values[i] = static_cast<Register>(f(first + i));
               store_block(y.dtype)(y.buffer.data() + y.offset, first * y.strides()[0], y.strides()[0],
                                    static_cast<int>(n), values);
             }
           });
}

template <class F>
void generate_floats(cpu::Executor& executor, const View& y, F&& f) {
  if (y.dtype == DType::f64)
    generate<double>(executor, y, f);
  else
    generate<float>(executor, y, f);
}

}  // namespace

Distances distances(double start, double stop, std::int64_t count) {
  const auto last = static_cast<double>(std::max<std::int64_t>(count - 1, 1));
  const double step = (stop - start) / last;
  const std::int64_t half = (count + 1) / 2;
  if (std::isfinite(start) && std::isfinite(stop)) {
    // Their difference may be infinite; of two numbers neither is a step away from its end.
    const double by = std::isfinite(step) ? step : count > 2 ? stop / last - start / last : 0;
    return {by, by, half};
  }
  return {step, 0, std::max<std::int64_t>(count - 1, 1)};
}

void arange_cpu(cpu::Executor& executor, double start, double step, const View& y) {
  generate_floats(executor, y, [=](std::int64_t i) { return start + static_cast<double>(i) * step; });
}

void arange_cpu(cpu::Executor& executor, std::uint64_t start, std::uint64_t step, const View& y) {
  generate<std::uint64_t>(executor, y, [=](std::int64_t i) { return start + static_cast<std::uint64_t>(i) * step; });
}

void linspace_cpu(cpu::Executor& executor, double start, double stop, const View& y) {
  const std::int64_t n = y.count();
  const Distances d = distances(start, stop, n);
  generate_floats(executor, y, [=](std::int64_t i) {
    return i < d.from_start ? start + static_cast<double>(i) * d.step : stop - static_cast<double>(n - 1 - i) * d.back;
  });
}

}  // namespace weft::kernels
