// Puts a scale and a shift of each channel, such as batch norm with its statistics, into the constant weights of the
// convolution or product in front of it.
//   %2 = conv %0, %1 (constant)   %5 = map{add(mul(sub(x0, x1), x2), x3)} %2, mean, factor, bias (constants)
//     →   %2 = conv %0, %1 · factor   %5 = map{add(x0, x1)} %2, bias − mean · factor
// What is left is a bias, which the product's kernel adds. The result of the convolution must have no other use. A
// scale that is one number stays by itself: the kernel multiplies for nothing, and weights keep their range. Results
// differ from those without the pass by rounding: for n products with element sums Σ |x · w|, and scales and shifts s
// and t, by no more than (n + 8) · ε · (|s| · Σ |x · w| + Σ |t|) with ε = 2⁻²⁴ for f32. Weights of f16 and bf16 are
// scaled in f32 and rounded once, and the result is no longer rounded to their type before the scale. It needs fusion
// and constant folding, and finite scales; weights that would leave f16's normal range stay as they are.
#pragma once

#include "compiler/passes/passes.h"

namespace weft::compiler {

Graph fold_scales(const Graph& graph, const PassContext& context);

}  // namespace weft::compiler
