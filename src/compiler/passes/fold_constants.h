// Computes everything that depends on constants alone, once, on the CPU.
//   %2 = concat{axis=1} %0, %1   (both constants)   →   %2 = constant
// The new constants are deferred (graph/constant.h): they are only computed if no executable of the store has them
// already. Views of constants stay views. What is large, and has more elements than the constants that it is made of,
// is left to the device, where it is computed with what needs it: broadcasts, results of indices (ops/iota.h).
#pragma once

#include "compiler/passes/passes.h"
#include "graph/constant.h"
#include "graph/node_map.h"

namespace weft::compiler {

Graph fold_constants(const Graph& graph, const PassContext& context);

// Values as constants; views and computations of constants are deferred ones. Null if they depend on anything else.
// Each node is looked at once; the nodes must live as long.
class Constants {
 public:
  ConstantPtr of(const Tensor& v);

 private:
  NodeMap<ConstantPtr> known_;
};
ConstantPtr constant_of(const Tensor& v);

}  // namespace weft::compiler
