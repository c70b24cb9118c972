// Scalar expressions: what an elementwise kernel computes for each element, and what a matrix product's epilogue does
// to each result. A short list of operations in SSA form, from which the WGSL, the CPU code and the key of the pipeline
// are generated.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/dtype.h"
#include "weft/number.h"

namespace weft {

// Operations on scalars. Comparisons, logic and tests yield boolean; real, imag, abs and angle of a complex number
// yield f32, complex makes one of two floats. `weft kernels` and docs/kernels.md say which types each one takes.
//
// Semantics where WGSL, C++ and convention differ, the same on every device:
//   - A GPU may drop the sign of an f16's NaN when it loads it; signbit and copysign then see a positive one.
//   - Comparisons with NaN are false, `not_equal` true. min, max and clamp give NaN if an operand is NaN; fmin and fmax
//     give the other operand (IEEE 754's minimumNumber and maximumNumber). For all of them -0 is less than +0.
//     relu(NaN) = NaN, relu(-0) = +0, sign(±0) = +0, sign(NaN) = NaN.
//   - round (rint) goes to the nearest even integer. rem (fmod) has the sign of the dividend, remainder (Python's %)
//   that of the divisor; both are exact but for remainder's one rounding. floor_divide is the quotient that belongs to
//   remainder: exact below 2^21, above it as exact as division is. Of floats, x / 0 is ±infinity or NaN.
//   - div of floats is within 3 ULP of the quotient; div_rn is the quotient rounded to nearest even, as IEEE 754 and
//     CUDA's __fdiv_rn have it, also where operands or result are denormal, and costs more.
//   - Integer division truncates; x / 0, x rem 0, floor_divide(x, 0) and remainder(x, 0) are 0; the most negative
//     integer divided by -1 is itself. Integer arithmetic wraps at the width of the node's type. pow of integers wraps;
//     with a negative exponent it is 1 or -1 for the bases 1 and -1, else 0. gcd and lcm are of the magnitudes;
//     gcd(0, 0) = 0, lcm(x, 0) = 0.
//   - Shifts by the width or more (also by a negative amount) give 0; shift_right of a negative integer gives -1.
//     clz(0) is the width.
//   - Floats narrower than f32 are computed in f32 and rounded where they are cast or stored. exp, log, sin, … then
//     have a relative error of 2^-14 (2^-12 for bf16) instead of 2^-22, also f32 ones whose result becomes such a float
//     through nothing but selections and constant factors. nextafter steps in the node's own type. In a graph a value
//     of such a type that several nodes read, or one that compares, rounds or converts it, is rounded where it is
//     computed.
//   - Operations fused into one kernel give the results of separate kernels: x - x is NaN for infinities, (x + c) - c
//     is what rounding leaves of x. Only a product and the sum that it goes into may be rounded once, as in fma.
//   - A GPU may flush denormals (f32 magnitudes below 2^-126), in operands, results and intermediate values
//     (weft/kernels.h describes the effect). Comparisons, min, max and tests work on bits and see them.
//   - Zeros have the same sign on every device: that of the formula; a negative value that underflows is -0
//     (silu(-300)). In complex products and quotients the sign depends on the compiler's order of sums.
//   - At -infinity and infinity sigmoid is 0 and 1, softplus 0 and infinity, logsigmoid -infinity and -0; silu, mish
//     and the gelus are -0 and infinity.
//   - pow gives every power to an integer that its type can represent exactly: 3² is 9, 1.5⁵ 7.59375, 2⁻²⁰ 2⁻²⁰.
//   - exp, log, sin, … are within 4 ULP of f32 on all finite arguments (docs/accuracy.md lists measured errors): they
//     are computed by functions of Weft's own, not by WGSL's builtins, which promise less (sin and cos: an absolute
//     error of 2^-11). Near the zeros of lgamma and digamma at negative arguments, and of logaddexp, the error is 4 ULP
//     of 1 or of the largest of the terms, if that is more; near those of j0, j1, y0 and y1 4 ULP of the amplitude,
//     √(2/(πx)), but at most of 1.
//   - lerp(a, b, t) = a + t (b - a), as b - (b - a) (1 - t) from t = ½ up: exact at both ends.
//   - lgamma of 0 and of negative integers is +infinity, digamma of ±0 is -±infinity, of negative integers NaN.
//   - gammainc, gammaincc and betainc (a, b, x) are within 3e-6 of the result, where denormal numbers are none. NaN of
//     negative parameters, of x outside, and of the limits that depend on the way: gammainc(0, 0), (inf, inf).
//   - gammaincinv(a, p), gammainccinv(a, q) and betaincinv(a, b, p) are the x of these probabilities. A relative error
//     of 3e-6 in the lesser of p and 1 - p explains theirs, but for 5e-7 of x. At the probabilities 0 and 1 they are
//     the ends of the distribution; a GPU takes a denormal one for 0. NaN of probabilities outside of [0, 1] and of
//     negative parameters; in between also of parameters that are 0, and of an infinite a of gammaincinv.
//   - j0 and j1 are 0 at infinities. y0 and y1 are -infinity of 0, k0, k1, k0e and k1e infinity, and NaN of negative
//     numbers.
//   - Products and quotients of complex numbers are the plain formulas (an infinite part times 0 is NaN); x / 0 divides
//     both parts by 0. Complex numbers have no order; abs is the magnitude, angle is in (-π, π]. exp(-inf + iy) is 0
//     and exp(inf + iy) inf + i NaN where y is infinite or NaN.
//   - sqrt, log, log2, log10, sin, cos, tan, sinh, cosh, tanh and their inverses of complex numbers have the branch
//   cuts
//     and special values of C's Annex G (NumPy's): the sign of a zero says on which side of a cut a number is. They,
//     log1p, expm1 and rsqrt are within 2e-6 of the result's magnitude on all devices; one part beside a much larger
//     one may have fewer digits. pow is exp(w log z), off by up to 2^-21 |w log z| of its magnitude; to integers of up
//     to ±64 it is a product, exact where all of its steps are. 0^0 is 1, 0^w 0 where w's real part is positive, else
//     NaN.
enum class ScalarOp : std::uint8_t {
  // leaves
  input,
  constant,
  // unary; `cast` converts to the node's type
  cast,
  neg,
  abs,
  sign,
  ceil,
  floor,
  trunc,
  round,
  sqrt,
  rsqrt,
  cbrt,
  reciprocal,
  square,
  exp,
  exp2,
  expm1,
  log,
  log2,
  log10,
  log1p,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  asinh,
  acosh,
  atanh,
  erf,
  erfc,
  erfinv,
  lgamma,
  digamma,
  j0,
  j1,
  y0,
  y1,
  k0,
  k1,
  k0e,
  k1e,
  sigmoid,
  logsigmoid,
  softplus,
  mish,
  relu,
  gelu_erf,
  gelu_tanh,
  gelu_quick,
  silu,
  logical_not,
  bitwise_not,
  popcount,
  clz,
  is_nan,
  is_inf,
  is_finite,
  signbit,
  real,
  imag,
  conj,
  angle,
  // binary
  add,
  sub,
  mul,
  div,
  div_rn,
  floor_divide,
  rem,
  remainder,
  pow,
  atan2,
  hypot,
  copysign,
  nextafter,
  logaddexp,
  gammainc,
  gammaincc,
  gammaincinv,
  gammainccinv,
  min,
  max,
  fmin,
  fmax,
  gcd,
  lcm,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  logical_and,
  logical_or,
  logical_xor,
  bitwise_and,
  bitwise_or,
  bitwise_xor,
  shift_left,
  shift_right,
  complex,
  // ternary: select(condition, if_true, if_false), fma(a, b, c), clamp(x, low, high), lerp(a, b, t),
  // betainc(a, b, x), betaincinv(a, b, p)
  select,
  fma,
  clamp,
  lerp,
  betainc,
  betaincinv,
};

inline constexpr int kScalarOpCount = static_cast<int>(ScalarOp::betaincinv) + 1;

// The operation's name, as `scalar_op` finds it, and how many operands it takes.
std::string_view name(ScalarOp op);
int arity(ScalarOp op);  // 1, 2 or 3
// The operation of that name or of a common alias ("rint" and "round", "fmod" and "rem", …). Functions that are made of
// several operations have names too: weft/expressions.h.
std::optional<ScalarOp> scalar_op(std::string_view name);

class Expression {
 public:
  struct Node {
    ScalarOp op;
    DType type;                           // of the result
    std::array<int, 3> args{-1, -1, -1};  // earlier nodes
    int input = -1;                       // of op input: which one
    std::uint64_t bits = 0;               // of op constant: the value's bytes in `type`, low end first
    bool operator==(const Node&) const = default;
  };

  // Each returns the new node's index. Throws InvalidArgument on types or indices that do not fit.

  // The next input, of that type.
  int input(DType type);
  // The element of `type` nearest to the value.
  int constant(Number value, DType type);
  int constant_bits(std::uint64_t bits, DType type);  // the value's bytes in `type`, low end first
  // The operation on earlier nodes; all but a condition have one type, as the operation takes it. cast() makes casts.
  int apply(ScalarOp op, std::span<const int> args);
  int apply(ScalarOp op, std::initializer_list<int> args) { return apply(op, std::span(args.begin(), args.size())); }
  // Between all types, by kernels::copy's rules. A complex number becomes its real part, or true unless it is 0.
  int cast(int value, DType type);
  // Rounds a float narrower than f32 to its type where it is computed. Others, and those that are loaded, cast or
  // rounded already, stay the node that they are.
  int round(int value);
  // What the functions above do, by the node's op; its args are nodes of this expression.
  int append(const Node& node);
  // Marks a node as an output; outputs are numbered in the order of these calls.
  void output(int node);

  int input_count() const { return inputs_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<int>& outputs() const { return outputs_; }
  // The type of output i.
  DType output_type(int i) const { return nodes_[outputs_[i]].type; }
  int operation_count() const;  // operations for an element; leaves and casts do not count
  // The time of an element without its memory traffic, in units of an f32 exponential, measured on CPUs: 0.08 for a
  // sum, 4 for erfinv, 0.4 for a packed operand; functions of f64 take ten times as long.
  double cost() const;

  // Unambiguous text: the key of generated code, and what logs show: "(x0:f32, x1:f32) gelu_erf(add(x0, x1))".
  // A node that is used more than once is named first: "%1 = exp(x0); mul(%1, %1)".
  std::string to_string() const;
  // The expression of such a text; nodes that no output needs are not in it. Throws InvalidArgument, naming the place,
  // for a text that is none.
  static Expression parse(std::string_view text);

  bool operator==(const Expression&) const = default;

 private:
  std::vector<Node> nodes_;
  std::vector<int> outputs_;
  int inputs_ = 0;
};

// As attributes have them (weft/attributes.h).
inline std::string to_string(const Expression& e) { return e.to_string(); }
inline void from_text(std::string_view text, Expression& e) { e = Expression::parse(text); }  // throws as parse() does

}  // namespace weft
