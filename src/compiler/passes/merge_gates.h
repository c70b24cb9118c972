// Merges the products that one elementwise node reads, such as the two of a gated layer, into one product of which the
// node reads slices.
//   %3 = matmul %0, w1                          %3 = concat{axis=0} w1ᵀ, w2ᵀ     (folded)
//   %4 = matmul %0, w2                          %4 = matmul %0, %3ᵀ
//   %5 = map{mul(silu(x0), x1)} %3, %4    →     %5 = map{mul(silu(x0), x1)} slices of %4
// The products have the same left operand, constant weights, and no other use.
#pragma once

#include "compiler/passes/passes.h"

namespace weft::compiler {

Graph merge_gates(const Graph& graph, const PassContext& context);

}  // namespace weft::compiler
