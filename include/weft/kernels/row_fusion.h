// Elementwise work on both sides of the kernels of rows: softmax, log_softmax, layer, RMS, group and instance norm.
#pragma once

#include <span>

#include "weft/expression.h"
#include "weft/view.h"

namespace weft::kernels {

// y = after(kernel(before(inputs…)), operands…), by the kernel itself: nothing between the steps goes through memory.
//   inputs   of `prologue`, of any types, which broadcast to one shape: that of x, over which the kernel works. Result 0
//            of `prologue` is x, of a floating type; further results are stored, too, as x + residual is that goes on
//            past a norm. Without `prologue` there is one input, x.
//   outputs  what `epilogue` yields, of any types; without it y, of a floating type. Then the further results of `prologue`.
//            All of x's shape.
// Narrow floats between the steps are not rounded. Rows that are too long to be kept in registers may be read twice,
// and `prologue` be computed twice. An output may be the very same
// view as an input; a further result of `prologue` must not be one of `operands` or of the weights.
struct RowFusion {
  const Expression* prologue = nullptr;
  const Expression* epilogue = nullptr;  // input 0: the kernel's result as f32, on the CPU also f64; then the operands
  std::span<const View> operands = {};  // broadcast to x
};

}  // namespace weft::kernels
