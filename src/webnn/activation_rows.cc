// Activations. Their options are rounded to the input's type first; what is computed is computed in f32 and rounded
// once.
#include "webnn/message.h"
#include "webnn/op_rows.h"

namespace weft::webnn {

namespace {

struct Row {
  const char* name;
  const char* section;
  TypeSet types;
  std::vector<ArgumentSchema> options;
  Map map;
};

double parameter(const Call& c, std::string_view name) {
  return cast_number(c.number(name), c.data_type("input")).value();
}

template <ScalarOp op>
std::vector<weft::Tensor> unary_map(const Call& c) {
  return {unary(op, c.operand("input"))};
}

std::vector<weft::Tensor> elu_map(const Call& c) { return {elu(c.operand("input"), parameter(c, "alpha"))}; }

// min(max(alpha · x + beta, 0), 1)
std::vector<weft::Tensor> hard_sigmoid_map(const Call& c) {
  return {hardsigmoid(c.operand("input"), parameter(c, "alpha"), parameter(c, "beta"))};
}

std::vector<weft::Tensor> leaky_relu_map(const Call& c) {
  return {leaky_relu(c.operand("input"), parameter(c, "alpha"))};
}

// alpha · x + beta, rounded once where the device can: near its zero the rounded product has few digits left.
std::vector<weft::Tensor> linear_map(const Call& c) {
  const weft::Tensor x = cast(c.operand("input"), DType::f32);
  return {cast(fma(x, parameter(c, "alpha"), parameter(c, "beta")), c.data_type("input"))};
}

// x < 0 ? slope · x : x, which is max(0, x) + slope · min(0, x).
std::vector<weft::Tensor> prelu_map(const Call& c) {
  const weft::Tensor x = c.operand("input"), slope = c.operand("slope");
  if (!broadcast(c.shape("input"), c.shape("slope"))) {
    c.fail("input is {} and slope {}, expected shapes that broadcast", to_string(c.shape("input")),
           to_string(c.shape("slope")));
  }
  return {select(x < Number(0), x * slope, x)};
}

}  // namespace

void add_activation_rows(std::vector<Op>& rows) {
  const auto real = [](const char* name, const char* value) { return option(name, ArgumentKind::real, value); };
  const Row all[] = {
      {"elu", "elu", kFloatTypes, {real("alpha", "1")}, elu_map},
      {"gelu", "gelu-method", kFloatTypes, {}, unary_map<ScalarOp::gelu_erf>},
      {"hardSigmoid", "hard-sigmoid", kFloatTypes, {real("alpha", "0.2"), real("beta", "0.5")}, hard_sigmoid_map},
      {"hardSwish",
       "hard-swish",
       kFloatTypes,
       {},
       [](const Call& c) { return std::vector{hardswish(c.operand("input"))}; }},
      {"leakyRelu", "leakyrelu", kFloatTypes, {real("alpha", "0.01")}, leaky_relu_map},
      {"linear", "linear", kFloatTypes, {real("alpha", "1"), real("beta", "0")}, linear_map},
      {"relu", "relu-method", kSignedTypes, {}, unary_map<ScalarOp::relu>},
      {"sigmoid", "sigmoid-method", kFloatTypes, {}, unary_map<ScalarOp::sigmoid>},
      {"softplus", "softplus-method", kFloatTypes, {}, unary_map<ScalarOp::softplus>},
      {"softsign",
       "softsign-method",
       kFloatTypes,
       {},
       [](const Call& c) { return std::vector{softsign(c.operand("input"))}; }},
      {"tanh", "tanh-method", kFloatTypes, {}, unary_map<ScalarOp::tanh>},
  };
  for (const Row& row : all) {
    OpSchema schema{.name = row.name,
                    .section = std::string("#api-mlgraphbuilder-") + row.section,
                    .arguments = {operand("input", row.types)},
                    .outputs = {result_as("input")}};
    schema.arguments.insert(schema.arguments.end(), row.options.begin(), row.options.end());
    rows.push_back({std::move(schema), row.map});
  }
  rows.push_back({{.name = "prelu",
                   .section = "#api-mlgraphbuilder-prelu",
                   .arguments = {operand("input", kSignedTypes), operand_as("slope", "input")},
                   .outputs = {result_as("input")}},
                  prelu_map});
}

}  // namespace weft::webnn
