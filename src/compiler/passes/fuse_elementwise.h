// Fuses elementwise nodes into one kernel by substituting the producer's expression into the consumer's.
//   %2 = map{mul(x0, x1)} %0, %1
//   %3 = map{gelu_erf(x0)} %2       →   %3 = map{gelu_erf(mul(x0, x1))} %0, %1
// A producer goes into its only consumer; into several, or into a consumer that broadcasts it, only if computing it
// again is cheap. The operands stay within the storage buffers that the device can bind, and the operations within what
// one kernel should compute.
#pragma once

#include "compiler/passes/passes.h"

namespace weft::compiler {

Graph fuse_elementwise(const Graph& graph, const PassContext& context);

}  // namespace weft::compiler
