// WebNN's MLGraphBuilder: operations, which record what build() compiles.
//
// Every operation checks its arguments at once, by the steps of the specification, and throws TypeError for what they
// refuse and InvalidStateError if the builder has built or its context is lost; the builder goes on after an error.
// Names, options and defaults are the specification's, in this library's spelling; what an operation computes stands
// there under its name. Sizes and axes are unsigned long there: numbers from 0 to 2³² - 1. Options that may be absent
// have no default here; an operand that was not given is an empty Operand.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/number.h"
#include "weft/webnn/context.h"
#include "weft/webnn/options.h"

namespace weft::webnn {

enum class Conv2dFilterOperandLayout : std::uint8_t { oihw, hwio, ohwi, ihwo };
enum class ConvTranspose2dFilterOperandLayout : std::uint8_t { iohw, hwoi, ohwi };
enum class GruWeightLayout : std::uint8_t { zrn, rzn };
enum class LstmWeightLayout : std::uint8_t { iofg, ifgo };
enum class RecurrentNetworkActivation : std::uint8_t { relu, sigmoid, tanh };
enum class RecurrentNetworkDirection : std::uint8_t { forward, backward, both };
enum class PaddingMode : std::uint8_t { constant, edge, reflection, symmetric };  // symmetric: an extension
enum class RoundingType : std::uint8_t { floor, ceil };
enum class InterpolationMode : std::uint8_t { nearest_neighbor, linear };

// The specification's names of their values.
inline constexpr std::string_view kInputOperandLayouts[] = {"nchw", "nhwc"};
inline constexpr std::string_view kConv2dFilterOperandLayouts[] = {"oihw", "hwio", "ohwi", "ihwo"};
inline constexpr std::string_view kConvTranspose2dFilterOperandLayouts[] = {"iohw", "hwoi", "ohwi"};
inline constexpr std::string_view kGruWeightLayouts[] = {"zrn", "rzn"};
inline constexpr std::string_view kLstmWeightLayouts[] = {"iofg", "ifgo"};
inline constexpr std::string_view kRecurrentNetworkActivations[] = {"relu", "sigmoid", "tanh"};
inline constexpr std::string_view kRecurrentNetworkDirections[] = {"forward", "backward", "both"};
inline constexpr std::string_view kPaddingModes[] = {"constant", "edge", "reflection", "symmetric"};
inline constexpr std::string_view kRoundingTypes[] = {"floor", "ceil"};
inline constexpr std::string_view kInterpolationModes[] = {"nearest-neighbor", "linear"};

using OptionalActivations = OptionalList<RecurrentNetworkActivation>;

// The options of each operation. `label` stands in messages and reports.
struct OperatorOptions {
  std::string label = {};
  void fields(OptionVisitor&) {}
};
struct ArgMinMaxOptions {
  bool keep_dimensions = false;
  DType output_data_type = DType::i32;  // or i64
  std::string label = {};
  void fields(OptionVisitor& v) {
    v("keepDimensions", keep_dimensions);
    v("outputDataType", output_data_type);
  }
};
struct BatchNormalizationOptions {
  Operand scale = {}, bias = {};
  std::int64_t axis = 1;
  double epsilon = 1e-5;
  std::string label = {};
  void fields(OptionVisitor& v) {
    v("scale", scale, "input", 1, 1);
    v("bias", bias, "input", 1, 1);
    v("axis", axis);
    v("epsilon", epsilon);
  }
};
struct ClampOptions {
  std::optional<Number> min_value = {}, max_value = {};
  std::string label = {};
  void fields(OptionVisitor& v) {
    v("minValue", min_value);
    v("maxValue", max_value);
  }
};
struct Conv2dOptions {
  OptionalSizes padding = kAbsent;  // [beginning height, ending height, beginning width, ending width]
  OptionalSizes strides = kAbsent, dilations = kAbsent;  // [height, width]
  std::int64_t groups = 1;
  InputOperandLayout input_layout = InputOperandLayout::nchw;
  Conv2dFilterOperandLayout filter_layout = Conv2dFilterOperandLayout::oihw;
  Operand bias = {};
  std::string label = {};
  void fields(OptionVisitor& v) {
    v("padding", padding, {0, 0, 0, 0});
    v("strides", strides, {1, 1});
    v("dilations", dilations, {1, 1});
    v("groups", groups);
    v("inputLayout", input_layout, kInputOperandLayouts);
    v("filterLayout", filter_layout, kConv2dFilterOperandLayouts);
    v("bias", bias, "input", 1, 1);
  }
};
struct ConvTranspose2dOptions {
  OptionalSizes padding = kAbsent, strides = kAbsent, dilations = kAbsent;
  OptionalSizes output_padding = kAbsent, output_sizes = kAbsent;  // [height, width]; sizes outrank padding
  std::int64_t groups = 1;
  InputOperandLayout input_layout = InputOperandLayout::nchw;
  ConvTranspose2dFilterOperandLayout filter_layout = ConvTranspose2dFilterOperandLayout::iohw;
  Operand bias = {};
  std::string label = {};
  void fields(OptionVisitor& v) {
    v("padding", padding, {0, 0, 0, 0});
    v("strides", strides, {1, 1});
    v("dilations", dilations, {1, 1});
    v("outputPadding", output_padding, {0, 0});
    v("outputSizes", output_sizes);
    v("groups", groups);
    v("inputLayout", input_layout, kInputOperandLayouts);
    v("filterLayout", filter_layout, kConvTranspose2dFilterOperandLayouts);
    v("bias", bias, "input", 1, 1);
  }
};
struct CumulativeSumOptions {
  bool exclusive = false, reversed = false;
  std::string label = {};
  void fields(OptionVisitor& v) {
    v("exclusive", exclusive);
    v("reversed", reversed);
  }
};
struct EluOptions {
  double alpha = 1;
  std::string label = {};
  void fields(OptionVisitor& v) { v("alpha", alpha); }
};
struct GatherOptions {
  std::int64_t axis = 0;
  std::string label = {};
  void fields(OptionVisitor& v) { v("axis", axis); }
};
struct GemmOptions {
  Operand c = {};
  double alpha = 1, beta = 1;
  bool a_transpose = false, b_transpose = false;
  std::string label = {};
  void fields(OptionVisitor& v) {
    v("c", c, "a", 0, 2);
    v("alpha", alpha);
    v("beta", beta);
    v("aTranspose", a_transpose);
    v("bTranspose", b_transpose);
  }
};

// The members of the four recurrent networks' options. A cell has no directions, nor have its operands an axis of them.
template <class Options>
void recurrent_fields(OptionVisitor& v, Options& o) {
  using enum RecurrentNetworkActivation;
  constexpr bool lstm = requires { o.peephole_weight; }, cell = !requires { o.direction; };
  constexpr int vector = cell ? 1 : 2;
  v("bias", o.bias, "input", vector, vector);
  v("recurrentBias", o.recurrent_bias, "input", vector, vector);
  if constexpr (lstm) v("peepholeWeight", o.peephole_weight, "input", vector, vector);
  if constexpr (!cell) v("initialHiddenState", o.initial_hidden_state, "input", 3, 3);
  if constexpr (!cell && lstm) v("initialCellState", o.initial_cell_state, "input", 3, 3);
  if constexpr (!lstm) v("resetAfter", o.reset_after);
  if constexpr (!cell) {
    v("returnSequence", o.return_sequence);
    v("direction", o.direction, kRecurrentNetworkDirections);
  }
  if constexpr (lstm) {
    v("layout", o.layout, kLstmWeightLayouts);
    v("activations", o.activations, kRecurrentNetworkActivations, {sigmoid, tanh, tanh});
  } else {
    v("layout", o.layout, kGruWeightLayouts);
    v("activations", o.activations, kRecurrentNetworkActivations, {sigmoid, tanh});
  }
}

struct GruOptions {
  Operand bias = {}, recurrent_bias = {}, initial_hidden_state = {};
  bool reset_after = true, return_sequence = false;
  RecurrentNetworkDirection direction = RecurrentNetworkDirection::forward;
  GruWeightLayout layout = GruWeightLayout::zrn;
  OptionalActivations activations = kAbsent;  // of the update and reset gates, and the new gate: sigmoid, tanh
  std::string label = {};
  void fields(OptionVisitor& v) { recurrent_fields(v, *this); }
};
struct GruCellOptions {
  Operand bias = {}, recurrent_bias = {};
  bool reset_after = true;
  GruWeightLayout layout = GruWeightLayout::zrn;
  OptionalActivations activations = kAbsent;
  std::string label = {};
  void fields(OptionVisitor& v) { recurrent_fields(v, *this); }
};
struct HardSigmoidOptions {
  double alpha = 0.2, beta = 0.5;
  std::string label = {};
  void fields(OptionVisitor& v) {
    v("alpha", alpha);
    v("beta", beta);
  }
};
struct InstanceNormalizationOptions {
  Operand scale = {}, bias = {};
  double epsilon = 1e-5;
  InputOperandLayout layout = InputOperandLayout::nchw;
  std::string label = {};
  void fields(OptionVisitor& v) {
    v("scale", scale, "input", 1, 1);
    v("bias", bias, "input", 1, 1);
    v("epsilon", epsilon);
    v("layout", layout, kInputOperandLayouts);
  }
};
struct LayerNormalizationOptions {
  Operand scale = {}, bias = {};
  OptionalSizes axes = kAbsent;  // all but the first
  double epsilon = 1e-5;
  std::string label = {};
  void fields(OptionVisitor& v) {
    v("scale", scale, "input");
    v("bias", bias, "input");
    v("axes", axes);
    v("epsilon", epsilon);
  }
};
struct LeakyReluOptions {
  double alpha = 0.01;
  std::string label = {};
  void fields(OptionVisitor& v) { v("alpha", alpha); }
};
struct LinearOptions {
  double alpha = 1, beta = 0;
  std::string label = {};
  void fields(OptionVisitor& v) {
    v("alpha", alpha);
    v("beta", beta);
  }
};
struct LstmOptions {
  Operand bias = {}, recurrent_bias = {}, peephole_weight = {}, initial_hidden_state = {}, initial_cell_state = {};
  bool return_sequence = false;
  RecurrentNetworkDirection direction = RecurrentNetworkDirection::forward;
  LstmWeightLayout layout = LstmWeightLayout::iofg;
  OptionalActivations activations = kAbsent;  // of the gates, the cell gate, the hidden state: sigmoid, tanh, tanh
  std::string label = {};
  void fields(OptionVisitor& v) { recurrent_fields(v, *this); }
};
struct LstmCellOptions {
  Operand bias = {}, recurrent_bias = {}, peephole_weight = {};
  LstmWeightLayout layout = LstmWeightLayout::iofg;
  OptionalActivations activations = kAbsent;
  std::string label = {};
  void fields(OptionVisitor& v) { recurrent_fields(v, *this); }
};
struct PadOptions {
  PaddingMode mode = PaddingMode::constant;
  Number value = 0;
  std::string label = {};
  void fields(OptionVisitor& v) {
    v("mode", mode, kPaddingModes);
    v("value", value);
  }
};
struct Pool2dOptions {
  OptionalSizes window_dimensions = kAbsent;  // all of the height and width
  OptionalSizes padding = kAbsent, strides = kAbsent, dilations = kAbsent;
  InputOperandLayout layout = InputOperandLayout::nchw;
  RoundingType output_shape_rounding = RoundingType::floor;
  OptionalSizes output_sizes = kAbsent;  // outranks the rounding
  std::string label = {};
  void fields(OptionVisitor& v) {
    v("windowDimensions", window_dimensions);
    v("padding", padding, {0, 0, 0, 0});
    v("strides", strides, {1, 1});
    v("dilations", dilations, {1, 1});
    v("layout", layout, kInputOperandLayouts);
    v("outputShapeRounding", output_shape_rounding, kRoundingTypes);
    v("outputSizes", output_sizes);
  }
};
struct ReduceOptions {
  OptionalSizes axes = kAbsent;  // all
  bool keep_dimensions = false;
  std::string label = {};
  void fields(OptionVisitor& v) {
    v("axes", axes);
    v("keepDimensions", keep_dimensions);
  }
};
struct Resample2dOptions {
  InterpolationMode mode = InterpolationMode::nearest_neighbor;
  OptionalReals scales = kAbsent;
  OptionalSizes sizes = kAbsent;  // outrank scales
  OptionalSizes axes = kAbsent;
  std::string label = {};
  void fields(OptionVisitor& v) {
    v("mode", mode, kInterpolationModes);
    v("scales", scales, {1, 1});
    v("sizes", sizes);
    v("axes", axes, {2, 3});
  }
};
struct ReverseOptions {
  OptionalSizes axes = kAbsent;  // all
  std::string label = {};
  void fields(OptionVisitor& v) { v("axes", axes); }
};
using ScatterOptions = GatherOptions;
struct SliceOptions {
  OptionalSizes strides = kAbsent;  // 1 for each axis
  std::string label = {};
  void fields(OptionVisitor& v) { v("strides", strides); }
};
// What call() takes; the methods take the axis as an argument.
struct SoftmaxOptions {
  std::int64_t axis = 1;
  std::string label = {};
  void fields(OptionVisitor& v) { v("axis", axis); }
};
struct SplitOptions {
  std::int64_t axis = 0;
  std::string label = {};
  void fields(OptionVisitor& v) { v("axis", axis); }
};
struct TransposeOptions {
  OptionalSizes permutation = kAbsent;  // reversed
  std::string label = {};
  void fields(OptionVisitor& v) { v("permutation", permutation); }
};
struct TriangularOptions {
  bool upper = true;
  std::int64_t diagonal = 0;
  std::string label = {};
  void fields(OptionVisitor& v) {
    v("upper", upper);
    v.signed_long("diagonal", diagonal);
  }
};

using NamedOperands = std::vector<std::pair<std::string, Operand>>;

class GraphBuilder {
 public:
  // Throws InvalidStateError if the context is lost.
  explicit GraphBuilder(const Context& context);

  // A name may be used again (an extension) as long as no two inputs of one graph share it.
  Operand input(std::string_view name, const OperandDescriptor& descriptor);
  Operand constant(const OperandDescriptor& descriptor, const BufferSource& data);  // copies the data
  Operand constant(DType data_type, const Number& value);  // a scalar; rounded to even, and saturated
  Operand constant(const Tensor& tensor);                  // made by create_constant_tensor()

  // Compiles what the outputs need. A builder builds once; arguments that are refused leave it usable. Operands that
  // are inputs or constants are no outputs. `options`: an extension. Throws InvalidStateError (built already, context
  // lost), TypeError, OperationError (it cannot be compiled here; the builder has built).
  Graph build(const NamedOperands& outputs);
  Graph build(const NamedOperands& outputs, const CompileOptions& options);
  // The same without waiting, as build() in JavaScript: ready when the kernels are compiled. Throws at once, but for
  // what is found while they are compiled.
  Future<Graph> build_async(const NamedOperands& outputs);
  Future<Graph> build_async(const NamedOperands& outputs, const CompileOptions& options);

  // An operation by the specification's name for it ("averagePool2d") with its arguments and options by theirs, and
  // "label". Throws TypeError for names that there are not, too.
  std::vector<Operand> call(std::string_view op, const Arguments& arguments);

#define WEFT_UNARY(name, op, Options) \
  Operand name(const Operand& input, const Options& options = {}) { return one(op, {input}, options); }
#define WEFT_BINARY(name, op)                                                             \
  Operand name(const Operand& a, const Operand& b, const OperatorOptions& options = {}) { \
    return one(op, {a, b}, options);                                                      \
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
  WEFT_UNARY(logical_not, "logicalNot", OperatorOptions)
  WEFT_UNARY(is_nan, "isNaN", OperatorOptions)
  WEFT_UNARY(is_infinite, "isInfinite", OperatorOptions)
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
  WEFT_BINARY(matmul, "matmul")
#undef WEFT_BINARY
  Operand arg_min(const Operand& input, std::int64_t axis, const ArgMinMaxOptions& options = {}) {
    return one("argMin", {input, axis}, options);
  }
  Operand arg_max(const Operand& input, std::int64_t axis, const ArgMinMaxOptions& options = {}) {
    return one("argMax", {input, axis}, options);
  }
  Operand batch_normalization(const Operand& input, const Operand& mean, const Operand& variance,
                              const BatchNormalizationOptions& options = {}) {
    return one("batchNormalization", {input, mean, variance}, options);
  }
  Operand cast(const Operand& input, DType data_type, const OperatorOptions& options = {}) {
    return one("cast", {input, data_type}, options);
  }
  Operand concat(const std::vector<Operand>& inputs, std::int64_t axis, const OperatorOptions& options = {}) {
    return one("concat", {inputs, axis}, options);
  }
  Operand conv2d(const Operand& input, const Operand& filter, const Conv2dOptions& options = {}) {
    return one("conv2d", {input, filter}, options);
  }
  Operand conv_transpose2d(const Operand& input, const Operand& filter, const ConvTranspose2dOptions& options = {}) {
    return one("convTranspose2d", {input, filter}, options);
  }
  Operand cumulative_sum(const Operand& input, std::int64_t axis, const CumulativeSumOptions& options = {}) {
    return one("cumulativeSum", {input, axis}, options);
  }
  Operand dequantize_linear(const Operand& input, const Operand& scale, const Operand& zero_point,
                            const OperatorOptions& options = {}) {
    return one("dequantizeLinear", {input, scale, zero_point}, options);
  }
  Operand quantize_linear(const Operand& input, const Operand& scale, const Operand& zero_point,
                          const OperatorOptions& options = {}) {
    return one("quantizeLinear", {input, scale, zero_point}, options);
  }
  Operand expand(const Operand& input, const Sizes& new_shape, const OperatorOptions& options = {}) {
    return one("expand", {input, new_shape}, options);
  }
  Operand gather(const Operand& input, const Operand& indices, const GatherOptions& options = {}) {
    return one("gather", {input, indices}, options);
  }
  Operand gather_elements(const Operand& input, const Operand& indices, const GatherOptions& options = {}) {
    return one("gatherElements", {input, indices}, options);
  }
  Operand gather_nd(const Operand& input, const Operand& indices, const OperatorOptions& options = {}) {
    return one("gatherND", {input, indices}, options);
  }
  Operand gemm(const Operand& a, const Operand& b, const GemmOptions& options = {}) {
    return one("gemm", {a, b}, options);
  }
  std::vector<Operand> gru(const Operand& input, const Operand& weight, const Operand& recurrent_weight,
                           std::int64_t steps, std::int64_t hidden_size, const GruOptions& options = {}) {
    return several("gru", {input, weight, recurrent_weight, steps, hidden_size}, options);
  }
  Operand gru_cell(const Operand& input, const Operand& weight, const Operand& recurrent_weight,
                   const Operand& hidden_state, std::int64_t hidden_size, const GruCellOptions& options = {}) {
    return one("gruCell", {input, weight, recurrent_weight, hidden_state, hidden_size}, options);
  }
  std::vector<Operand> lstm(const Operand& input, const Operand& weight, const Operand& recurrent_weight,
                            std::int64_t steps, std::int64_t hidden_size, const LstmOptions& options = {}) {
    return several("lstm", {input, weight, recurrent_weight, steps, hidden_size}, options);
  }
  std::vector<Operand> lstm_cell(const Operand& input, const Operand& weight, const Operand& recurrent_weight,
                                 const Operand& hidden_state, const Operand& cell_state, std::int64_t hidden_size,
                                 const LstmCellOptions& options = {}) {
    return several("lstmCell", {input, weight, recurrent_weight, hidden_state, cell_state, hidden_size}, options);
  }
  Operand pad(const Operand& input, const Sizes& beginning_padding, const Sizes& ending_padding,
              const PadOptions& options = {}) {
    return one("pad", {input, beginning_padding, ending_padding}, options);
  }
  Operand prelu(const Operand& input, const Operand& slope, const OperatorOptions& options = {}) {
    return one("prelu", {input, slope}, options);
  }
  Operand reshape(const Operand& input, const Sizes& new_shape, const OperatorOptions& options = {}) {
    return one("reshape", {input, new_shape}, options);
  }
  Operand scatter_elements(const Operand& input, const Operand& indices, const Operand& updates,
                           const ScatterOptions& options = {}) {
    return one("scatterElements", {input, indices, updates}, options);
  }
  Operand scatter_nd(const Operand& input, const Operand& indices, const Operand& updates,
                     const OperatorOptions& options = {}) {
    return one("scatterND", {input, indices, updates}, options);
  }
  Operand slice(const Operand& input, const Sizes& starts, const Sizes& sizes, const SliceOptions& options = {}) {
    return one("slice", {input, starts, sizes}, options);
  }
  Operand softmax(const Operand& input, std::int64_t axis, const OperatorOptions& options = {}) {
    return one("softmax", {input}, SoftmaxOptions{axis, options.label});
  }
  Operand softmax(const Operand& input, const OperatorOptions& options = {}) {  // axis 1; an extension
    return one("softmax", {input}, SoftmaxOptions{.label = options.label});
  }
  std::vector<Operand> split(const Operand& input, std::int64_t parts, const SplitOptions& options = {}) {
    return several("split", {input, parts}, options);
  }
  std::vector<Operand> split(const Operand& input, const Sizes& splits, const SplitOptions& options = {}) {
    return several("split", {input, splits}, options);
  }
  Operand tile(const Operand& input, const Sizes& repetitions, const OperatorOptions& options = {}) {
    return one("tile", {input, repetitions}, options);
  }
  Operand where(const Operand& condition, const Operand& true_value, const Operand& false_value,
                const OperatorOptions& options = {}) {
    return one("where", {condition, true_value, false_value}, options);
  }

  const Context& context() const;

  struct State;  // src/webnn

 private:
  // The operation of that name with its required arguments in their order.
  template <class Options>
  std::vector<Operand> several(std::string_view op, std::vector<Value> arguments, const Options& options) {
    append_values(options, arguments);
    return in_order(op, std::move(arguments), options.label);
  }
  template <class Options>
  Operand one(std::string_view op, std::vector<Value> arguments, const Options& options) {
    return several(op, std::move(arguments), options).front();
  }
  std::vector<Operand> in_order(std::string_view op, std::vector<Value> arguments, const std::string& label);

  std::shared_ptr<State> state_;
};

}  // namespace weft::webnn
