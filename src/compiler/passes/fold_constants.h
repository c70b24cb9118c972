// Computes what depends on constants alone, once, on the CPU's twins.
//   %2 = concat{axis=1} %0, %1   (both constants)   →   %2 = constant
// The bytes are a recipe (graph/constant.h): they are only computed if no executable of the store has them already.
// Views of constants stay views, and a result with more elements than its constants is left to the device.
#pragma once

#include "compiler/passes/passes.h"

namespace weft::compiler {

Graph fold_constants(const Graph& graph, const PassContext& context);

}  // namespace weft::compiler
