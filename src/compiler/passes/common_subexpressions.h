// Computes equal things once: two nodes of one op on the same operands become one, also if the operands of a
// commutative op (a sum, a product, …) are in the other order; and of a node whose results another node of the same
// operands gives too, with more behind them, that one stays alone.
//   %1 = map{exp(x0)} %0
//   %2 = map{exp(x0)} %0
//   %3 = map{add(x0, x1)} %1, %2   →   %2 = map{add(x0, x1)} %1, %1
#pragma once

#include "compiler/passes/passes.h"

namespace weft::compiler {

Graph common_subexpressions(const Graph& graph, const PassContext& context);

}  // namespace weft::compiler
