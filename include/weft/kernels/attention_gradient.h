// The gradient of scaled dot-product attention. Conventions that all kernels share are in weft/kernels.h.
#pragma once

#include "weft/kernels/attention.h"

namespace weft::kernels {

// The cotangents dq, dk and dv of attention()'s operands, given g, that of the result; log_sums, which attention()
// gave; and delta [batch, heads, queries], f32: of each query the sum over columns of g times the result, less the
// cotangent of its log sum. The other operands are those of attention(). dk and dv are the sums over the heads that
// share them. Weights are computed again from q, k and log_sums: no score matrix in memory, and sums are made in one
// order, so that results repeat to the bit. A query that sees no key, whose result is a constant, gives zeros also
// where that is NaN. dq, dk and dv may have any of attention()'s types, and may not be the memory of an operand. Throws
// Unsupported if what belongs to one head of keys exceeds a binding. Source: Dao, "FlashAttention-2", 2023.
void attention_gradient(Stream& stream, const View& q, const View& k, const View& v, const View& g,
                        const View& log_sums, const View& delta, const std::optional<View>& mask, const View& dq,
                        const View& dk, const View& dv, const AttentionOptions& options,
                        const AttentionLengths& lengths = {});

}  // namespace weft::kernels
