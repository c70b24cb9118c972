#include "graph/ops/norm.h"

#include "core/error_context.h"
#include "core/format.h"
#include "graph/graph.h"
#include "graph/op_rows.h"
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

using Kind = NormAttributes::Kind;

// Weights of a norm have the shape that it says.
void check_weight(std::string_view name, std::string_view operand, const TensorType& weight, const Shape& shape,
                  const TensorType& x) {
  if (weight.shape == shape) return;
  throw ShapeError("{}: {} is {}, expected the shape {} for x {}", name, operand, to_string(weight), to_string(shape),
                   to_string(x));
}

// The result's type of a norm whose operands behind x are scale and bias, as far as they are given.
DType norm_dtype(std::string_view name, std::span<const TensorType> in, bool has_scale, bool has_bias,
                 std::optional<DType> asked = {}) {
  const std::size_t named = 1 + std::size_t{has_scale} + std::size_t{has_bias};
  if (in.size() != named) {
    throw InvalidArgument("{}: {} operands, its attributes name {}", name, in.size(), named);
  }
  const TensorType* scale = has_scale ? &in[1] : nullptr;
  const TensorType* bias = has_bias ? &in.back() : nullptr;
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
  return apply(make_op<GroupNormOp>(NormAttributes{.kind = groups ? Kind::group : Kind::instance,
                                                   .axis = axis,
                                                   .groups = groups,
                                                   .epsilon = epsilon,
                                                   .has_scale = scale.defined(),
                                                   .has_bias = bias.defined()}),
               std::move(operands));
}

}  // namespace

void NormAttributes::fields(AttributeVisitor& v) {
  const bool rows = kind == Kind::layer || kind == Kind::rms;
  if (rows) {
    v("first_axis", axis, -1, "the first of the axes that are normalised together; the rest follow it");
  } else {
    v("channel_axis", axis, 1, "the axis of the channels");
  }
  v("epsilon", epsilon, 1e-5, "added to the variance, or the mean square, so that it is never zero");
  if (kind == Kind::group) v("groups", groups, "how many groups the channels are divided into");
  v.brief("scale", has_scale, true, "whether there is a scale among the operands");
  if (kind != Kind::rms) v.brief("bias", has_bias, true, "whether there is a bias among the operands");
  if (rows) v("type", type, {}, kResultTypeMeaning);
}

OpPtr SoftmaxOp::with_types(std::span<const TensorType>, std::span<const TensorType>,
                            std::span<const DType> results) const {
  return make_op<SoftmaxOp>(SoftmaxAttributes{a.axis, results[0]});
}

OpPtr RmsNormOp::with_types(std::span<const TensorType>, std::span<const TensorType>,
                            std::span<const DType> results) const {
  NormAttributes typed = a;
  typed.type = results[0];
  return make_op<RmsNormOp>(typed);
}

OpPtr LayerNormOp::with_types(std::span<const TensorType>, std::span<const TensorType>,
                              std::span<const DType> results) const {
  NormAttributes typed = a;
  typed.type = results[0];
  return make_op<LayerNormOp>(typed);
}

std::vector<TensorType> LogSoftmaxOp::infer(std::span<const TensorType> in) const {
  return {{infer_dtype(name(), {&in[0]}), in[0].shape}};
}

std::vector<TensorType> RmsNormOp::infer(std::span<const TensorType> in) const {
  const TensorType& x = in[0];
  kernels::check_epsilon(name(), a.epsilon);
  const DType type = norm_dtype(name(), in, a.has_scale, false, a.type);
  if (in.size() > 1) check_weight(name(), "scale", in[1], Shape(std::span(x.shape.begin() + a.axis, x.shape.end())), x);
  return {{type, x.shape}};
}

std::vector<TensorType> GroupNormOp::infer(std::span<const TensorType> in) const {
  const TensorType& x = in[0];
  kernels::check_epsilon(name(), a.epsilon);
  const DType type = norm_dtype(name(), in, a.has_scale, a.has_bias);
  const std::int64_t channels = x.shape[a.axis];
  if (a.axis == 0)
    throw ShapeError("{}: axis 0 of x {} counts the samples, not the channels", name(), weft::to_string(x));
  if (a.groups < 0 || (a.groups && channels % a.groups)) {
    throw ShapeError("{}: {} channels do not make {} groups (x {})", name(), channels, a.groups, weft::to_string(x));
  }
  if (a.groups && a.groups != channels && x.shape.rank() == kMaxRank) {
    throw ShapeError("{}: x is {}, groups need a rank below {}", name(), weft::to_string(x), kMaxRank);
  }
  for (std::size_t i = 1; i < in.size(); ++i)
    check_weight(name(), i == 1 && a.has_scale ? "scale" : "bias", in[i], {channels}, x);
  return {{type, x.shape}};
}

std::vector<TensorType> SoftmaxOp::infer(std::span<const TensorType> in) const {
  return {{infer_dtype(name(), {&in[0]}, a.type), in[0].shape}};
}

std::vector<TensorType> LayerNormOp::infer(std::span<const TensorType> in) const {
  const TensorType& x = in[0];
  kernels::check_epsilon(name(), a.epsilon);
  const DType type = norm_dtype(name(), in, a.has_scale, a.has_bias, a.type);
  const Shape expected(std::span(x.shape.begin() + a.axis, x.shape.end()));
  for (std::size_t i = 1; i < in.size(); ++i)
    check_weight(name(), i == 1 && a.has_scale ? "scale" : "bias", in[i], expected, x);
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
Weights weights(const Launch& call, bool has_scale, bool has_bias) {
  Weights w;
  if (has_scale) w.scale = call.inputs[1];
  if (has_bias) w.bias = call.inputs.back();
  return w;
}

}  // namespace

RowOp::Axes SoftmaxOp::row_axes(const Shape& x) const { return one_axis(x, a.axis); }
RowOp::Axes LogSoftmaxOp::row_axes(const Shape& x) const { return one_axis(x, a.axis); }
RowOp::Axes RmsNormOp::row_axes(const Shape& x) const { return last_axes(x, a.axis); }
RowOp::Axes LayerNormOp::row_axes(const Shape& x) const { return last_axes(x, a.axis); }
RowOp::Axes GroupNormOp::row_axes(const Shape& x) const {
  Axes rows{x};
  int axis = a.axis;
  if (a.groups && a.groups != x[axis]) {
    rows.shape.insert(axis, a.groups);
    rows.shape[axis + 1] = x[axis] / a.groups;
  }
  for (int d = 1; d < rows.shape.rank(); ++d) rows.along[d] = d != axis;
  return rows;
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
                  .shared = reading.extra_outputs ? SharedPrologue::stored : SharedPrologue::separate,
                  .epilogue_outputs = std::numeric_limits<int>::max(),
                  .epilogue_input = x.dtype == DType::f64 ? x.dtype : DType::f32,
                  .max_operations = 64,  // registers are not endless
                  .bindings = reading.scratch ? 1 : 0};
  // What is larger than a binding is cut as the rows are, which only suits what lies as they do.
  if (device) spec.max_view = kernels::chunk_limit(*device);
  return spec;
}

void SoftmaxOp::lower(const Launch& call) const {
  kernels::softmax(call.stream, call.inputs[0], call.outputs[0], a.axis, call.fusion);
}
void LogSoftmaxOp::lower(const Launch& call) const {
  kernels::log_softmax(call.stream, call.inputs[0], call.outputs[0], a.axis, call.fusion);
}
void RmsNormOp::lower(const Launch& call) const {
  const auto [scale, bias] = weights(call, call.inputs.size() > 1, false);
  kernels::rms_norm(call.stream, call.inputs[0], scale, call.outputs[0], a.axis, static_cast<float>(a.epsilon),
                    call.fusion);
}
void LayerNormOp::lower(const Launch& call) const {
  const auto [scale, bias] = weights(call, a.has_scale, a.has_bias);
  kernels::layer_norm(call.stream, call.inputs[0], scale, bias, call.outputs[0], a.axis, static_cast<float>(a.epsilon),
                      call.fusion);
}
void GroupNormOp::lower(const Launch& call) const {
  const auto [scale, bias] = weights(call, a.has_scale, a.has_bias);
  const auto epsilon = static_cast<float>(a.epsilon);
  const View &x = call.inputs[0], &y = call.outputs[0];
  if (a.groups == 0) return kernels::instance_norm(call.stream, x, scale, bias, y, a.axis, epsilon, call.fusion);
  kernels::group_norm(call.stream, x, scale, bias, y, a.axis, a.groups, epsilon, call.fusion);
}

std::optional<OwnWork> RowOp::own_work(std::span<const View> in, std::span<const View> out) const {
  return OwnWork{element_work(in.size() - 1), static_cast<double>(out[0].count())};
}

void SoftmaxAttributes::normalise(std::string_view op, std::span<const TensorType> in) {
  axis = normalize_axis(axis, in[0].shape.rank(), op);
}
void LogSoftmaxAttributes::normalise(std::string_view op, std::span<const TensorType> in) {
  axis = normalize_axis(axis, in[0].shape.rank(), op);
}
void NormAttributes::normalise(std::string_view op, std::span<const TensorType> in) {
  axis = normalize_axis(axis, in[0].shape.rank(), op);
}

Tensor softmax(const Operand& x, int axis) {
  if (!x.defined()) throw InvalidArgument("softmax: the operand is an undefined Tensor");
  return apply(make_op<SoftmaxOp>(SoftmaxAttributes{normalize_axis(axis, x.rank(), "softmax"), {}}), {x});
}

Tensor log_softmax(const Operand& x, int axis) {
  if (!x.defined()) throw InvalidArgument("log_softmax: the operand is an undefined Tensor");
  return apply(make_op<LogSoftmaxOp>(LogSoftmaxAttributes{normalize_axis(axis, x.rank(), "log_softmax")}), {x});
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
  return apply(
      make_op<RmsNormOp>(NormAttributes{
          .kind = Kind::rms, .axis = first_axis, .epsilon = epsilon, .has_scale = scale.defined(), .has_bias = false}),
      std::move(operands));
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
  return apply(make_op<LayerNormOp>(NormAttributes{
                   .axis = first_axis, .epsilon = epsilon, .has_scale = scale.defined(), .has_bias = bias.defined()}),
               std::move(operands));
}

void add_norm_ops(OpRows& rows) {
  rows.push_back(op_row<SoftmaxOp>(schema_of_kernel("softmax")));
  rows.push_back(op_row<LogSoftmaxOp>(schema_of_kernel("log_softmax")));
  rows.push_back(op_row<LayerNormOp>(schema_of_kernel("layer_norm")));
  rows.push_back(op_row<RmsNormOp>(schema_of_kernel("rms_norm"), {.kind = Kind::rms, .has_bias = false}));
  rows.push_back(op_row<GroupNormOp>(schema_of_kernel("group_norm"), {.kind = Kind::group, .axis = 1}));
  rows.push_back(op_row<GroupNormOp>(schema_of_kernel("instance_norm"), {.kind = Kind::instance, .axis = 1}));
}

}  // namespace weft
