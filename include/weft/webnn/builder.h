// WebNN's MLGraphBuilder: 95 operations, which record what build() compiles.
//
// Every operation checks its arguments at once, by the steps of the specification, and throws TypeError for what they
// refuse and InvalidStateError if the builder has built or its context is lost; the builder goes on after an error.
// Names, options and defaults are the specification's, in this library's spelling; what an operation computes stands
// there under its name. Sizes and axes are unsigned long there: numbers from 0 to 2³² - 1. Options that may be absent
// have no default here; an operand that was not given is an empty Operand.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "weft/number.h"
#include "weft/webnn/context.h"

namespace weft::webnn {

// A value of the graph that is being built. A handle: copies are the same operand.
class Operand {
 public:
  Operand() = default;
  explicit operator bool() const { return state_ != nullptr; }
  DType data_type() const;
  const Sizes& shape() const;

  bool operator==(const Operand&) const = default;

  struct State;  // src/webnn
  explicit Operand(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  const State* state() const { return state_.get(); }

 private:
  std::shared_ptr<const State> state_;
};

// A list that may be absent, which is something else than an empty one: reduce_sum(x, {.axes = {}}) reduces nothing,
// reduce_sum(x) everything.
template <class T>
class OptionalList {
 public:
  OptionalList(std::nullopt_t) {}                                      // NOLINT: implicit, as are the next
  OptionalList(std::initializer_list<T> values) : values_(values) {}   // NOLINT
  OptionalList(std::vector<T> values) : values_(std::move(values)) {}  // NOLINT
  explicit operator bool() const { return values_.has_value(); }
  const std::vector<T>& operator*() const { return *values_; }

 private:
  std::optional<std::vector<T>> values_;
};
using OptionalSizes = OptionalList<std::int64_t>;
using OptionalReals = OptionalList<double>;
inline constexpr std::nullopt_t kAbsent = std::nullopt;

enum class Conv2dFilterOperandLayout : std::uint8_t { oihw, hwio, ohwi, ihwo };
enum class ConvTranspose2dFilterOperandLayout : std::uint8_t { iohw, hwoi, ohwi };
enum class GruWeightLayout : std::uint8_t { zrn, rzn };
enum class LstmWeightLayout : std::uint8_t { iofg, ifgo };
enum class RecurrentNetworkActivation : std::uint8_t { relu, sigmoid, tanh };
enum class RecurrentNetworkDirection : std::uint8_t { forward, backward, both };
enum class PaddingMode : std::uint8_t { constant, edge, reflection, symmetric };  // symmetric: an extension
enum class RoundingType : std::uint8_t { floor, ceil };
enum class InterpolationMode : std::uint8_t { nearest_neighbor, linear };

using OptionalActivations = OptionalList<RecurrentNetworkActivation>;

// The options of each operation. `label` stands in messages and reports.
struct OperatorOptions {
  std::string label = {};
};
struct ArgMinMaxOptions {
  bool keep_dimensions = false;
  DType output_data_type = DType::i32;  // or i64
  std::string label = {};
};
struct BatchNormalizationOptions {
  Operand scale = {}, bias = {};
  std::int64_t axis = 1;
  double epsilon = 1e-5;
  std::string label = {};
};
struct ClampOptions {
  std::optional<Number> min_value = {}, max_value = {};
  std::string label = {};
};
struct Conv2dOptions {
  OptionalSizes padding = kAbsent;  // [beginning height, ending height, beginning width, ending width]
  OptionalSizes strides = kAbsent, dilations = kAbsent;  // [height, width]
  std::int64_t groups = 1;
  InputOperandLayout input_layout = InputOperandLayout::nchw;
  Conv2dFilterOperandLayout filter_layout = Conv2dFilterOperandLayout::oihw;
  Operand bias = {};
  std::string label = {};
};
struct ConvTranspose2dOptions {
  OptionalSizes padding = kAbsent, strides = kAbsent, dilations = kAbsent;
  OptionalSizes output_padding = kAbsent, output_sizes = kAbsent;  // [height, width]; sizes outrank padding
  std::int64_t groups = 1;
  InputOperandLayout input_layout = InputOperandLayout::nchw;
  ConvTranspose2dFilterOperandLayout filter_layout = ConvTranspose2dFilterOperandLayout::iohw;
  Operand bias = {};
  std::string label = {};
};
struct CumulativeSumOptions {
  bool exclusive = false, reversed = false;
  std::string label = {};
};
struct EluOptions {
  double alpha = 1;
  std::string label = {};
};
struct GatherOptions {
  std::int64_t axis = 0;
  std::string label = {};
};
struct GemmOptions {
  Operand c = {};
  double alpha = 1, beta = 1;
  bool a_transpose = false, b_transpose = false;
  std::string label = {};
};
struct GruOptions {
  Operand bias = {}, recurrent_bias = {}, initial_hidden_state = {};
  bool reset_after = true, return_sequence = false;
  RecurrentNetworkDirection direction = RecurrentNetworkDirection::forward;
  GruWeightLayout layout = GruWeightLayout::zrn;
  OptionalActivations activations = kAbsent;  // of the update and reset gates, and the new gate: sigmoid, tanh
  std::string label = {};
};
struct GruCellOptions {
  Operand bias = {}, recurrent_bias = {};
  bool reset_after = true;
  GruWeightLayout layout = GruWeightLayout::zrn;
  OptionalActivations activations = kAbsent;
  std::string label = {};
};
struct HardSigmoidOptions {
  double alpha = 0.2, beta = 0.5;
  std::string label = {};
};
struct InstanceNormalizationOptions {
  Operand scale = {}, bias = {};
  double epsilon = 1e-5;
  InputOperandLayout layout = InputOperandLayout::nchw;
  std::string label = {};
};
struct LayerNormalizationOptions {
  Operand scale = {}, bias = {};
  OptionalSizes axes = kAbsent;  // all but the first
  double epsilon = 1e-5;
  std::string label = {};
};
struct LeakyReluOptions {
  double alpha = 0.01;
  std::string label = {};
};
struct LinearOptions {
  double alpha = 1, beta = 0;
  std::string label = {};
};
struct LstmOptions {
  Operand bias = {}, recurrent_bias = {}, peephole_weight = {}, initial_hidden_state = {}, initial_cell_state = {};
  bool return_sequence = false;
  RecurrentNetworkDirection direction = RecurrentNetworkDirection::forward;
  LstmWeightLayout layout = LstmWeightLayout::iofg;
  OptionalActivations activations = kAbsent;  // of the gates, the cell gate, the hidden state: sigmoid, tanh, tanh
  std::string label = {};
};
struct LstmCellOptions {
  Operand bias = {}, recurrent_bias = {}, peephole_weight = {};
  LstmWeightLayout layout = LstmWeightLayout::iofg;
  OptionalActivations activations = kAbsent;
  std::string label = {};
};
struct PadOptions {
  PaddingMode mode = PaddingMode::constant;
  Number value = 0;
  std::string label = {};
};
struct Pool2dOptions {
  OptionalSizes window_dimensions = kAbsent;  // all of the height and width
  OptionalSizes padding = kAbsent, strides = kAbsent, dilations = kAbsent;
  InputOperandLayout layout = InputOperandLayout::nchw;
  RoundingType output_shape_rounding = RoundingType::floor;
  OptionalSizes output_sizes = kAbsent;  // outranks the rounding
  std::string label = {};
};
struct ReduceOptions {
  OptionalSizes axes = kAbsent;  // all
  bool keep_dimensions = false;
  std::string label = {};
};
struct Resample2dOptions {
  InterpolationMode mode = InterpolationMode::nearest_neighbor;
  OptionalReals scales = kAbsent;
  OptionalSizes sizes = kAbsent;  // outrank scales
  OptionalSizes axes = kAbsent;   // [2, 3]
  std::string label = {};
};
struct ReverseOptions {
  OptionalSizes axes = kAbsent;  // all
  std::string label = {};
};
using ScatterOptions = GatherOptions;
struct SliceOptions {
  OptionalSizes strides = kAbsent;
  std::string label = {};
};
struct SplitOptions {
  std::int64_t axis = 0;
  std::string label = {};
};
struct TransposeOptions {
  OptionalSizes permutation = kAbsent;  // reversed
  std::string label = {};
};
struct TriangularOptions {
  bool upper = true;
  std::int64_t diagonal = 0;
  std::string label = {};
};

// What call() takes: by the kinds of weft/webnn/schema.h. A size, an integer, a number or a real is a Number; choices
// are by their names; no value at all is an absent option.
using Value = std::variant<std::monostate, bool, Number, std::string, DType, Sizes, std::vector<double>,
                           std::vector<std::string>, Operand, std::vector<Operand>>;
using Arguments = std::vector<std::pair<std::string, Value>>;

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

  // An operation by the specification's name for it ("averagePool2d") with its arguments and options by theirs, and
  // "label". Throws TypeError for names that there are not, too.
  std::vector<Operand> call(std::string_view op, const Arguments& arguments);

#define WEFT_UNARY(name, Options) Operand name(const Operand& input, const Options& options = {});
#define WEFT_BINARY(name) Operand name(const Operand& a, const Operand& b, const OperatorOptions& options = {});
  WEFT_BINARY(add)
  WEFT_BINARY(sub)
  WEFT_BINARY(mul)
  WEFT_BINARY(div)
  WEFT_BINARY(max)
  WEFT_BINARY(min)
  WEFT_BINARY(pow)
  WEFT_BINARY(equal)
  WEFT_BINARY(not_equal)
  WEFT_BINARY(greater)
  WEFT_BINARY(greater_or_equal)
  WEFT_BINARY(lesser)
  WEFT_BINARY(lesser_or_equal)
  WEFT_BINARY(logical_and)
  WEFT_BINARY(logical_or)
  WEFT_BINARY(logical_xor)
  WEFT_UNARY(logical_not, OperatorOptions)
  WEFT_UNARY(is_nan, OperatorOptions)
  WEFT_UNARY(is_infinite, OperatorOptions)
  WEFT_UNARY(abs, OperatorOptions)
  WEFT_UNARY(ceil, OperatorOptions)
  WEFT_UNARY(cos, OperatorOptions)
  WEFT_UNARY(erf, OperatorOptions)
  WEFT_UNARY(exp, OperatorOptions)
  WEFT_UNARY(floor, OperatorOptions)
  WEFT_UNARY(identity, OperatorOptions)
  WEFT_UNARY(log, OperatorOptions)
  WEFT_UNARY(neg, OperatorOptions)
  WEFT_UNARY(reciprocal, OperatorOptions)
  WEFT_UNARY(round_even, OperatorOptions)
  WEFT_UNARY(sin, OperatorOptions)
  WEFT_UNARY(sign, OperatorOptions)
  WEFT_UNARY(sqrt, OperatorOptions)
  WEFT_UNARY(tan, OperatorOptions)
  WEFT_UNARY(elu, EluOptions)
  WEFT_UNARY(gelu, OperatorOptions)
  WEFT_UNARY(hard_sigmoid, HardSigmoidOptions)
  WEFT_UNARY(hard_swish, OperatorOptions)
  WEFT_UNARY(leaky_relu, LeakyReluOptions)
  WEFT_UNARY(linear, LinearOptions)
  WEFT_UNARY(relu, OperatorOptions)
  WEFT_UNARY(sigmoid, OperatorOptions)
  WEFT_UNARY(softplus, OperatorOptions)
  WEFT_UNARY(softsign, OperatorOptions)
  WEFT_UNARY(tanh, OperatorOptions)
  WEFT_UNARY(clamp, ClampOptions)
  WEFT_UNARY(average_pool2d, Pool2dOptions)
  WEFT_UNARY(l2_pool2d, Pool2dOptions)
  WEFT_UNARY(max_pool2d, Pool2dOptions)
  WEFT_UNARY(reduce_l1, ReduceOptions)
  WEFT_UNARY(reduce_l2, ReduceOptions)
  WEFT_UNARY(reduce_log_sum, ReduceOptions)
  WEFT_UNARY(reduce_log_sum_exp, ReduceOptions)
  WEFT_UNARY(reduce_max, ReduceOptions)
  WEFT_UNARY(reduce_mean, ReduceOptions)
  WEFT_UNARY(reduce_min, ReduceOptions)
  WEFT_UNARY(reduce_product, ReduceOptions)
  WEFT_UNARY(reduce_sum, ReduceOptions)
  WEFT_UNARY(reduce_sum_square, ReduceOptions)
  WEFT_UNARY(instance_normalization, InstanceNormalizationOptions)
  WEFT_UNARY(layer_normalization, LayerNormalizationOptions)
  WEFT_UNARY(resample2d, Resample2dOptions)
  WEFT_UNARY(reverse, ReverseOptions)
  WEFT_UNARY(transpose, TransposeOptions)
  WEFT_UNARY(triangular, TriangularOptions)
#undef WEFT_UNARY
  WEFT_BINARY(matmul)
#undef WEFT_BINARY
  Operand arg_min(const Operand& input, std::int64_t axis, const ArgMinMaxOptions& options = {});
  Operand arg_max(const Operand& input, std::int64_t axis, const ArgMinMaxOptions& options = {});
  Operand batch_normalization(const Operand& input, const Operand& mean, const Operand& variance,
                              const BatchNormalizationOptions& options = {});
  Operand cast(const Operand& input, DType data_type, const OperatorOptions& options = {});
  Operand concat(const std::vector<Operand>& inputs, std::int64_t axis, const OperatorOptions& options = {});
  Operand conv2d(const Operand& input, const Operand& filter, const Conv2dOptions& options = {});
  Operand conv_transpose2d(const Operand& input, const Operand& filter, const ConvTranspose2dOptions& options = {});
  Operand cumulative_sum(const Operand& input, std::int64_t axis, const CumulativeSumOptions& options = {});
  Operand dequantize_linear(const Operand& input, const Operand& scale, const Operand& zero_point,
                            const OperatorOptions& options = {});
  Operand quantize_linear(const Operand& input, const Operand& scale, const Operand& zero_point,
                          const OperatorOptions& options = {});
  Operand expand(const Operand& input, const Sizes& new_shape, const OperatorOptions& options = {});
  Operand gather(const Operand& input, const Operand& indices, const GatherOptions& options = {});
  Operand gather_elements(const Operand& input, const Operand& indices, const GatherOptions& options = {});
  Operand gather_nd(const Operand& input, const Operand& indices, const OperatorOptions& options = {});
  Operand gemm(const Operand& a, const Operand& b, const GemmOptions& options = {});
  std::vector<Operand> gru(const Operand& input, const Operand& weight, const Operand& recurrent_weight,
                           std::int64_t steps, std::int64_t hidden_size, const GruOptions& options = {});
  Operand gru_cell(const Operand& input, const Operand& weight, const Operand& recurrent_weight,
                   const Operand& hidden_state, std::int64_t hidden_size, const GruCellOptions& options = {});
  std::vector<Operand> lstm(const Operand& input, const Operand& weight, const Operand& recurrent_weight,
                            std::int64_t steps, std::int64_t hidden_size, const LstmOptions& options = {});
  std::vector<Operand> lstm_cell(const Operand& input, const Operand& weight, const Operand& recurrent_weight,
                                 const Operand& hidden_state, const Operand& cell_state, std::int64_t hidden_size,
                                 const LstmCellOptions& options = {});
  Operand pad(const Operand& input, const Sizes& beginning_padding, const Sizes& ending_padding,
              const PadOptions& options = {});
  Operand prelu(const Operand& input, const Operand& slope, const OperatorOptions& options = {});
  Operand reshape(const Operand& input, const Sizes& new_shape, const OperatorOptions& options = {});
  Operand scatter_elements(const Operand& input, const Operand& indices, const Operand& updates,
                           const ScatterOptions& options = {});
  Operand scatter_nd(const Operand& input, const Operand& indices, const Operand& updates,
                     const OperatorOptions& options = {});
  Operand slice(const Operand& input, const Sizes& starts, const Sizes& sizes, const SliceOptions& options = {});
  Operand softmax(const Operand& input, std::int64_t axis, const OperatorOptions& options = {});
  Operand softmax(const Operand& input, const OperatorOptions& options = {});  // axis 1; an extension
  std::vector<Operand> split(const Operand& input, std::int64_t parts, const SplitOptions& options = {});
  std::vector<Operand> split(const Operand& input, const Sizes& splits, const SplitOptions& options = {});
  Operand tile(const Operand& input, const Sizes& repetitions, const OperatorOptions& options = {});
  Operand where(const Operand& condition, const Operand& true_value, const Operand& false_value,
                const OperatorOptions& options = {});

  const Context& context() const;

  struct State;  // src/webnn

 private:
  Operand one(std::string_view op, Arguments arguments, const std::string& label);
  std::vector<Operand> several(std::string_view op, Arguments arguments, const std::string& label);

  std::shared_ptr<State> state_;
};

}  // namespace weft::webnn
