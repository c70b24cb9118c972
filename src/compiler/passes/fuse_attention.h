// Recognises attention written as separate operations, and computes it without a score matrix in memory.
//   s = matmul(q, kᵀ)
//   s = map{add(mul(x0, scale), x1)} s, mask    (either part may be missing; select(mask, x0, -inf) too)
//   y = matmul(softmax(s), v)                     →   y = attention{scale} q, k, v, mask
// Heads of queries that share keys and values are folded to axis 1 as compiler/heads.h describes; powers of two by
// which q or k was divided before the product go into the scale. The attention has empty_is_nan, omitted above, because
// softmax gives NaN where all keys are hidden by -inf. A constant mask that is a window, such as a causal one, becomes
// the attention's window, so that hidden keys are not even read; this applies to calls of the attention op too.
//   y = attention q, k, v, mask                   →   y = attention{causal=true} q, k, v
#pragma once

#include "compiler/passes/passes.h"

namespace weft::compiler {

Graph fuse_attention(const Graph& graph, const PassContext& context);

}  // namespace weft::compiler
