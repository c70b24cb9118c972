// The table of scalar operations: name, arity, which types they take, what they yield and how WGSL writes them.
// A new operation is an enumerator in weft/expression.h, a line here and a line in the table of expression_cpu.cc.
//
// What the operations do where WGSL, C++ and habit differ, on every device alike:
//   - Comparisons with NaN are false, `not_equal` true. min, max and clamp give NaN if an operand is NaN, and
//     max(-0, +0) = +0. relu(NaN) = NaN, relu(-0) = +0, sign(±0) = +0, sign(NaN) = NaN.
//   - round goes to the nearest even integer. rem has the sign of the dividend and is exact (C's fmod and %).
//   - Integer division truncates; x / 0 = 0 and x rem 0 = 0; the most negative integer divided by -1 is itself.
//     Integer arithmetic wraps at the width of the node's type. pow of integers wraps; with a negative exponent it is
//     1 or -1 for the bases 1 and -1, else 0.
//   - Shifts by the width or more (also by a negative amount) give 0; shift_right of a negative integer gives -1.
//   - Floats narrower than f32 compute in f32 and are rounded where they are cast or stored.
//   - A GPU may flush denormals (f32 magnitudes below 2^-126), in operands and in results. Comparisons, min, max and
//     tests go by bits and see them.
//   - exp, log, sin, … are within 4 ULP of f32 on all finite arguments: they are computed by common/scalar_math.wgsl,
//     not by WGSL's builtins, which promise less (sin and cos: an absolute error of 2^-11).
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
};

enum class Yields : std::uint8_t { same, boolean };

struct ScalarOpInfo {
  ScalarOp op;
  std::string_view name;
  int arity;
  unsigned types;
  Yields yields;
  // $0, $1, $2 stand for the operands. An empty text is that of the type before it in this order.
  std::string_view f32;  // floats
  std::string_view i32;  // signed integers of up to 32 bits
  std::string_view u32;  // unsigned ones, and booleans (0 or 1)
  std::string_view i64;  // vec2<u32>, low word first; does not fall back on the texts before
  std::string_view u64;
};

const ScalarOpInfo& info(ScalarOp op);

// The set that a type belongs to; 0 for complex.
unsigned type_set(DType type);

}  // namespace weft::kernels
