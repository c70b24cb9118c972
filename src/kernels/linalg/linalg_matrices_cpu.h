// What linear algebra on the CPU shares: sums in f64, and a batch's matrices.
#pragma once

#include <complex>
#include <type_traits>

#include "kernels/cpu_loops.h"

namespace weft::kernels {

template <class T>
constexpr bool kComplex = std::is_same_v<T, std::complex<float>>;
// What sums are computed in.
template <class T>
using Wide = std::conditional_t<kComplex<T>, std::complex<double>, double>;

inline double conjugate(double v) { return v; }
inline std::complex<double> conjugate(std::complex<double> v) { return std::conj(v); }
inline double product(double a, double b) { return a * b; }
inline std::complex<double> product(std::complex<double> a, std::complex<double> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
// Rounded to the elements' type.
template <class T>
T narrowed(const Wide<T>& v) {
  if constexpr (kComplex<T>)
    return {static_cast<float>(v.real()), static_cast<float>(v.imag())};
  else
    return static_cast<T>(v);
}

// A batch's matrices: their offsets, and the steps of rows and columns.
template <class T>
class Matrices {
 public:
  explicit Matrices(const View& v)
      : data_(data<T>(v)), row_(v.strides()[-2]), column_(v.strides()[-1]), batch_{v.shape(), v.strides()} {
    for (int k = 0; k < 2; ++k) {
      batch_.shape.pop_back();
      batch_.strides.pop_back();
    }
  }
  std::int64_t count() const { return element_count(batch_.shape); }
  std::int64_t first(std::int64_t matrix) const { return offset_of(batch_, matrix); }
  T& operator()(std::int64_t first, std::int64_t i, std::int64_t j) const {
    return data_[first + i * row_ + j * column_];
  }

 private:
  T* data_;
  std::int64_t row_, column_;
  Layout batch_;
};

template <class F>
void with_matrix_type(DType type, F&& f) {
  if (type == DType::f32)
    f.template operator()<float>();
  else if (type == DType::f64)
    f.template operator()<double>();
  else
    f.template operator()<std::complex<float>>();
}

}  // namespace weft::kernels
