#include "graph/ops/attention.h"

#include "graph/graph.h"
#include "weft/error.h"
#include "weft/kernels/attention.h"

namespace weft {

std::vector<TensorType> AttentionOp::infer(std::span<const TensorType> in) const {
  const auto& [q, k, v] = std::tie(in[0], in[1], in[2]);
  const auto fail = [&](std::string_view why) {
    throw InvalidArgument("attention: q {}, k {}, v {}: {}", weft::to_string(q), weft::to_string(k), weft::to_string(v),
                          why);
  };
  if (q.shape.rank() != 4 || k.shape.rank() != 4 || v.shape.rank() != 4) {
    fail("each is [batch, heads, length, dim]");
  }
  if (!is_floating(q.dtype) || !is_floating(k.dtype) || !is_floating(v.dtype)) fail("expected float types");
  if (k.shape[0] != q.shape[0] || v.shape[0] != q.shape[0]) fail("batch sizes differ");
  if (k.shape[1] != v.shape[1]) fail("k and v have different numbers of heads");
  if (k.shape[1] == 0 ? q.shape[1] != 0 : q.shape[1] % k.shape[1] != 0) {
    fail("q's heads are not a multiple of k's");
  }
  if (k.shape[2] != v.shape[2]) fail("k and v have different lengths");
  if (k.shape[3] != q.shape[3]) fail("q and k have different head sizes");
  if (in.size() > 3) {
    const Shape scores{q.shape[0], q.shape[1], q.shape[2], k.shape[2]};
    const TensorType& mask = in[3];
    if (mask.dtype != DType::boolean && !is_floating(mask.dtype)) {
      fail(std::format("the mask is {}, expected bool or a float type", weft::to_string(mask)));
    }
    bool fits = mask.shape.rank() <= 4;
    for (int i = 1; fits && i <= mask.shape.rank(); ++i) fits = mask.shape[-i] == 1 || mask.shape[-i] == scores[-i];
    if (!fits) {
      fail(std::format("the mask {} does not broadcast to the scores {}", weft::to_string(mask.shape),
                       weft::to_string(scores)));
    }
  }
  return {{result_.value_or(q.dtype), {q.shape[0], q.shape[1], q.shape[2], v.shape[3]}}};
}

void AttentionOp::lower(const Launch& call) const {
  std::optional<View> mask;
  if (call.inputs.size() > 3) mask = call.inputs[3];
  kernels::attention(call.stream, call.inputs[0], call.inputs[1], call.inputs[2], mask, call.outputs[0], options_);
}

Work AttentionOp::work(const Launch& call) const {
  Work w = Op::work(call);
  const auto queries = static_cast<double>(call.inputs[0].count() + call.outputs[0].count());
  w.flops = 2 * queries * static_cast<double>(call.inputs[1].shape()[2]) * (options_.causal ? 0.5 : 1);
  return w;
}

Value attention(Value q, Value k, Value v, Value mask, const kernels::AttentionOptions& options) {
  if (!q || !k || !v) throw InvalidArgument("attention: q, k or v is an empty Value");
  std::vector<Value> operands{q, k, v};
  if (mask) operands.push_back(mask);
  return apply(make_op<AttentionOp>(options), std::move(operands));
}

}  // namespace weft
