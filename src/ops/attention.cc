#include "ops/attention.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "graph/graph.h"
#include "kernels/attention/attention.h"
#include "ops/function_row.h"
#include "ops/identity.h"
#include "ops/op_rows.h"
#include "ops/op_schemas.h"
#include "ops/rules.h"
#include "weft/array.h"
#include "weft/error.h"
#include "weft/kernels/attention.h"

namespace weft {

std::vector<TensorType> AttentionOp::infer(std::span<const TensorType> in) const {
  const auto& [q, k, v] = std::tie(in[0], in[1], in[2]);
  const auto fail = [&](std::string_view why) {
    throw ShapeError("{}: q {}, k {}, v {}: {}", name(), weft::to_string(q), weft::to_string(k), weft::to_string(v),
                     why);
  };
  const std::size_t named = 3 + std::size_t{a.query_lengths} + std::size_t{a.key_lengths};
  if (in.size() != named && in.size() != named + 1) {
    throw InvalidArgument("{}: {} operands, its attributes name {}, or one more with a mask", name(), in.size(), named);
  }
  std::size_t next = 3;
  const auto given = [&](bool there) { return there ? &in[next++] : nullptr; };
  const TensorType* mask = given(a.has_mask(in.size()));
  const TensorType* query_lengths = given(a.query_lengths);
  const TensorType* key_lengths = given(a.key_lengths);
  const DType type = infer_dtype(name(), {&q, &k, &v, mask, query_lengths, key_lengths}, a.type);
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
  std::vector<TensorType> results{{type, {q.shape[0], q.shape[1], q.shape[2], v.shape[3]}}};
  if (a.log_sums) results.push_back({DType::f32, {q.shape[0], q.shape[1], q.shape[2]}});
  return results;
}

OpPtr AttentionOp::with_types(std::span<const TensorType>, std::span<const TensorType>,
                              std::span<const DType> results) const {
  AttentionAttributes typed = a;
  typed.type = results[0];
  return make_op<AttentionOp>(typed);
}

namespace {

// The kernel's optional arguments, which are operands from `next` on.
struct OptionalArguments {
  std::optional<View> mask;
  kernels::AttentionLengths lengths;

  template <class Attributes>
  OptionalArguments(const Attributes& a, std::span<const View> in, std::size_t next) {
    if (a.has_mask(in.size())) mask = in[next++];
    if (a.query_lengths) lengths.queries = in[next++];
    if (a.key_lengths) lengths.keys = in[next++];
  }
};

}  // namespace

void AttentionOp::lower(const Launch& call) const {
  const auto& in = call.inputs;
  const OptionalArguments more(a, in, 3);
  kernels::attention(call.stream, in[0], in[1], in[2], more.mask, call.outputs[0], a.options, more.lengths,
                     a.log_sums ? std::optional(call.outputs[1]) : std::nullopt);
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

// The scores of attention in f32: heads are [kv_heads, group], so that the group broadcasts over the head of keys and
// values that it shares.
class Scores {
 public:
  Tensor q, k, v;  // f32 [batch, kv_heads, group or 1, length, dim]; zeros past the sequences' lengths
  Tensor scores;   // [batch, kv_heads, group, queries, keys]; -inf where hidden

  Scores(const kernels::AttentionOptions& options, const Tensor& q4, const Tensor& k4, const Tensor& v4,
         const MoreOperands& more)
      : shape_{q4.shape()[0], k4.shape()[1], k4.shape()[1] == 0 ? 1 : q4.shape()[1] / k4.shape()[1], q4.shape()[2],
               k4.shape()[2]} {
    if (more.query_lengths.defined()) query_length_ = length(more.query_lengths, shape_[3]);
    if (more.key_lengths.defined()) key_length_ = length(more.key_lengths, shape_[4]);
    q = of_queries(q4);
    k = of_keys(k4);
    v = of_keys(v4);
    scores = matmul(q, k.T()) * options.scale;
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
    if (seen.defined()) scores = select(seen, scores, hidden());
  }

  static Tensor hidden() { return Graph::scalar(-std::numeric_limits<double>::infinity(), DType::f32); }
  // What belongs to queries in the form of q, and back.
  Tensor of_queries(const Tensor& x) const {
    const Tensor split = reshape(cast(x, DType::f32), {shape_[0], shape_[1], shape_[2], shape_[3], x.shape()[3]});
    return query_length_.defined() ? select(query_position() < query_length_, split, 0.0f) : split;
  }
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
  const Scores s(a.options, in[0], in[1], in[2], more_operands(a, in, 3));
  // The weights do not depend on what is taken off all scores of a query.
  const Tensor highest = reduce(ReduceKind::max, weft::identity(s.scores, IdentityKind::stop_gradient), {-1}, true);
  const Tensor top = select(highest == Scores::hidden(), 0.0f, highest);
  const Tensor unscaled = exp(s.scores - top);
  const Tensor sum = reduce(ReduceKind::sum, unscaled, {-1}, true);
  const Tensor empty = sum == 0.0f, divisor = select(empty, 1.0f, sum);
  // What a query without keys gives is constant: no derivative goes through it, whatever its cotangent is.
  const Tensor y = select(empty, a.options.empty_is_nan ? std::numeric_limits<float>::quiet_NaN() : 0.0f,
                          matmul(unscaled / divisor, s.v));
  std::vector<Tensor> results{s.as_queries(y, a.type.value_or(in[0].dtype()))};
  if (a.log_sums) {
    results.push_back(squeeze(s.as_queries(select(empty, Scores::hidden(), log(divisor) + top), DType::f32), 3));
  }
  return results;
}

void set_window(kernels::AttentionOptions& options, const MaskWindow& window) {
  options.causal = window.right == 0;
  options.window_right = window.right > 0 ? window.right : -1;
  options.window_left = window.left;
  options.top_left = window.top_left && (window.left >= 0 || window.right >= 0);
}

OpPtr AttentionOp::with_more_results() const {
  if (a.log_sums) return nullptr;
  AttentionAttributes more = a;
  more.log_sums = true;
  return make_op<AttentionOp>(std::move(more));
}

std::optional<MaskOperand> AttentionOp::mask_operand(std::span<const TensorType> in) const {
  const kernels::AttentionOptions& o = a.options;
  if (!a.has_mask(in.size()) || a.query_lengths || a.key_lengths) return std::nullopt;
  if (o.causal || o.window_left >= 0 || o.window_right >= 0) return std::nullopt;
  return MaskOperand{.operand = 3, .queries = in[0].shape[2], .keys = in[1].shape[2]};
}

OpPtr AttentionOp::with_window(const MaskWindow& window) const {
  AttentionAttributes windowed = a;
  set_window(windowed.options, window);
  return make_op<AttentionOp>(std::move(windowed));
}

Derivatives AttentionOp::vjp(const Differentiated& node, std::span<const Tensor> cotangents) const {
  const auto& in = node.inputs;
  // A mask's cotangent is as large as the scores: it comes from the decomposition.
  if (a.has_mask(in.size()) && node.wanted[3]) return std::nullopt;
  const OpPtr more = with_more_results();
  const Tensor both = more ? apply(more, in) : node.outputs[0];
  const Tensor &y = node.outputs[0], log_sums = result(both, 1);
  const Tensor g = or_zeros(cotangents[0], y.type());
  // A log sum's derivatives for the scores are the weights, and so its cotangent is as if it came off delta.
  Tensor delta = reduce(ReduceKind::sum, cast(y, DType::f32) * cast(g, DType::f32), {-1});
  if (a.log_sums && cotangents[1].defined()) delta = delta - cotangents[1];
  std::vector<Tensor> operands{in[0], in[1], in[2], g, log_sums, delta};
  operands.insert(operands.end(), in.begin() + 3, in.end());
  const Tensor made = apply(
      make_op<AttentionGradientOp>(AttentionGradientAttributes{a.options, a.query_lengths, a.key_lengths}), operands);
  std::vector<Tensor> all(in.size());
  for (int i = 0; i < 3; ++i) all[static_cast<std::size_t>(i)] = result(made, i);
  return all;
}

namespace {

// The op on a batch that is merged into the first axis of all operands and results; `mask`: which operand broadcasts.
Batched merged(const OpPtr& op, std::span<const Tensor> in, std::span<const int> axes,
               std::optional<std::size_t> mask) {
  const std::int64_t entries = in[0].shape()[axes[0] == 0 ? 1 : 0];
  const Tensor made = apply(op, merged_batch(in, axes, mask));
  Batched all;
  for (int i = 0; i < static_cast<int>(made.node()->types().size()); ++i) {
    all.outputs.push_back(entries_unmerged(result(made, i), batch_size(in, axes), entries));
    all.axes.push_back(0);
  }
  return all;
}

}  // namespace

std::optional<Batched> AttentionOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  return merged(shared_from_this(), in, axes, a.has_mask(in.size()) ? std::optional<std::size_t>(3) : std::nullopt);
}

// ---- The gradient

std::vector<TensorType> AttentionGradientOp::infer(std::span<const TensorType> in) const {
  const std::size_t named = 6 + std::size_t{a.query_lengths} + std::size_t{a.key_lengths};
  if (in.size() != named && in.size() != named + 1) {
    throw InvalidArgument("attention_gradient: {} operands, its attributes name {}, or one more with a mask", in.size(),
                          named);
  }
  std::vector<TensorType> forward(in.begin(), in.begin() + 3);
  forward.insert(forward.end(), in.begin() + 6, in.end());
  const auto types =
      AttentionOp(AttentionAttributes{a.options, a.query_lengths, a.key_lengths, {}, true}).infer(forward);
  const auto check = [&](std::string_view what, const TensorType& given, const Shape& shape) {
    if (given.shape == shape) return;
    throw ShapeError("attention_gradient: {} is {}, expected the shape {}", what, weft::to_string(given),
                     weft::to_string(shape));
  };
  check("g", in[3], types[0].shape);
  check("log_sums", in[4], types[1].shape);
  check("delta", in[5], types[1].shape);
  std::vector<const TensorType*> listed;
  for (std::size_t i = 0; i < 6; ++i) listed.push_back(&in[i]);
  std::size_t next = 6;
  for (const bool there : {a.has_mask(in.size()), a.query_lengths, a.key_lengths}) {
    listed.push_back(there ? &in[next++] : nullptr);
  }
  const std::vector<DType> results = infer_dtypes(name(), listed);
  return {{results[0], in[0].shape}, {results[1], in[1].shape}, {results[2], in[2].shape}};
}

void AttentionGradientOp::lower(const Launch& call) const {
  const auto &in = call.inputs, &out = call.outputs;
  const OptionalArguments more(a, in, 6);
  kernels::attention_gradient(call.stream, in[0], in[1], in[2], in[3], in[4], in[5], more.mask, out[0], out[1], out[2],
                              a.options, more.lengths);
}

Work AttentionGradientOp::work(const Launch& call) const {
  const Shape &q = call.inputs[0].shape(), &k = call.inputs[1].shape(), &v = call.inputs[2].shape();
  const double scores = static_cast<double>(q[0] * q[1] * q[2]) *
                        kernels::attention_mean_keys(a.options, {0, q[2], q[2]}, {0, k[2], k[2]});
  // On a GPU the scores and the weights' cotangents are computed twice.
  const auto of_score = static_cast<double>(8 * q[3] + 6 * v[3]);
  return with_bytes(call, {.flops = scores * of_score, .functions = 2 * scores});
}

std::vector<Tensor> AttentionGradientOp::decomposed(std::span<const Tensor> in) const {
  const Scores s(a.options, in[0], in[1], in[2], more_operands(a, in, 6));
  const Tensor log_sums = s.of_queries(expand_dims(in[4], 3));
  const Tensor empty = log_sums == Scores::hidden();
  const Tensor weights = select(empty, 0.0f, exp(s.scores - select(empty, 0.0f, log_sums)));
  const Tensor g = select(empty, 0.0f, s.of_queries(in[3]));
  const Tensor delta = select(empty, 0.0f, s.of_queries(expand_dims(in[5], 3)));
  const Tensor of_scores = weights * (matmul(g, s.v.T()) - delta) * a.options.scale;
  return {s.as_queries(matmul(of_scores, s.k), in[0].dtype()), s.as_keys(matmul(of_scores.T(), s.q), in[1].dtype()),
          s.as_keys(matmul(weights.T(), g), in[2].dtype())};
}

std::optional<Batched> AttentionGradientOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  return merged(shared_from_this(), in, axes, a.has_mask(in.size()) ? std::optional<std::size_t>(6) : std::nullopt);
}

namespace {

struct AttentionFunctionAttributes {
  kernels::AttentionOptions options = {};
  std::optional<double> scale = {};
  bool query_lengths = false, key_lengths = false;
  std::optional<DType> type = {};
  void fields(AttributeVisitor& v) {
    v("scale", scale, {}, "what each score q·k is multiplied by; without it 1 / sqrt(dim)");
    v("causal", options.causal, false, "hide the keys after a query's position");
    v.brief("window_left", options.window_left, -1, "how many keys before its position a query sees; negative: all");
    v.brief("window_right", options.window_right, -1, "how many keys after it; negative: all");
    v.brief("top_left", options.top_left, false,
            "query i has the position of key i; otherwise the last query has that of the last key");
    v.brief("empty_is_nan", options.empty_is_nan, false, "a query that sees no key gives NaN, not zeros");
    // Of nodes that are called by what they say of themselves.
    v.brief("query_lengths", query_lengths, false, "of no effect: the operand says whether it is there");
    v.brief("key_lengths", key_lengths, false, "of no effect: the operand says whether it is there");
    v("type", type, {}, "the type of the result, instead of q's");
  }
};
constexpr Function kAttention = {
    {.name = "attention",
     .operands = {{.name = "q", .shape = "[batch, heads, queries, dim]"},
                  {.name = "k", .shape = "[batch, kv_heads, keys, dim]"},
                  {.name = "v", .shape = "[batch, kv_heads, keys, value_dim]"},
                  {.name = "mask", .arity = Arity::optional, .shape = "broadcasts to [batch, heads, queries, keys]"},
                  {.name = "query_lengths", .arity = Arity::optional, .shape = "[batch]"},
                  {.name = "key_lengths", .arity = Arity::optional, .shape = "[batch]"}},
     .results = {{"y", "[batch, heads, queries, value_dim]", "q's type"}},
     .formula = "y = softmax(scale · q kᵀ + mask) v",
     .summary = "scaled dot-product attention, without a matrix of scores in memory; a mask of bool hides keys where "
                "it is false, one of floats is added to the scores; heads is a multiple of kv_heads"},
    [](const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, const Tensor& query_lengths,
       const Tensor& key_lengths, const AttentionFunctionAttributes& a) {
      kernels::AttentionOptions options = a.options;
      const double dim = q.rank() > 0 ? static_cast<double>(q.shape()[-1]) : 1;
      options.scale = a.scale.value_or(1 / std::sqrt(dim));
      std::vector<Tensor> operands{q, k, v};
      for (const Tensor& more : {mask, query_lengths, key_lengths}) {
        if (more.defined()) operands.push_back(more);
      }
      return apply(make_op<AttentionOp>(
                       AttentionAttributes{options, query_lengths.defined(), key_lengths.defined(), a.type, false}),
                   std::move(operands));
    }};

}  // namespace

Tensor attention(const Operand& q, const Operand& k, const Operand& v, const Operand& mask,
                 const kernels::AttentionOptions& options, const Operand& query_lengths, const Operand& key_lengths) {
  return kAttention(q, k, v, mask, query_lengths, key_lengths, {.options = options, .scale = options.scale});
}

void add_attention_functions(FunctionRows& rows) { rows.add(kAttention); }

void add_attention_ops(OpRows& rows) {
  rows.push_back(op_row<AttentionOp>(schema_of_kernel("attention")));
  rows.push_back(op_row<AttentionOp>(schema_of_kernel("attention_with_log_sums"), {.log_sums = true}));
  rows.push_back(op_row<AttentionGradientOp>(schema_of_kernel("attention_gradient")));
}

}  // namespace weft
