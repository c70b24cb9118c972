// The CPU's table of scalar operations: arithmetic, comparisons and bits, and conversions. cpu/ has the others.
#include "kernels/elementwise/scalar_ops_cpu.h"

#include <cmath>

#include "core/round_to_odd.h"
#include "kernels/elementwise/cpu/scalar_rows.h"
#include "weft/small_float.h"

namespace weft::kernels {
namespace {

using namespace scalar_rows;

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
using enum ScalarOp;

const ScalarRow kRows[] = {
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
    row<kNumber | kComplex, 1>(square, WEFT_UNARY(T, x, mul_(x, x))),
    row<kNumber, 1>(relu, WEFT_UNARY(T, x, relu_(x))),
    row<kBool, 1>(logical_not, WEFT_UNARY(T, x, x ^ T{1})),
    row<kInteger, 1>(bitwise_not, WEFT_UNARY(T, x, ~x)),
    row<kFloat, 1, true>(is_nan, WEFT_UNARY(T, x, x != x)),
    row<kFloat, 1, true>(is_inf, WEFT_UNARY(T, x, std::abs(x) == std::numeric_limits<T>::infinity())),
    row<kFloat, 1, true>(is_finite, WEFT_UNARY(T, x, std::abs(x) < std::numeric_limits<T>::infinity())),
    row<kNumber, 1, true>(ScalarOp::signbit, WEFT_UNARY(T, x, signbit_(x))),
    row<kComplex, 1>(real, WEFT_UNARY(T, x, x.real())),
    row<kComplex, 1>(imag, WEFT_UNARY(T, x, x.imag())),
    row<kComplex, 1>(conj, WEFT_UNARY(T, x, T(x.real(), -x.imag()))),
    row<kNumber | kComplex, 2>(add, WEFT_BINARY(T, a, b, add_(a, b))),
    row<kNumber | kComplex, 2>(sub, WEFT_BINARY(T, a, b, sub_(a, b))),
    row<kNumber | kComplex, 2>(mul, WEFT_BINARY(T, a, b, mul_(a, b))),
    row<kNumber | kComplex, 2>(ScalarOp::div, Div()),
    row<kFloat, 2>(div_rn, Div()),
    row<kNumber, 2>(rem, Rem()),
    row<kNumber, 2>(floor_divide, FloorDivide()),
    row<kNumber, 2>(ScalarOp::remainder, Remainder()),
    row<kFloat, 2>(ScalarOp::copysign, WEFT_BINARY(T, a, b, std::copysign(a, b))),
    row<kFloat, 2>(ScalarOp::nextafter, WEFT_BINARY(T, a, b, nextafter_(a, b))),
    row<kAny, 2>(ScalarOp::fmin, WEFT_BINARY(T, a, b, fmin_(a, b))),
    row<kAny, 2>(ScalarOp::fmax, WEFT_BINARY(T, a, b, fmax_(a, b))),
    row<kInteger, 2>(gcd, WEFT_BINARY(T, a, b, gcd_(a, b))),
    row<kInteger, 2>(lcm, WEFT_BINARY(T, a, b, lcm_(a, b))),
    row<kFloat, 2>(ScalarOp::complex, WEFT_BINARY(T, a, b, Complex(static_cast<float>(a), static_cast<float>(b)))),
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
  for (const std::span<const ScalarRow> rows :
       {std::span<const ScalarRow>(kRows), transcendental_rows(), special_rows()}) {
    for (const ScalarRow& r : rows) {
      if (r.op == op && r.functions[at]) return r.functions[at];
    }
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
