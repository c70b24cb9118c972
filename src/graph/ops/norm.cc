#include "graph/ops/norm.h"

#include "core/error_context.h"
#include "core/format.h"
#include "graph/graph.h"
#include "graph/op_schemas.h"
#include "graph/ops/elementwise.h"
#include "kernels/common/chunks.h"
#include "kernels/common/row_fusion.h"
#include "kernels/norm/row_norm.h"
#include "weft/error.h"
#include "weft/kernels/norm.h"
#include "weft/kernels/softmax.h"
#include "weft/kernels/table.h"

namespace weft {
namespace {

// Weights of a norm have the shape that it says.
void check_weight(std::string_view name, std::string_view operand, const TensorType& weight, const Shape& shape,
                  const TensorType& x) {
  if (weight.shape == shape) return;
  throw ShapeError("{}: {} is {}, expected the shape {} for x {}", name, operand, to_string(weight), to_string(shape),
                   to_string(x));
}

// The result's type of a norm whose operands behind x are scale and bias, as far as they are given.
DType norm_dtype(std::string_view name, std::span<const TensorType> in, bool has_scale,
                 std::optional<DType> asked = {}) {
  const TensorType* scale = has_scale ? &in[1] : nullptr;
  const TensorType* bias = in.size() > (has_scale ? 2u : 1u) ? &in.back() : nullptr;
  if (!scale && !bias) return infer_dtype(name, {&in[0]}, asked);
  return bias ? infer_dtype(name, {&in[0], scale, bias}, asked) : infer_dtype(name, {&in[0], scale}, asked);
}

Tensor per_channel(std::string_view name, std::string_view operand, const Tensor& weight, const Tensor& x, int axis,
                   DType type) {
  check_weight(name, operand, weight.type(), {x.shape()[axis]}, x.type());
  Shape shape = Shape::filled(x.rank(), 1);
  shape[axis] = x.shape()[axis];
  return cast(reshape(weight, shape), type);
}

Tensor grouped(std::string_view name, const Tensor& x, const Tensor& scale, const Tensor& bias, int channel_axis,
               std::int64_t groups, double epsilon) {
  if (!x.defined()) throw InvalidArgument("{}: x is an undefined Tensor", name);
  const int axis = normalize_axis(channel_axis, x.rank(), name);
  std::vector<Tensor> operands{x};
  if (scale.defined()) operands.push_back(scale);
  if (bias.defined()) operands.push_back(bias);
  return apply(make_op<GroupNormOp>(axis, groups, epsilon, scale.defined(), bias.defined()), std::move(operands));
}

}  // namespace

std::vector<TensorType> LogSoftmaxOp::infer(std::span<const TensorType> in) const {
  return {{infer_dtype(name(), {&in[0]}), in[0].shape}};
}

void RmsNormOp::attributes(Attributes& f) const {
  f.add("first_axis", first_axis_).add("epsilon", epsilon_);
  if (result_) f.add("type", weft::name(*result_));
}

std::vector<TensorType> RmsNormOp::infer(std::span<const TensorType> in) const {
  const TensorType& x = in[0];
  kernels::check_epsilon(name(), epsilon_);
  const DType type = norm_dtype(name(), in, in.size() > 1, result_);
  if (in.size() > 1)
    check_weight(name(), "scale", in[1], Shape(std::span(x.shape.begin() + first_axis_, x.shape.end())), x);
  return {{type, x.shape}};
}

void GroupNormOp::attributes(Attributes& f) const {
  f.add("channel_axis", channel_axis_).add("epsilon", epsilon_);
  if (groups_) f.add("groups", groups_);
  if (!has_scale_) f.add("scale", false);
  if (!has_bias_) f.add("bias", false);
}

std::vector<TensorType> GroupNormOp::infer(std::span<const TensorType> in) const {
  const TensorType& x = in[0];
  kernels::check_epsilon(name(), epsilon_);
  const DType type = norm_dtype(name(), in, has_scale_);
  const std::int64_t channels = x.shape[channel_axis_];
  if (channel_axis_ == 0)
    throw ShapeError("{}: axis 0 of x {} counts the samples, not the channels", name(), weft::to_string(x));
  if (groups_ < 0 || (groups_ && channels % groups_)) {
    throw ShapeError("{}: {} channels do not make {} groups (x {})", name(), channels, groups_, weft::to_string(x));
  }
  if (groups_ && groups_ != channels && x.shape.rank() == kMaxRank) {
    throw ShapeError("{}: x is {}, groups need a rank below {}", name(), weft::to_string(x), kMaxRank);
  }
  for (std::size_t i = 1; i < in.size(); ++i)
    check_weight(name(), i == 1 && has_scale_ ? "scale" : "bias", in[i], {channels}, x);
  return {{type, x.shape}};
}

void SoftmaxOp::attributes(Attributes& f) const {
  f.add("axis", axis_);
  if (result_) f.add("type", weft::name(*result_));
}

std::vector<TensorType> SoftmaxOp::infer(std::span<const TensorType> in) const {
  return {{infer_dtype(name(), {&in[0]}, result_), in[0].shape}};
}

void LayerNormOp::attributes(Attributes& f) const {
  f.add("first_axis", first_axis_).add("epsilon", epsilon_);
  if (!has_scale_) f.add("scale", false);
  if (!has_bias_) f.add("bias", false);
  if (result_) f.add("type", weft::name(*result_));
}

std::vector<TensorType> LayerNormOp::infer(std::span<const TensorType> in) const {
  const TensorType& x = in[0];
  kernels::check_epsilon(name(), epsilon_);
  const DType type = norm_dtype(name(), in, has_scale_, result_);
  const Shape expected(std::span(x.shape.begin() + first_axis_, x.shape.end()));
  for (std::size_t i = 1; i < in.size(); ++i)
    check_weight(name(), i == 1 && has_scale_ ? "scale" : "bias", in[i], expected, x);
  return {{type, x.shape}};
}

namespace {

RowOp::Axes last_axes(const Shape& x, int first_axis) {
  RowOp::Axes a{x};
  for (int d = first_axis; d < x.rank(); ++d) a.along[d] = true;
  return a;
}

RowOp::Axes one_axis(const Shape& x, int axis) {
  RowOp::Axes a{x};
  a.along[axis] = true;
  return a;
}

// The weights of a call, as far as they are there.
struct Weights {
  std::optional<View> scale, bias;
};
Weights weights(const RowOp::FusedCall& call, bool has_scale, bool has_bias) {
  Weights w;
  if (has_scale) w.scale = call.weights[0];
  if (has_bias) w.bias = call.weights.back();
  return w;
}

}  // namespace

RowOp::Axes SoftmaxOp::row_axes(const Shape& x) const { return one_axis(x, axis_); }
RowOp::Axes LogSoftmaxOp::row_axes(const Shape& x) const { return one_axis(x, axis_); }
RowOp::Axes RmsNormOp::row_axes(const Shape& x) const { return last_axes(x, first_axis_); }
RowOp::Axes LayerNormOp::row_axes(const Shape& x) const { return last_axes(x, first_axis_); }
RowOp::Axes GroupNormOp::row_axes(const Shape& x) const {
  Axes a{x};
  int axis = channel_axis_;
  if (groups_ && groups_ != x[axis]) {
    a.shape.insert(axis, groups_);
    a.shape[axis + 1] = x[axis] / groups_;
  }
  for (int d = 1; d < a.shape.rank(); ++d) a.along[d] = d != axis;
  return a;
}

FusionSpec RowOp::fusion_spec(const gpu::Capabilities* device, std::span<const TensorType> in,
                              std::span<const TensorType> out) const {
  const TensorType& x = in[0];
  if (x.dtype != out[0].dtype || element_count(x.shape) == 0) return {};
  const Axes axes = row_axes(x.shape);
  const kernels::RowReading reading = kernels::row_reading(device, x.dtype, axes.shape, axes.along);
  if (!reading.fuses) return {};
  FusionSpec spec{.prologue = true,
                  .prologue_passes = reading.reads_once ? 1 : 2,
                  // Rows whose parts wait for each other would hold it in registers all the while.
                  .shared = reading.extra_outputs ? SharedPrologue::stored : SharedPrologue::apart,
                  .epilogue_outputs = std::numeric_limits<int>::max(),
                  .epilogue_input = x.dtype == DType::f64 ? x.dtype : DType::f32,
                  .max_operations = 64,  // registers are not endless
                  .bindings = reading.scratch ? 1 : 0};
  // What is larger than a binding is cut as the rows are, which only suits what lies as they do.
  if (device) spec.max_view = kernels::chunk_limit(*device);
  return spec;
}

OpPtr RowOp::with_fusion(std::optional<Expression> prologue, std::optional<Expression> epilogue) const {
  return make_op<FusedRowOp>(std::static_pointer_cast<const RowOp>(shared_from_this()), std::move(prologue),
                             std::move(epilogue));
}

void SoftmaxOp::lower_around(const FusedCall& call) const {
  kernels::softmax(call.stream, call.inputs, call.outputs, axis_, call.work);
}
void LogSoftmaxOp::lower_around(const FusedCall& call) const {
  kernels::log_softmax(call.stream, call.inputs, call.outputs, axis_, call.work);
}
void RmsNormOp::lower_around(const FusedCall& call) const {
  const auto [scale, bias] = weights(call, !call.weights.empty(), false);
  kernels::rms_norm(call.stream, call.inputs, scale, call.outputs, first_axis_, static_cast<float>(epsilon_),
                    call.work);
}
void LayerNormOp::lower_around(const FusedCall& call) const {
  const auto [scale, bias] = weights(call, has_scale_, has_bias_);
  kernels::layer_norm(call.stream, call.inputs, scale, bias, call.outputs, first_axis_, static_cast<float>(epsilon_),
                      call.work);
}
void GroupNormOp::lower_around(const FusedCall& call) const {
  const auto [scale, bias] = weights(call, has_scale_, has_bias_);
  const auto epsilon = static_cast<float>(epsilon_);
  if (groups_ == 0) {
    return kernels::instance_norm(call.stream, call.inputs, scale, bias, call.outputs, channel_axis_, epsilon,
                                  call.work);
  }
  kernels::group_norm(call.stream, call.inputs, scale, bias, call.outputs, channel_axis_, groups_, epsilon, call.work);
}

void FusedRowOp::attributes(Attributes& f) const {
  if (prologue_) f.add("x", prologue_->to_string());
  rows_->attributes(f);
  if (epilogue_) f.add("y", epilogue_->to_string());
}

std::vector<TensorType> FusedRowOp::infer(std::span<const TensorType> in) const {
  const std::size_t more = epilogue_ ? static_cast<std::size_t>(epilogue_->input_count()) - 1 : 0;
  if (in.size() != input_count() + weights_ + more) {
    throw InvalidArgument("{}: {} operands, expected {}", name(), in.size(), input_count() + weights_ + more);
  }
  TensorType x{prologue_ ? prologue_->output_type(0) : in[0].dtype, {}};
  for (const TensorType& t : in.first(input_count())) x.shape = broadcast(x.shape, t.shape);
  std::vector<TensorType> own{x};
  own.insert(own.end(), in.begin() + static_cast<std::ptrdiff_t>(input_count()),
             in.begin() + static_cast<std::ptrdiff_t>(input_count() + weights_));
  std::vector<TensorType> results = rows_->infer(own);
  for (const TensorType& t : in.subspan(input_count() + weights_)) {
    if (!broadcasts_to(t.shape, x.shape)) {
      throw ShapeError("{}: operand {} does not broadcast to {}", name(), weft::to_string(t), weft::to_string(x.shape));
    }
  }
  if (epilogue_) {
    results.clear();
    for (std::size_t k = 0; k < epilogue_->outputs().size(); ++k)
      results.push_back({epilogue_->output_type(static_cast<int>(k)), x.shape});
  }
  for (std::size_t k = 1; prologue_ && k < prologue_->outputs().size(); ++k) {
    results.push_back({prologue_->output_type(static_cast<int>(k)), x.shape});
  }
  return results;
}

OpPtr FusedRowOp::with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                             std::span<const DType> results) const {
  const std::size_t first = input_count(), rest = first + weights_;
  std::size_t k = 0;  // results
  const auto output = [&](Expression& e, int value) { e.output(e.cast(value, results[k++])); };
  Expression epilogue;
  const TensorType x{prologue_ ? prologue_->output_type(0) : from[0].dtype, {}};
  const DType result = epilogue_ ? epilogue_->nodes()[0].type : x.dtype == DType::f64 ? DType::f64 : DType::f32;
  std::vector<int> args{epilogue.input(result)};
  for (const int node : converted_inputs(epilogue, to.subspan(rest), from.subspan(rest))) args.push_back(node);
  if (epilogue_) {
    for (const int value : splice(epilogue, *epilogue_, args)) output(epilogue, value);
  } else {
    output(epilogue, epilogue.cast(args[0], x.dtype));
  }
  std::optional<Expression> prologue;
  if (prologue_) {
    prologue.emplace();
    const std::vector<int> values =
        splice(*prologue, *prologue_, converted_inputs(*prologue, to.first(first), from.first(first)));
    prologue->output(values[0]);
    for (std::size_t i = 1; i < values.size(); ++i) output(*prologue, values[i]);
  }
  return with_fusion(std::move(prologue), std::move(epilogue));
}

RowOp::FusedCall FusedRowOp::fusion(const Launch& call) const {
  return {.stream = call.stream,
          .inputs = call.inputs.first(input_count()),
          .weights = call.inputs.subspan(input_count(), weights_),
          .outputs = call.outputs,
          .work = {prologue_ ? &*prologue_ : nullptr, epilogue_ ? &*epilogue_ : nullptr,
                   call.inputs.subspan(input_count() + weights_)}};
}

Work RowOp::work(const Launch& call) const {
  const auto elements = static_cast<double>(call.outputs[0].count());
  return with_bytes(call, kernels::work_of(element_work(call.inputs.size() - 1), elements, nullptr, 0, nullptr));
}

Work FusedRowOp::work(const Launch& call) const {
  const auto elements = static_cast<double>(call.outputs[0].count());
  return with_bytes(call, kernels::work_of(rows_->element_work(weights_), elements, prologue_ ? &*prologue_ : nullptr,
                                           elements, epilogue_ ? &*epilogue_ : nullptr));
}

std::string FusedRowOp::label(std::span<const TensorType>) const {
  return operations_around(name(), prologue_, epilogue_);
}

Tensor softmax(const Operand& x, int axis) {
  if (!x.defined()) throw InvalidArgument("softmax: the operand is an undefined Tensor");
  return apply(make_op<SoftmaxOp>(normalize_axis(axis, x.rank(), "softmax")), {x});
}

Tensor log_softmax(const Operand& x, int axis) {
  if (!x.defined()) throw InvalidArgument("log_softmax: the operand is an undefined Tensor");
  return apply(make_op<LogSoftmaxOp>(normalize_axis(axis, x.rank(), "log_softmax")), {x});
}

Tensor rms_norm(const Operand& x, const Operand& scale, double epsilon) {
  if (!x.defined()) throw InvalidArgument("rms_norm: x is an undefined Tensor");
  const int first_axis = x.rank() - (scale.defined() ? scale.rank() : 1);
  if (x.rank() == 0 || first_axis < 0) {
    throw ShapeError("rms_norm: scale of rank {} is longer than x {}", scale.defined() ? scale.rank() : 1,
                     to_string(x.shape()));
  }
  std::vector<Tensor> operands{x};
  if (scale.defined()) operands.push_back(scale);
  return apply(make_op<RmsNormOp>(first_axis, epsilon, scale.defined()), std::move(operands));
}

Tensor group_norm(const Operand& x, const Operand& scale, const Operand& bias, std::int64_t groups, double epsilon,
                  int channel_axis) try {
  if (groups < 1) throw InvalidArgument("group_norm: {} groups, expected 1 or more", groups);
  return grouped("group_norm", x, scale, bias, channel_axis, groups, epsilon);
} catch (const Error& e) {
  throw_in_function(e, "group_norm");
}

Tensor instance_norm(const Operand& x, const Operand& scale, const Operand& bias, double epsilon,
                     int channel_axis) try {
  return grouped("instance_norm", x, scale, bias, channel_axis, 0, epsilon);
} catch (const Error& e) {
  throw_in_function(e, "instance_norm");
}

Tensor batch_norm(const Operand& x, const Operand& mean, const Operand& variance, const Operand& scale,
                  const Operand& bias, double epsilon, int channel_axis) try {
  constexpr std::string_view kName = "batch_norm";
  if (!x.defined() || !mean.defined() || !variance.defined())
    throw InvalidArgument("batch_norm: x, the mean or the variance is an undefined Tensor");
  const auto given = [](const Tensor& v) { return v.defined() ? &v.type() : nullptr; };
  check_inputs(kernels::kernel(kName), kName,
               std::array{given(x), given(mean), given(variance), given(scale), given(bias)});
  kernels::check_epsilon(kName, epsilon);
  const int axis = normalize_axis(channel_axis, x.rank(), kName);
  const DType type = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
  const auto weight = [&](std::string_view operand, const Tensor& v) {
    return per_channel(kName, operand, v, x, axis, type);
  };
  Tensor factor = rsqrt(weight("variance", variance) + epsilon);
  if (scale.defined()) factor = factor * weight("scale", scale);
  Tensor y = (cast(x, type) - weight("mean", mean)) * factor;
  if (bias.defined()) y = y + weight("bias", bias);
  return cast(y, x.dtype());
} catch (const Error& e) {
  throw_in_function(e, "batch_norm");
}

Tensor layer_norm(const Operand& x, const Operand& scale, const Operand& bias, double epsilon) {
  const int rank = scale.defined() ? scale.rank() : bias.defined() ? bias.rank() : 1;
  return layer_norm(x, scale, bias, epsilon, x.defined() ? x.rank() - rank : 0);
}

Tensor layer_norm(const Operand& x, const Operand& scale, const Operand& bias, double epsilon, int first_axis) {
  if (!x.defined()) throw InvalidArgument("layer_norm: x is an undefined Tensor");
  if (x.rank() == 0 || first_axis < 0 || first_axis >= x.rank()) {
    throw ShapeError("layer_norm: x {} has no axes to norm over from axis {} on", to_string(x.shape()), first_axis);
  }
  std::vector<Tensor> operands{x};
  if (scale.defined()) operands.push_back(scale);
  if (bias.defined()) operands.push_back(bias);
  return apply(make_op<LayerNormOp>(first_axis, epsilon, scale.defined(), bias.defined()), std::move(operands));
}

}  // namespace weft
