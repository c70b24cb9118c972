// Turns chains of view ops into strides on the operands of the kernels that read them, and inserts a copy where strides
// cannot express a view. A kernel may store its result in another order of axes to avoid that copy.
//   %1 = attention … : [b, heads, s, d]                          stored [0, 2, 1, 3]
//   %2 = permute{[0, 2, 1, 3]} %1 : [b, s, heads, d]         →   %2 = strided{dense} %1 : [b, s, heads · d]
//   %3 = reshape{[b, s, heads · d]} %2
// Afterwards each output of the graph is the whole, dense result of one kernel, a different one for each; a copy is
// inserted where it was not.
#pragma once

#include "compiler/passes/passes.h"

namespace weft::compiler {

Graph resolve_views(const Graph& graph, const PassContext& context);

// The layout of result 0 of a node in memory: dense in the order of axes in which it is stored.
Layout storage_layout(const Graph& graph, const Node& node);

}  // namespace weft::compiler
