// Attention as com.microsoft has it.
#include <algorithm>

#include "onnx/network.h"
#include "weft/array.h"
#include "weft/graph.h"
#include "weft/rotary_embedding.h"

namespace weft::onnx {

namespace {

void lacks_attribute(const Node& n, std::string_view name) {
  if (n.integer(name, 0) != 0) n.lacks("{} is {}", name, n.integer(name, 0));
}

std::int64_t heads_of(const Node& n) {
  const std::int64_t heads = n.integer("num_heads");
  if (heads < 1) n.fail("num_heads is {}, expected 1 or more", heads);
  return heads;
}

void set_scale(const Node& n, AttentionCall& c) {
  if (const double scale = n.number("scale", 0); scale != 0) c.scale = scale;
}

// Adds to the bias what a mask hides: mask_filter_value. The mask is [batch, keys], [batch, queries, keys], [batch, 1,
// most, most], or lengths: [batch], [2 · batch] of ends and then starts, [3 · batch + 2] that begin with them.
void add_mask(const Node& n, AttentionCall& c, const Tensor& mask) {
  if (!mask.defined()) return;
  const std::int64_t batch = c.q.shape()[0], queries = c.q.shape()[2], keys = c.k.shape()[2];
  const Shape& shape = mask.shape();
  Tensor keep;
  if (mask.rank() == 1) {
    const Tensor place = reshape(arange(keys), {1, 1, 1, keys});
    const auto lengths = [&](std::int64_t begin) {
      return reshape(cast(slice(mask, 0, begin, begin + batch), DType::i32), {batch, 1, 1, 1});
    };
    if (shape[0] != batch && shape[0] != 2 * batch && shape[0] != 3 * batch + 2) {
      n.fail("the mask is {}, of a batch of {}", to_string(shape), batch);
    }
    keep = place < lengths(0);
    if (shape[0] == 2 * batch) keep = keep & (place >= lengths(batch));
  } else if (mask.rank() == 2) {
    keep = reshape(mask > 0, {shape[0], 1, 1, shape[1]});
  } else if (mask.rank() == 3) {
    keep = expand_dims(mask > 0, 1);
  } else if (mask.rank() == 4 && shape[2] >= keys && shape[3] >= keys && keys >= queries) {
    keep = slice(slice(mask, 2, keys - queries, keys), 3, 0, keys) > 0;
  }
  if (!keep.defined() || (keep.shape()[3] != keys && keep.shape()[3] != 1)) {
    n.fail("the mask is {}, of {} queries and {} keys", to_string(shape), queries, keys);
  }
  const Tensor hidden = select(keep, 0.0, n.number("mask_filter_value", -10000));
  c.bias = c.bias.defined() ? c.bias + hidden : hidden;
}

// Of keys and values, the cache in front; [2, batch, heads, keys, dim].
Tensors attend_projected(const Node& n, const Tensor& projected, std::span<const std::int64_t> sizes,
                         const Tensor& mask, const Tensor& past, const Tensor& bias) {
  const std::int64_t heads = heads_of(n);
  const std::vector<Tensor> parts = split(projected, sizes, 2);
  AttentionCall c{.q = split_heads(n, parts[0], heads),
                  .k = split_heads(n, parts[1], heads),
                  .v = split_heads(n, parts[2], heads),
                  .bias = bias};
  if (past.defined()) {
    if (past.rank() != 5 || past.shape()[0] != 2)
      n.fail("past is {}, expected keys and values", to_string(past.shape()));
    c.k = concat({squeeze(slice(past, 0, 0, 1), 0), c.k}, 2);
    c.v = concat({squeeze(slice(past, 0, 1, 2), 0), c.v}, 2);
  }
  add_mask(n, c, mask);
  set_scale(n, c);
  c.causal = n.integer("unidirectional", 0) != 0;
  Tensors all = {merge_heads(attend(c).y)};
  if (n.wants(1)) all.push_back(stack({c.k, c.v}, 0));
  return all;
}

// The sizes of queries, keys and values in a projection of that many elements.
Ints projected_sizes(const Node& n, std::int64_t all) {
  const Ints given = n.integers("qkv_hidden_sizes");
  if (given.empty() && all % 3 == 0) return {all / 3, all / 3, all / 3};
  if (given.size() != 3 || given[0] + given[1] + given[2] != all) {
    n.fail("the weights have {} columns, expected those of queries, keys and values", all);
  }
  return given;
}

// [batch, sequence, heads, parts, dim]: the part as [batch, sequence, heads · dim].
Tensor packed_part(const Tensor& x, std::int64_t part) {
  const Shape& s = x.shape();
  return reshape(squeeze(slice(x, 3, part, part + 1), 3), {s[0], s[1], s[2] * s[4]});
}

}  // namespace

Tensors microsoft_attention(const Node& n) {
  lacks_attribute(n, "do_rotary"), lacks_attribute(n, "past_present_share_buffer");
  Tensor projected = matmul(n.in(0), n.in(1));
  if (n.has(2)) projected = projected + n.in(2);
  return attend_projected(n, projected, projected_sizes(n, projected.shape()[-1]), n.maybe(3), n.maybe(4), n.maybe(5));
}

Tensors quantized_attention(const Node& n) {
  lacks_attribute(n, "do_rotary"), lacks_attribute(n, "past_present_share_buffer");
  const Tensor projected = scaled_product(n.in(0), n.in(3), n.maybe(6), n.in(1), n.in(4), n.maybe(7), n.maybe(2));
  return attend_projected(n, projected, projected_sizes(n, projected.shape()[-1]), n.maybe(5), n.maybe(8), {});
}

Tensors multi_head_attention(const Node& n) {
  if (n.has(8) || n.has(9)) n.lacks("there is a past_sequence_length or cache_indirection, of a cache that is shared");
  if (n.wants(3)) n.lacks("its result qk is used");
  const std::int64_t heads = heads_of(n);
  Tensor q = n.in(0), k = n.maybe(1), v = n.maybe(2);
  if (q.rank() == 5) k = packed_part(q, 1), v = packed_part(q, 2), q = packed_part(q, 0);
  if (k.defined() && k.rank() == 5) v = packed_part(k, 1), k = packed_part(k, 0);
  if (!k.defined() || !v.defined()) n.fail("there are no keys or no values");
  if (n.has(3)) {
    const Tensor bias = n.in(3);
    const std::int64_t hidden = q.shape()[-1];
    if (bias.rank() != 1 || bias.shape()[0] < 2 * hidden) n.fail("bias is {}", to_string(bias.shape()));
    q = q + slice(bias, 0, 0, hidden);
    if (k.rank() == 3) k = k + slice(bias, 0, hidden, 2 * hidden);
    if (v.rank() == 3) v = v + slice(bias, 0, 2 * hidden, bias.shape()[0]);
  }
  const auto with_heads = [&](const Tensor& x) { return x.rank() == 4 ? x : split_heads(n, x, heads); };
  AttentionCall c{.q = with_heads(q), .k = with_heads(k), .v = with_heads(v), .bias = n.maybe(5)};
  if (n.has(6)) c.k = concat({n.in(6), c.k}, 2), c.v = concat({n.in(7), c.v}, 2);
  add_mask(n, c, n.maybe(4));
  set_scale(n, c);
  c.causal = n.integer("unidirectional", 0) != 0;
  return results(n, {merge_heads(attend(c).y), c.k, c.v});
}

namespace {

// A cache of `size` keys with new ones: [batch, heads, size, dim]. `start` [batch] is the place of the first new one;
// undefined: 0.
Tensor updated_cache(const Tensor& past, const Tensor& x, std::int64_t size, const Tensor& start) {
  const std::int64_t batch = x.shape()[0], count = x.shape()[2];
  const std::int64_t old = past.defined() ? past.shape()[2] : 0;
  // What is behind the cache is hidden.
  const auto filled = [&](const Tensor& t) {
    const std::int64_t more = size - t.shape()[2];
    return more > 0 ? pad(t, Ints{0, 0, 0, 0}, Ints{0, 0, more, 0}) : t;
  };
  if (old == 0) return filled(x);
  if (!start.defined()) return count < old ? filled(concat({x, slice(past, 2, count, old)}, 2)) : filled(x);
  if (batch == 1 && old + count == size) return concat({past, x}, 2);
  if (batch == 1) return dynamic_update_slice(filled(past), x, start, {2});
  const Tensor places = reshape(start, {batch, 1}) + reshape(arange(count), {1, count});
  const auto sequence_first = [](const Tensor& t) { return permute(t, {0, 2, 1, 3}); };
  return sequence_first(
      scatter_nd(ScatterKind::assign, sequence_first(filled(past)), expand_dims(places, 2), sequence_first(x), 1));
}

}  // namespace

Tensors group_query_attention(const Node& n) {
  lacks_attribute(n, "sliding_window_cache");
  for (const std::string_view name : {"k_quant_type", "v_quant_type"}) {
    if (const std::string type = n.text(name, "NONE"); type != "NONE") n.lacks("{} is {}", name, type);
  }
  if (n.wants(3)) n.lacks("its result output_qk is used");
  const std::int64_t heads = heads_of(n), kv_heads = n.integer("kv_num_heads");
  if (kv_heads < 1 || heads % kv_heads != 0) n.fail("there are {} heads and {} of keys", heads, kv_heads);
  Tensor q = n.in(0), k = n.maybe(1), v = n.maybe(2);
  if (q.rank() != 3) n.fail("query is {}, expected rank 3", to_string(q.shape()));
  if (!k.defined()) {
    const std::int64_t all = q.shape()[2], dim = all / (heads + 2 * kv_heads);
    if (dim * (heads + 2 * kv_heads) != all) n.fail("query is {}, of {} heads", to_string(q.shape()), heads);
    const std::vector<Tensor> parts = split(q, Ints{heads * dim, kv_heads * dim, kv_heads * dim}, 2);
    q = parts[0], k = parts[1], v = parts[2];
  }
  const Tensor past_key = n.maybe(3), past_value = n.maybe(4);
  const std::int64_t batch = q.shape()[0], count = q.shape()[1], total = n.integer_of(6);
  const std::int64_t old = past_key.defined() ? past_key.shape()[2] : 0, size = std::max({old, total, count});
  const bool prompt = total == count;
  const Tensor lengths = cast(reshape(n.in(5), {n.in(5).size()}), DType::i32) + 1;
  const Tensor start = prompt ? Tensor() : lengths - count;

  // [batch, sequence, heads, dim], normed and turned.
  const bool rotary = n.integer("do_rotary", 0) != 0, normed = n.has(14);
  const auto prepared = [&](const Tensor& x, std::int64_t of, std::size_t norm) {
    Tensor y = reshape(x, {batch, x.shape()[1], of, x.shape()[2] / of});
    if (normed) y = rms_norm(y, n.in(norm), n.number("qk_norm_epsilon", 1e-6));
    if (rotary) {
      const Tensor positions = n.maybe(9);
      y = rotary_embedding(y, {.positions = positions,
                               .offsets = positions.defined() ? Tensor() : start,
                               .cos = n.in(7),
                               .sin = n.in(8),
                               .dims = 2 * n.in(7).shape()[-1],
                               .interleaved = n.integer("rotary_interleaved", 0) != 0,
                               .axis = 1});
    }
    return permute(y, {0, 2, 1, 3});
  };
  AttentionCall c{.q = prepared(q, heads, 14),
                  .k = updated_cache(past_key, prepared(k, kv_heads, 15), size, start),
                  .v = updated_cache(past_value, split_heads(n, v, kv_heads), size, start),
                  .bias = n.maybe(10)};
  if (c.bias.defined() && c.bias.shape()[-1] < size) {
    c.bias = pad(c.bias, Ints{0, 0, 0, 0}, Ints{0, 0, 0, size - c.bias.shape()[-1]});
  }
  c.causal = n.integer("causal", 1) != 0;
  if (prompt && c.causal) {
    // What is behind a sequence no query of it sees, and those behind it see no more than the last one.
    c.offset = 0;
    if (batch > 1) c.key_lengths = lengths;
  } else if (batch > 1 || total != size) {  // one sequence that fills the cache has no length of its own
    c.key_lengths = lengths;
    if (prompt) c.query_lengths = lengths;
  }
  if (const std::int64_t window = n.integer("local_window_size", -1); window > 0) c.window_left = window - 1;
  c.softcap = n.number("softcap", 0);
  set_scale(n, c);
  if (n.has(11)) {
    c.sink = reshape(n.in(11), {1, heads, 1, 1});
  } else if (n.integer("smooth_softmax", 0) > 0) {
    c.sink = reshape(Graph::scalar(0.0, DType::f32), {1, 1, 1, 1});
  }
  return results(n, {merge_heads(attend(c).y), c.k, c.v});
}

Tensors microsoft_rotary_embedding(const Node& n) {
  lacks_attribute(n, "is_packed_batching");
  const Tensor positions = n.in(1);
  // One number is the position of the first element.
  const bool first = positions.rank() < 2;
  return {rotated_heads(n, n.in(0), first ? Tensor() : positions, first ? reshape(positions, {}) : Tensor(), n.in(2),
                        n.in(3))};
}

}  // namespace weft::onnx
