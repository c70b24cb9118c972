// Products of one left operand with constant weights as one product (Op::joined_axes), for the passes that merge them.
#pragma once

#include "compiler/rewrite.h"

namespace weft::compiler {

// How many operands of the node, a product, are its own, if those behind the first are constants that can be joined; 0
// if they cannot.
std::size_t joinable_operands(const Node& node);

// The products of such nodes, which are of one left operand and alike but for the sizes of their results, as one. Its
// operands behind those of the product, an epilogue's, are joined along their first axis.
Tensor joined(Rewriter& r, std::span<const Node* const> members);

}  // namespace weft::compiler
