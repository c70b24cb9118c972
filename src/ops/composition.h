// What functions that are made of others have in common (weft/array.h, weft/statistics.h, weft/numeric.h, …).
#pragma once

#include <limits>
#include <string_view>

#include "core/format.h"
#include "weft/error.h"
#include "weft/graph.h"
#include "weft/inspection.h"
#include "weft/tensor.h"

namespace weft {

inline void require_defined(const Tensor& x, std::string_view function, std::string_view operand = "the operand") {
  if (!x.defined()) throw InvalidArgument("{}: {} is an undefined Tensor", function, operand);
}

inline void require_real(const Tensor& x, std::string_view function, std::string_view operand = "x is") {
  require_defined(x, function);
  if (x.dtype() != DType::c64) return;
  throw TypeError("{}: {} {}, expected real numbers", function, operand, to_string(x.type()));
}

inline void require_integers(const Tensor& x, std::string_view function, std::string_view operand) {
  require_defined(x, function, operand);
  if (is_integer(x.dtype())) return;
  throw TypeError("{}: {} {}, expected integers", function, operand, to_string(x.type()));
}

// The type in which sums are made.
inline DType summed(DType type) {
  if (type == DType::boolean) return DType::i32;
  if (!is_integer(type) || bits(type) >= 32) return type;
  return info(type).kind == DTypeKind::unsigned_integer ? DType::u32 : DType::i32;
}

// The type in which means are made.
inline DType averaged(DType type) { return is_integer(type) || type == DType::boolean ? DType::f32 : type; }

// x in whole bytes: i8 or u8 of packed integers, which other types have none in common with, and whose slices begin
// only where a byte does.
inline Tensor in_bytes(const Tensor& x) {
  if (bits(x.dtype()) >= 8) return x;
  return cast(x, is_signed(x.dtype()) ? DType::i8 : DType::u8);
}

// What no number of a type of floats is above: infinity, or of a type that has none the greatest number.
inline double highest(DType type) {
  return type == DType::f8e4m3 ? finfo(type).max : std::numeric_limits<double>::infinity();
}

// Whether a number is finite, of c64 both of its parts.
inline Tensor parts_are_finite(const Tensor& x) {
  return x.dtype() == DType::c64 ? is_finite(real(x)) & is_finite(imag(x)) : Tensor(is_finite(x));
}

// 1, or ½ where a - b (or a + b, if b is given as -b) is past the range: a factor of both.
inline Tensor difference_factor(const Tensor& a, const Tensor& b) { return select(parts_are_finite(a - b), 1.0, 0.5); }

// (a + b) / 2, rounded once, also where a + b is past the range.
inline Tensor midpoint(const Tensor& a, const Tensor& b) {
  const Tensor k = difference_factor(a, -b);
  return (a * k + b * k) * (1.5 - k);  // 0.5 / k
}

// The point that is the share of the way from a to b, finite or not: an infinity on the way to one.
inline Tensor point_between(const Tensor& a, const Tensor& b, const Tensor& share) {
  const Tensor point = lerp(a, b, share);
  // (0 times an infinity is NaN.)
  return select(is_finite(a) & is_finite(b), point, select(share == 0, a, select(share == 1, b, point)));
}

}  // namespace weft
