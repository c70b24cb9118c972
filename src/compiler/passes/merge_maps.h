// Computes elementwise nodes of one shape that read the same values, or each other, in one kernel with several results.
//   %2 = map{exp(x0)} %0                    %2, %3 = map{%2 = exp(x0); %2, add(%2, x1)} %0, %1
//   %3 = map{add(x0, x1)} %2, %1        →   outputs %2, %3
//   outputs %2, %3
// Nodes are only joined if no path between them goes through another node, so that nothing waits longer than before.
// Operands and results stay within the storage buffers that the device can bind.
#pragma once

#include "compiler/passes/passes.h"

namespace weft::compiler {

Graph merge_maps(const Graph& graph, const PassContext& context);

}  // namespace weft::compiler
