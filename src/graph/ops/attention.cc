#include "graph/ops/attention.h"

#include <algorithm>

#include "core/format.h"
#include "graph/graph.h"
#include "graph/op_rows.h"
#include "graph/op_schemas.h"
#include "graph/ops/identity.h"
#include "graph/rules.h"
#include "kernels/attention/attention.h"
#include "weft/array.h"
#include "weft/error.h"
#include "weft/kernels/attention.h"

namespace weft {

std::vector<TensorType> AttentionOp::infer(std::span<const TensorType> in) const {
  const auto& [q, k, v] = std::tie(in[0], in[1], in[2]);
  const auto fail = [&](std::string_view why) {
    throw ShapeError("attention: q {}, k {}, v {}: {}", weft::to_string(q), weft::to_string(k), weft::to_string(v),
                     why);
  };
  const std::size_t named = 3 + std::size_t{a.query_lengths} + std::size_t{a.key_lengths};
  if (in.size() != named && in.size() != named + 1) {
    throw InvalidArgument("attention: {} operands, its attributes name {}, or one more with a mask", in.size(), named);
  }
  std::size_t next = 3;
  const auto given = [&](bool there) { return there ? &in[next++] : nullptr; };
  const TensorType* mask = given(a.has_mask(in.size()));
  const TensorType* query_lengths = given(a.query_lengths);
  const TensorType* key_lengths = given(a.key_lengths);
  const DType type = infer_dtype("attention", {&q, &k, &v, mask, query_lengths, key_lengths}, a.type);
  if (k.shape[0] != q.shape[0] || v.shape[0] != q.shape[0]) fail("batch sizes differ");
  if (k.shape[1] != v.shape[1]) fail("k and v have different numbers of heads");
  if (k.shape[1] == 0 ? q.shape[1] != 0 : q.shape[1] % k.shape[1] != 0) {
    fail("q's heads are not a multiple of k's");
  }
  if (k.shape[2] != v.shape[2]) fail("k and v have different lengths");
  if (k.shape[3] != q.shape[3]) fail("q and k have different head sizes");
  if (mask) {
    const Shape scores{q.shape[0], q.shape[1], q.shape[2], k.shape[2]};
    bool fits = mask->shape.rank() <= 4;
    for (int i = 1; fits && i <= mask->shape.rank(); ++i) fits = mask->shape[-i] == 1 || mask->shape[-i] == scores[-i];
    if (!fits) {
      fail(std::format("the mask {} does not broadcast to the scores {}", weft::to_string(mask->shape),
                       weft::to_string(scores)));
    }
  }
  for (const TensorType* lengths : {query_lengths, key_lengths}) {
    if (lengths && lengths->shape != Shape{q.shape[0]}) {
      fail(std::format("lengths are {}, expected the shape [{}]", weft::to_string(*lengths), q.shape[0]));
    }
  }
  return {{type, {q.shape[0], q.shape[1], q.shape[2], v.shape[3]}}};
}

OpPtr AttentionOp::with_types(std::span<const TensorType>, std::span<const TensorType>,
                              std::span<const DType> results) const {
  AttentionAttributes typed = a;
  typed.type = results[0];
  return make_op<AttentionOp>(typed);
}

struct AttentionOp::Call {
  std::optional<View> mask;
  kernels::AttentionLengths lengths;
};

AttentionOp::Call AttentionOp::call_of(const Launch& call) const {
  Call c;
  std::size_t next = 3;
  if (a.has_mask(call.inputs.size())) c.mask = call.inputs[next++];
  if (a.query_lengths) c.lengths.queries = call.inputs[next++];
  if (a.key_lengths) c.lengths.keys = call.inputs[next++];
  return c;
}

void AttentionOp::lower(const Launch& call) const {
  const Call c = call_of(call);
  kernels::attention(call.stream, call.inputs[0], call.inputs[1], call.inputs[2], c.mask, call.outputs[0], a.options,
                     c.lengths);
}

Work AttentionOp::work(const Launch& call) const {
  const Shape &q = call.inputs[0].shape(), &k = call.inputs[1].shape();
  const double keys = kernels::attention_mean_keys(a.options, {0, q[2], q[2]}, {0, k[2], k[2]});
  const auto queries = static_cast<double>(q[0] * q[1] * q[2]);
  return with_bytes(call, kernels::attention_work(queries, keys, q[3], call.outputs[0].shape()[3]));
}

// ---- Derivatives and batching

namespace {

// The operands behind q, k and v, as far as they are there.
struct MoreOperands {
  Tensor mask, query_lengths, key_lengths;
};

template <class Attributes>
MoreOperands more_operands(const Attributes& a, std::span<const Tensor> in, std::size_t next) {
  MoreOperands more;
  if (a.has_mask(in.size())) more.mask = in[next++];
  if (a.query_lengths) more.query_lengths = in[next++];
  if (a.key_lengths) more.key_lengths = in[next++];
  return more;
}

// Attention in f32 with the matrix of weights: heads are [kv_heads, group], so that the group broadcasts over the head
// of keys and values that it shares.
class Weights {
 public:
  Tensor q, k, v;  // f32 [batch, kv_heads, group or 1, length, dim]; zeros past the sequences' lengths
  Tensor weights;  // [batch, kv_heads, group, queries, keys]; zeros of a query that sees no key
  Tensor empty;    // bool [batch, kv_heads, group, queries, 1]: which queries see no key

  Weights(const kernels::AttentionOptions& options, const Tensor& q4, const Tensor& k4, const Tensor& v4,
          const MoreOperands& more)
      : shape_{q4.shape()[0], k4.shape()[1], k4.shape()[1] == 0 ? 1 : q4.shape()[1] / k4.shape()[1], q4.shape()[2],
               k4.shape()[2]} {
    if (more.query_lengths.defined()) query_length_ = length(more.query_lengths, shape_[3]);
    if (more.key_lengths.defined()) key_length_ = length(more.key_lengths, shape_[4]);
    q = of_queries(q4);
    k = of_keys(k4);
    v = of_keys(v4);
    Tensor scores = matmul(q, k.T()) * options.scale;
    Tensor seen = seen_keys(options);
    if (more.mask.defined()) {
      Shape shape = more.mask.shape();
      while (shape.rank() < 4) shape.insert(0, 1);
      const std::int64_t heads = shape[1];
      shape[1] = heads == 1 ? 1 : shape_[2];
      shape.insert(1, heads == 1 ? 1 : shape_[1]);
      const Tensor mask = reshape(more.mask, shape);
      if (mask.dtype() != DType::boolean)
        scores = scores + cast(mask, DType::f32);
      else
        seen = seen.defined() ? logical_and(seen, mask) : mask;
    }
    const Tensor hidden = Graph::scalar(-std::numeric_limits<double>::infinity(), DType::f32);
    if (seen.defined()) scores = select(seen, scores, hidden);
    // The weights do not depend on what is taken off all scores of a query.
    const Tensor top = reduce(ReduceKind::max, identity(scores, IdentityKind::stop_gradient), {-1}, true);
    const Tensor unscaled = exp(scores - select(top == hidden, 0.0f, top));
    const Tensor sum = reduce(ReduceKind::sum, unscaled, {-1}, true);
    empty = sum == 0.0f;
    weights = unscaled / select(empty, 1.0f, sum);
  }

  // A tensor of queries in the form of q, and one of keys in that of k.
  Tensor of_queries(const Tensor& x) const {
    const Tensor split = reshape(cast(x, DType::f32), {shape_[0], shape_[1], shape_[2], shape_[3], x.shape()[3]});
    return query_length_.defined() ? select(query_position() < query_length_, split, 0.0f) : split;
  }
  // And back.
  Tensor as_queries(const Tensor& x, DType type) const {
    return cast(reshape(x, {shape_[0], shape_[1] * shape_[2], shape_[3], x.shape()[4]}), type);
  }
  Tensor as_keys(const Tensor& x, DType type) const { return cast(reduce(ReduceKind::sum, x, {2}), type); }

 private:
  Tensor of_keys(const Tensor& x) const {
    const Tensor split = expand_dims(cast(x, DType::f32), 2);
    return key_length_.defined()
               ? select(expand_dims(arange(0, shape_[4], 1, DType::i32), 1) < key_length_, split, 0.0f)
               : split;
  }
  Tensor query_position() const { return expand_dims(arange(0, shape_[3], 1, DType::i32), 1); }
  // [batch, 1, 1, 1, 1], at most `most`.
  static Tensor length(const Tensor& lengths, std::int64_t most) {
    most = std::min<std::int64_t>(most, std::numeric_limits<std::int32_t>::max());
    return reshape(cast(clamp(lengths, 0, most), DType::i32), {lengths.shape()[0], 1, 1, 1, 1});
  }
  // Which keys queries see by windows and lengths; undefined: all.
  Tensor seen_keys(const kernels::AttentionOptions& o) const {
    Tensor seen;
    const auto add = [&](const Tensor& more) { seen = seen.defined() ? logical_and(seen, more) : more; };
    const Tensor key = arange(0, shape_[4], 1, DType::i32);
    if (query_length_.defined()) add(query_position() < query_length_);
    if (key_length_.defined()) add(key < key_length_);
    Tensor place = query_position();
    if (!o.top_left) {
      if (!query_length_.defined() && !key_length_.defined()) {
        place = place + (shape_[4] - shape_[3]);
      } else {
        if (key_length_.defined())
          place = place + key_length_;
        else
          place = place + shape_[4];
        if (query_length_.defined())
          place = place - query_length_;
        else
          place = place - shape_[3];
      }
    }
    const auto most = shape_[3] + shape_[4];
    if (o.window_left >= 0) add(key >= place - std::min(o.window_left, most));
    const std::int64_t right = o.causal ? 0 : o.window_right;
    if (right >= 0) add(key <= place + std::min(right, most));
    return seen;
  }

  Shape shape_;  // of the weights
  Tensor query_length_, key_length_;
};

// Operands of an op on entries of a batch, with the batch merged into the first axis of each; the operand `mask`, which
// broadcasts, stays as it is where that says the same.
std::vector<Tensor> merged_batch(std::span<const Tensor> in, std::span<const int> axes,
                                 std::optional<std::size_t> mask) {
  const std::int64_t size = batch_size(in, axes);
  std::vector<Tensor> all;
  const std::int64_t entries = in[0].shape()[axes[0] == 0 ? 1 : 0];  // the first axis of each
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (mask == i && axes[i] < 0 && (in[i].rank() < 4 || in[i].shape()[0] == 1)) {
      all.push_back(in[i]);
      continue;
    }
    Tensor x = batch_first(in[i], axes[i], size);
    if (mask == i) {
      x = batch_broadcast(x, 0, 4);
      Shape shape = x.shape();
      shape[1] = entries;
      x = broadcast_to(x, shape);
    }
    all.push_back(entries_merged(x, 0, size));
  }
  return all;
}

}  // namespace

std::vector<Tensor> AttentionOp::decomposed(std::span<const Tensor> in) const {
  const Weights w(a.options, in[0], in[1], in[2], more_operands(a, in, 3));
  Tensor y = matmul(w.weights, w.v);
  // What a query without keys gives is constant: no derivative goes through it, whatever its cotangent is.
  y = select(w.empty, a.options.empty_is_nan ? std::numeric_limits<float>::quiet_NaN() : 0.0f, y);
  return {w.as_queries(y, a.type.value_or(in[0].dtype()))};
}

std::optional<Batched> AttentionOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  const auto mask = a.has_mask(in.size()) ? std::optional<std::size_t>(3) : std::nullopt;
  const std::int64_t entries = in[0].shape()[axes[0] == 0 ? 1 : 0];
  return batched(
      entries_unmerged(apply(shared_from_this(), merged_batch(in, axes, mask)), batch_size(in, axes), entries));
}

Tensor attention(const Operand& q, const Operand& k, const Operand& v, const Operand& mask,
                 const kernels::AttentionOptions& options, const Operand& query_lengths, const Operand& key_lengths) {
  if (!q.defined() || !k.defined() || !v.defined())
    throw InvalidArgument("attention: q, k or v is an undefined Tensor");
  std::vector<Tensor> operands{q, k, v};
  for (const Tensor& more : {mask, query_lengths, key_lengths}) {
    if (more.defined()) operands.push_back(more);
  }
  return apply(make_op<AttentionOp>(AttentionAttributes{options, query_lengths.defined(), key_lengths.defined(), {}}),
               std::move(operands));
}

void add_attention_ops(OpRows& rows) { rows.push_back(op_row<AttentionOp>(schema_of_kernel("attention"))); }

}  // namespace weft
