// Stores values as f16 where the precision policy allows it (Precision in weft/compile.h), with casts where kernels
// load and store.
//   %2 = matmul %0, %1 : f32                     %2 = map{cast<f16>(x0)} %1         (folded: done once)
//   %3 = layer_norm %2, %s, %b : f32             %3 = matmul{epilogue=cast<f16>(x0)} %0, %2 : f16
//   %4 = reduce_sum{axes=[1]} %3 : f32       →   %4 = layer_norm{type=f16} %3, %s, %b : f16
//                                                %5 = reduce_sum{x=cast<f32>(x0), axes=[1]} %4 : f32
// The graph's inputs and outputs keep their types. Runs after all fusion: only values that go through memory are
// rounded, and arithmetic on them is that of f32.
#pragma once

#include "compiler/passes/passes.h"

namespace weft::compiler {

Graph store_half(const Graph& graph, const PassContext& context);

}  // namespace weft::compiler
