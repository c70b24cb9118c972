// Brings the operands of attention written as separate operations, whatever their axes, into the form that the kernel
// takes.
#pragma once

#include "graph/graph.h"

namespace weft::compiler {

// q·kᵀ and the product with v broadcast the axes before the last two, which are all called heads here.
struct AttentionOperands {
  Tensor q, k, v;  // [heads…, queries, dim], [heads…, keys, dim], [heads…, keys, value_dim]
  Tensor mask;     // broadcasts to [heads…, queries, keys]; or empty
};

// The same as views [batch, heads, length, dim]. Keys and values that several heads of queries share, by sizes of 1 or
// repeated along the last of their heads' axes (repeat, or a broadcast and a reshape), are not copied.
//   q [2, 3, 4, 5, 16], k [2, 3, 1, 7, 16]           →   q [2, 12, 5, 16], k [2, 3, 7, 16]
//   q [2, 12, 5, 16], repeat{[1, 4, 1, 1]} k         →   q [2, 12, 5, 16], k [2, 3, 7, 16]
// Nothing if views cannot express it. `heads` are the result's.
std::optional<AttentionOperands> fold_heads(const AttentionOperands& operands, const Shape& heads);

// v without multiplications and divisions that reduce it by a power of two, which are exact; `scale` is multiplied by
// them.
Tensor without_scale(const Tensor& v, double& scale);

}  // namespace weft::compiler
