// Scaled dot-product attention. Conventions that all kernels share are in weft/kernels.h.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/attributes.h"
#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// Which keys a query sees, in addition to the mask. Query i has the position of key i + keys - queries, so that the
// last query is at the last key (with lengths: key length - query length), or of key i if `top_left`. It sees the keys
// from `window_left` before that position to `window_right` after it; negative: all of them on that side. `causal` is a
// window_right of 0. A query whose window holds no key, as causal ones before the first key, sees none. What a query
// does not see, whatever it holds, reaches neither its result nor its gradients.
struct AttentionOptions {
  double scale = 1;  // of q·k
  bool causal = false;
  std::int64_t window_left = -1, window_right = -1;
  bool top_left = false;
  // The result of a query that sees no key: zeros, or NaN, as softmax of a row of -inf.
  bool empty_is_nan = false;

  void fields(AttributeVisitor& v) {
    v("scale", scale, 1, "what each score q·k is multiplied by, often 1 / sqrt(dim)");
    v.brief("causal", causal, false, "hide the keys after a query's position");
    v.brief("window_left", window_left, -1, "how many keys before its position a query sees; negative: all");
    v.brief("window_right", window_right, -1, "how many keys after it; negative: all");
    v.brief("top_left", top_left, false,
            "query i has the position of key i; otherwise the last query has that of the last key");
    v.brief("empty_is_nan", empty_is_nan, false, "a query that sees no key gives NaN, not zeros");
  }
};

// The lengths of the sequences of a batch: i32 or u32 [batch], clamped to 0…queries and 0…keys. Keys past their length
// are hidden and neither they nor their values are read; queries past theirs see no key.
struct AttentionLengths {
  std::optional<View> queries = {}, keys = {};
};

// y = softmax(scale · q·kᵀ + mask) · v with online softmax: no score matrix in memory.
// q [batch, heads, queries, dim], k [batch, kv_heads, keys, dim], v [batch, kv_heads, keys, value_dim],
// y [batch, heads, queries, value_dim]; heads is a multiple of kv_heads. mask broadcasts to
// [batch, heads, queries, keys]: boolean, of which false hides its key, or a float that is added, of which -inf hides
// it; what is hidden reaches nothing, as with windows and lengths. A query that sees no key gives zeros unless
// `empty_is_nan`.
// f32, f16 and bf16 in any mixture, arithmetic in f32; any strides, dim and value_dim (up to 64: one pass in
// registers). A score of -inf, however it came about, gives its key the weight 0 (which times NaN or infinity in its v
// is NaN, unless the key is hidden); a NaN or +inf among a query's scores makes its row NaN. Tiles of keys that no
// query sees are not read. y may be q itself (up to 256 columns), not k or v. On a GPU the keys are split among
// workgroups if queries are few and keys many, or if a binding cannot hold all keys. Source: Milakov and Gimelshein,
// "Online normalizer calculation for softmax", 2018; Dao et al., "FlashAttention", 2022, and "Flash-Decoding", 2023.
// log_sums, f32 [batch, heads, queries], gets of each query log(Σ exp(score)), -inf if it sees no key: its weights are
// exp(score - log_sum). It is what attention_gradient() computes them again from.
void attention(Stream& stream, const View& q, const View& k, const View& v, const std::optional<View>& mask,
               const View& y, const AttentionOptions& options, const AttentionLengths& lengths = {},
               const std::optional<View>& log_sums = {});

// The cotangents dq, dk and dv of attention()'s operands, given g, that of the result; log_sums, which attention()
// gave; and delta [batch, heads, queries], f32: of each query the sum over columns of g times the result, less the
// cotangent of its log sum. The other operands are those of attention(). dk and dv are the sums over the heads that
// share them. Weights are computed again from q, k and log_sums: no matrix of all scores is in memory (256 MiB of
// scores' cotangents are, at most), and sums are made in one order, so that results repeat to the bit. A query that
// sees no key, whose result is a constant, gives zeros also where that is NaN. dq, dk and dv have the types of q, k and
// v, and may not be the memory of an operand. Throws Unsupported if what belongs to one head of keys exceeds a binding.
// Source: Dao, "FlashAttention-2", 2023.
void attention_gradient(Stream& stream, const View& q, const View& k, const View& v, const View& g,
                        const View& log_sums, const View& delta, const std::optional<View>& mask, const View& dq,
                        const View& dk, const View& dv, const AttentionOptions& options,
                        const AttentionLengths& lengths = {});

}  // namespace weft::kernels
