// The table of scalar operations: name, arity, operand types, result type and WGSL text. CONTRIBUTING.md lists what a
// new one takes.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "weft/expression.h"

namespace weft::kernels {

// Sets of operand types, by kind.
enum : unsigned {
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

// real: f32 for complex numbers, else the same type.
enum class Yields : std::uint8_t { same, boolean, real, complex };

struct ScalarOpInfo {
  ScalarOp op;
  std::string_view name;
  int arity;
  unsigned types;
  Yields yields;
  float cost;  // time in f32 in units of an exponential: measured on a CPU, where all are vector code
  // $0, $1, $2 stand for the operands, $w for the type's width. An empty text means that of the type before it in this
  // order.
  std::string_view f32;  // floats
  std::string_view i32;  // signed integers of up to 32 bits
  std::string_view u32;  // unsigned ones, and booleans (0 or 1)
  std::string_view i64;  // vec2<u32>, low word first; empty does not mean the texts before
  std::string_view u64;
  std::string_view c64;     // vec2<f32>
  std::string_view narrow;  // floats below 32 bits, if less precision costs less
  // Of a result that is a float: what the cotangent $g of the result gives for each operand, a formula of numbers, the
  // operands, the result $r and functions by name; "0" if that is 0 wherever it is defined. Formulas are linear in $g,
  // and so tangents go the same way; a complex cotangent goes through them as its conjugate. At points without a
  // derivative they give what PyTorch does: 0 at the steps of floor and its kin, for relu and abs at 0; half to each of
  // two equal operands of min and max; clamp at its bounds is inside.
  std::array<std::string_view, 3> derivatives = {};

  bool function() const { return cost >= 0.5f; }  // dozens of instructions, not a few
};

const ScalarOpInfo& info(ScalarOp op);
// The formula of a derivative where the operand is complex; ScalarOpInfo has that of floats.
std::string_view complex_derivative(ScalarOp op, std::size_t operand);
// Their other names: NumPy's, PyTorch's, C's, ONNX's.
std::span<const std::pair<std::string_view, ScalarOp>> other_names();

// The set that a type belongs to.
unsigned type_set(DType type);
// "float or signed integer", for messages.
std::string type_names(unsigned set);
// True if a cast to a narrow float may go through the nearest f32. Integers that exceed f32's precision are in range
// only for bf16; in the other types they overflow either way.
inline bool casts_by_f32(DType from, DType to) {
  return is_integer(from) ? bits(from) < 32 || to != DType::bf16 : from != DType::f64;
}

}  // namespace weft::kernels
