// Rounds values of floats narrower than f32 to their type where they are computed, if several nodes read them, or one
// that is discontinuous or converts: an integer part, a comparison, a test, a remainder, a cast; or a function of
// another function, whose short form (scalar_ops.h) misses its poles. A fused kernel computes such floats in f32, each
// reader by itself, and would compare one reader's unrounded value with what another one stored:
//   %1 = map{mul(x0, 3)} %0 : bf16                          %1 = map{cast<bf16>(mul(x0, 3))} %0 : bf16
//   %2 = reduce_max{axes=[1], keep_dims=true} %1       →    …
//   %3 = map{greater_equal(x0, x1)} %1, %2
// Chains of single readers stay in f32.
#pragma once

#include "compiler/passes/passes.h"

namespace weft::compiler {

Graph round_shared(const Graph& graph, const PassContext& context);

}  // namespace weft::compiler
