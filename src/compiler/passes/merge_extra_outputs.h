// Computes elementwise work and an op that reads the same elements by one kernel, where others need that work too and
// the op takes it as extra outputs.
//   %2 = map{mul(x0, 2)} %0                  %3, %2 = reduce_sum{x=mul(x0, 2); %2, axes=[1]} %0
//   %3 = reduce_sum{axes=[1]} %2         →   outputs %2, %3
//   outputs %2, %3
// As merge_maps does for elementwise work alone; what the op makes of its own result stays with it.
#pragma once

#include "compiler/passes/passes.h"

namespace weft::compiler {

Graph merge_extra_outputs(const Graph& graph, const PassContext& context);

}  // namespace weft::compiler
