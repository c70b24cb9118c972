// The operations of GraphBuilder: each hands its arguments to the row of its name.
#include <array>

#include "weft/webnn/builder.h"

namespace weft::webnn {

namespace {

template <class Enum, std::size_t n>
Value choice(Enum value, const std::array<std::string_view, n>& names) {
  return std::string(names[static_cast<std::size_t>(value)]);
}

constexpr std::array<std::string_view, 2> kInputLayouts = {"nchw", "nhwc"};
constexpr std::array<std::string_view, 4> kFilterLayouts = {"oihw", "hwio", "ohwi", "ihwo"};
constexpr std::array<std::string_view, 3> kTransposedFilterLayouts = {"iohw", "hwoi", "ohwi"};
constexpr std::array<std::string_view, 2> kGruLayouts = {"zrn", "rzn"};
constexpr std::array<std::string_view, 2> kLstmLayouts = {"iofg", "ifgo"};
constexpr std::array<std::string_view, 3> kActivations = {"relu", "sigmoid", "tanh"};
constexpr std::array<std::string_view, 3> kDirections = {"forward", "backward", "both"};
constexpr std::array<std::string_view, 4> kPaddingModes = {"constant", "edge", "reflection", "symmetric"};
constexpr std::array<std::string_view, 2> kRoundings = {"floor", "ceil"};
constexpr std::array<std::string_view, 2> kInterpolations = {"nearest-neighbor", "linear"};

Value list(const OptionalSizes& sizes) { return sizes ? Value(*sizes) : Value(); }
Value list(const OptionalReals& reals) { return reals ? Value(*reals) : Value(); }
Value list(const OptionalActivations& activations) {
  if (!activations) return {};
  std::vector<std::string> names;
  for (const auto a : *activations) names.emplace_back(kActivations[static_cast<std::size_t>(a)]);
  return names;
}
Value number(const std::optional<Number>& value) { return value ? Value(*value) : Value(); }
Value n(double value) { return Number(value); }
Value n(std::int64_t value) { return Number(value); }

// The members of each kind of options.
Arguments members(const OperatorOptions&) { return {}; }
Arguments members(const ArgMinMaxOptions& o) {
  return {{"keepDimensions", o.keep_dimensions}, {"outputDataType", o.output_data_type}};
}
Arguments members(const BatchNormalizationOptions& o) {
  return {{"scale", o.scale}, {"bias", o.bias}, {"axis", n(o.axis)}, {"epsilon", n(o.epsilon)}};
}
Arguments members(const ClampOptions& o) {
  return {{"minValue", number(o.min_value)}, {"maxValue", number(o.max_value)}};
}
Arguments members(const Conv2dOptions& o) {
  return {{"padding", list(o.padding)},
          {"strides", list(o.strides)},
          {"dilations", list(o.dilations)},
          {"groups", n(o.groups)},
          {"bias", o.bias},
          {"inputLayout", choice(o.input_layout, kInputLayouts)},
          {"filterLayout", choice(o.filter_layout, kFilterLayouts)}};
}
Arguments members(const ConvTranspose2dOptions& o) {
  return {{"padding", list(o.padding)},
          {"strides", list(o.strides)},
          {"dilations", list(o.dilations)},
          {"outputPadding", list(o.output_padding)},
          {"outputSizes", list(o.output_sizes)},
          {"groups", n(o.groups)},
          {"bias", o.bias},
          {"inputLayout", choice(o.input_layout, kInputLayouts)},
          {"filterLayout", choice(o.filter_layout, kTransposedFilterLayouts)}};
}
Arguments members(const CumulativeSumOptions& o) { return {{"exclusive", o.exclusive}, {"reversed", o.reversed}}; }
Arguments members(const EluOptions& o) { return {{"alpha", n(o.alpha)}}; }
Arguments members(const GatherOptions& o) { return {{"axis", n(o.axis)}}; }
Arguments members(const GemmOptions& o) {
  return {{"c", o.c},
          {"alpha", n(o.alpha)},
          {"beta", n(o.beta)},
          {"aTranspose", o.a_transpose},
          {"bTranspose", o.b_transpose}};
}
Arguments members(const GruOptions& o) {
  return {{"bias", o.bias},
          {"recurrentBias", o.recurrent_bias},
          {"initialHiddenState", o.initial_hidden_state},
          {"resetAfter", o.reset_after},
          {"returnSequence", o.return_sequence},
          {"direction", choice(o.direction, kDirections)},
          {"layout", choice(o.layout, kGruLayouts)},
          {"activations", list(o.activations)}};
}
Arguments members(const GruCellOptions& o) {
  return {{"bias", o.bias},
          {"recurrentBias", o.recurrent_bias},
          {"resetAfter", o.reset_after},
          {"layout", choice(o.layout, kGruLayouts)},
          {"activations", list(o.activations)}};
}
Arguments members(const HardSigmoidOptions& o) { return {{"alpha", n(o.alpha)}, {"beta", n(o.beta)}}; }
Arguments members(const InstanceNormalizationOptions& o) {
  return {{"scale", o.scale}, {"bias", o.bias}, {"epsilon", n(o.epsilon)}, {"layout", choice(o.layout, kInputLayouts)}};
}
Arguments members(const LayerNormalizationOptions& o) {
  return {{"scale", o.scale}, {"bias", o.bias}, {"axes", list(o.axes)}, {"epsilon", n(o.epsilon)}};
}
Arguments members(const LeakyReluOptions& o) { return {{"alpha", n(o.alpha)}}; }
Arguments members(const LinearOptions& o) { return {{"alpha", n(o.alpha)}, {"beta", n(o.beta)}}; }
Arguments members(const LstmOptions& o) {
  return {{"bias", o.bias},
          {"recurrentBias", o.recurrent_bias},
          {"peepholeWeight", o.peephole_weight},
          {"initialHiddenState", o.initial_hidden_state},
          {"initialCellState", o.initial_cell_state},
          {"returnSequence", o.return_sequence},
          {"direction", choice(o.direction, kDirections)},
          {"layout", choice(o.layout, kLstmLayouts)},
          {"activations", list(o.activations)}};
}
Arguments members(const LstmCellOptions& o) {
  return {{"bias", o.bias},
          {"recurrentBias", o.recurrent_bias},
          {"peepholeWeight", o.peephole_weight},
          {"layout", choice(o.layout, kLstmLayouts)},
          {"activations", list(o.activations)}};
}
Arguments members(const PadOptions& o) { return {{"mode", choice(o.mode, kPaddingModes)}, {"value", o.value}}; }
Arguments members(const Pool2dOptions& o) {
  return {{"windowDimensions", list(o.window_dimensions)},
          {"padding", list(o.padding)},
          {"strides", list(o.strides)},
          {"dilations", list(o.dilations)},
          {"layout", choice(o.layout, kInputLayouts)},
          {"outputShapeRounding", choice(o.output_shape_rounding, kRoundings)},
          {"outputSizes", list(o.output_sizes)}};
}
Arguments members(const ReduceOptions& o) { return {{"axes", list(o.axes)}, {"keepDimensions", o.keep_dimensions}}; }
Arguments members(const Resample2dOptions& o) {
  return {{"mode", choice(o.mode, kInterpolations)},
          {"scales", list(o.scales)},
          {"sizes", list(o.sizes)},
          {"axes", list(o.axes)}};
}
Arguments members(const ReverseOptions& o) { return {{"axes", list(o.axes)}}; }
Arguments members(const SliceOptions& o) { return {{"strides", list(o.strides)}}; }
Arguments members(const SplitOptions& o) { return {{"axis", n(o.axis)}}; }
Arguments members(const TransposeOptions& o) { return {{"permutation", list(o.permutation)}}; }
Arguments members(const TriangularOptions& o) { return {{"upper", o.upper}, {"diagonal", n(o.diagonal)}}; }

// Required arguments, then the options.
template <class Options>
Arguments with(Arguments required, const Options& options) {
  for (auto& member : members(options)) required.push_back(std::move(member));
  return required;
}

}  // namespace

#define WEFT_UNARY(name, text, Options)                                      \
  Operand GraphBuilder::name(const Operand& input, const Options& options) { \
    return one(text, with({{"input", input}}, options), options.label);      \
  }
#define WEFT_BINARY(name, text)                                                                    \
  Operand GraphBuilder::name(const Operand& a, const Operand& b, const OperatorOptions& options) { \
    return one(text, {{"a", a}, {"b", b}}, options.label);                                         \
  }
WEFT_BINARY(add, "add")
WEFT_BINARY(sub, "sub")
WEFT_BINARY(mul, "mul")
WEFT_BINARY(div, "div")
WEFT_BINARY(max, "max")
WEFT_BINARY(min, "min")
WEFT_BINARY(pow, "pow")
WEFT_BINARY(equal, "equal")
WEFT_BINARY(not_equal, "notEqual")
WEFT_BINARY(greater, "greater")
WEFT_BINARY(greater_or_equal, "greaterOrEqual")
WEFT_BINARY(lesser, "lesser")
WEFT_BINARY(lesser_or_equal, "lesserOrEqual")
WEFT_BINARY(logical_and, "logicalAnd")
WEFT_BINARY(logical_or, "logicalOr")
WEFT_BINARY(logical_xor, "logicalXor")
WEFT_BINARY(matmul, "matmul")
WEFT_UNARY(abs, "abs", OperatorOptions)
WEFT_UNARY(ceil, "ceil", OperatorOptions)
WEFT_UNARY(cos, "cos", OperatorOptions)
WEFT_UNARY(erf, "erf", OperatorOptions)
WEFT_UNARY(exp, "exp", OperatorOptions)
WEFT_UNARY(floor, "floor", OperatorOptions)
WEFT_UNARY(identity, "identity", OperatorOptions)
WEFT_UNARY(log, "log", OperatorOptions)
WEFT_UNARY(neg, "neg", OperatorOptions)
WEFT_UNARY(reciprocal, "reciprocal", OperatorOptions)
WEFT_UNARY(round_even, "roundEven", OperatorOptions)
WEFT_UNARY(sin, "sin", OperatorOptions)
WEFT_UNARY(sign, "sign", OperatorOptions)
WEFT_UNARY(sqrt, "sqrt", OperatorOptions)
WEFT_UNARY(tan, "tan", OperatorOptions)
WEFT_UNARY(elu, "elu", EluOptions)
WEFT_UNARY(gelu, "gelu", OperatorOptions)
WEFT_UNARY(hard_sigmoid, "hardSigmoid", HardSigmoidOptions)
WEFT_UNARY(hard_swish, "hardSwish", OperatorOptions)
WEFT_UNARY(leaky_relu, "leakyRelu", LeakyReluOptions)
WEFT_UNARY(linear, "linear", LinearOptions)
WEFT_UNARY(relu, "relu", OperatorOptions)
WEFT_UNARY(sigmoid, "sigmoid", OperatorOptions)
WEFT_UNARY(softplus, "softplus", OperatorOptions)
WEFT_UNARY(softsign, "softsign", OperatorOptions)
WEFT_UNARY(tanh, "tanh", OperatorOptions)
WEFT_UNARY(clamp, "clamp", ClampOptions)
WEFT_UNARY(average_pool2d, "averagePool2d", Pool2dOptions)
WEFT_UNARY(l2_pool2d, "l2Pool2d", Pool2dOptions)
WEFT_UNARY(max_pool2d, "maxPool2d", Pool2dOptions)
WEFT_UNARY(reduce_l1, "reduceL1", ReduceOptions)
WEFT_UNARY(reduce_l2, "reduceL2", ReduceOptions)
WEFT_UNARY(reduce_log_sum, "reduceLogSum", ReduceOptions)
WEFT_UNARY(reduce_log_sum_exp, "reduceLogSumExp", ReduceOptions)
WEFT_UNARY(reduce_max, "reduceMax", ReduceOptions)
WEFT_UNARY(reduce_mean, "reduceMean", ReduceOptions)
WEFT_UNARY(reduce_min, "reduceMin", ReduceOptions)
WEFT_UNARY(reduce_product, "reduceProduct", ReduceOptions)
WEFT_UNARY(reduce_sum, "reduceSum", ReduceOptions)
WEFT_UNARY(reduce_sum_square, "reduceSumSquare", ReduceOptions)
WEFT_UNARY(instance_normalization, "instanceNormalization", InstanceNormalizationOptions)
WEFT_UNARY(layer_normalization, "layerNormalization", LayerNormalizationOptions)
WEFT_UNARY(resample2d, "resample2d", Resample2dOptions)
WEFT_UNARY(reverse, "reverse", ReverseOptions)
WEFT_UNARY(transpose, "transpose", TransposeOptions)
WEFT_UNARY(triangular, "triangular", TriangularOptions)
#undef WEFT_UNARY
#undef WEFT_BINARY

// Their operand is called a.
Operand GraphBuilder::logical_not(const Operand& input, const OperatorOptions& options) {
  return one("logicalNot", {{"a", input}}, options.label);
}
Operand GraphBuilder::is_nan(const Operand& input, const OperatorOptions& options) {
  return one("isNaN", {{"a", input}}, options.label);
}
Operand GraphBuilder::is_infinite(const Operand& input, const OperatorOptions& options) {
  return one("isInfinite", {{"a", input}}, options.label);
}

Operand GraphBuilder::arg_min(const Operand& input, std::int64_t axis, const ArgMinMaxOptions& options) {
  return one("argMin", with({{"input", input}, {"axis", n(axis)}}, options), options.label);
}
Operand GraphBuilder::arg_max(const Operand& input, std::int64_t axis, const ArgMinMaxOptions& options) {
  return one("argMax", with({{"input", input}, {"axis", n(axis)}}, options), options.label);
}
Operand GraphBuilder::batch_normalization(const Operand& input, const Operand& mean, const Operand& variance,
                                          const BatchNormalizationOptions& options) {
  return one("batchNormalization", with({{"input", input}, {"mean", mean}, {"variance", variance}}, options),
             options.label);
}
Operand GraphBuilder::cast(const Operand& input, DType data_type, const OperatorOptions& options) {
  return one("cast", {{"input", input}, {"dataType", data_type}}, options.label);
}
Operand GraphBuilder::concat(const std::vector<Operand>& inputs, std::int64_t axis, const OperatorOptions& options) {
  return one("concat", {{"inputs", inputs}, {"axis", n(axis)}}, options.label);
}
Operand GraphBuilder::conv2d(const Operand& input, const Operand& filter, const Conv2dOptions& options) {
  return one("conv2d", with({{"input", input}, {"filter", filter}}, options), options.label);
}
Operand GraphBuilder::conv_transpose2d(const Operand& input, const Operand& filter,
                                       const ConvTranspose2dOptions& options) {
  return one("convTranspose2d", with({{"input", input}, {"filter", filter}}, options), options.label);
}
Operand GraphBuilder::cumulative_sum(const Operand& input, std::int64_t axis, const CumulativeSumOptions& options) {
  return one("cumulativeSum", with({{"input", input}, {"axis", n(axis)}}, options), options.label);
}
Operand GraphBuilder::dequantize_linear(const Operand& input, const Operand& scale, const Operand& zero_point,
                                        const OperatorOptions& options) {
  return one("dequantizeLinear", {{"input", input}, {"scale", scale}, {"zeroPoint", zero_point}}, options.label);
}
Operand GraphBuilder::quantize_linear(const Operand& input, const Operand& scale, const Operand& zero_point,
                                      const OperatorOptions& options) {
  return one("quantizeLinear", {{"input", input}, {"scale", scale}, {"zeroPoint", zero_point}}, options.label);
}
Operand GraphBuilder::expand(const Operand& input, const Sizes& new_shape, const OperatorOptions& options) {
  return one("expand", {{"input", input}, {"newShape", new_shape}}, options.label);
}
Operand GraphBuilder::gather(const Operand& input, const Operand& indices, const GatherOptions& options) {
  return one("gather", with({{"input", input}, {"indices", indices}}, options), options.label);
}
Operand GraphBuilder::gather_elements(const Operand& input, const Operand& indices, const GatherOptions& options) {
  return one("gatherElements", with({{"input", input}, {"indices", indices}}, options), options.label);
}
Operand GraphBuilder::gather_nd(const Operand& input, const Operand& indices, const OperatorOptions& options) {
  return one("gatherND", {{"input", input}, {"indices", indices}}, options.label);
}
Operand GraphBuilder::gemm(const Operand& a, const Operand& b, const GemmOptions& options) {
  return one("gemm", with({{"a", a}, {"b", b}}, options), options.label);
}
std::vector<Operand> GraphBuilder::gru(const Operand& input, const Operand& weight, const Operand& recurrent_weight,
                                       std::int64_t steps, std::int64_t hidden_size, const GruOptions& options) {
  return several("gru",
                 with({{"input", input},
                       {"weight", weight},
                       {"recurrentWeight", recurrent_weight},
                       {"steps", n(steps)},
                       {"hiddenSize", n(hidden_size)}},
                      options),
                 options.label);
}
Operand GraphBuilder::gru_cell(const Operand& input, const Operand& weight, const Operand& recurrent_weight,
                               const Operand& hidden_state, std::int64_t hidden_size, const GruCellOptions& options) {
  return one("gruCell",
             with({{"input", input},
                   {"weight", weight},
                   {"recurrentWeight", recurrent_weight},
                   {"hiddenState", hidden_state},
                   {"hiddenSize", n(hidden_size)}},
                  options),
             options.label);
}
std::vector<Operand> GraphBuilder::lstm(const Operand& input, const Operand& weight, const Operand& recurrent_weight,
                                        std::int64_t steps, std::int64_t hidden_size, const LstmOptions& options) {
  return several("lstm",
                 with({{"input", input},
                       {"weight", weight},
                       {"recurrentWeight", recurrent_weight},
                       {"steps", n(steps)},
                       {"hiddenSize", n(hidden_size)}},
                      options),
                 options.label);
}
std::vector<Operand> GraphBuilder::lstm_cell(const Operand& input, const Operand& weight,
                                             const Operand& recurrent_weight, const Operand& hidden_state,
                                             const Operand& cell_state, std::int64_t hidden_size,
                                             const LstmCellOptions& options) {
  return several("lstmCell",
                 with({{"input", input},
                       {"weight", weight},
                       {"recurrentWeight", recurrent_weight},
                       {"hiddenState", hidden_state},
                       {"cellState", cell_state},
                       {"hiddenSize", n(hidden_size)}},
                      options),
                 options.label);
}
Operand GraphBuilder::pad(const Operand& input, const Sizes& beginning_padding, const Sizes& ending_padding,
                          const PadOptions& options) {
  return one(
      "pad",
      with({{"input", input}, {"beginningPadding", beginning_padding}, {"endingPadding", ending_padding}}, options),
      options.label);
}
Operand GraphBuilder::prelu(const Operand& input, const Operand& slope, const OperatorOptions& options) {
  return one("prelu", {{"input", input}, {"slope", slope}}, options.label);
}
Operand GraphBuilder::reshape(const Operand& input, const Sizes& new_shape, const OperatorOptions& options) {
  return one("reshape", {{"input", input}, {"newShape", new_shape}}, options.label);
}
Operand GraphBuilder::scatter_elements(const Operand& input, const Operand& indices, const Operand& updates,
                                       const ScatterOptions& options) {
  return one("scatterElements", with({{"input", input}, {"indices", indices}, {"updates", updates}}, options),
             options.label);
}
Operand GraphBuilder::scatter_nd(const Operand& input, const Operand& indices, const Operand& updates,
                                 const OperatorOptions& options) {
  return one("scatterND", {{"input", input}, {"indices", indices}, {"updates", updates}}, options.label);
}
Operand GraphBuilder::slice(const Operand& input, const Sizes& starts, const Sizes& sizes,
                            const SliceOptions& options) {
  return one("slice", with({{"input", input}, {"starts", starts}, {"sizes", sizes}}, options), options.label);
}
Operand GraphBuilder::softmax(const Operand& input, std::int64_t axis, const OperatorOptions& options) {
  return one("softmax", {{"input", input}, {"axis", n(axis)}}, options.label);
}
Operand GraphBuilder::softmax(const Operand& input, const OperatorOptions& options) {
  return one("softmax", {{"input", input}}, options.label);
}
std::vector<Operand> GraphBuilder::split(const Operand& input, std::int64_t parts, const SplitOptions& options) {
  return several("split", with({{"input", input}, {"splits", n(parts)}}, options), options.label);
}
std::vector<Operand> GraphBuilder::split(const Operand& input, const Sizes& splits, const SplitOptions& options) {
  return several("split", with({{"input", input}, {"splits", splits}}, options), options.label);
}
Operand GraphBuilder::tile(const Operand& input, const Sizes& repetitions, const OperatorOptions& options) {
  return one("tile", {{"input", input}, {"repetitions", repetitions}}, options.label);
}
Operand GraphBuilder::where(const Operand& condition, const Operand& true_value, const Operand& false_value,
                            const OperatorOptions& options) {
  return one("where", {{"condition", condition}, {"trueValue", true_value}, {"falseValue", false_value}},
             options.label);
}

}  // namespace weft::webnn
