#include "kernels/elementwise/scalar_ops.h"

#include <array>
#include <utility>

#include "core/format.h"
#include "kernels/elementwise/function_text.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

using enum ScalarOp;
constexpr Yields same = Yields::same;
constexpr Yields boolean = Yields::boolean;
constexpr float kCheap = 0.08f;

// A function of floats only.
constexpr ScalarOpInfo of_floats(ScalarOp op, std::string_view name, int arity, float cost, std::string_view f32,
                                 std::string_view narrow = {}) {
  return {.op = op,
          .name = name,
          .arity = arity,
          .types = kFloat,
          .yields = same,
          .cost = cost,
          .f32 = f32,
          .narrow = narrow};
}

// Derivatives are formulas in which nothing cancels in tails and nothing overflows on the way: products of sigmoids for
// differences from 1, distances for roots of sums of squares.

// The trigamma function, of 1 - x for negative x by its reflection: eight terms of its series, Σ 1 / (x + k)², and the
// asymptotic series for the rest (Abramowitz and Stegun, 1964, 6.4.12, 6.4.7, 6.4.6). The sine is that of the distance
// to the nearest integer.
#define WEFT_X "select(less($0, 0), 1 - $0, $0)"
#define WEFT_TERM(k) "square(1 / (" WEFT_X " + " #k ")) + "
#define WEFT_REST "(1 / (" WEFT_X " + 8))"
constexpr std::string_view kTrigamma = "select(less($0, 0), -$g, $g) * (" WEFT_TERM(0) WEFT_TERM(1) WEFT_TERM(2)
    WEFT_TERM(3) WEFT_TERM(4) WEFT_TERM(5) WEFT_TERM(6) WEFT_TERM(7) WEFT_REST
    " * (1 + " WEFT_REST " * (0.5 + " WEFT_REST " * (0.16666666666666666 + square(" WEFT_REST
    ") * (-0.03333333333333333 + square(" WEFT_REST ") * (0.023809523809523808 + square(" WEFT_REST
    ") * (-0.03333333333333333 + square(" WEFT_REST ") * (0.07575757575757576 + square(" WEFT_REST
    ") * (-0.2531135531135531 + square(" WEFT_REST
    ") * 1.1666666666666667)))))))))"
    " + $g * select(less($0, 0), square(3.141592653589793 / sin(3.141592653589793 * ($0 - round($0)))), 0)";
#undef WEFT_X
#undef WEFT_TERM
#undef WEFT_REST

// The derivative of a power for its base. For an exponent 0 as a quotient that is 0 and whose derivatives are those of
// the power, with no 0 · ∞ on the way. Of a base 0 with an exponent 0 or 1 there is no derivative of it for the
// exponent; like the power's own it is 0. With an exponent between these it is ∞ without the factor, whose derivative
// for the exponent would add ∞ to the -∞ of the power's.
#define WEFT_ROOT_OF_0 "logical_and(equal($0, 0), logical_and(greater($1, 0), less($1, 1)))"
#define WEFT_POWER_SLOPE_OF(others)                                            \
  "select(equal($1, 0), select(greater(abs($0), 0), $g * $r * ($1 / $0), 0), " \
  "select(logical_and(equal($0, 0), equal($1, 1)), $g, " others "))"
#define WEFT_POWER_SLOPE \
  WEFT_POWER_SLOPE_OF("select(" WEFT_ROOT_OF_0 ", $g * pow($0, $1 - 1), $g * $1 * pow($0, $1 - 1))")
// That for the exponent. Of a base 0 with an exponent between 0 and 1 it is 0 as above 1, by a number in place of the
// logarithm, which leaves its derivative for the base -∞, as it is for the other order.
#define WEFT_EXPONENT_SLOPE                                                               \
  "select(logical_and(equal($0, 0), logical_or(equal($1, 0), greater_equal($1, 1))), 0, " \
  "$g * $r * select(" WEFT_ROOT_OF_0 ", -80, log($0)))"
// 1 - tanh(x)², far from 0.
#define WEFT_TANH_TAIL(x) "4 * sigmoid(2 * " x ") * sigmoid(-2 * " x ")"

// x no farther from 0 than where gelu_tanh is x, or 0.
#define WEFT_NEAR "select(greater(abs($0), 100), copysign(100, $0), $0)"
// Of which gelu_tanh takes the sigmoid.
#define WEFT_GELU_TANH "1.5957691216057308 * " WEFT_NEAR " * (1 + 0.044715 * square(" WEFT_NEAR "))"

// The logarithm of a power with an exponent less 1; of an exponent 1 also where the other logarithm is infinite.
#define WEFT_POWER(exponent, logarithm) "select(equal(" exponent ", 1), 0, (" exponent " - 1) * " logarithm ")"
// The density of the gamma distribution; near 0 as a power, whose derivatives there are numbers where that of its
// logarithm is infinite.
#define WEFT_GAMMA_DENSITY                                            \
  "select(less($1, 0.001), pow($1, $0 - 1) * exp(-$1 - lgamma($0)), " \
  "exp(" WEFT_POWER("$0", "log($1)") " - $1 - lgamma($0)))"
// The density of the beta distribution, at both ends likewise.
#define WEFT_BETA_FACTOR "(lgamma($0 + $1) - lgamma($0) - lgamma($1))"
#define WEFT_BETA_DENSITY                                                                           \
  "select(less($2, 0.001), pow($2, $0 - 1) * exp(" WEFT_POWER(                                      \
      "$1", "log1p(-$2)") " + " WEFT_BETA_FACTOR                                                    \
                          "), "                                                                     \
                          "select(greater($2, 0.999), pow(1 - $2, $1 - 1) * exp(" WEFT_POWER(       \
                              "$0", "log($2)") " + " WEFT_BETA_FACTOR                               \
                                               "), "                                                \
                                               "exp(" WEFT_POWER("$0", "log($2)") " + " WEFT_POWER( \
                                                   "$1", "log1p(-$2)") " + " WEFT_BETA_FACTOR ")))"

// The reciprocals of these densities at the inverses; at an infinite one the reciprocal is infinite.
#define WEFT_GAMMA_SPREAD "select(is_inf($r), $r, exp($r - " WEFT_POWER("$0", "log($r)") " + lgamma($0)))"
#define WEFT_BETA_SPREAD \
  "exp(-" WEFT_POWER("$0", "log($r)") " - " WEFT_POWER("$1", "log1p(-$r)") " - " WEFT_BETA_FACTOR ")"

// J1(x) / x, near 0 by its power series: there the derivatives of the quotient are differences of large terms.
#define WEFT_NEAR_0 "select(less(abs($0), 0.5), square($0), 0)"
constexpr std::string_view kJ1Slope =
    "$g * (j0($0) - select(less(abs($0), 0.5), 0.5 + " WEFT_NEAR_0 " * (-0.0625 + " WEFT_NEAR_0
    " * (0.0026041666666666665 + " WEFT_NEAR_0 " * (-0.00005425347222222222 + " WEFT_NEAR_0
    " * (0.0000006781684027777778 + " WEFT_NEAR_0 " * (-0.000000005651403356481481 + " WEFT_NEAR_0
    " * 0.00000000003364168665))))), $r / select(less(abs($0), 0.5), 1, $0)))";
#undef WEFT_NEAR_0

// The row with a function's derivatives for its operands.
constexpr ScalarOpInfo differentiable(ScalarOpInfo row, std::string_view d0, std::string_view d1 = {},
                                      std::string_view d2 = {}) {
  row.derivatives = {d0, d1, d2};
  return row;
}

constexpr ErrorBound kRounded{.ulp = 0};  // the nearest number
constexpr ErrorBound kIncomplete{.absolute = 2e-38, .relative = 3e-6};
// What 3e-6 of the probability makes of x, for parameters from ¼ on: up to four times that.
constexpr ErrorBound kInverse{.absolute = 2e-38, .relative = 2e-5};
constexpr ErrorBound kOfAmplitude{.absolute = 6e-7};                  // four units of the amplitude, which is at most 1
constexpr ErrorBound kNearZeros{.absolute = 4e-6, .relative = 4e-7};  // where terms cancel

// Facts that several functions have.
constexpr ScalarFacts kTruncated = {
    .idempotent = true, .exact = true, .rounds_to_integer = true, .discontinuous = true, .bound = Bound::operand};
constexpr ScalarFacts kIntegerPart = {.idempotent = true,
                                      .exact = true,
                                      .rounds_to_integer = true,
                                      .discontinuous = true,
                                      .bound = Bound::operand_and_one};
constexpr ScalarFacts kExtremum = {.commutative = true,
                                   .idempotent = true,
                                   .orders = true,
                                   .exact = true,
                                   .keeps_width = true,
                                   .bound = Bound::larger};

constexpr NarrowTexts kNextafter = {
    .f16 = "nextafter_f16($0, $1)",
    .bf16 = "nextafter_bf16($0, $1)",
    .f8e4m3 = "nextafter_narrow($0, $1, 4u, 3u, true)",
    .f8e5m2 = "nextafter_narrow($0, $1, 5u, 2u, false)",
};

// In the order of the enumeration.
constexpr ScalarOpInfo kOps[] = {
    {input, "input", 0, kAny | kComplex, same, kCheap},
    {constant, "constant", 0, kAny | kComplex, same, kCheap},
    ScalarOpInfo{cast, "cast", 1, kAny | kComplex, same, kCheap}.with({.discontinuous = true, .bound = Bound::operand}),
    differentiable(
        {neg, "neg", 1, kNumber | kComplex, same, kCheap, "-$0", "-$0", "(~$0 + 1u)", "neg_64($0)", "", "-$0"}, "-$g")
        .with({.involution = true, .changes_sign = true, .undoes = {neg}, .exact = true, .bound = Bound::operand}),
    differentiable({ScalarOp::abs, "abs", 1, kNumber | kComplex, Yields::real, kCheap, "abs_f32($0)", "abs($0)", "$0",
                    "abs_i64($0)", "$0", "hypot_f32($0.x, $0.y)"},
                   "select(less($0, 0), -$g, select(greater($0, 0), $g, 0))")
        .with({.idempotent = true, .changes_sign = true, .exact = true, .bound = Bound::operand}),
    differentiable({sign, "sign", 1, kNumber, same, kCheap, "sign_f32($0)", "sign($0)", "min($0, 1u)", "sign_i64($0)",
                    "vec2<u32>(min($0.x | $0.y, 1u), 0u)"},
                   "0")
        .with({.idempotent = true, .exact = true, .discontinuous = true, .keeps_width = true, .bound = Bound::one}),
    differentiable({ScalarOp::ceil, "ceil", 1, kFloat, same, kCheap, "ceil($0)"}, "0").with(kIntegerPart),
    differentiable({ScalarOp::floor, "floor", 1, kFloat, same, kCheap, "floor($0)"}, "0").with(kIntegerPart),
    differentiable({ScalarOp::trunc, "trunc", 1, kFloat, same, kCheap, "trunc($0)"}, "0").with(kTruncated),
    differentiable({ScalarOp::round, "round", 1, kFloat, same, kCheap, "round($0)"}, "0").with(kIntegerPart),
    differentiable({ScalarOp::sqrt, "sqrt", 1, kFloat, same, 0.3f, "sqrt_f32($0)"}, "0.5 * $g / $r")
        .with({.undoes = {mul, square}, .bound = Bound::operand_and_one, .error = {.ulp = 3}}),
    differentiable({rsqrt, "rsqrt", 1, kFloat, same, 0.4f, "inverseSqrt($0)"}, "-0.5 * $g * ($r * square($r))")
        .with({.error = {.ulp = 3}}),
    differentiable(of_floats(ScalarOp::cbrt, "cbrt", 1, 3.8f, "cbrt_f32($0)", "cbrt_narrow($0)"),
                   "0.3333333333333333 * $g * square(1 / $r)")
        .with({.bound = Bound::operand_and_one}),
    differentiable({reciprocal, "reciprocal", 1, kFloat | kComplex, same, kCheap, "(1.0 / $0)", "", "", "", "",
                    "div_c64(vec2<f32>(1.0, bitcast<f32>(p.opaque_zero)), $0)"},
                   "-$g * square($r)")
        .with({.compound = true, .undoes = {reciprocal, ScalarOp::div, ScalarOp::sqrt, rsqrt}, .error = {.ulp = 3}}),
    differentiable({square, "square", 1, kNumber | kComplex, same, kCheap, "($0 * $0)", "", "", "mul_64($0, $0)", "",
                    "mul_c64($0, $0)"},
                   "2 * $g * $0")
        .with({.arithmetic = true, .undoes = {ScalarOp::sqrt, rsqrt}, .error = kRounded}),
    differentiable({ScalarOp::exp, "exp", 1, kFloat | kComplex, same, 1, "exp_f32($0)", "", "", "", "", "exp_c64($0)",
                    "exp_narrow($0)"},
                   "$g * $r")
        .with({.undoes = {ScalarOp::log}, .groups = 1}),
    differentiable(of_floats(ScalarOp::exp2, "exp2", 1, 1.1f, "exp2_f32($0)", "exp2_narrow($0)"),
                   "0.6931471805599453 * $g * $r")
        .with({.undoes = {ScalarOp::log2}, .groups = 1}),
    differentiable(of_floats(ScalarOp::expm1, "expm1", 1, 1.5f, "expm1_f32($0)", "expm1_narrow($0)"), "$g * exp($0)")
        .with({.groups = 1}),
    differentiable(of_floats(ScalarOp::log, "log", 1, 1.2f, "log_f32($0)", "log_narrow($0)"), "$g / $0")
        .with({.undoes = {ScalarOp::exp}}),
    differentiable(of_floats(ScalarOp::log2, "log2", 1, 1.2f, "log2_f32($0)", "log2_narrow($0)"),
                   "$g / (0.6931471805599453 * $0)")
        .with({.undoes = {ScalarOp::exp2}}),
    differentiable(of_floats(ScalarOp::log10, "log10", 1, 1.2f, "log10_f32($0)", "log10_narrow($0)"),
                   "$g / (2.302585092994046 * $0)"),
    differentiable(of_floats(ScalarOp::log1p, "log1p", 1, 2, "log1p_f32($0)", "log1p_narrow($0)"), "$g / ($0 + 1)"),
    differentiable(of_floats(ScalarOp::sin, "sin", 1, 1.4f, "sin_f32($0)", "sin_narrow($0)"), "$g * cos($0)")
        .with({.bound = Bound::one}),
    differentiable(of_floats(ScalarOp::cos, "cos", 1, 1.4f, "cos_f32($0)", "cos_narrow($0)"), "-$g * sin($0)")
        .with({.bound = Bound::one}),
    differentiable(of_floats(ScalarOp::tan, "tan", 1, 1.5f, "tan_f32($0)", "tan_narrow($0)"), "$g * (1 + square($r))"),
    differentiable(of_floats(ScalarOp::asin, "asin", 1, 1.1f, "asin_f32($0)", "asin_narrow($0)"),
                   "$g * rsqrt(1 - square($0))"),
    differentiable(of_floats(ScalarOp::acos, "acos", 1, 1.2f, "acos_f32($0)", "acos_narrow($0)"),
                   "-$g * rsqrt(1 - square($0))"),
    differentiable(of_floats(ScalarOp::atan, "atan", 1, 1.3f, "atan_f32($0)", "atan_narrow($0)"),
                   "$g * square(1 / hypot($0, 1))")
        .with({.bound = Bound::two, .groups = 1}),
    differentiable(of_floats(ScalarOp::sinh, "sinh", 1, 1.7f, "sinh_f32($0)", "sinh_narrow($0)"), "$g * cosh($0)"),
    differentiable(of_floats(ScalarOp::cosh, "cosh", 1, 1.3f, "cosh_f32($0)", "cosh_narrow($0)"), "$g * sinh($0)"),
    differentiable(of_floats(ScalarOp::tanh, "tanh", 1, 1.7f, "tanh_f32($0)", "tanh_narrow($0)"),
                   "$g * select(less(abs($0), 0.5), 1 - square($r), " WEFT_TANH_TAIL("$0") ")")
        .with({.bound = Bound::one}),
    differentiable(of_floats(ScalarOp::asinh, "asinh", 1, 3.3f, "asinh_f32($0)", "asinh_narrow($0)"),
                   "$g / hypot($0, 1)")
        .with({.bound = Bound::operand_and_one}),
    differentiable(of_floats(ScalarOp::acosh, "acosh", 1, 2.9f, "acosh_f32($0)", "acosh_narrow($0)"),
                   "$g * select(greater(abs($0), 1000000000), 1 / hypot($0, 1), rsqrt(square($0) - 1))"),
    differentiable(of_floats(ScalarOp::atanh, "atanh", 1, 3.3f, "atanh_f32($0)", "atanh_narrow($0)"),
                   "$g / (1 - square($0))"),
    differentiable(of_floats(ScalarOp::erf, "erf", 1, 3, "erf_f32($0)", "erf_narrow($0)"),
                   "1.1283791670955126 * $g * exp(-square($0))")
        .with({.bound = Bound::one, .groups = 3}),
    differentiable(of_floats(ScalarOp::erfc, "erfc", 1, 3.2f, "erfc_f32($0)", "erfc_narrow($0)"),
                   "-1.1283791670955126 * $g * exp(-square($0))")
        .with({.bound = Bound::two, .groups = 3}),
    differentiable(of_floats(erfinv, "erfinv", 1, 4, "erfinv_f32($0)", "erfinv_narrow($0)"),
                   "0.886226925452758 * $g * exp(square($r))"),
    differentiable(of_floats(ScalarOp::lgamma, "lgamma", 1, 6.6f, "lgamma_f32($0)"), "$g * digamma($0)")
        .with({.error = kNearZeros}),
    differentiable(of_floats(digamma, "digamma", 1, 5.5f, "digamma_f32($0)"), kTrigamma).with({.error = kNearZeros}),
    differentiable(of_floats(ScalarOp::j0, "j0", 1, 15, "j0_f32($0)"), "-$g * j1($0)").with({.error = kOfAmplitude}),
    differentiable(of_floats(ScalarOp::j1, "j1", 1, 15, "j1_f32($0)"), kJ1Slope).with({.error = kOfAmplitude}),
    differentiable(of_floats(ScalarOp::y0, "y0", 1, 20, "y0_f32($0)"), "-$g * y1($0)").with({.error = kOfAmplitude}),
    // (Near 0, where both terms may be infinite, by 2/(πx²).)
    differentiable(of_floats(ScalarOp::y1, "y1", 1, 20, "y1_f32($0)"),
                   "$g * select(less($0, 0.00000000000001), 1.5707963267948966 * square($r), y0($0) - $r / $0)")
        .with({.error = kOfAmplitude}),
    differentiable(of_floats(k0, "k0", 1, 25, "k0_f32($0)"), "-$g * k1($0)"),
    differentiable(of_floats(k1, "k1", 1, 25, "k1_f32($0)"), "-$g * (k0($0) + $r / $0)"),
    differentiable(of_floats(k0e, "k0e", 1, 25, "k0e_f32($0)"), "-$g * select(equal($0, 0), k1e($0), k1e($0) - $r)"),
    differentiable(of_floats(k1e, "k1e", 1, 25, "k1e_f32($0)"), "$g * ($r * (1 - 1 / $0) - k0e($0))"),
    differentiable(of_floats(sigmoid, "sigmoid", 1, 1.2f, "sigmoid_f32($0)", "sigmoid_narrow($0)"),
                   "$g * $r * sigmoid(-$0)")
        .with({.bound = Bound::one, .groups = 1}),
    differentiable(of_floats(logsigmoid, "logsigmoid", 1, 3, "-softplus_f32(-$0)", "-softplus_narrow(-$0)"),
                   "$g * sigmoid(-$0)")
        .with({.bound = Bound::operand_and_one}),
    differentiable(of_floats(softplus, "softplus", 1, 3, "softplus_f32($0)", "softplus_narrow($0)"), "$g * sigmoid($0)")
        .with({.bound = Bound::operand_and_one}),
    differentiable(of_floats(mish, "mish", 1, 1.6f, "mish_f32($0)", "mish_narrow($0)"),
                   "$g * (tanh(softplus($0)) + $0 * sigmoid($0) * (" WEFT_TANH_TAIL("softplus($0)") "))")
        .with({.bound = Bound::operand}),
    differentiable({relu, "relu", 1, kNumber, same, kCheap, "relu_f32($0)", "max($0, 0)", "$0", "relu_i64($0)", "$0"},
                   "select(less_equal($0, 0), 0, $g)")
        .with({.idempotent = true, .exact = true, .keeps_width = true, .bound = Bound::operand}),
    differentiable(of_floats(gelu_erf, "gelu_erf", 1, 2.4f, "gelu_erf_f32($0)", "gelu_erf_narrow($0)"),
                   "$g * (0.5 * erfc(-0.7071067811865476 * $0) + 0.3989422804014327 * $0 * exp(-0.5 * square($0)))")
        .with({.bound = Bound::operand, .groups = 3}),
    differentiable(of_floats(gelu_tanh, "gelu_tanh", 1, 1.4f, "gelu_tanh_f32($0)", "gelu_tanh_narrow($0)"),
                   "$g * sigmoid(" WEFT_GELU_TANH ") * (1 + " WEFT_NEAR " * sigmoid(-" WEFT_GELU_TANH
                   ") * 1.5957691216057308 * (1 + 0.134145 * square(" WEFT_NEAR ")))")
        .with({.bound = Bound::operand}),
    differentiable(of_floats(gelu_quick, "gelu_quick", 1, 1.2f, "gelu_quick_f32($0)", "gelu_quick_narrow($0)"),
                   "$g * sigmoid(1.702 * $0) * (1 + 1.702 * $0 * sigmoid(-1.702 * $0))")
        .with({.bound = Bound::operand}),
    differentiable(of_floats(silu, "silu", 1, 1.2f, "silu_f32($0)", "silu_narrow($0)"),
                   "$g * sigmoid($0) * (1 + $0 * sigmoid(-$0))")
        .with({.bound = Bound::operand, .groups = 1}),
    ScalarOpInfo{logical_not, "logical_not", 1, kBool, same, kCheap, "", "", "(1u - $0)"}.with({.involution = true}),
    ScalarOpInfo{bitwise_not, "bitwise_not", 1, kBits, same, kCheap, "", "~$0", "~$0", "~$0"}.with(
        {.involution = true, .bitwise = true, .bool_text = "(1u - $0)"}),
    {popcount, "popcount", 1, kInteger, same, kCheap, "", "countOneBits($0 << (32u - $wu))", "", "popcount_64($0)"},
    {clz, "clz", 1, kInteger, same, kCheap, "", "min(countLeadingZeros($0 << (32u - $wu)), $w)", "", "clz_64($0)"},
    {is_nan, "is_nan", 1, kFloat, boolean, kCheap, "u32(is_nan_f32($0))"},
    {is_inf, "is_inf", 1, kFloat, boolean, kCheap, "u32(is_inf_f32($0))"},
    {is_finite, "is_finite", 1, kFloat, boolean, kCheap, "u32(!not_finite_f32($0))"},
    {ScalarOp::signbit, "signbit", 1, kNumber, boolean, kCheap, "(bitcast<u32>($0) >> 31u)", "u32($0 < 0)", "0u",
     "($0.y >> 31u)", "0u"},
    {real, "real", 1, kComplex, Yields::real, kCheap, "", "", "", "", "", "$0.x"},
    {imag, "imag", 1, kComplex, Yields::real, kCheap, "", "", "", "", "", "$0.y"},
    {conj, "conj", 1, kComplex, same, kCheap, "", "", "", "", "", "vec2<f32>($0.x, -$0.y)"},
    {angle, "angle", 1, kComplex, Yields::real, 2.9f, "", "", "", "", "", "atan2_f32($0.y, $0.x)"},
    differentiable(
        {add, "add", 2, kNumber | kComplex, same, kCheap, "($0 + $1)", "", "", "add_64($0, $1)", "", "($0 + $1)"}, "$g",
        "$g")
        .with({.commutative = true, .neutral = -0.0, .arithmetic = true, .bound = Bound::sum, .error = kRounded}),
    differentiable(
        {sub, "sub", 2, kNumber | kComplex, same, kCheap, "($0 - $1)", "", "", "sub_64($0, $1)", "", "($0 - $1)"}, "$g",
        "-$g")
        .with({.neutral = 0.0, .arithmetic = true, .cancels_itself = true, .bound = Bound::sum, .error = kRounded}),
    differentiable(
        {mul, "mul", 2, kNumber | kComplex, same, kCheap, "($0 * $1)", "", "", "mul_64($0, $1)", "", "mul_c64($0, $1)"},
        "$g * $1", "$g * $0")
        .with({.commutative = true,
               .neutral = 1,
               .arithmetic = true,
               .undoes = {ScalarOp::sqrt, rsqrt, reciprocal},
               .bound = Bound::product,
               .error = kRounded}),
    differentiable({ScalarOp::div, "div", 2, kNumber | kComplex, same, 0.2f, "div_f32($0, $1)", "div_i32($0, $1)",
                    "div_u32($0, $1)", "div_i64($0, $1)", "div_u64($0, $1)", "div_c64($0, $1)"},
                   "$g / $1", "-$g * $r / $1")
        .with({.neutral = 1,
               .arithmetic = true,
               .cancels_itself = true,
               .divides = true,
               .undoes = {reciprocal},
               .bound = Bound::quotient,
               .error = {.ulp = 3}}),
    differentiable(of_floats(div_rn, "div_rn", 2, 0.5f, "div_rn_f32($0, $1)"), "$g / $1", "-$g * $r / $1")
        .with({.arithmetic = true, .divides = true, .error = kRounded}),
    differentiable({floor_divide, "floor_divide", 2, kNumber, same, 1.9f, "floor_divide_f32($0, $1)",
                    "floor_divide_i32($0, $1)", "div_u32($0, $1)", "floor_divide_i64($0, $1)", "div_u64($0, $1)"},
                   "0", "0")
        .with({.arithmetic = true, .cancels_itself = true, .discontinuous = true}),
    differentiable({rem, "rem", 2, kNumber, same, 1.2f, "rem_f32($0, $1)", "rem_i32($0, $1)", "rem_u32($0, $1)",
                    "rem_i64($0, $1)", "rem_u64($0, $1)"},
                   "$g", "-$g * trunc($0 / $1)")
        .with({.arithmetic = true, .cancels_itself = true, .discontinuous = true, .error = kRounded}),
    differentiable({ScalarOp::remainder, "remainder", 2, kNumber, same, 1.4f, "remainder_f32($0, $1)",
                    "remainder_i32($0, $1)", "rem_u32($0, $1)", "remainder_i64($0, $1)", "rem_u64($0, $1)"},
                   "$g", "-$g * floor_divide($0, $1)")
        .with({.arithmetic = true, .cancels_itself = true, .discontinuous = true, .error = kRounded}),
    differentiable({ScalarOp::pow, "pow", 2, kNumber, same, 4.8f, "pow_f32($0, $1)", "pow_i32($0, $1)",
                    "pow_u32($0, $1)", "pow_i64($0, $1)", "pow_u64($0, $1)", "", "pow_narrow($0, $1)"},
                   WEFT_POWER_SLOPE, WEFT_EXPONENT_SLOPE)
        .with({.neutral = 1,
               .discontinuous = true,
               .derivative_by_numbers = "select(equal($1, 0), 0, $g * $1 * pow($0, $1 - 1))"}),
    // At the origin, where it has no derivatives, those of all orders are 0.
    differentiable(of_floats(ScalarOp::atan2, "atan2", 2, 2.9f, "atan2_f32($0, $1)"),
                   "select(equal(hypot($0, $1), 0), 0, $g * ($1 / hypot($0, $1)) / hypot($0, $1))",
                   "select(equal(hypot($0, $1), 0), 0, -$g * ($0 / hypot($0, $1)) / hypot($0, $1))"),
    differentiable(of_floats(ScalarOp::hypot, "hypot", 2, 0.9f, "hypot_f32($0, $1)", "hypot_narrow($0, $1)"),
                   "$g * ($0 / $r)", "$g * ($1 / $r)"),
    differentiable({ScalarOp::copysign, "copysign", 2, kFloat, same, kCheap, "copysign_f32($0, $1)"},
                   "$g * sign($0) * copysign(1, $1)", "0")
        .with({.exact = true}),
    differentiable({ScalarOp::nextafter, "nextafter", 2, kFloat, same, 0.4f, "nextafter_f32($0, $1)"}, "$g", "0")
        .with({.discontinuous = true, .error = kRounded, .narrow_texts = &kNextafter}),
    differentiable(of_floats(logaddexp, "logaddexp", 2, 3.2f, "logaddexp_f32($0, $1)"), "$g * sigmoid($0 - $1)",
                   "$g * sigmoid($1 - $0)")
        .with({.error = {.absolute = 1e-6}}),
    differentiable(of_floats(gammainc, "gammainc", 2, 100, "gammainc_f32($0, $1)"), "", "$g * " WEFT_GAMMA_DENSITY)
        .with({.error = kIncomplete, .operands = {"a", "x"}}),
    differentiable(of_floats(gammaincc, "gammaincc", 2, 100, "gammaincc_f32($0, $1)"), "", "-$g * " WEFT_GAMMA_DENSITY)
        .with({.error = kIncomplete, .operands = {"a", "x"}}),
    differentiable(of_floats(gammaincinv, "gammaincinv", 2, 500, "gammaincinv_f32($0, $1)"), "",
                   "$g * " WEFT_GAMMA_SPREAD)
        .with({.error = kInverse, .operands = {"a", "p"}}),
    differentiable(of_floats(gammainccinv, "gammainccinv", 2, 500, "gammainccinv_f32($0, $1)"), "",
                   "-$g * " WEFT_GAMMA_SPREAD)
        .with({.error = kInverse, .operands = {"a", "q"}}),
    differentiable(
        {min, "min", 2, kAny, same, kCheap, "min_f32($0, $1)", "min($0, $1)", "", "min_i64($0, $1)", "min_u64($0, $1)"},
        "select(greater($0, $1), 0, select(equal($0, $1), 0.5 * $g, $g))",
        "select(greater($1, $0), 0, select(equal($0, $1), 0.5 * $g, $g))")
        .with(kExtremum),
    differentiable(
        {max, "max", 2, kAny, same, kCheap, "max_f32($0, $1)", "max($0, $1)", "", "max_i64($0, $1)", "max_u64($0, $1)"},
        "select(less($0, $1), 0, select(equal($0, $1), 0.5 * $g, $g))",
        "select(less($1, $0), 0, select(equal($0, $1), 0.5 * $g, $g))")
        .with(kExtremum),
    differentiable({ScalarOp::fmin, "fmin", 2, kAny, same, kCheap, "fmin_f32($0, $1)", "min($0, $1)", "",
                    "min_i64($0, $1)", "min_u64($0, $1)"},
                   "select(logical_or(less($0, $1), is_nan($1)), $g, select(equal($0, $1), 0.5 * $g, 0))",
                   "select(logical_or(less($0, $1), is_nan($1)), 0, select(equal($0, $1), 0.5 * $g, $g))")
        .with({.orders = true, .exact = true, .keeps_width = true, .bound = Bound::larger}),
    differentiable({ScalarOp::fmax, "fmax", 2, kAny, same, kCheap, "fmax_f32($0, $1)", "max($0, $1)", "",
                    "max_i64($0, $1)", "max_u64($0, $1)"},
                   "select(logical_or(greater($0, $1), is_nan($1)), $g, select(equal($0, $1), 0.5 * $g, 0))",
                   "select(logical_or(greater($0, $1), is_nan($1)), 0, select(equal($0, $1), 0.5 * $g, $g))")
        .with({.orders = true, .exact = true, .keeps_width = true, .bound = Bound::larger}),
    ScalarOpInfo{gcd, "gcd", 2, kInteger, same, 30, "", "gcd_i32($0, $1)", "gcd_u32($0, $1)", "gcd_i64($0, $1)",
                 "gcd_u64($0, $1)"}
        .with({.commutative = true}),
    ScalarOpInfo{lcm, "lcm", 2, kInteger, same, 30, "", "lcm_i32($0, $1)", "lcm_u32($0, $1)", "lcm_i64($0, $1)",
                 "lcm_u64($0, $1)"}
        .with({.commutative = true}),
    ScalarOpInfo{equal, "equal", 2, kAny | kComplex, boolean, kCheap, "u32(equal_f32($0, $1))", "u32($0 == $1)", "",
                 "u32(all($0 == $1))", "", "u32(equal_c64($0, $1))"}
        .with({.commutative = true, .relation = Relation::equal}),
    ScalarOpInfo{not_equal, "not_equal", 2, kAny | kComplex, boolean, kCheap, "u32(!equal_f32($0, $1))",
                 "u32($0 != $1)", "", "u32(any($0 != $1))", "", "u32(!equal_c64($0, $1))"}
        .with({.commutative = true, .relation = Relation::not_equal}),
    ScalarOpInfo{less, "less", 2, kAny, boolean, kCheap, "u32(less_f32($0, $1))", "u32($0 < $1)", "",
                 "u32(less_i64($0, $1))", "u32(less_u64($0, $1))"}
        .with({.relation = Relation::less}),
    ScalarOpInfo{less_equal, "less_equal", 2, kAny, boolean, kCheap, "u32(less_equal_f32($0, $1))", "u32($0 <= $1)", "",
                 "u32(!less_i64($1, $0))", "u32(!less_u64($1, $0))"}
        .with({.relation = Relation::less_equal}),
    ScalarOpInfo{greater, "greater", 2, kAny, boolean, kCheap, "u32(less_f32($1, $0))", "u32($0 > $1)", "",
                 "u32(less_i64($1, $0))", "u32(less_u64($1, $0))"}
        .with({.relation = Relation::greater}),
    ScalarOpInfo{greater_equal, "greater_equal", 2, kAny, boolean, kCheap, "u32(less_equal_f32($1, $0))",
                 "u32($0 >= $1)", "", "u32(!less_i64($0, $1))", "u32(!less_u64($0, $1))"}
        .with({.relation = Relation::greater_equal}),
    ScalarOpInfo{logical_and, "logical_and", 2, kBool, same, kCheap, "", "", "($0 & $1)"}.with(
        {.commutative = true, .idempotent = true}),
    ScalarOpInfo{logical_or, "logical_or", 2, kBool, same, kCheap, "", "", "($0 | $1)"}.with(
        {.commutative = true, .idempotent = true}),
    ScalarOpInfo{logical_xor, "logical_xor", 2, kBool, same, kCheap, "", "", "($0 ^ $1)"}.with({.commutative = true}),
    ScalarOpInfo{bitwise_and, "bitwise_and", 2, kBits, same, kCheap, "", "($0 & $1)", "", "($0 & $1)"}.with(
        {.commutative = true, .idempotent = true, .keeps_width = true, .bitwise = true}),
    ScalarOpInfo{bitwise_or, "bitwise_or", 2, kBits, same, kCheap, "", "($0 | $1)", "", "($0 | $1)"}.with(
        {.commutative = true, .idempotent = true, .keeps_width = true, .bitwise = true}),
    ScalarOpInfo{bitwise_xor, "bitwise_xor", 2, kBits, same, kCheap, "", "($0 ^ $1)", "", "($0 ^ $1)"}.with(
        {.commutative = true, .keeps_width = true, .bitwise = true}),
    {shift_left, "shift_left", 2, kInteger, same, kCheap, "", "shift_left_i32($0, $1)", "shift_left_u32($0, $1)",
     "shift_left_64($0, $1)"},
    ScalarOpInfo{shift_right, "shift_right", 2, kInteger, same, kCheap, "", "shift_right_i32($0, $1)",
                 "shift_right_u32($0, $1)", "shift_right_i64($0, $1)", "shift_right_u64($0, $1)"}
        .with({.keeps_width = true}),
    ScalarOpInfo{ScalarOp::complex, "complex", 2, kFloat, Yields::complex, kCheap, "vec2<f32>($0, $1)"}.with(
        {.arithmetic = true, .error = kRounded}),
    differentiable({select, "select", 3, kAny | kComplex, same, kCheap, "select($2, $1, $0 != 0u)", "", "",
                    "select($2, $1, $0 != 0u)", "", "select($2, $1, $0 != 0u)"},
                   "", "select($0, $g, 0)", "select($0, 0, $g)")
        .with({.exact = true,
               .keeps_width = true,
               .bound = Bound::larger,
               .condition = true,
               .operands = {"condition", "a", "b"}}),
    differentiable({ScalarOp::fma, "fma", 3, kNumber | kComplex, same, 0.3f, "fma($0, $1, $2)", "($0 * $1 + $2)", "",
                    "add_64(mul_64($0, $1), $2)", "", "(mul_c64($0, $1) + $2)"},
                   "$g * $1", "$g * $0", "$g")
        .with({.arithmetic = true,
               .bound = Bound::product_and_sum,
               .error = {.ulp = 1, .absolute = 1e-6, .relative = 1e-6}}),
    differentiable({clamp, "clamp", 3, kNumber, same, 0.2f, "clamp_f32($0, $1, $2)", "min(max($0, $1), $2)", "",
                    "min_i64(max_i64($0, $1), $2)", "min_u64(max_u64($0, $1), $2)"},
                   "select(logical_or(less($0, $1), greater($0, $2)), 0, "
                   "select(logical_and(less($1, $2), logical_or(equal($0, $1), equal($0, $2))), 0.5 * $g, $g))",
                   "select(logical_and(less_equal($1, $2), less($0, $1)), $g, "
                   "select(logical_and(less($1, $2), equal($0, $1)), 0.5 * $g, 0))",
                   "select(logical_or(greater($1, $2), logical_and(less_equal($1, $2), greater($0, $2))), $g, "
                   "select(logical_and(less($1, $2), equal($0, $2)), 0.5 * $g, 0))")
        .with({.orders = true,
               .exact = true,
               .keeps_width = true,
               .bound = Bound::limits,
               .derivative_by_numbers = "select(logical_and(greater($0, $1), less($0, $2)), $g, 0)",
               .operands = {"x", "low", "high"}}),
    differentiable({ScalarOp::lerp, "lerp", 3, kFloat, same, kCheap, "lerp_f32($0, $1, $2)"}, "$g * (1 - $2)",
                   "$g * $2", "$g * ($1 - $0)")
        .with({.arithmetic = true,
               .compound = true,
               .error = {.ulp = 2, .absolute = 2e-6, .relative = 1e-6},
               .operands = {"a", "b", "t"}}),
    differentiable(of_floats(betainc, "betainc", 3, 100, "betainc_f32($0, $1, $2)"), "", "", "$g * " WEFT_BETA_DENSITY)
        .with({.error = kIncomplete, .operands = {"a", "b", "x"}}),
    differentiable(of_floats(betaincinv, "betaincinv", 3, 500, "betaincinv_f32($0, $1, $2)"), "", "",
                   "$g * " WEFT_BETA_SPREAD)
        .with({.error = kInverse, .operands = {"a", "b", "p"}})};

// The functions of floats that also take complex numbers: their text, of complex_math.wgsl, and derivatives that are no
// formulas of complex numbers in the row above, because of an order or a branch cut.
struct ComplexForm {
  ScalarOp op;
  std::string_view text;
  std::array<std::string_view, 3> derivatives = {};
};
constexpr ComplexForm kComplexForms[] = {
    {ScalarOp::sqrt, "sqrt_c64($0)"},
    {rsqrt, "rsqrt_c64($0)"},
    {ScalarOp::expm1, "expm1_c64($0)"},
    {ScalarOp::log, "log_c64($0)"},
    {ScalarOp::log2, "log2_c64($0)"},
    {ScalarOp::log10, "log10_c64($0)"},
    {ScalarOp::log1p, "log1p_c64($0)"},
    {ScalarOp::sin, "sin_c64($0)"},
    {ScalarOp::cos, "cos_c64($0)"},
    {ScalarOp::tan, "tan_c64($0)"},
    {ScalarOp::asin, "asin_c64($0)"},
    {ScalarOp::acos, "acos_c64($0)"},
    {ScalarOp::atan, "atan_c64($0)", {"$g / (square($0) + 1)"}},
    {ScalarOp::sinh, "sinh_c64($0)"},
    {ScalarOp::cosh, "cosh_c64($0)"},
    {ScalarOp::tanh, "tanh_c64($0)", {"$g * (1 - square($r))"}},
    {ScalarOp::asinh, "asinh_c64($0)", {"$g * rsqrt(square($0) + 1)"}},
    {ScalarOp::acosh, "acosh_c64($0)", {"$g * rsqrt($0 - 1) * rsqrt($0 + 1)"}},
    {ScalarOp::atanh, "atanh_c64($0)"},
    // The power of 0 is a number where its derivative for the exponent is 0.
    {ScalarOp::pow,
     "pow_c64($0, $1)",
     {WEFT_POWER_SLOPE_OF("$g * $1 * pow($0, $1 - 1)"),
      "select(logical_and(equal($0, 0), equal($r, $r)), 0, $g * $r * log($0))"}},
};

constexpr auto kAllOps = [] {
  auto rows = std::to_array(kOps);
  for (const ComplexForm& form : kComplexForms) {
    ScalarOpInfo& row = rows[static_cast<std::size_t>(form.op)];
    row.types |= kComplex;
    row.c64 = form.text;
  }
  return rows;
}();

constexpr std::pair<std::string_view, ScalarOp> kOtherNames[] = {
    {"rint", ScalarOp::round},
    {"round_even", ScalarOp::round},
    {"negative", neg},
    {"absolute", ScalarOp::abs},
    {"subtract", sub},
    {"multiply", mul},
    {"divide", ScalarOp::div},
    {"power", ScalarOp::pow},
    {"fmod", rem},
    {"mod", ScalarOp::remainder},
    {"floor_div", floor_divide},
    {"maximum", max},
    {"minimum", min},
    {"swish", silu},
    {"gelu", gelu_erf},
    {"quick_gelu", gelu_quick},
    {"log_sigmoid", logsigmoid},
    {"isnan", is_nan},
    {"isinf", is_inf},
    {"isfinite", is_finite},
    {"bitwise_count", popcount},
    {"count_leading_zeros", clz},
    {"where", select},
    {"left_shift", shift_left},
    {"right_shift", shift_right},
    {"arcsin", ScalarOp::asin},
    {"arccos", ScalarOp::acos},
    {"arctan", ScalarOp::atan},
    {"arctan2", ScalarOp::atan2},
    {"arcsinh", ScalarOp::asinh},
    {"arccosh", ScalarOp::acosh},
    {"arctanh", ScalarOp::atanh},
    {"igamma", gammainc},
    {"igammac", gammaincc},
    {"bessel_j0", ScalarOp::j0},
    {"bessel_j1", ScalarOp::j1},
    {"bessel_y0", ScalarOp::y0},
    {"bessel_y1", ScalarOp::y1},
    {"modified_bessel_k0", k0},
    {"modified_bessel_k1", k1},
    {"scaled_modified_bessel_k0", k0e},
    {"scaled_modified_bessel_k1", k1e},
    {"greater_or_equal", greater_equal},
    {"less_or_equal", less_equal},
};

constexpr bool in_order() {
  int i = 0;
  for (const auto& row : kOps) {
    if (static_cast<int>(row.op) != i++) return false;
  }
  return i == kScalarOpCount;
}
static_assert(in_order(), "kOps has one row for each ScalarOp, in the order of the enumeration");

constexpr FunctionText kTexts[] = {
    {"neg", "-x", "the negative"},
    {"abs", "|x|", "the magnitude; of a complex number sqrt(re² + im²)"},
    {"sign", "-1 if x < 0, 0 if x = 0, 1 if x > 0", "the sign; NaN of NaN"},
    {"ceil", "⌈x⌉", "the least integer that is not below x"},
    {"floor", "⌊x⌋", "the greatest integer that is not above x"},
    {"trunc", "sign(x) · ⌊|x|⌋", "x without its fraction"},
    {"round", "the integer nearest to x", "ties go to the even one"},
    {"sqrt", "√x", "the square root; NaN of negative numbers, of complex ones that in the right half plane"},
    {"rsqrt", "1 / √x", "the reciprocal of the square root"},
    {"cbrt", "∛x", "the cube root, negative of negative numbers"},
    {"reciprocal", "1 / x", "the reciprocal"},
    {"square", "x²", "the square"},
    {"exp", "exp(x)", "the exponential"},
    {"exp2", "2^x", "the power of 2"},
    {"expm1", "exp(x) - 1", "exact also where x is near 0"},
    {"log", "ln x", "the natural logarithm; NaN of negative numbers, -∞ of 0; of complex ones ln |x| + i arg(x)"},
    {"log2", "log₂ x", "the logarithm to base 2"},
    {"log10", "log₁₀ x", "the logarithm to base 10"},
    {"log1p", "ln(1 + x)", "exact also where x is near 0"},
    {"sin", "sin x", "the sine of x radians"},
    {"cos", "cos x", "the cosine of x radians"},
    {"tan", "tan x", "the tangent of x radians"},
    {"asin", "arcsin x", "the inverse of sin, in [-π/2, π/2]"},
    {"acos", "arccos x", "the inverse of cos, in [0, π]"},
    {"atan", "arctan x", "the inverse of tan, in [-π/2, π/2]"},
    {"sinh", "(exp(x) - exp(-x)) / 2", "the hyperbolic sine"},
    {"cosh", "(exp(x) + exp(-x)) / 2", "the hyperbolic cosine"},
    {"tanh", "(exp(x) - exp(-x)) / (exp(x) + exp(-x))", "the hyperbolic tangent"},
    {"asinh", "ln(x + sqrt(x² + 1))", "the inverse of sinh"},
    {"acosh", "ln(x + sqrt(x² - 1))", "the inverse of cosh; NaN below 1"},
    {"atanh", "ln((1 + x) / (1 - x)) / 2", "the inverse of tanh; NaN outside of [-1, 1]"},
    {"erf", "2/√π · ∫ exp(-t²) dt, t from 0 to x", "the error function"},
    {"erfc", "1 - erf(x)", "exact also where erf(x) is near 1"},
    {"erfinv", "the z with erf(z) = x", "the inverse of erf; NaN outside of [-1, 1]"},
    {"lgamma", "ln |Γ(x)|", "the logarithm of the gamma function's magnitude"},
    {"digamma", "d/dx ln Γ(x)", "the derivative of lgamma"},
    {"j0", "J₀(x)", "the Bessel function of the first kind of order 0"},
    {"j1", "J₁(x)", "the Bessel function of the first kind of order 1"},
    {"y0", "Y₀(x)", "the Bessel function of the second kind of order 0; NaN of negative numbers"},
    {"y1", "Y₁(x)", "the Bessel function of the second kind of order 1; NaN of negative numbers"},
    {"k0", "K₀(x)", "the modified Bessel function of the second kind of order 0; NaN of negative numbers"},
    {"k1", "K₁(x)", "the modified Bessel function of the second kind of order 1; NaN of negative numbers"},
    {"k0e", "exp(x) · K₀(x)", "k0 without underflow"},
    {"k1e", "exp(x) · K₁(x)", "k1 without underflow"},
    {"sigmoid", "1 / (1 + exp(-x))", "the logistic function"},
    {"logsigmoid", "-ln(1 + exp(-x))", "the logarithm of sigmoid"},
    {"softplus", "ln(1 + exp(x))", "a smooth form of relu"},
    {"mish", "x · tanh(ln(1 + exp(x)))", "Misra 2019"},
    {"relu", "max(x, 0)", "NaN of NaN"},
    {"gelu_erf", "x / 2 · (1 + erf(x / √2))", "the exact GELU, Hendrycks and Gimpel 2016"},
    {"gelu_tanh", "x / 2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))", "the approximation of GELU by tanh"},
    {"gelu_quick", "x · sigmoid(1.702 x)", "the approximation of GELU by sigmoid"},
    {"silu", "x · sigmoid(x)", "SiLU, also called Swish"},
    {"logical_not", "¬x", "true where x is false"},
    {"bitwise_not", "~x", "all bits inverted"},
    {"popcount", "Σ bits of x", "how many bits are set"},
    {"clz", "leading zeros of x", "how many bits above the highest set one; the width for 0"},
    {"is_nan", "(x is NaN)", "true for NaN"},
    {"is_inf", "(|x| = ∞)", "true for both infinities"},
    {"is_finite", "(|x| < ∞)", "true unless x is infinite or NaN"},
    {"signbit", "(sign bit of x)", "true for negative numbers and for -0"},
    {"real", "re(x)", "the real part"},
    {"imag", "im(x)", "the imaginary part"},
    {"conj", "re(x) - i · im(x)", "the conjugate"},
    {"angle", "arg(x)", "the angle of x in the complex plane, in (-π, π]"},
    {"add", "a + b", "the sum; integers wrap"},
    {"sub", "a - b", "the difference; integers wrap"},
    {"mul", "a · b", "the product; integers wrap"},
    {"div", "a / b", "the quotient; integers are cut towards zero, and x / 0 is 0"},
    {"div_rn", "a / b", "the quotient, correctly rounded on every device (CUDA's __fdiv_rn)"},
    {"floor_divide", "⌊a / b⌋", "the quotient rounded down; of integers x / 0 is 0"},
    {"rem", "a - b · trunc(a / b)", "the remainder with the sign of a, as in C; of integers by 0 it is 0"},
    {"remainder", "a - b · ⌊a / b⌋", "the remainder with the sign of b, as in Python; of integers by 0 it is 0"},
    {"pow", "a^b", "the power; of integers it wraps, of complex numbers it is exp(b ln a)"},
    {"atan2", "arg(b + a i)", "the angle of the point (x = b, y = a), in [-π, π]"},
    {"hypot", "sqrt(a² + b²)", "without overflow in between"},
    {"copysign", "|a| · sign(b)", "the magnitude of a with the sign of b, also of zeros"},
    {"nextafter", "the number after a towards b", "the neighbour of a among the numbers of its type"},
    {"logaddexp", "ln(exp(a) + exp(b))", "without overflow in between"},
    {"gammainc", "1/Γ(a) · ∫ t^(a-1) exp(-t) dt, t from 0 to x", "the regularised lower incomplete gamma function"},
    {"gammaincc", "1 - gammainc(a, x)", "exact also where gammainc is near 1"},
    {"gammaincinv", "the x with gammainc(a, x) = p", "the inverse of gammainc in x; NaN of p outside of [0, 1]"},
    {"gammainccinv", "the x with gammaincc(a, x) = q", "the inverse of gammaincc in x; NaN of q outside of [0, 1]"},
    {"min", "min(a, b)", "the lesser; NaN if one is NaN"},
    {"max", "max(a, b)", "the greater; NaN if one is NaN"},
    {"fmin", "min(a, b)", "the lesser; if one is NaN the other"},
    {"fmax", "max(a, b)", "the greater; if one is NaN the other"},
    {"gcd", "greatest d that divides a and b", "the greatest common divisor of the magnitudes; of zeros 0"},
    {"lcm", "|a · b| / gcd(a, b)", "the least common multiple of the magnitudes; 0 if one is 0"},
    {"equal", "(a = b)", "false if one is NaN"},
    {"not_equal", "(a ≠ b)", "true if one is NaN"},
    {"less", "(a < b)", "false if one is NaN"},
    {"less_equal", "(a ≤ b)", "false if one is NaN"},
    {"greater", "(a > b)", "false if one is NaN"},
    {"greater_equal", "(a ≥ b)", "false if one is NaN"},
    {"logical_and", "a ∧ b", "true where both are"},
    {"logical_or", "a ∨ b", "true where one is, or both"},
    {"logical_xor", "(a ≠ b)", "true where exactly one is"},
    {"bitwise_and", "a & b", "the bits that both have"},
    {"bitwise_or", "a | b", "the bits that one has, or both"},
    {"bitwise_xor", "a xor b", "the bits that exactly one has"},
    {"shift_left", "a · 2^b", "the bits of a moved up; 0 for b of the width or more"},
    {"shift_right", "⌊a / 2^b⌋", "the bits of a moved down, with the sign of a"},
    {"complex", "a + b i", "the complex number of two parts"},
    {"select", "a if condition, else b", "one of two values"},
    {"fma", "a · b + c", "a product and a sum, which may be rounded once or twice"},
    {"clamp", "min(max(x, low), high)", "x, but not below low nor above high; NaN if one is NaN"},
    {"lerp", "a + t · (b - a)", "linear interpolation, exact at t = 0 and t = 1"},
    {"betainc", "1/B(a, b) · ∫ t^(a-1) (1-t)^(b-1) dt, t from 0 to x", "the regularised incomplete beta function"},
    {"betaincinv", "the x with betainc(a, b, x) = p", "the inverse of betainc in x; NaN of p outside of [0, 1]"},
};

}  // namespace

std::span<const FunctionText> scalar_texts() { return kTexts; }

const ScalarOpInfo& info(ScalarOp op) { return kAllOps[static_cast<std::size_t>(op)]; }

std::string_view complex_derivative(ScalarOp op, std::size_t operand) {
  for (const ComplexForm& form : kComplexForms) {
    if (form.op == op && !form.derivatives[operand].empty()) return form.derivatives[operand];
  }
  return info(op).derivatives[operand];
}

std::span<const std::pair<std::string_view, ScalarOp>> other_names() { return kOtherNames; }

std::string type_names(unsigned set) {
  std::string s;
  const auto add = [&](unsigned bit, std::string_view name) {
    if (set & bit) s += (s.empty() ? "" : " or ") + std::string(name);
  };
  add(kFloat, "float");
  add(kSigned, "signed integer");
  add(kUnsigned, "unsigned integer");
  add(kBool, "bool");
  add(kComplex, "complex");
  return s;
}

unsigned type_set(DType type) {
  switch (weft::info(type).kind) {
    case DTypeKind::floating:
      return kFloat;
    case DTypeKind::signed_integer:
      return kSigned;
    case DTypeKind::unsigned_integer:
      return kUnsigned;
    case DTypeKind::boolean:
      return kBool;
    case DTypeKind::complex:
      return kComplex;
  }
  throw InternalError("dtype {} has no kind", static_cast<int>(type));
}

}  // namespace weft::kernels

namespace weft {

std::string_view name(ScalarOp op) { return kernels::info(op).name; }

int arity(ScalarOp op) { return kernels::info(op).arity; }

std::optional<ScalarOp> scalar_op(std::string_view name) {
  // The leaves and cast are not functions of their operands alone.
  for (int i = static_cast<int>(ScalarOp::neg); i < kScalarOpCount; ++i) {
    if (kernels::kOps[i].name == name) return kernels::kOps[i].op;
  }
  for (const auto& [other, op] : kernels::kOtherNames) {
    if (other == name) return op;
  }
  return std::nullopt;
}

}  // namespace weft
