// Merges products of one left operand with constant right operands, such as the projections to queries, keys and
// values, into one whose result is sliced.
//   %4 = matmul{epilogue=add(x0, x1)} %0, w1, b1      %4 = concat{axis=0} w1ᵀ, w2ᵀ    (folded)
//   %5 = matmul{epilogue=add(x0, x1)} %0, w2, b2  →   %5 = concat{axis=0} b1, b2      (folded)
//                                                     %6 = matmul{epilogue=add(x0, x1)} %0, %4ᵀ, %5
//                                                     %7, %8 = slices of %6
// Epilogues must be the same expression, on constants of one row or one number.
#pragma once

#include "compiler/passes/passes.h"

namespace weft::compiler {

Graph merge_products(const Graph& graph, const PassContext& context);

}  // namespace weft::compiler
