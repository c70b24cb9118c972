// Computes elementwise work and an op that reads the same elements in one kernel, if other nodes need that work too and
// the op supports it as extra outputs.
//   %2 = map{mul(x0, 2)} %0                  %3, %2 = reduce_sum{x=mul(x0, 2); %2, axes=[1]} %0
//   %3 = reduce_sum{axes=[1]} %2         →   outputs %2, %3
//   outputs %2, %3
// Like merge_maps for elementwise work alone; the op keeps its epilogue.
#pragma once

#include "compiler/passes/passes.h"

namespace weft::compiler {

Graph merge_extra_outputs(const Graph& graph, const PassContext& context);

}  // namespace weft::compiler
