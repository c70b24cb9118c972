// Turns branches and loops into the forms that a schedule has.
#pragma once

#include "compiler/passes/passes.h"

namespace weft::compiler {

// Equal loops are computed once. Branches whose predicate is a constant are put in place; loops read their slices and
// write their stacked results by operations of their bodies.
Graph expand_control_flow(const Graph& graph, const PassContext& context);

}  // namespace weft::compiler
