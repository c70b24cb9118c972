// Attention and rotary embeddings, and the norms that exported models have in ONNX's domain though it has none.
#include <cmath>
#include <limits>

#include "onnx/network.h"
#include "weft/array.h"
#include "weft/error.h"
#include "weft/graph.h"
#include "weft/rotary_embedding.h"

namespace weft::onnx {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor both(const Tensor& a, const Tensor& b) { return !a.defined() ? b : b.defined() ? a & b : a; }

// Which keys a query sees by its position and the lengths; undefined: all.
Tensor visible_keys(const AttentionCall& c) {
  const std::int64_t queries = c.q.shape()[2], keys = c.k.shape()[2];
  const Tensor query = reshape(arange(queries), {1, 1, queries, 1}), key = reshape(arange(keys), {1, 1, 1, keys});
  const auto lengths = [](const Tensor& t) { return reshape(cast(t, DType::i32), {t.size(), 1, 1, 1}); };
  Tensor visible = c.visible;
  if (c.key_lengths.defined()) visible = both(visible, key < lengths(c.key_lengths));
  if (c.query_lengths.defined()) visible = both(visible, query < lengths(c.query_lengths));
  const std::int64_t right = c.causal ? 0 : c.window_right;
  if (right < 0 && c.window_left < 0) return visible;
  Tensor position = query;
  if (c.offset || !c.key_lengths.defined()) {
    position = position + c.offset.value_or(keys - queries);
  } else {
    position = position + lengths(c.key_lengths);
    position = c.query_lengths.defined() ? position - lengths(c.query_lengths) : position - queries;
  }
  if (right >= 0) visible = both(visible, key <= position + right);
  if (c.window_left >= 0) visible = both(visible, key >= position - c.window_left);
  return visible;
}

}  // namespace

AttentionScores attend(const AttentionCall& c) {
  const Shape &q = c.q.shape(), &k = c.k.shape();
  if (k[1] < 1 || q[1] % k[1] != 0) throw ShapeError("{} heads of queries, and {} of keys", q[1], k[1]);
  const double scale = c.scale.value_or(1 / std::sqrt(static_cast<double>(q[3])));
  const std::int64_t queries = q[2], keys = k[2];
  const bool doubles = c.q.dtype() == DType::f64 || c.k.dtype() == DType::f64 || c.v.dtype() == DType::f64;
  const bool windows = c.causal || c.window_left >= 0 || c.window_right >= 0;
  // Positions of one kernel: those of the keys from the first one on, or up to the last one.
  const bool placed =
      !windows || !c.offset || *c.offset == 0 || (*c.offset == keys - queries && !c.key_lengths.defined());
  if (!doubles && !c.keep_scores && c.softcap == 0 && !c.sink.defined() && placed) {
    Tensor mask = c.bias;
    if (c.visible.defined()) mask = mask.defined() ? select(c.visible, mask, -kInfinity) : c.visible;
    const bool from_first = windows && c.offset && *c.offset == 0 && !(keys == queries && !c.key_lengths.defined());
    return {attention(c.q, c.k, c.v, mask,
                      {.scale = scale,
                       .causal = c.causal,
                       .window_left = c.window_left,
                       .window_right = c.causal ? -1 : c.window_right,
                       .top_left = from_first},
                      as(c.query_lengths, DType::i32), as(c.key_lengths, DType::i32))};
  }
  const DType type = doubles ? DType::f64 : DType::f32;
  const std::int64_t groups = q[1] / k[1];
  const Shape scores_shape = {q[0], q[1], queries, keys};
  AttentionScores s;
  const Tensor grouped = reshape(cast(c.q, type) * scale, {q[0], k[1], groups, queries, q[3]});
  s.products = reshape(matmul(grouped, expand_dims(cast(c.k, type), 2).T()), scores_shape);
  s.capped = c.softcap == 0 ? s.products : tanh(s.products / c.softcap) * c.softcap;
  s.biased = c.bias.defined() ? s.capped + cast(c.bias, type) : s.capped;
  if (const Tensor visible = visible_keys(c); visible.defined()) s.biased = select(visible, s.biased, -kInfinity);
  Tensor weights;
  if (c.sink.defined()) {
    const Tensor sink = broadcast_to(cast(c.sink, type), {q[0], q[1], queries, 1});
    weights = slice(softmax(concat({s.biased, sink}, 3)), 3, 0, keys);
  } else {
    weights = softmax(s.biased);
  }
  s.weights = select(s.biased == -kInfinity, 0, weights);
  const Tensor y = matmul(reshape(s.weights, {q[0], k[1], groups, queries, keys}), expand_dims(cast(c.v, type), 2));
  s.y = cast(reshape(y, {q[0], q[1], queries, c.v.shape()[3]}), c.q.dtype());
  return s;
}

Tensor split_heads(const Node& n, const Tensor& x, std::int64_t heads) {
  const Shape& shape = x.shape();
  if (x.rank() != 3 || heads < 1 || shape[2] % heads != 0) {
    n.fail("an operand is {}, expected [batch, sequence, hidden] with hidden divided by {} heads", to_string(shape),
           heads);
  }
  return permute(reshape(x, {shape[0], shape[1], heads, shape[2] / heads}), {0, 2, 1, 3});
}

Tensor merge_heads(const Tensor& x) {
  const Shape& shape = x.shape();
  return reshape(permute(x, {0, 2, 1, 3}), {shape[0], shape[2], shape[1] * shape[3]});
}

Tensor rotated_heads(const Node& n, const Tensor& x, const Tensor& positions, const Tensor& offsets, const Tensor& cos,
                     const Tensor& sin) {
  const Shape& shape = x.shape();
  const bool flat = x.rank() == 3;
  std::optional<std::int64_t> dims;
  if (const std::int64_t given = n.integer("rotary_embedding_dim", 0); given != 0) dims = given;
  if (!flat && x.rank() != 4) n.fail("the operand is {}, expected rank 3 or 4", to_string(shape));
  Tensor y = x;
  if (flat) {
    // Of all elements the tables say how many a head has.
    std::int64_t heads = n.integer("num_heads", 0);
    if (heads == 0 && !dims && cos.rank() > 0 && cos.shape()[-1] != 0) heads = shape[2] / (2 * cos.shape()[-1]);
    if (heads < 1 || shape[2] % heads != 0) n.fail("num_heads is {}, of {} elements", heads, shape[2]);
    y = reshape(x, {shape[0], shape[1], heads, shape[2] / heads});
  }
  y = rotary_embedding(y, {.positions = positions,
                           .offsets = offsets,
                           .cos = cos,
                           .sin = sin,
                           .dims = dims,
                           .interleaved = n.integer("interleaved", 0) != 0,
                           .axis = flat ? 1 : 2});
  return reshape(y, shape);
}

namespace {

Tensors attention_23(const Node& n) {
  AttentionCall c{.q = n.in(0), .k = n.in(1), .v = n.in(2)};
  const bool flat = c.q.rank() == 3;
  if (flat) {
    const std::int64_t heads = n.integer("kv_num_heads");
    c.q = split_heads(n, c.q, n.integer("q_num_heads"));
    c.k = split_heads(n, c.k, heads), c.v = split_heads(n, c.v, heads);
  }
  if (c.q.rank() != 4 || c.k.rank() != 4 || c.v.rank() != 4) {
    n.fail("Q is {}, K {} and V {}, expected rank 3 or 4", to_string(c.q.shape()), to_string(c.k.shape()),
           to_string(c.v.shape()));
  }
  std::int64_t past = 0;
  if (n.has(4)) {
    past = n.in(4).shape()[2];
    c.k = concat({n.in(4), c.k}, 2), c.v = concat({n.in(5), c.v}, 2);
  }
  const Tensor key = c.k, value = c.v;
  const std::int64_t keys = key.shape()[2];
  if (n.has(6)) c.key_lengths = cast(n.in(6), DType::i32);
  // Without a cache queries and keys begin together; with one of the model's own the last ones meet.
  if (!n.has(6)) c.offset = past;
  if (n.has(3)) {
    Tensor mask = n.in(3);
    const bool truth = mask.dtype() == DType::boolean;
    if (mask.rank() > 0 && mask.shape()[-1] != 1 && mask.shape()[-1] < keys) {
      Ints after(static_cast<std::size_t>(mask.rank()), 0);
      const Ints before = after;
      after.back() = keys - mask.shape()[-1];
      if (!truth && !is_floating(mask.dtype())) mask = cast(mask, DType::f32);
      mask = pad(mask, before, after, PadMode::constant, truth ? Number(0) : Number(-kInfinity));
    }
    (truth ? c.visible : c.bias) = is_integer(mask.dtype()) ? cast(mask, DType::f32) : mask;
  }
  c.causal = n.integer("is_causal", 0) != 0;
  c.window_left = n.integer("left_window_size", -1), c.window_right = n.integer("right_window_size", -1);
  c.softcap = n.number("softcap", 0);
  if (n.attribute("scale")) c.scale = n.number("scale", 1);
  c.keep_scores = n.wants(3);
  const AttentionScores s = attend(c);
  Tensors all = {flat ? merge_heads(s.y) : s.y, key, value};
  if (c.keep_scores) {
    const std::int64_t mode = n.integer("qk_matmul_output_mode", 0);
    if (mode < 0 || mode > 3) n.fail("qk_matmul_output_mode is {}, expected 0 to 3", mode);
    const Tensor* const modes[] = {&s.products, &s.capped, &s.biased, &s.weights};
    all.push_back(cast(*modes[mode], c.q.dtype()));
  }
  return results(n, std::move(all));
}

Tensors rotary_embedding_23(const Node& n) { return {rotated_heads(n, n.in(0), n.maybe(3), {}, n.in(1), n.in(2))}; }

constexpr OperatorRow kRows[] = {
    {"Attention", attention_23, 23,
     "the mask is added behind the softcap, and the scores are those in front of it (qk_matmul_output_mode 1), as ONNX "
     "says since 1.21"},
    {"RotaryEmbedding", rotary_embedding_23, 23},
    {"LayerNormalization", microsoft_layer_normalization, 1, "before opset 17 as ONNX Runtime has it"},
    {"SimplifiedLayerNormalization", simplified_layer_normalization, 1, "as ONNX Runtime has it"},
};

}  // namespace

OperatorRows attention_rows() { return {"", kRows}; }

}  // namespace weft::onnx
