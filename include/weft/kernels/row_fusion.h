// Elementwise work fused into the kernels of rows: softmax, log_softmax, layer, RMS, group and instance norm.
#pragma once

#include <span>

#include "weft/expression.h"
#include "weft/view.h"

namespace weft::kernels {

// y = epilogue(kernel(prologue(inputs…)), operands…), in one kernel: intermediate results do not go through memory.
//   inputs   The prologue's, of any types; they broadcast to the shape of x, over which the kernel works. Result 0 of
//            the prologue is x, of a floating type. Its further results are extra outputs, such as an x + residual that
//            is needed after a norm. Without a prologue there is one input, x.
//   outputs  What the epilogue yields, of any types; without one y, of a floating type. Then the extra outputs. All
//            have x's shape.
// Narrow floats are not rounded between the steps. Rows that do not fit in registers may be read twice, and the
// prologue computed twice. An output may be the very same view as an input; an extra output must not be one of
// `operands` or of the weights.
struct RowFusion {
  const Expression* prologue = nullptr;
  const Expression* epilogue = nullptr;  // input 0: the kernel's result as f32, on the CPU also f64; then the operands
  std::span<const View> operands = {};  // broadcast to x
};

}  // namespace weft::kernels
