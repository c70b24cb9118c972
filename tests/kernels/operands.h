// Operands with given values in any layout, and runs with one output, for the tests of kernels that work on rows.
#pragma once

#include <cmath>

#include "kernels/cpu_loops.h"
#include "support/kernel_test.h"

namespace weft::test {

// The value of an element by its row-major index.
using ValueOf = std::function<double(std::int64_t)>;

// Sets the elements of a host view to their values, converted to its type.
inline void set_values(const View& view, const ValueOf& value) {
  // Types without a C++ type here; complex numbers get real values.
  if (bits(view.dtype) < 8 || view.dtype == DType::c64) {
    const std::uint64_t mask = bits(view.dtype) < 8 ? (1u << bits(view.dtype)) - 1 : 0;
    for (std::int64_t i = 0; i < view.count(); ++i) {
      const double v = value(i);
      set_element_bits(view, i,
                       mask ? static_cast<std::uint64_t>(static_cast<std::int64_t>(v)) & mask
                            : std::bit_cast<std::uint32_t>(static_cast<float>(v)));
    }
    return;
  }
  kernels::with_type(view.dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, std::complex<float>>) {
      std::int64_t i = 0;
      kernels::for_each_offset<1>(view.shape(), {view.strides()}, [&](std::int64_t offset) {
        const double v = value(i++);
        T& element = kernels::data<T>(view)[offset];
        if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>)
          element = static_cast<T>(v);
        else
          element = T(static_cast<float>(v));
      });
    }
  });
}

inline View view_of(DType dtype, const Shape& shape, Kind kind, const ValueOf& value) {
  Rng rng(element_count(shape));
  const View view = random_view(rng, shape, dtype, kind);
  set_values(view, value);
  return view;
}

// An output that still holds random bytes.
inline View output(DType dtype, const Shape& shape, Kind kind = Kind::dense) {
  Rng rng(1 + element_count(shape));
  return random_view(rng, shape, dtype, kind);
}

// A slice of a larger tensor at offsets and strides that are multiples of four: strided, but vectorisable.
inline View in_fours(DType dtype, const Shape& shape, const ValueOf& value) {
  Shape whole = shape;
  for (auto& d : whole) d += 4;
  Rng rng(3);
  View view = random_view(rng, whole, dtype);
  view.offset = static_cast<std::uint64_t>(8 * bits(dtype) / 8);
  view.layout.shape = shape;
  set_values(view, value);
  return view;
}

// Rows of n for softmax: with NaN, with +inf, all -inf, some -inf, huge, all equal, very different, -0, half of it
// -inf, one element that dominates, and ordinary ones.
inline ValueOf softmax_rows(std::int64_t n) {
  return [n](std::int64_t i) -> double {
    const std::int64_t row = i / n, j = i % n;
    switch (row) {
      case 0:
        return j == n - 1 ? NAN : 1.0;
      case 1:
        return j == 1 ? INFINITY : 1.0;
      case 2:
        return -INFINITY;
      case 3:
        return j % 2 ? -INFINITY : static_cast<double>(j % 5);
      case 4:
        return 3e38 - static_cast<double>(j) * 1e33;
      case 5:
        return 7.0;
      case 6:
        return j == 0 ? 3e38 : -3e38;
      case 7:
        return -0.0;
      case 8:
        return j < n / 2 ? -INFINITY : 1.0;
      case 9:
        return j == 0 ? 200.0 : 0.0;
      case 10:
        return 65504.0 - 32.0 * static_cast<double>(j % 3);
      default:
        return static_cast<double>(j % 13) - 6.0;
    }
  };
}

// Normal numbers from a seed.
inline ValueOf normal(std::uint64_t seed, double mean = 0, double deviation = 1) {
  return [rng = std::make_shared<Rng>(seed), mean, deviation](std::int64_t) {
    return std::normal_distribution<double>(mean, deviation)(*rng);
  };
}

}  // namespace weft::test
