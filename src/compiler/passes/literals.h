// Constants of one element become numbers in the expressions that use them.
//   %1 = constant{value=0.5} : f32 []
//   %2 = map{mul(x0, x1)} %0, %1        →   %2 = map{mul(x0, 0.5)} %0
#pragma once

#include "compiler/passes/passes.h"

namespace weft::compiler {

Graph literals(const Graph& graph, const PassContext& context);

}  // namespace weft::compiler
