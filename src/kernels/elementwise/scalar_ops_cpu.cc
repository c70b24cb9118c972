// The CPU side of the table of scalar operations.
#include "kernels/elementwise/scalar_ops_cpu.h"

#include <array>
#include <cmath>
#include <tuple>

#include "kernels/elementwise/block_loops.h"
#include "kernels/elementwise/scalar_ops.h"

namespace weft::kernels {
namespace {

using Function = CpuExpression::Function;
using I = std::int64_t;
using U = std::uint64_t;

// Wrapping arithmetic of either sign.
template <class T>
WEFT_INLINE U bits_of(T v) {
  return static_cast<U>(v);
}
template <class T>
constexpr bool is_float = std::is_floating_point_v<T>;

template <class T>
WEFT_INLINE T integer_power(T base, T exponent) {
  if (exponent < T{0}) return base == T{1} ? T{1} : base == static_cast<T>(-1) ? (exponent & 1 ? base : T{1}) : T{0};
  U result = 1;
  U b = bits_of(base);
  for (U e = bits_of(exponent); e; e >>= 1) {
    if (e & 1) result *= b;
    b *= b;
  }
  return static_cast<T>(result);
}

// One row of the table: the operation and its loop for each CpuRegister; null where it is not defined.
struct Row {
  ScalarOp op;
  std::array<Function, 4> functions;
};

template <class F, class T, int arity, bool boolean, bool vectors>
Function loop() {
  using Out = std::conditional_t<boolean, U, T>;
  if constexpr (arity == 1) return BlockLoop<F, Out, T>::choose(vectors);
  else if constexpr (arity == 2) return BlockLoop<F, Out, T, T>::choose(vectors);
  else return BlockLoop<F, Out, T, T, T>::choose(vectors);
}

// The instances of a functor for the registers of `types`.
template <unsigned types, int arity, bool boolean = false, class F>
Row row(ScalarOp op, F) {
  Row r{op, {}};
  if constexpr (types & kFloat) {
    r.functions[0] = loop<F, float, arity, boolean, true>();
    r.functions[1] = loop<F, double, arity, boolean, false>();
  }
  if constexpr (types & kSigned) r.functions[2] = loop<F, I, arity, boolean, false>();
  if constexpr (types & (kUnsigned | kBool)) r.functions[3] = loop<F, U, arity, boolean, false>();
  return r;
}

// f32 by `wide` (vector code in double), f64 by the C library.
template <auto wide_function, auto library_function>
struct Transcendental {
  WEFT_INLINE float operator()(float x) const { return static_cast<float>(wide_function(x)); }
  WEFT_INLINE double operator()(double x) const { return library_function(x); }
};
template <auto library_function>
struct Library {  // in double for both
  template <class T>
  WEFT_INLINE T operator()(T x) const {
    return static_cast<T>(library_function(static_cast<double>(x)));
  }
};
#define WEFT_WIDE(wide_name, ...) \
  Transcendental<[](double x) __attribute__((always_inline)) { return wide::wide_name(x); }, __VA_ARGS__> {}
#define WEFT_LIBRARY(...) Library<__VA_ARGS__> {}
// f64 forms of what the C library lacks.
double gated_f64(double x, double z) { return z < -800 ? 0.0 : z < 0 ? x * (std::exp(z) / (1 + std::exp(z))) : x / (1 + std::exp(-z)); }
double gelu_erf_f64(double x) { return x == -wide::kInfinity ? 0.0 : 0.5 * x * std::erfc(-x * 0.70710678118654752440); }
double gelu_tanh_f64(double x) {
  return gated_f64(x, x * (1.5957691216057307117597842397375 + 0.071354816272600247526 * x * x));
}

using enum ScalarOp;

#define WEFT_UNARY(T, x, ...) [](auto x) __attribute__((always_inline)) { using T = decltype(x); (void)sizeof(T); return __VA_ARGS__; }
#define WEFT_BINARY(T, a, b, ...) \
  [](auto a, auto b) __attribute__((always_inline)) { using T = decltype(a); (void)sizeof(T); return __VA_ARGS__; }
#define WEFT_TERNARY(T, a, b, c, ...) \
  [](auto a, auto b, auto c) __attribute__((always_inline)) { using T = decltype(a); (void)sizeof(T); return __VA_ARGS__; }

template <class T>
WEFT_INLINE T add_(T a, T b) {
  if constexpr (is_float<T>) return a + b;
  else return static_cast<T>(bits_of(a) + bits_of(b));
}
template <class T>
WEFT_INLINE T sub_(T a, T b) {
  if constexpr (is_float<T>) return a - b;
  else return static_cast<T>(bits_of(a) - bits_of(b));
}
template <class T>
WEFT_INLINE T neg_(T x) {
  if constexpr (is_float<T>) return -x;
  else return sub_(T{0}, x);
}
template <class T>
WEFT_INLINE T mul_(T a, T b) {
  if constexpr (is_float<T>) return a * b;
  else return static_cast<T>(bits_of(a) * bits_of(b));
}
template <class T>
WEFT_INLINE T div_(T a, T b) {
  if constexpr (is_float<T>) return a / b;
  else if (b == T{0}) return T{0};
  else if (b == static_cast<T>(-1) && std::is_signed_v<T>) return sub_(T{0}, a);
  else return a / b;
}
template <class T>
WEFT_INLINE T rem_(T a, T b) {
  if constexpr (is_float<T>) return std::fmod(a, b);
  else if (b == T{0} || (b == static_cast<T>(-1) && std::is_signed_v<T>)) return T{0};
  else return a % b;
}
template <class T>
WEFT_INLINE T pow_(T a, T b) {
  if constexpr (is_float<T>) return static_cast<T>(std::pow(static_cast<double>(a), static_cast<double>(b)));
  else return integer_power(a, b);
}
template <class T>
WEFT_INLINE T max_(T a, T b) {
  if constexpr (is_float<T>) {
    const T r = a > b || (a == b && !std::signbit(a)) ? a : b;
    return a != a ? a : b != b ? b : r;
  } else {
    return a > b ? a : b;
  }
}
template <class T>
WEFT_INLINE T min_(T a, T b) {
  if constexpr (is_float<T>) {
    const T r = a < b || (a == b && std::signbit(a)) ? a : b;
    return a != a ? a : b != b ? b : r;
  } else {
    return a < b ? a : b;
  }
}
template <class T>
WEFT_INLINE T abs_(T x) {
  if constexpr (is_float<T>) return std::abs(x);
  else if constexpr (std::is_signed_v<T>) return x < 0 ? sub_(T{0}, x) : x;
  else return x;
}
template <class T>
WEFT_INLINE T sign_(T x) {
  if constexpr (is_float<T>) return x > 0 ? T{1} : x < 0 ? T{-1} : x == 0 ? T{0} : x;
  else return static_cast<T>(T(x > 0) - T(x < T{0}));
}
template <class T>
WEFT_INLINE T relu_(T x) {
  if constexpr (is_float<T>) return x > 0 ? x : x != x ? x : T{0};
  else return x > T{0} ? x : T{0};
}
template <class T>
WEFT_INLINE T shift_left_(T a, T n) {
  return bits_of(n) > 63 ? T{0} : static_cast<T>(bits_of(a) << (bits_of(n) & 63));
}
template <class T>
WEFT_INLINE T shift_right_(T a, T n) {
  return bits_of(n) > 63 ? (a < T{0} ? static_cast<T>(-1) : T{0}) : static_cast<T>(a >> (bits_of(n) & 63));
}
template <class T>
WEFT_INLINE T fma_(T a, T b, T c) {
  if constexpr (std::is_same_v<T, float>) return static_cast<float>(static_cast<double>(a) * b + c);
  else if constexpr (is_float<T>) return std::fma(a, b, c);
  else return add_(mul_(a, b), c);
}

const Row kRows[] = {
    row<kNumber, 1>(neg, WEFT_UNARY(T, x, neg_(x))),
    row<kNumber, 1>(ScalarOp::abs, WEFT_UNARY(T, x, abs_(x))),
    row<kNumber, 1>(sign, WEFT_UNARY(T, x, sign_(x))),
    row<kFloat, 1>(ScalarOp::ceil, WEFT_UNARY(T, x, std::ceil(x))),
    row<kFloat, 1>(ScalarOp::floor, WEFT_UNARY(T, x, std::floor(x))),
    row<kFloat, 1>(ScalarOp::trunc, WEFT_UNARY(T, x, std::trunc(x))),
    row<kFloat, 1>(ScalarOp::round, WEFT_UNARY(T, x, std::nearbyint(x))),
    row<kFloat, 1>(ScalarOp::sqrt, WEFT_UNARY(T, x, std::sqrt(x))),
    row<kFloat, 1>(rsqrt, WEFT_UNARY(T, x, static_cast<T>(1.0 / std::sqrt(static_cast<double>(x))))),
    row<kFloat, 1>(reciprocal, WEFT_UNARY(T, x, T{1} / x)),
    row<kNumber, 1>(square, WEFT_UNARY(T, x, mul_(x, x))),
    row<kFloat, 1>(ScalarOp::exp, WEFT_WIDE(exp, [](double x) { return std::exp(x); })),
    row<kFloat, 1>(ScalarOp::exp2, WEFT_WIDE(exp2, [](double x) { return std::exp2(x); })),
    row<kFloat, 1>(ScalarOp::log, WEFT_WIDE(log, [](double x) { return std::log(x); })),
    row<kFloat, 1>(ScalarOp::log2, WEFT_WIDE(log2, [](double x) { return std::log2(x); })),
    row<kFloat, 1>(ScalarOp::sin, WEFT_LIBRARY([](double x) { return std::sin(x); })),
    row<kFloat, 1>(ScalarOp::cos, WEFT_LIBRARY([](double x) { return std::cos(x); })),
    row<kFloat, 1>(ScalarOp::tan, WEFT_LIBRARY([](double x) { return std::tan(x); })),
    row<kFloat, 1>(ScalarOp::tanh, WEFT_WIDE(tanh, [](double x) { return std::tanh(x); })),
    row<kFloat, 1>(ScalarOp::erf, WEFT_WIDE(erf, [](double x) { return std::erf(x); })),
    row<kFloat, 1>(sigmoid, WEFT_WIDE(sigmoid, [](double x) { return gated_f64(1.0, x); })),
    row<kFloat, 1>(softplus, WEFT_WIDE(softplus, [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); })),
    row<kNumber, 1>(relu, WEFT_UNARY(T, x, relu_(x))),
    row<kFloat, 1>(gelu_erf, WEFT_WIDE(gelu_erf, [](double x) { return gelu_erf_f64(x); })),
    row<kFloat, 1>(gelu_tanh, WEFT_WIDE(gelu_tanh, [](double x) { return gelu_tanh_f64(x); })),
    row<kFloat, 1>(gelu_quick, WEFT_WIDE(gelu_quick, [](double x) { return gated_f64(x, 1.702 * x); })),
    row<kFloat, 1>(silu, WEFT_WIDE(silu, [](double x) { return gated_f64(x, x); })),
    row<kBool, 1>(logical_not, WEFT_UNARY(T, x, x ^ T{1})),
    row<kInteger, 1>(bitwise_not, WEFT_UNARY(T, x, ~x)),
    row<kFloat, 1, true>(is_nan, WEFT_UNARY(T, x, x != x)),
    row<kFloat, 1, true>(is_inf, WEFT_UNARY(T, x, std::abs(x) == std::numeric_limits<T>::infinity())),
    row<kNumber, 2>(add, WEFT_BINARY(T, a, b, add_(a, b))),
    row<kNumber, 2>(sub, WEFT_BINARY(T, a, b, sub_(a, b))),
    row<kNumber, 2>(mul, WEFT_BINARY(T, a, b, mul_(a, b))),
    row<kNumber, 2>(ScalarOp::div, WEFT_BINARY(T, a, b, div_(a, b))),
    row<kNumber, 2>(rem, WEFT_BINARY(T, a, b, rem_(a, b))),
    row<kNumber, 2>(ScalarOp::pow, WEFT_BINARY(T, a, b, pow_(a, b))),
    row<kAny, 2>(min, WEFT_BINARY(T, a, b, min_(a, b))),
    row<kAny, 2>(max, WEFT_BINARY(T, a, b, max_(a, b))),
    row<kAny, 2, true>(equal, WEFT_BINARY(T, a, b, a == b)),
    row<kAny, 2, true>(not_equal, WEFT_BINARY(T, a, b, a != b)),
    row<kAny, 2, true>(less, WEFT_BINARY(T, a, b, a < b)),
    row<kAny, 2, true>(less_equal, WEFT_BINARY(T, a, b, a <= b)),
    row<kAny, 2, true>(greater, WEFT_BINARY(T, a, b, a > b)),
    row<kAny, 2, true>(greater_equal, WEFT_BINARY(T, a, b, a >= b)),
    row<kBool, 2>(logical_and, WEFT_BINARY(T, a, b, a & b)),
    row<kBool, 2>(logical_or, WEFT_BINARY(T, a, b, a | b)),
    row<kBool, 2>(logical_xor, WEFT_BINARY(T, a, b, a ^ b)),
    row<kBits, 2>(bitwise_and, WEFT_BINARY(T, a, b, a & b)),
    row<kBits, 2>(bitwise_or, WEFT_BINARY(T, a, b, a | b)),
    row<kBits, 2>(bitwise_xor, WEFT_BINARY(T, a, b, a ^ b)),
    row<kInteger, 2>(shift_left, WEFT_BINARY(T, a, b, shift_left_(a, b))),
    row<kInteger, 2>(shift_right, WEFT_BINARY(T, a, b, shift_right_(a, b))),
    row<kNumber, 3>(ScalarOp::fma, WEFT_TERNARY(T, a, b, c, fma_(a, b, c))),
    row<kNumber, 3>(clamp, WEFT_TERNARY(T, a, b, c, min_(max_(a, b), c))),
};

// Conversions between registers.
template <class Out>
struct ConvertTo {
  template <class In>
  WEFT_INLINE Out operator()(In x) const {
    if constexpr (is_float<In> && !is_float<Out>) {
      // Towards zero, saturating, NaN to 0.
      constexpr double low = static_cast<double>(std::numeric_limits<Out>::min());
      constexpr double high = 2.0 * static_cast<double>(std::numeric_limits<Out>::max() / 2 + 1);
      const double v = x;
      return !(v == v) ? Out{0}
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
  WEFT_INLINE U operator()(T x) const {
    return x != T{0};
  }
};

// Rounded to odd, so that a further rounding to a narrower float comes out as if it were the only one.
struct RoundToOdd {
  float operator()(double x) const {
    const auto f = static_cast<float>(x);
    const auto b = std::bit_cast<std::uint32_t>(f);
    if (f == x || x != x || (b & 1)) return f;
    return std::bit_cast<float>(std::abs(f) > std::abs(x) ? b - 1 : b + 1);
  }
};

template <class In>
std::array<Function, 4> conversions_from() {
  return {BlockLoop<ConvertTo<float>, float, In>::choose(true), BlockLoop<ConvertTo<double>, double, In>::choose(true),
          BlockLoop<ConvertTo<I>, I, In>::choose(true), BlockLoop<ConvertTo<U>, U, In>::choose(true)};
}

template <class T>
struct Select {
  WEFT_INLINE T operator()(U c, T a, T b) const { return c ? a : b; }
};
template <class T>
Function select_loop() {
  return BlockLoop<Select<T>, T, U, T, T>::choose(true);
}

}  // namespace

CpuRegister cpu_register(DType type) {
  if (type == DType::f64) return CpuRegister::f64;
  switch (type_set(type)) {
    case kFloat: return CpuRegister::f32;
    case kSigned: return CpuRegister::i64;
    case 0: return CpuRegister::u64;  // complex: two floats, only moved
    default: return CpuRegister::u64;
  }
}

CpuExpression::Function cpu_function(ScalarOp op, CpuRegister type) {
  static const std::array<Function, 4> selects = {select_loop<float>(), select_loop<double>(), select_loop<I>(),
                                                  select_loop<U>()};
  if (op == select) return selects[static_cast<int>(type)];
  for (const Row& r : kRows) {
    if (r.op == op) return r.functions[static_cast<int>(type)];
  }
  return nullptr;
}

CpuExpression::Function cpu_conversion(CpuRegister from, CpuRegister to) {
  static const std::array<std::array<Function, 4>, 4> table = {conversions_from<float>(), conversions_from<double>(),
                                                               conversions_from<I>(), conversions_from<U>()};
  return table[static_cast<int>(from)][static_cast<int>(to)];
}

CpuExpression::Function cpu_to_boolean(CpuRegister from) {
  static const std::array<Function, 4> table = {
      BlockLoop<NotZero, U, float>::choose(true), BlockLoop<NotZero, U, double>::choose(true),
      BlockLoop<NotZero, U, I>::choose(true), BlockLoop<NotZero, U, U>::choose(true)};
  return table[static_cast<int>(from)];
}

CpuExpression::Function cpu_round_to_odd() { return BlockLoop<RoundToOdd, float, double>::choose(false); }

}  // namespace weft::kernels
