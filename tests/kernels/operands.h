// Operands with chosen values in any layout, and runs of one output, for the tests of kernels that work on rows.
#pragma once

#include <cmath>

#include "kernels/twin.h"
#include "support/kernel_test.h"

namespace weft::test {

// What an element is, by its row-major index.
using ValueOf = std::function<double(std::int64_t)>;

// Gives the elements of a host view their values, converted to its type.
inline void set_values(const View& view, const ValueOf& value) {
  kernels::with_type(view.dtype, [&]<class T>() {
    if constexpr (!std::is_same_v<T, std::complex<float>>) {
      std::int64_t i = 0;
      kernels::for_each_offset<1>(view.shape(), {view.strides()}, [&](std::int64_t offset) {
        const double v = value(i++);
        T& element = kernels::data<T>(view)[offset];
        if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>) element = static_cast<T>(v);
        else element = T(static_cast<float>(v));
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

// An output that holds random bytes still.
inline View output(DType dtype, const Shape& shape, Kind kind = Kind::dense) {
  Rng rng(1 + element_count(shape));
  return random_view(rng, shape, dtype, kind);
}

// A part of a larger tensor that starts and steps in fours: strided, but readable four elements at a time.
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

// Normal numbers from a seed.
inline ValueOf normal(std::uint64_t seed, double mean = 0, double deviation = 1) {
  return [rng = std::make_shared<Rng>(seed), mean, deviation](std::int64_t) {
    return std::normal_distribution<double>(mean, deviation)(*rng);
  };
}

}  // namespace weft::test
