// Scaled dot-product attention. Conventions that all kernels share are in weft/kernels.h.
#pragma once

#include <optional>

#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

struct AttentionOptions {
  float scale = 1;       // of q·k
  bool causal = false;   // query i sees keys up to i + (keys - queries)
};

// y = softmax(scale · q·kᵀ + mask) · v with online softmax: no score matrix in memory.
// q [batch, heads, queries, dim], k [batch, kv_heads, keys, dim], v [batch, kv_heads, keys, value_dim],
// y [batch, heads, queries, value_dim]; heads is a multiple of kv_heads. mask broadcasts to
// [batch, heads, queries, keys]: boolean (false hides) or a float that is added. A query that sees no key gives zeros.
// f32, f16 and bf16 in any mixture, arithmetic in f32; any strides, dim and value_dim (up to 64: one pass in registers).
// A score of -inf, however it came about, hides its key; a NaN or +inf among a query's scores makes its row NaN. A hidden
// key's weight is zero, so only NaN or infinity in its v can reach the result. y may be q itself, not k or v.
// Source: Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; Dao et al., "FlashAttention", 2022.
void attention(Stream& stream, const View& q, const View& k, const View& v, const std::optional<View>& mask, const View& y,
               const AttentionOptions& options);

}  // namespace weft::kernels
