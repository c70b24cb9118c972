// Moves a view from an elementwise result to its operands, if elementwise work reads the view, so that the two can be
// fused.
//   %2 = map{less(x0, x1)} %0, %1 : [b, n]                   %2, %3 = views of %0, %1 : [b, 1, 1, n]
//   %3 = reshape{[b, 1, 1, n]} %2                        →   %4 = map{less(x0, x1)} %2, %3
//   %4 = map{select(x0, 0, -inf)} %3                         %5 = map{select(x0, 0, -inf)} %4
// Only if strides can express the view of every operand, and nothing expensive is computed twice or on more elements.
#pragma once

#include "compiler/passes/passes.h"

namespace weft::compiler {

Graph hoist_views(const Graph& graph, const PassContext& context);

}  // namespace weft::compiler
