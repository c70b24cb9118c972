// Exponentials, logarithms, angles, powers, and functions of complex numbers that are no arithmetic.
#include "kernels/elementwise/angle_math_cpu.h"
#include "kernels/elementwise/cpu/scalar_rows.h"
#include "kernels/elementwise/special_math_cpu.h"

namespace weft::kernels::scalar_rows {
namespace {

// Of angles too large for vector code, the library's function.
template <auto wide_function, auto library_function>
struct OfAngle : Transcendental<wide_function, library_function> {
  static bool usual(std::same_as<float> auto x) { return std::abs(x) <= wide::kLargestAngle; }
  static float rest(float x) { return static_cast<float>(library_function(static_cast<double>(x))); }
};
#define WEFT_ANGLE(wide_name, ...) \
  OfAngle<[](double x) WEFT_INLINE_LAMBDA { return wide::wide_name(x); }, __VA_ARGS__> {}

struct Pow {
  WEFT_INLINE float operator()(float a, float b) const { return static_cast<float>(wide::pow(a, b)); }
  template <class T>
  WEFT_INLINE T operator()(T a, T b) const {
    return pow_(a, b);
  }
};
// f64 versions of functions that the C library lacks.
double gated_f64(double x, double z) {
  return z < -800 ? -0.0 : z < 0 ? x * (std::exp(z) / (1 + std::exp(z))) : x / (1 + std::exp(-z));
}
double sigmoid_f64(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
double gelu_erf_f64(double x) {
  return x == -wide::kInfinity ? -0.0 : 0.5 * x * std::erfc(-x * 0.70710678118654752440);
}
double gelu_tanh_f64(double x) {
  return gated_f64(x, x * (1.5957691216057307117597842397375 + 0.071354816272600247526 * x * x));
}

// A function of complex numbers, in double.
template <complex_math::Wide (*function)(complex_math::Wide)>
struct OfComplex {
  Complex operator()(Complex z) const { return complex_math::narrow(function(complex_math::wide(z))); }
};
#define WEFT_COMPLEX(...) \
  OfComplex<[](complex_math::Wide z) { return __VA_ARGS__; }> {}

using enum ScalarOp;

}  // namespace

std::span<const ScalarRow> transcendental_rows() {
  static const ScalarRow kRows[] = {
      row<kFloat, 1>(ScalarOp::cbrt, WEFT_WIDE(cbrt, [](double x) { return std::cbrt(x); })),
      row<kFloat, 1>(ScalarOp::exp, WEFT_WIDE(exp, [](double x) { return std::exp(x); })),
      row<kComplex, 1>(ScalarOp::exp, WEFT_UNARY(T, x, exponential(x))),
      row<kComplex, 1>(ScalarOp::sqrt, WEFT_COMPLEX(std::sqrt(z))),
      row<kComplex, 1>(rsqrt, WEFT_UNARY(T, x, div_(T{1}, complex_math::narrow(std::sqrt(complex_math::wide(x)))))),
      row<kComplex, 1>(ScalarOp::expm1, WEFT_COMPLEX(complex_math::expm1(z))),
      row<kComplex, 1>(ScalarOp::log, WEFT_COMPLEX(complex_math::log(z))),
      row<kComplex, 1>(ScalarOp::log2, WEFT_COMPLEX(complex_math::log(z) * 1.4426950408889634)),
      row<kComplex, 1>(ScalarOp::log10, WEFT_COMPLEX(complex_math::log(z) * 0.43429448190325182)),
      row<kComplex, 1>(ScalarOp::log1p, WEFT_COMPLEX(complex_math::log1p(z))),
      row<kComplex, 1>(ScalarOp::sin, WEFT_COMPLEX(std::sin(z))),
      row<kComplex, 1>(ScalarOp::cos, WEFT_COMPLEX(std::cos(z))),
      row<kComplex, 1>(ScalarOp::tan, WEFT_COMPLEX(std::tan(z))),
      row<kComplex, 1>(ScalarOp::asin, WEFT_COMPLEX(std::asin(z))),
      row<kComplex, 1>(ScalarOp::acos, WEFT_COMPLEX(std::acos(z))),
      row<kComplex, 1>(ScalarOp::atan, WEFT_COMPLEX(std::atan(z))),
      row<kComplex, 1>(ScalarOp::sinh, WEFT_COMPLEX(std::sinh(z))),
      row<kComplex, 1>(ScalarOp::cosh, WEFT_COMPLEX(std::cosh(z))),
      row<kComplex, 1>(ScalarOp::tanh, WEFT_COMPLEX(std::tanh(z))),
      row<kComplex, 1>(ScalarOp::asinh, WEFT_COMPLEX(std::asinh(z))),
      row<kComplex, 1>(ScalarOp::acosh, WEFT_COMPLEX(std::acosh(z))),
      row<kComplex, 1>(ScalarOp::atanh, WEFT_COMPLEX(std::atanh(z))),
      row<kFloat, 1>(ScalarOp::exp2, WEFT_WIDE(exp2, [](double x) { return std::exp2(x); })),
      row<kFloat, 1>(ScalarOp::log, WEFT_WIDE(log, [](double x) { return std::log(x); })),
      row<kFloat, 1>(ScalarOp::log2, WEFT_WIDE(log2, [](double x) { return std::log2(x); })),
      row<kFloat, 1>(ScalarOp::expm1, WEFT_WIDE(expm1, [](double x) { return std::expm1(x); })),
      row<kFloat, 1>(ScalarOp::log10, WEFT_WIDE(log10, [](double x) { return std::log10(x); })),
      row<kFloat, 1>(ScalarOp::log1p, WEFT_WIDE(log1p, [](double x) { return std::log1p(x); })),
      row<kFloat, 1>(ScalarOp::sin, WEFT_ANGLE(sin, [](double x) { return std::sin(x); })),
      row<kFloat, 1>(ScalarOp::cos, WEFT_ANGLE(cos, [](double x) { return std::cos(x); })),
      row<kFloat, 1>(ScalarOp::tan, WEFT_ANGLE(tan, [](double x) { return std::tan(x); })),
      row<kFloat, 1>(ScalarOp::asin, WEFT_WIDE(asin, [](double x) { return std::asin(x); })),
      row<kFloat, 1>(ScalarOp::acos, WEFT_WIDE(acos, [](double x) { return std::acos(x); })),
      row<kFloat, 1>(ScalarOp::atan, WEFT_WIDE(atan, [](double x) { return std::atan(x); })),
      row<kFloat, 1>(ScalarOp::sinh, WEFT_WIDE(sinh, [](double x) { return std::sinh(x); })),
      row<kFloat, 1>(ScalarOp::cosh, WEFT_WIDE(cosh, [](double x) { return std::cosh(x); })),
      row<kFloat, 1>(ScalarOp::asinh, WEFT_WIDE(asinh, [](double x) { return std::asinh(x); })),
      // (musl's acosh, which WebAssembly has, gives numbers below -2.)
      row<kFloat, 1>(
          ScalarOp::acosh,
          WEFT_WIDE(acosh, [](double x) { return x < 1 ? std::numeric_limits<double>::quiet_NaN() : std::acosh(x); })),
      row<kFloat, 1>(ScalarOp::atanh, WEFT_WIDE(atanh, [](double x) { return std::atanh(x); })),
      row<kFloat, 1>(ScalarOp::tanh, WEFT_WIDE(tanh, [](double x) { return std::tanh(x); })),
      row<kFloat, 1>(sigmoid, WEFT_WIDE(sigmoid, [](double x) { return sigmoid_f64(x); })),
      row<kFloat, 1>(softplus, WEFT_WIDE(softplus, [](double x) { return softplus_f64(x); })),
      row<kFloat, 1>(logsigmoid, WEFT_WIDE(logsigmoid, [](double x) { return -softplus_f64(-x); })),
      row<kFloat, 1>(mish, WEFT_WIDE(mish, [](double x) { return mish_f64(x); })),
      row<kFloat, 1>(gelu_erf, WEFT_WIDE(gelu_erf, [](double x) { return gelu_erf_f64(x); })),
      row<kFloat, 1>(gelu_tanh, WEFT_WIDE(gelu_tanh, [](double x) { return gelu_tanh_f64(x); })),
      row<kFloat, 1>(gelu_quick, WEFT_WIDE(gelu_quick, [](double x) { return gated_f64(x, 1.702 * x); })),
      row<kFloat, 1>(silu, WEFT_WIDE(silu, [](double x) { return gated_f64(x, x); })),
      row<kComplex, 1>(angle, WEFT_UNARY(T, x, static_cast<float>(wide::atan2(x.imag(), x.real())))),
      row<kFloat, 2>(ScalarOp::atan2, WEFT_WIDE2(atan2, [](double a, double b) { return std::atan2(a, b); })),
      row<kFloat, 2>(ScalarOp::hypot, WEFT_WIDE2(hypot, [](double a, double b) { return std::hypot(a, b); })),
      row<kFloat, 2>(logaddexp, WEFT_WIDE2(logaddexp, [](double a, double b) { return logaddexp_f64(a, b); })),
      row<kNumber, 2>(ScalarOp::pow, Pow()),
      row<kComplex, 2>(
          ScalarOp::pow,
          WEFT_BINARY(T, a, b, complex_math::narrow(complex_math::pow(complex_math::wide(a), complex_math::wide(b))))),
  };
  return kRows;
}

}  // namespace weft::kernels::scalar_rows
