// Activations. Their options are rounded to the input's type first; what is computed is computed in f32 and rounded
// once.
#include "webnn/message.h"
#include "webnn/op_rows.h"

namespace weft::webnn {

namespace {

// An option as a number of the input's type.
double as_input(double option, const Operand& input) { return cast_number(option, input.data_type()).value(); }

template <ScalarOp op>
Tensors unary_map(const Call&, const Operand& input, const OperatorOptions&) {
  return {unary(op, tensor_of(input))};
}

Tensors elu_map(const Call&, const Operand& input, const EluOptions& o) {
  return {elu(tensor_of(input), as_input(o.alpha, input))};
}

// min(max(alpha · x + beta, 0), 1)
Tensors hard_sigmoid_map(const Call&, const Operand& input, const HardSigmoidOptions& o) {
  return {hardsigmoid(tensor_of(input), as_input(o.alpha, input), as_input(o.beta, input))};
}

Tensors hard_swish_map(const Call&, const Operand& input, const OperatorOptions&) {
  return {hardswish(tensor_of(input))};
}

Tensors leaky_relu_map(const Call&, const Operand& input, const LeakyReluOptions& o) {
  return {leaky_relu(tensor_of(input), as_input(o.alpha, input))};
}

// alpha · x + beta, rounded once where the device can: near its zero the rounded product has few digits left.
Tensors linear_map(const Call&, const Operand& input, const LinearOptions& o) {
  const weft::Tensor x = cast(tensor_of(input), DType::f32);
  return {cast(fma(x, as_input(o.alpha, input), as_input(o.beta, input)), input.data_type())};
}

Tensors softsign_map(const Call&, const Operand& input, const OperatorOptions&) { return {softsign(tensor_of(input))}; }

// x < 0 ? slope · x : x, which is max(0, x) + slope · min(0, x).
Tensors prelu_map(const Call& c, const Operand& input, const Operand& slope, const OperatorOptions&) {
  const weft::Tensor x = tensor_of(input);
  if (!broadcast(input.shape(), slope.shape())) {
    c.fail("input is {} and slope {}, expected shapes that broadcast", to_string(input.shape()),
           to_string(slope.shape()));
  }
  return {select(x < Number(0), x * tensor_of(slope), x)};
}

}  // namespace

void add_activation_rows(std::vector<Op>& rows) {
  // `section`: behind "#api-mlgraphbuilder-".
  const auto add = [&](const char* name, const char* section, TypeSet types, auto map) {
    RowAdder{rows}(name, section, {operand("input", types)}, result_as("input"), map);
  };
  add("elu", "elu", kFloatTypes, elu_map);
  add("gelu", "gelu-method", kFloatTypes, unary_map<ScalarOp::gelu_erf>);
  add("hardSigmoid", "hard-sigmoid", kFloatTypes, hard_sigmoid_map);
  add("hardSwish", "hard-swish", kFloatTypes, hard_swish_map);
  add("leakyRelu", "leakyrelu", kFloatTypes, leaky_relu_map);
  add("linear", "linear", kFloatTypes, linear_map);
  add("relu", "relu-method", kSignedTypes, unary_map<ScalarOp::relu>);
  add("sigmoid", "sigmoid-method", kFloatTypes, unary_map<ScalarOp::sigmoid>);
  add("softplus", "softplus-method", kFloatTypes, unary_map<ScalarOp::softplus>);
  add("softsign", "softsign-method", kFloatTypes, softsign_map);
  add("tanh", "tanh-method", kFloatTypes, unary_map<ScalarOp::tanh>);
  rows.push_back(op_row({.name = "prelu",
                         .section = "#api-mlgraphbuilder-prelu",
                         .arguments = {operand("input", kSignedTypes), operand_as("slope", "input")},
                         .outputs = {result_as("input")}},
                        prelu_map));
}

}  // namespace weft::webnn
