// Fourier transforms. The amount is what a transform that reads and writes each element once moves.
#include <cmath>

#include "../bench.h"

namespace weft::bench {
namespace {

using kernels::FftKind;

// Numbers in [-1, 1), two of which are a complex one.
View random_complex(KernelBench& b, Shape shape) {
  Shape twice = shape;
  twice.push_back(2);
  const View x = b.random(twice);
  return {x.buffer, x.offset, DType::c64, shape};
}

void complex(KernelBench& b, const Shape& shape, int axis) {
  const std::string name = std::format("fft complex {} axis {}", to_string(shape), axis);
  if (!b.asked(name)) return;
  const View x = random_complex(b, shape), y = b.poisoned(shape, DType::c64);
  const std::int64_t n = shape[axis];
  b.measure(
      name, Unit::bytes, 16 * static_cast<double>(x.count()),
      [&](Stream& s) { kernels::fft(s, FftKind::complex, x, y, axis, {.length = n}); },
      [&] {
        // Element 0 of a row is its sum.
        View row = x;
        row.layout = {{n, 2}, {2 * x.strides()[axis], 1}};
        row.dtype = DType::f32;
        const std::vector<double> all = b.read(row);
        double sum = 0;
        for (std::size_t i = 0; i < all.size(); i += 2) sum += all[i];
        View first = y;
        first.layout = {{2}, {1}};
        first.dtype = DType::f32;
        return std::abs(b.read(first)[0] - sum) <
               1e-5 * std::sqrt(static_cast<double>(n)) * std::log2(2.0 + static_cast<double>(n));
      });
}

void fft_cases(KernelBench& b) {
  for (const auto& [shape, axis] : {std::pair{Shape{65536, 1024}, 1},
                                    {Shape{1024, 65536}, 1},
                                    {Shape{64, 1 << 20}, 1},
                                    {Shape{4096, 1000}, 1},
                                    {Shape{4096, 1009}, 1},
                                    {Shape{1, 1 << 24}, 1},
                                    {Shape{65536, 256}, 1},
                                    {Shape{8192, 4096}, 1},
                                    {Shape{1024, 65536}, 0},
                                    {Shape{65536, 1000}, 1},
                                    {Shape{65536, 1009}, 1}}) {
    complex(b, shape, axis);
  }
  {
    const std::string name = "fft complex [4096, 4096] axes 0 and 1";
    if (b.asked(name)) {
      const Shape shape{4096, 4096};
      const View x = random_complex(b, shape), between = b.poisoned(shape, DType::c64),
                 y = b.poisoned(shape, DType::c64);
      b.measure(name, Unit::bytes, 32 * static_cast<double>(x.count()),
                [&](Stream& s) {
                  kernels::fft(s, FftKind::complex, x, between, 1, {.length = 4096});
                  kernels::fft(s, FftKind::complex, between, y, 0, {.length = 4096});
                },
                {});
    }
  }
  for (const std::int64_t n : {1024, 1 << 20}) {
    const std::int64_t rows = (std::int64_t{1} << 26) / n;
    const View x = b.random({rows, n}), y = b.poisoned({rows, n / 2 + 1}, DType::c64);
    b.measure(std::format("fft real [{}, {}]", rows, n), Unit::bytes, 8 * static_cast<double>(x.count()),
              [&](Stream& s) { kernels::fft(s, FftKind::real_to_complex, x, y, 1, {.length = n}); }, {});
    b.measure(std::format("fft to real [{}, {}]", rows, n), Unit::bytes, 8 * static_cast<double>(x.count()),
              [&](Stream& s) { kernels::fft(s, FftKind::complex_to_real, y, x, 1, {.length = n}); }, {});
  }
}

const bool registered = register_cases("fft", fft_cases);

}  // namespace
}  // namespace weft::bench
