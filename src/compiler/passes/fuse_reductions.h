// Puts the elementwise work before and after a reduction into its kernel.
//   %2 = map{mul(x0, x1)} %0, %1
//   %3 = reduce_sum{axes=[1]} %2
//   %4 = map{sqrt(x0)} %3           →   %4 = reduce_sum{x=mul(x0, x1), axes=[1], y=sqrt(x0)} %0, %1
// Work that others need too goes in only if computing it again is cheap. The operands stay within the storage buffers
// that the device can bind.
#pragma once

#include "compiler/passes/passes.h"

namespace weft::compiler {

Graph fuse_reductions(const Graph& graph, const PassContext& context);

}  // namespace weft::compiler
