// The table of scalar operations: name, arity, which types they take, what they yield and how WGSL writes them.
// A new operation is an enumerator in weft/expression.h, a line here and a line in the table of expression_cpu.cc.
//
// What the operations do where WGSL, C++ and habit differ, on every device alike:
//   - A GPU may drop the sign of an f16's NaN when it loads it; signbit and copysign then see a positive one.
//   - Comparisons with NaN are false, `not_equal` true. min, max and clamp give NaN if an operand is NaN; fmin and fmax
//     give the other operand (IEEE 754's minimumNumber and maximumNumber). For all of them -0 is less than +0.
//     relu(NaN) = NaN, relu(-0) = +0, sign(±0) = +0, sign(NaN) = NaN.
//   - round (rint) goes to the nearest even integer. rem (fmod) has the sign of the dividend, remainder (Python's %)
//   that
//     of the divisor; both are exact but for remainder's one rounding. floor_divide is the quotient that goes with
//     remainder: exact below 2^21, above it as exact as division is. Of floats, x / 0 is ±infinity or NaN.
//   - Integer division truncates; x / 0, x rem 0, floor_divide(x, 0) and remainder(x, 0) are 0; the most negative
//   integer
//     divided by -1 is itself. Integer arithmetic wraps at the width of the node's type. pow of integers wraps; with a
//     negative exponent it is 1 or -1 for the bases 1 and -1, else 0. gcd and lcm are of the magnitudes; gcd(0, 0) = 0,
//     lcm(x, 0) = 0.
//   - Shifts by the width or more (also by a negative amount) give 0; shift_right of a negative integer gives -1.
//     clz(0) is the width.
//   - Floats narrower than f32 compute in f32 and are rounded where they are cast or stored; exp, sigmoid, tanh and the
//     gates then keep 2^-14 of the result, not 2^-22. nextafter steps in the node's own type.
//   - A GPU may flush denormals (f32 magnitudes below 2^-126), in operands and in results. Comparisons, min, max and
//     tests go by bits and see them.
//   - Zeros have the same sign on every device: that of the formula, of what goes to 0 from below -0 (silu(-300)). Of
//     complex products and quotients it is as compilers order the sums.
//   - exp, log, sin, … are within 4 ULP of f32 on all finite arguments (docs/accuracy.md has what is measured): they
//   are
//     computed by common/scalar_math.wgsl and special_math.wgsl, not by WGSL's builtins, which promise less (sin and
//     cos: an absolute error of 2^-11). Near the zeros of lgamma and digamma at negative arguments, and of logaddexp,
//     the error is 4 ULP of 1 or of the largest of the terms, if that is more.
//   - lerp(a, b, t) = a + t (b - a), as b - (b - a) (1 - t) from t = ½ up: exact at both ends.
//   - lgamma of 0 and of negative integers is +infinity, digamma of ±0 is -±infinity, of negative integers NaN.
//   - Products and quotients of complex numbers are the plain formulas (an infinite part times 0 is NaN); x / 0 divides
//     both parts by 0. They are ordered by nothing; abs is the magnitude, angle is in (-π, π]. exp(-inf + iy) is 0 and
//     exp(inf + iy) inf + i NaN where y is infinite or NaN.
#pragma once

#include <string_view>

#include "weft/expression.h"

namespace weft::kernels {

// Sets of operand types.
enum TypeSet : unsigned {
  kFloat = 1,
  kSigned = 2,
  kUnsigned = 4,
  kBool = 8,
  kInteger = kSigned | kUnsigned,
  kNumber = kFloat | kInteger,
  kBits = kInteger | kBool,
  kAny = kNumber | kBool,
  kComplex = 16,
};

// real: f32 of complex numbers, else the same.
enum class Yields : std::uint8_t { same, boolean, real, complex };

struct ScalarOpInfo {
  ScalarOp op;
  std::string_view name;
  int arity;
  unsigned types;
  Yields yields;
  float cost;            // how long it takes in f32, in exponentials: measured on a CPU, where all are vector code
  // $0, $1, $2 stand for the operands, $w for the type's width. An empty text is that of the type before it in this
  // order.
  std::string_view f32;  // floats
  std::string_view i32;  // signed integers of up to 32 bits
  std::string_view u32;  // unsigned ones, and booleans (0 or 1)
  std::string_view i64;  // vec2<u32>, low word first; does not fall back on the texts before
  std::string_view u64;
  std::string_view c64;  // vec2<f32>
  std::string_view narrow;  // floats below 32 bits, if fewer digits cost less

  bool function() const { return cost >= 0.5f; }  // dozens of instructions, not a few
};

const ScalarOpInfo& info(ScalarOp op);

// The set that a type belongs to.
unsigned type_set(DType type);

}  // namespace weft::kernels
