#include "graph/ops/attention.h"

#include <algorithm>

#include "core/format.h"
#include "graph/graph.h"
#include "graph/op_rows.h"
#include "graph/op_schemas.h"
#include "kernels/attention/attention.h"
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
