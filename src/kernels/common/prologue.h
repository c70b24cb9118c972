// The operands of kernels with a Prologue and an Epilogue. The WGSL half is common/prologue.wgsl.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/call.h"
#include "kernels/elementwise/expression_cpu.h"
#include "weft/kernels/fusion.h"

namespace weft::kernels {

// The type of x's elements behind the prologue.
DType prologue_type(const View& x, const Prologue& prologue);
// x and the prologue's operands, all of x's shape. Throw InvalidArgument, naming `kernel`, unless types and shapes fit.
std::vector<View> prologue_inputs(std::string_view kernel, const View& x, const Prologue& prologue);
// The epilogue's operands, all of y's shape.
std::vector<View> epilogue_operands(std::string_view kernel, const Epilogue& epilogue, const View& y);

// The view with another type in its place, for checks of what a kernel computes with.
View with_type(View view, DType type);
// The view's elements begin…begin+size-1 along an axis. Throws Unsupported where a packed type's are no whole bytes.
View sliced(View view, int axis, std::int64_t begin, std::int64_t size);

// How a thread takes one element of an operand, or those of its four lanes: "one"; "four" in one access; "same", which
// is one element for all; or "each" by itself, p.<name>_next apart.
std::string_view lane_mode(const View& operand, int lanes, std::int64_t stride_of_lanes, bool vectorises);

// Rows of x on the CPU as the prologue makes them, without rounding to a narrower type. Threads may share it.
class PrologueRows {
 public:
  // `type`: of the rows.
  PrologueRows(const Expression& prologue, DType type);
  CpuExpression::Registers registers() const { return CpuExpression::Registers(expression_); }
  // x[i] for i < n; `inputs` are x's and the operands' rows.
  void operator()(CpuExpression::Registers& registers, std::span<const CpuExpression::Row> inputs, std::int64_t n,
                  void* x) const;

 private:
  CpuExpression expression_;
};

}  // namespace weft::kernels
