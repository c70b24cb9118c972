#include "graph/ops/norm.h"

#include "graph/graph.h"
#include "weft/error.h"
#include "weft/kernels/norm.h"
#include "weft/kernels/softmax.h"

namespace weft {

void SoftmaxOp::fields(Fields& f) const {
  f.add("axis", axis_);
  if (result_) f.add("type", weft::name(*result_));
}

std::vector<TensorType> SoftmaxOp::infer(std::span<const TensorType> in) const {
  if (!is_floating(in[0].dtype)) {
    throw InvalidArgument("softmax: x is {}, expected a float type", weft::to_string(in[0]));
  }
  return {{result_.value_or(in[0].dtype), in[0].shape}};
}

void SoftmaxOp::lower(const Launch& call) const {
  kernels::softmax(call.stream, call.inputs[0], call.outputs[0], axis_);
}

void LayerNormOp::fields(Fields& f) const {
  f.add("first_axis", first_axis_).add("epsilon", epsilon_);
  if (!has_scale_) f.add("scale", false);
  if (!has_bias_) f.add("bias", false);
  if (result_) f.add("type", weft::name(*result_));
}

std::vector<TensorType> LayerNormOp::infer(std::span<const TensorType> in) const {
  const TensorType& x = in[0];
  if (!is_floating(x.dtype)) throw InvalidArgument("layer_norm: x is {}, expected a float type", weft::to_string(x));
  const Shape expected(std::span(x.shape.begin() + first_axis_, x.shape.end()));
  for (std::size_t i = 1; i < in.size(); ++i) {
    if (is_floating(in[i].dtype) && in[i].shape == expected) continue;
    throw InvalidArgument("layer_norm: {} is {}, expected a float type and {} for x {}",
                          i == 1 && has_scale_ ? "scale" : "bias", weft::to_string(in[i]), weft::to_string(expected),
                          weft::to_string(x));
  }
  return {{result_.value_or(x.dtype), x.shape}};
}

void LayerNormOp::lower(const Launch& call) const {
  std::optional<View> scale;
  std::optional<View> bias;
  if (has_scale_) scale = call.inputs[1];
  if (has_bias_) bias = call.inputs[has_scale_ ? 2 : 1];
  kernels::layer_norm(call.stream, call.inputs[0], scale, bias, call.outputs[0], first_axis_,
                      static_cast<float>(epsilon_));
}

Value softmax(Value x, int axis) {
  if (!x) throw InvalidArgument("softmax: the operand is an empty Value");
  return apply(make_op<SoftmaxOp>(normalize_axis(axis, x.rank(), "softmax")), {x});
}

Value layer_norm(Value x, Value scale, Value bias, double epsilon) {
  const int rank = scale ? scale.rank() : bias ? bias.rank() : 1;
  return layer_norm(x, scale, bias, epsilon, x ? x.rank() - rank : 0);
}

Value layer_norm(Value x, Value scale, Value bias, double epsilon, int first_axis) {
  if (!x) throw InvalidArgument("layer_norm: x is an empty Value");
  if (x.rank() == 0 || first_axis < 0 || first_axis >= x.rank()) {
    throw InvalidArgument("layer_norm: x {} has no axes to norm over from axis {} on", to_string(x.shape()), first_axis);
  }
  std::vector<Value> operands{x};
  if (scale) operands.push_back(scale);
  if (bias) operands.push_back(bias);
  return apply(make_op<LayerNormOp>(first_axis, epsilon, bool(scale), bool(bias)), std::move(operands));
}

}  // namespace weft
