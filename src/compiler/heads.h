// Operands of attention written out, whatever their axes, as the kernel takes them.
#pragma once

#include "graph/graph.h"

namespace weft::compiler {

// q·kᵀ and the product with v broadcast the axes in front of the last two: "heads" here, all of them.
struct AttentionOperands {
  Value q, k, v;  // [heads…, queries, dim], [heads…, keys, dim], [heads…, keys, value_dim]
  Value mask;     // broadcasts to [heads…, queries, keys]; or empty
};

// The same as views [batch, heads, length, dim]. Keys and values that several heads of queries share, by sizes of 1 or
// repeated along the last of their heads' axes (repeat, or a broadcast and a reshape), stay as they are, uncopied.
//   q [2, 3, 4, 5, 16], k [2, 3, 1, 7, 16]           →   q [2, 12, 5, 16], k [2, 3, 7, 16]
//   q [2, 12, 5, 16], repeat{[1, 4, 1, 1]} k         →   q [2, 12, 5, 16], k [2, 3, 7, 16]
// Nothing if no views are that. `heads` are the result's.
std::optional<AttentionOperands> fold_heads(const AttentionOperands& operands, const Shape& heads);

// v without multiplications and divisions that make it smaller by a power of two, which are exact; `scale` takes them
// in.
Value without_scale(Value v, double& scale);

}  // namespace weft::compiler
