// The CPU's table of scalar operations.
#include "kernels/elementwise/scalar_ops_cpu.h"

#include <array>
#include <cmath>
#include <concepts>
#include <tuple>

#include "core/round_to_odd.h"
#include "kernels/elementwise/block_loops.h"
#include "kernels/elementwise/complex_math_cpu.h"
#include "kernels/elementwise/gamma_math_cpu.h"
#include "kernels/elementwise/incomplete_math_cpu.h"
#include "kernels/elementwise/scalar_arithmetic_cpu.h"
#include "kernels/elementwise/scalar_ops.h"
#include "kernels/elementwise/special_math_cpu.h"
#include "weft/small_float.h"

namespace weft::kernels {
namespace {

using Function = CpuExpression::Function;
using I = std::int64_t;
using U = std::uint64_t;
using B = std::uint8_t;                     // a boolean
using Functions = std::array<Function, 6>;  // of each CpuRegister

// One row of the table: the operation and its loop for each CpuRegister; null where it is not defined.
struct Row {
  ScalarOp op;
  Functions functions;
};

// The result's register: that of the operands, except for booleans and conversions between real and complex numbers.
template <class T, class R, bool boolean>
using Result =
    std::conditional_t<boolean, B, std::conditional_t<std::is_same_v<R, Complex> || std::is_same_v<T, Complex>, R, T>>;

// The loop of a functor whose vector code is not valid for all arguments: usual() says for which it is, and rest()
// computes the others.
template <class F, class T, class... In>
struct MendedLoop {
  static void run(const void* a, const void* b, const void* c, void* out, int n) {
    static const Function loop = BlockLoop<F, T, In...>::choose(true);
    loop(a, b, c, out, n);
    mend(std::index_sequence_for<In...>(), {a, b, c}, static_cast<T*>(out), n);
  }

 private:
  template <std::size_t... k>
  static void mend(std::index_sequence<k...>, const void* const (&args)[3], T* y, int n) {
    const std::tuple<const In*...> x{static_cast<const In*>(args[k])...};
    int rare = 0;
    for (int i = 0; i < n; ++i) rare += !F::usual(std::get<k>(x)[i]...);
    for (int i = 0; rare > 0; ++i) {
      if (F::usual(std::get<k>(x)[i]...)) continue;
      y[i] = F::rest(std::get<k>(x)[i]...);
      --rare;
    }
  }
};
template <class F, class T>
concept Mended = requires(T x) { F::usual(x); } || requires(T x) { F::usual(x, x); };

template <class F, class T, int arity, bool boolean, bool vectors>
Function loop() {
  if constexpr (Mended<F, T>) {
    if constexpr (arity == 1)
      return MendedLoop<F, T, T>::run;
    else
      return MendedLoop<F, T, T, T>::run;
  }
  using Out = decltype([] {
    if constexpr (arity == 1)
      return Result<T, decltype(F()(T())), boolean>();
    else if constexpr (arity == 2)
      return Result<T, decltype(F()(T(), T())), boolean>();
    else
      return Result<T, decltype(F()(T(), T(), T())), boolean>();
  }());
  if constexpr (arity == 1)
    return BlockLoop<F, Out, T>::choose(vectors);
  else if constexpr (arity == 2)
    return BlockLoop<F, Out, T, T>::choose(vectors);
  else
    return BlockLoop<F, Out, T, T, T>::choose(vectors);
}

// The instances of a functor for the registers of `types`.
template <unsigned types, int arity, bool boolean = false, class F>
Row row(ScalarOp op, F) {
  Row r{op, {}};
  if constexpr (types & kFloat) {
    r.functions[0] = loop<F, float, arity, boolean, true>();
    r.functions[1] = loop<F, double, arity, boolean, false>();
  }
  if constexpr (types & kSigned) r.functions[2] = loop<F, I, arity, boolean, true>();
  if constexpr (types & kUnsigned) r.functions[3] = loop<F, U, arity, boolean, true>();
  if constexpr (types & kComplex) r.functions[4] = loop<F, Complex, arity, boolean, true>();
  if constexpr (types & kBool) r.functions[5] = loop<F, B, arity, boolean, true>();
  return r;
}

// f32 by wide_function (vector code in double), f64 by the C library.
template <auto wide_function, auto library_function>
struct Transcendental {
  WEFT_INLINE float operator()(float x) const { return static_cast<float>(wide_function(x)); }
  WEFT_INLINE double operator()(double x) const { return library_function(x); }
};
template <auto wide_function, auto library_function>
struct Transcendental2 {
  WEFT_INLINE float operator()(float a, float b) const { return static_cast<float>(wide_function(a, b)); }
  WEFT_INLINE double operator()(double a, double b) const { return library_function(a, b); }
};
template <auto wide_function, auto library_function>
struct OfAngle : Transcendental<wide_function, library_function> {
  static bool usual(std::same_as<float> auto x) { return std::abs(x) <= wide::kLargestAngle; }
  static float rest(float x) { return static_cast<float>(library_function(static_cast<double>(x))); }
};
#define WEFT_WIDE(wide_name, ...) \
  Transcendental<[](double x) WEFT_INLINE_LAMBDA { return wide::wide_name(x); }, __VA_ARGS__> {}
#define WEFT_ANGLE(wide_name, ...) \
  OfAngle<[](double x) WEFT_INLINE_LAMBDA { return wide::wide_name(x); }, __VA_ARGS__> {}
#define WEFT_WIDE2(wide_name, ...) \
  Transcendental2<[](double a, double b) WEFT_INLINE_LAMBDA { return wide::wide_name(a, b); }, __VA_ARGS__> {}

// Integers below 2^51 in magnitude to and from double, by arithmetic that every instruction set has for vectors.
constexpr double kShift = 0x1.8p52;
template <class T>
WEFT_INLINE double exact(T x) {
  return std::bit_cast<double>(bits_of(x) + std::bit_cast<U>(kShift)) - kShift;
}
template <class T>
WEFT_INLINE T whole(double x) {
  return static_cast<T>(std::bit_cast<U>(x + kShift) - std::bit_cast<U>(kShift));
}
// Divisions in double where they are exact. Quotients of integers n / b below 2^51 are at least 1 / b away from those
// whole numbers that they do not equal, which is more than the rounding of the division. x / 0 is computed as 0 / 1.
struct IntegerDivisions {
  template <std::integral T>
  static bool usual(T a, T b) {
    const auto below = [](T x) {
      const U limit = U{1} << 51;
      return std::is_signed_v<T> ? bits_of(x) + limit < 2 * limit : bits_of(x) < limit;
    };
    const bool a_below = below(a), b_below = below(b);
    return a_below & b_below;
  }
  template <bool floors, class T>
  static WEFT_INLINE double quotient(T a, T b) {
    const double q = exact(b == T{0} ? T{0} : a) / exact(b == T{0} ? T{1} : b);
    return floors ? std::floor(q) : std::trunc(q);
  }
};
struct Divisions : IntegerDivisions {
  using IntegerDivisions::usual;
  static bool usual(std::same_as<float> auto a, std::same_as<float> auto b) { return wide::has_exact_quotient(a, b); }
};
struct Div : IntegerDivisions {
  template <class T>
  WEFT_INLINE T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return whole<T>(quotient<false>(a, b));
    else
      return div_(a, b);
  }
  template <class T>
  static T rest(T a, T b) {
    return div_(a, b);
  }
};
struct Rem : Divisions {
  WEFT_INLINE float operator()(float a, float b) const { return static_cast<float>(wide::rem(a, b)); }
  template <class T>
  WEFT_INLINE T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return b == T{0} ? T{0} : whole<T>(exact(a) - quotient<false>(a, b) * exact(b));
    else
      return rem_(a, b);
  }
  template <class T>
  static T rest(T a, T b) {
    return rem_(a, b);
  }
};
struct Remainder : Divisions {
  WEFT_INLINE float operator()(float a, float b) const { return remainder_of(Rem()(a, b), b); }
  template <class T>
  WEFT_INLINE T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return b == T{0} ? T{0} : whole<T>(exact(a) - quotient<true>(a, b) * exact(b));
    else
      return remainder_(a, b);
  }
  template <class T>
  static T rest(T a, T b) {
    return remainder_(a, b);
  }
};
struct FloorDivide : Divisions {
  WEFT_INLINE float operator()(float a, float b) const {
    return static_cast<float>(floor_quotient(a, b, wide::rem(a, b)));
  }
  template <class T>
  WEFT_INLINE T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return whole<T>(quotient<true>(a, b));
    else
      return floor_divide_(a, b);
  }
  template <class T>
  static T rest(T a, T b) {
    return floor_divide_(a, b);
  }
};
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

#define WEFT_UNARY(T, x, ...)     \
  [](auto x) WEFT_INLINE_LAMBDA { \
    using T = decltype(x);        \
    (void)sizeof(T);              \
    return __VA_ARGS__;           \
  }
#define WEFT_BINARY(T, a, b, ...)         \
  [](auto a, auto b) WEFT_INLINE_LAMBDA { \
    using T = decltype(a);                \
    (void)sizeof(T);                      \
    return __VA_ARGS__;                   \
  }
#define WEFT_TERNARY(T, a, b, c, ...)             \
  [](auto a, auto b, auto c) WEFT_INLINE_LAMBDA { \
    using T = decltype(a);                        \
    (void)sizeof(T);                              \
    return __VA_ARGS__;                           \
  }

const Row kRows[] = {
    row<kNumber | kComplex, 1>(neg, WEFT_UNARY(T, x, neg_(x))),
    row<kNumber | kComplex, 1>(ScalarOp::abs, WEFT_UNARY(T, x, abs_(x))),
    row<kNumber, 1>(sign, WEFT_UNARY(T, x, sign_(x))),
    row<kFloat, 1>(ScalarOp::ceil, WEFT_UNARY(T, x, std::ceil(x))),
    row<kFloat, 1>(ScalarOp::floor, WEFT_UNARY(T, x, std::floor(x))),
    row<kFloat, 1>(ScalarOp::trunc, WEFT_UNARY(T, x, std::trunc(x))),
    row<kFloat, 1>(ScalarOp::round, WEFT_UNARY(T, x, std::nearbyint(x))),
    row<kFloat, 1>(ScalarOp::sqrt, WEFT_UNARY(T, x, std::sqrt(x))),
    row<kFloat, 1>(rsqrt, WEFT_UNARY(T, x, static_cast<T>(1.0 / std::sqrt(static_cast<double>(x))))),
    row<kFloat | kComplex, 1>(reciprocal, WEFT_UNARY(T, x, div_(T{1}, x))),
    row<kFloat, 1>(ScalarOp::cbrt, WEFT_WIDE(cbrt, [](double x) { return std::cbrt(x); })),
    row<kNumber | kComplex, 1>(square, WEFT_UNARY(T, x, mul_(x, x))),
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
    row<kFloat, 1>(ScalarOp::erf, WEFT_WIDE(erf, [](double x) { return std::erf(x); })),
    row<kFloat, 1>(ScalarOp::erfc, WEFT_WIDE(erfc, [](double x) { return std::erfc(x); })),
    row<kFloat, 1>(erfinv, WEFT_WIDE(erfinv, [](double x) { return erfinv_f64(x); })),
    row<kFloat, 1>(ScalarOp::lgamma, WEFT_WIDE(lgamma, [](double x) { return lgamma_f64(x); })),
    row<kFloat, 1>(digamma, WEFT_WIDE(digamma, [](double x) { return digamma_f64(x); })),
    row<kFloat, 1>(ScalarOp::j0, WEFT_UNARY(T, x, static_cast<T>(j0_f64(x)))),
    row<kFloat, 1>(ScalarOp::j1, WEFT_UNARY(T, x, static_cast<T>(j1_f64(x)))),
    row<kFloat, 1>(ScalarOp::y0, WEFT_UNARY(T, x, static_cast<T>(y0_f64(x)))),
    row<kFloat, 1>(ScalarOp::y1, WEFT_UNARY(T, x, static_cast<T>(y1_f64(x)))),
    row<kFloat, 1>(k0, WEFT_UNARY(T, x, static_cast<T>(bessel_k(0, x, false)))),
    row<kFloat, 1>(k1, WEFT_UNARY(T, x, static_cast<T>(bessel_k(1, x, false)))),
    row<kFloat, 1>(k0e, WEFT_UNARY(T, x, static_cast<T>(bessel_k(0, x, true)))),
    row<kFloat, 1>(k1e, WEFT_UNARY(T, x, static_cast<T>(bessel_k(1, x, true)))),
    row<kFloat, 1>(sigmoid, WEFT_WIDE(sigmoid, [](double x) { return sigmoid_f64(x); })),
    row<kFloat, 1>(softplus, WEFT_WIDE(softplus, [](double x) { return softplus_f64(x); })),
    row<kFloat, 1>(logsigmoid, WEFT_WIDE(logsigmoid, [](double x) { return -softplus_f64(-x); })),
    row<kFloat, 1>(mish, WEFT_WIDE(mish, [](double x) { return mish_f64(x); })),
    row<kNumber, 1>(relu, WEFT_UNARY(T, x, relu_(x))),
    row<kFloat, 1>(gelu_erf, WEFT_WIDE(gelu_erf, [](double x) { return gelu_erf_f64(x); })),
    row<kFloat, 1>(gelu_tanh, WEFT_WIDE(gelu_tanh, [](double x) { return gelu_tanh_f64(x); })),
    row<kFloat, 1>(gelu_quick, WEFT_WIDE(gelu_quick, [](double x) { return gated_f64(x, 1.702 * x); })),
    row<kFloat, 1>(silu, WEFT_WIDE(silu, [](double x) { return gated_f64(x, x); })),
    row<kBool, 1>(logical_not, WEFT_UNARY(T, x, x ^ T{1})),
    row<kInteger, 1>(bitwise_not, WEFT_UNARY(T, x, ~x)),
    row<kFloat, 1, true>(is_nan, WEFT_UNARY(T, x, x != x)),
    row<kFloat, 1, true>(is_inf, WEFT_UNARY(T, x, std::abs(x) == std::numeric_limits<T>::infinity())),
    row<kFloat, 1, true>(is_finite, WEFT_UNARY(T, x, std::abs(x) < std::numeric_limits<T>::infinity())),
    row<kNumber, 1, true>(ScalarOp::signbit, WEFT_UNARY(T, x, signbit_(x))),
    row<kComplex, 1>(real, WEFT_UNARY(T, x, x.real())),
    row<kComplex, 1>(imag, WEFT_UNARY(T, x, x.imag())),
    row<kComplex, 1>(conj, WEFT_UNARY(T, x, T(x.real(), -x.imag()))),
    row<kComplex, 1>(angle, WEFT_UNARY(T, x, static_cast<float>(wide::atan2(x.imag(), x.real())))),
    row<kNumber | kComplex, 2>(add, WEFT_BINARY(T, a, b, add_(a, b))),
    row<kNumber | kComplex, 2>(sub, WEFT_BINARY(T, a, b, sub_(a, b))),
    row<kNumber | kComplex, 2>(mul, WEFT_BINARY(T, a, b, mul_(a, b))),
    row<kNumber | kComplex, 2>(ScalarOp::div, Div()),
    row<kFloat, 2>(div_rn, Div()),
    row<kNumber, 2>(rem, Rem()),
    row<kNumber, 2>(floor_divide, FloorDivide()),
    row<kNumber, 2>(ScalarOp::remainder, Remainder()),
    row<kFloat, 2>(ScalarOp::atan2, WEFT_WIDE2(atan2, [](double a, double b) { return std::atan2(a, b); })),
    row<kFloat, 2>(ScalarOp::hypot, WEFT_WIDE2(hypot, [](double a, double b) { return std::hypot(a, b); })),
    row<kFloat, 2>(ScalarOp::copysign, WEFT_BINARY(T, a, b, std::copysign(a, b))),
    row<kFloat, 2>(ScalarOp::nextafter, WEFT_BINARY(T, a, b, nextafter_(a, b))),
    row<kFloat, 2>(gammainc, WEFT_BINARY(T, a, x, static_cast<T>(incomplete::gamma_tails(a, x).lower))),
    row<kFloat, 2>(gammaincc, WEFT_BINARY(T, a, x, static_cast<T>(incomplete::gamma_tails(a, x).upper))),
    row<kFloat, 3>(betainc, WEFT_TERNARY(T, a, b, x, static_cast<T>(incomplete::beta_tails(a, b, x).lower))),
    row<kFloat, 2>(gammaincinv, WEFT_BINARY(T, a, p, static_cast<T>(incomplete::gammaincinv(a, p)))),
    row<kFloat, 2>(gammainccinv, WEFT_BINARY(T, a, q, static_cast<T>(incomplete::gammainccinv(a, q)))),
    row<kFloat, 3>(betaincinv, WEFT_TERNARY(T, a, b, p, static_cast<T>(incomplete::betaincinv(a, b, p)))),
    row<kFloat, 2>(logaddexp, WEFT_WIDE2(logaddexp, [](double a, double b) { return logaddexp_f64(a, b); })),
    row<kAny, 2>(ScalarOp::fmin, WEFT_BINARY(T, a, b, fmin_(a, b))),
    row<kAny, 2>(ScalarOp::fmax, WEFT_BINARY(T, a, b, fmax_(a, b))),
    row<kInteger, 2>(gcd, WEFT_BINARY(T, a, b, gcd_(a, b))),
    row<kInteger, 2>(lcm, WEFT_BINARY(T, a, b, lcm_(a, b))),
    row<kFloat, 2>(ScalarOp::complex, WEFT_BINARY(T, a, b, Complex(static_cast<float>(a), static_cast<float>(b)))),
    row<kNumber, 2>(ScalarOp::pow, Pow()),
    row<kComplex, 2>(
        ScalarOp::pow,
        WEFT_BINARY(T, a, b, complex_math::narrow(complex_math::pow(complex_math::wide(a), complex_math::wide(b))))),
    row<kAny, 2>(min, WEFT_BINARY(T, a, b, min_(a, b))),
    row<kAny, 2>(max, WEFT_BINARY(T, a, b, max_(a, b))),
    row<kAny | kComplex, 2, true>(equal, WEFT_BINARY(T, a, b, a == b)),
    row<kAny | kComplex, 2, true>(not_equal, WEFT_BINARY(T, a, b, a != b)),
    row<kAny, 2, true>(less, WEFT_BINARY(T, a, b, a < b)),
    row<kAny, 2, true>(less_equal, WEFT_BINARY(T, a, b, a <= b)),
    row<kAny, 2, true>(greater, WEFT_BINARY(T, a, b, a > b)),
    row<kAny, 2, true>(greater_equal, WEFT_BINARY(T, a, b, a >= b)),
    row<kBool, 2>(logical_and, WEFT_BINARY(T, a, b, a& b)),
    row<kBool, 2>(logical_or, WEFT_BINARY(T, a, b, a | b)),
    row<kBool, 2>(logical_xor, WEFT_BINARY(T, a, b, a ^ b)),
    row<kBits, 2>(bitwise_and, WEFT_BINARY(T, a, b, a& b)),
    row<kBits, 2>(bitwise_or, WEFT_BINARY(T, a, b, a | b)),
    row<kBits, 2>(bitwise_xor, WEFT_BINARY(T, a, b, a ^ b)),
    row<kInteger, 2>(shift_left, WEFT_BINARY(T, a, b, shift_left_(a, b))),
    row<kInteger, 2>(shift_right, WEFT_BINARY(T, a, b, shift_right_(a, b))),
    row<kFloat, 3>(ScalarOp::lerp, WEFT_TERNARY(T, a, b, c, lerp_(a, b, c))),
    row<kNumber | kComplex, 3>(ScalarOp::fma, WEFT_TERNARY(T, a, b, c, fma_(a, b, c))),
    row<kNumber, 3>(clamp, WEFT_TERNARY(T, a, b, c, min_(max_(a, b), c))),
};

// Conversions between registers.
template <class Out>
struct ConvertTo {
  template <class In>
  WEFT_INLINE Out operator()(In x) const {
    if constexpr (is_complex<In>) {
      return ConvertTo<Out>()(x.real());
    } else if constexpr (is_complex<Out>) {
      return Complex(static_cast<float>(x), 0.0f);
    } else if constexpr (is_float<In> && !is_float<Out>) {
      // Towards zero, saturating, NaN to 0.
      constexpr double low = static_cast<double>(std::numeric_limits<Out>::min());
      constexpr double high = 2.0 * static_cast<double>(std::numeric_limits<Out>::max() / 2 + 1);
      const double v = x;
      return !(v == v)   ? Out{0}
             : v >= high ? std::numeric_limits<Out>::max()
             : v <= low  ? std::numeric_limits<Out>::min()
                         : static_cast<Out>(v);
    } else {
      return static_cast<Out>(x);
    }
  }
};

struct NotZero {
  template <class T>
  WEFT_INLINE B operator()(T x) const {
    return x != T(0);
  }
};

struct RoundToOdd {
  template <class T>
  float operator()(T x) const {
    return round_to_odd(x);
  }
};
// The same for 32-bit integers, which double can hold: without branches, so that it becomes vector code.
struct Round32ToOdd {
  template <class T>
  WEFT_INLINE float operator()(T x) const {
    const auto exact = static_cast<double>(x);
    const auto f = static_cast<float>(exact);
    const auto b = std::bit_cast<std::uint32_t>(f);
    const std::uint32_t moves = (static_cast<double>(f) != exact) & ((b & 1u) == 0);
    const bool past = std::abs(static_cast<double>(f)) > std::abs(exact);
    return std::bit_cast<float>(past ? b - moves : b + moves);
  }
};

template <class In>
Functions conversions_from() {
  if constexpr (is_complex<In>) {
    return {BlockLoop<ConvertTo<float>, float, In>::choose(true),
            BlockLoop<ConvertTo<double>, double, In>::choose(true), BlockLoop<ConvertTo<I>, I, In>::choose(true),
            BlockLoop<ConvertTo<U>, U, In>::choose(true)};
  }
  return {BlockLoop<ConvertTo<float>, float, In>::choose(true), BlockLoop<ConvertTo<double>, double, In>::choose(true),
          BlockLoop<ConvertTo<I>, I, In>::choose(true), BlockLoop<ConvertTo<U>, U, In>::choose(true),
          BlockLoop<ConvertTo<Complex>, Complex, In>::choose(true)};
}

template <class T>
struct Select {
  WEFT_INLINE T operator()(B c, T a, T b) const { return c ? a : b; }
};
template <class T>
Function select_loop() {
  return BlockLoop<Select<T>, T, B, T, T>::choose(true);
}

// Operations that depend on the width of the type, not only on its register.
template <int width>
struct Popcount {
  WEFT_INLINE U operator()(U x) const { return static_cast<U>(std::popcount(x << (64 - width))); }
};
template <int width>
struct LeadingZeros {
  WEFT_INLINE U operator()(U x) const { return static_cast<U>(std::min(std::countl_zero(x << (64 - width)), width)); }
};
template <template <int> class F>
Function by_width(int bits) {
  switch (bits) {
    case 2:
      return BlockLoop<F<2>, U, U>::choose(true);
    case 4:
      return BlockLoop<F<4>, U, U>::choose(true);
    case 8:
      return BlockLoop<F<8>, U, U>::choose(true);
    case 16:
      return BlockLoop<F<16>, U, U>::choose(true);
    case 32:
      return BlockLoop<F<32>, U, U>::choose(true);
    default:
      return BlockLoop<F<64>, U, U>::choose(true);
  }
}

template <class Float>
struct NextNarrow {
  WEFT_INLINE float operator()(float x, float y) const {
    if (x != x || y != y) return x != x ? x : y;
    if (x == y) return y;
    using Bits = decltype(Float().bits);
    if (x == 0.0f) return Float::from_bits(static_cast<Bits>(Float(std::copysign(0.0f, y)).bits | 1));
    const Bits b = Float(x).bits;
    return Float::from_bits(static_cast<Bits>((x < y) == (x > 0.0f) ? b + 1 : b - 1));
  }
};
template <class Float>
Function next_narrow() {
  return BlockLoop<NextNarrow<Float>, float, float, float>::choose(false);
}

// Divisions of integers of up to 32 bits, which are all exact in double.
template <class T>
Function narrow_division(ScalarOp op) {
  switch (op) {
    case ScalarOp::div:
      return BlockLoop<Div, T, T, T>::choose(true);
    case rem:
      return BlockLoop<Rem, T, T, T>::choose(true);
    case ScalarOp::remainder:
      return BlockLoop<Remainder, T, T, T>::choose(true);
    case floor_divide:
      return BlockLoop<FloorDivide, T, T, T>::choose(true);
    default:
      return nullptr;
  }
}

Function special_function(ScalarOp op, DType type) {
  if (is_integer(type) && bits(type) <= 32) {
    if (const Function f = is_signed(type) ? narrow_division<I>(op) : narrow_division<U>(op)) return f;
  }
  if (op == bitwise_not && type == DType::boolean) return cpu_function(logical_not, type);
  if (op == popcount) return by_width<Popcount>(bits(type));
  if (op == clz) return by_width<LeadingZeros>(bits(type));
  if (op != ScalarOp::nextafter) return nullptr;
  switch (type) {
    case DType::f16:
      return next_narrow<float16>();
    case DType::bf16:
      return next_narrow<bfloat16>();
    case DType::f8e4m3:
      return next_narrow<float8_e4m3>();
    case DType::f8e5m2:
      return next_narrow<float8_e5m2>();
    default:
      return nullptr;
  }
}

}  // namespace

CpuRegister cpu_register(DType type) {
  if (type == DType::f64) return CpuRegister::f64;
  switch (type_set(type)) {
    case kFloat:
      return CpuRegister::f32;
    case kSigned:
      return CpuRegister::i64;
    case kComplex:
      return CpuRegister::c64;
    case kBool:
      return CpuRegister::u8;
    default:
      return CpuRegister::u64;
  }
}

CpuExpression::Function cpu_function(ScalarOp op, DType type) {
  if (const Function special = special_function(op, type)) return special;
  const auto at = static_cast<std::size_t>(cpu_register(type));
  static const Functions selects = {select_loop<float>(), select_loop<double>(),  select_loop<I>(),
                                    select_loop<U>(),     select_loop<Complex>(), select_loop<B>()};
  if (op == select) return selects[at];
  for (const Row& r : kRows) {
    if (r.op == op && r.functions[at]) return r.functions[at];
  }
  return nullptr;
}

CpuExpression::Function cpu_conversion(CpuRegister from, CpuRegister to) {
  static const std::array<Functions, 6> table = {conversions_from<float>(),   conversions_from<double>(),
                                                 conversions_from<I>(),       conversions_from<U>(),
                                                 conversions_from<Complex>(), conversions_from<B>()};
  return table[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
}

CpuExpression::Function cpu_to_boolean(CpuRegister from) {
  static const Functions table = {
      BlockLoop<NotZero, B, float>::choose(true),   BlockLoop<NotZero, B, double>::choose(true),
      BlockLoop<NotZero, B, I>::choose(true),       BlockLoop<NotZero, B, U>::choose(true),
      BlockLoop<NotZero, B, Complex>::choose(true), BlockLoop<NotZero, B, B>::choose(true)};
  return table[static_cast<std::size_t>(from)];
}

CpuExpression::Function cpu_round_to_odd(DType from) {
  switch (from) {
    case DType::f64:
      return BlockLoop<RoundToOdd, float, double>::choose(false);
    case DType::i64:
      return BlockLoop<RoundToOdd, float, I>::choose(false);
    case DType::u64:
      return BlockLoop<RoundToOdd, float, U>::choose(false);
    case DType::i32:
      return BlockLoop<Round32ToOdd, float, I>::choose(true);
    case DType::u32:
      return BlockLoop<Round32ToOdd, float, U>::choose(true);
    default:
      return nullptr;
  }
}

}  // namespace weft::kernels
