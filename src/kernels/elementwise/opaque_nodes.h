// Which values of an expression are hidden from drivers' compilers, which take floats for real numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/expression.h"

namespace weft::kernels {

// Where an expression stands in its kernel. Compilers know more of values that the kernel itself computes than of those
// that it loads, and conclude what is not so: NVIDIA's (580.159) drops NaN in the maximum of two sums, and abs in the
// maximum of two i32. Such values are hidden from them.
enum class ExpressionRole : std::uint8_t {
  map,       // operands are loaded, results stored
  prologue,  // operands are loaded, the kernel computes with the results
  epilogue,  // the kernel computes operand 0; results are stored
  inner,     // the kernel computes the operands, and with the results
};

// True if the kernel computes operands of the expression, or with its results.
inline bool computes_operands(ExpressionRole role) {
  return role == ExpressionRole::epilogue || role == ExpressionRole::inner;
}
inline bool feeds_compute(ExpressionRole role) {
  return role == ExpressionRole::prologue || role == ExpressionRole::inner;
}

// Nodes whose value, or computation, must be hidden from compilers. Some drivers (Mesa's) treat floats as real numbers:
// they simplify x · 0 and 0 / x to 0 and x + 0 to x for any x, (x + c) - c and (x - y) + y to x, x · a · b to
// x · (a · b), sqrt(x)² to |x|. NVIDIA's (580.159) takes results of arithmetic for numbers, so that a maximum or
// minimum of them is never NaN; makes (x + a) · b one fma(x, b, a · b), -(a - b) b - a and a - (b - c) a + (c - b); and
// drops abs and neg of 32-bit integers in maxima, minima and selections.
std::vector<bool> opaque_nodes(const Expression& expression, bool reassociates_fp, ExpressionRole role);

// True for x - x, x / x and the like, which compilers take for constants although x may be infinite or NaN.
bool meets_itself(const Expression& expression, const Expression::Node& node);

}  // namespace weft::kernels
