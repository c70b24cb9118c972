// Turns branches and loops into the forms that a schedule has.
#pragma once

#include "compiler/passes/passes.h"

namespace weft::compiler {

// Of two ops of which one gives what the other gives and more (Op::extends), for the same operands, that one.
Graph merge_extended(const Graph& graph, const PassContext& context);

// Branches whose predicate is a constant are put in place; loops read their slices and write their stacked results by
// operations of their bodies.
Graph expand_control_flow(const Graph& graph, const PassContext& context);

}  // namespace weft::compiler
