// The one way to make operations again, on other operands, in another graph or expression.
#pragma once

#include <span>
#include <vector>

#include "graph/node_map.h"

namespace weft {

// The same operation on other operands, with all that the node carries: its label and its line. (What a Graph keeps
// beside its nodes stays with that graph; compiler/rewrite.h takes it along. Data belongs to the operands it was
// computed from.) Returns the first result. Throws InvalidArgument if the operands do not fit.
Tensor clone(const Node& node, std::vector<Tensor> inputs);
// Another operation in the node's place.
Tensor clone(const Node& node, OpPtr op, std::vector<Tensor> inputs);

// Clones the node on what `now` has for its operands, and sets its results there.
void clone(const Node& node, ResultMap& now);
// The same, if `now` has anything for its operands; if not, the node stands for itself.
void clone_if_changed(const Node& node, ResultMap& now);

// The tensors with others in place of those that `now` has something for. Nodes that need none of these are shared.
// What was made is in `now`, so that a further call goes on from there.
std::vector<Tensor> clone(std::span<const Tensor> roots, ResultMap& now);

}  // namespace weft
