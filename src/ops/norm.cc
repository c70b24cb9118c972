#include "ops/norm.h"

#include "core/format.h"
#include "graph/graph.h"
#include "kernels/common/chunks.h"
#include "kernels/common/row_fusion.h"
#include "kernels/norm/row_norm.h"
#include "kernels/row_gradient/row_gradient.h"
#include "ops/elementwise.h"
#include "ops/function_row.h"
#include "ops/op_rows.h"
#include "ops/op_schemas.h"
#include "ops/rules.h"
#include "weft/error.h"
#include "weft/kernels/norm.h"
#include "weft/kernels/row_gradient.h"
#include "weft/kernels/softmax.h"
#include "weft/kernels/table.h"

namespace weft {
namespace {

using Kind = kernels::NormKind;
using kernels::is_of_rows, kernels::NormOptions;

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

// A norm with those of its weights that are defined.
template <class O>
Tensor normed(const NormOptions& options, const Tensor& x, const Tensor& scale, const Tensor& bias,
              std::optional<DType> type = {}) {
  std::vector<Tensor> operands{x};
  if (scale.defined()) operands.push_back(scale);
  if (bias.defined()) operands.push_back(bias);
  return apply(make_op<O>(NormAttributes{options, scale.defined(), bias.defined(), type}), std::move(operands));
}

Tensor grouped(std::string_view name, const Tensor& x, const Tensor& scale, const Tensor& bias, NormOptions options) {
  options.axis = normalize_axis(options.axis, x.rank(), name);
  return normed<GroupNormOp>(options, x, scale, bias);
}

void scale_field(AttributeVisitor& v, bool& has_scale) {
  v.brief("scale", has_scale, true, "whether there is a scale among the operands");
}

}  // namespace

void NormAttributes::fields(AttributeVisitor& v) {
  NormOptions::fields(v);
  scale_field(v, has_scale);
  if (kind != Kind::rms) v.brief("bias", has_bias, true, "whether there is a bias among the operands");
  if (is_of_rows(kind)) v("type", type, {}, kResultTypeMeaning);
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

RowInterface::Axes last_axes(const Shape& x, int first_axis) {
  RowInterface::Axes a{x};
  for (int d = first_axis; d < x.rank(); ++d) a.along[d] = true;
  return a;
}

RowInterface::Axes one_axis(const Shape& x, int axis) {
  RowInterface::Axes a{x};
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

RowInterface::Axes SoftmaxOp::row_axes(const Shape& x) const { return one_axis(x, a.axis); }
RowInterface::Axes LogSoftmaxOp::row_axes(const Shape& x) const { return one_axis(x, a.axis); }
RowInterface::Axes RmsNormOp::row_axes(const Shape& x) const { return norm_axes(a, x); }
RowInterface::Axes LayerNormOp::row_axes(const Shape& x) const { return norm_axes(a, x); }
RowInterface::Axes GroupNormOp::row_axes(const Shape& x) const { return norm_axes(a, x); }

RowInterface::Axes norm_axes(const NormAttributes& a, const Shape& x) {
  if (is_of_rows(a.kind)) return last_axes(x, a.axis);
  RowInterface::Axes rows{x};
  if (a.groups && a.groups != x[a.axis]) {
    rows.shape.insert(a.axis, a.groups);
    rows.shape[a.axis + 1] = x[a.axis] / a.groups;
  }
  for (int d = 1; d < rows.shape.rank(); ++d) rows.along[d] = d != a.axis;
  return rows;
}

FusionSpec RowInterface::fusion_spec(const gpu::Capabilities* device, std::span<const TensorType> in,
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

OpPtr SoftmaxOp::along(int axis) const { return make_op<SoftmaxOp>(SoftmaxAttributes{axis, a.type}); }

void SoftmaxOp::lower(const Launch& call) const {
  kernels::softmax(call.stream, call.inputs[0], call.outputs[0], a.axis, call.fusion);
}
OpPtr LogSoftmaxOp::along(int axis) const { return make_op<LogSoftmaxOp>(LogSoftmaxAttributes{axis}); }

void LogSoftmaxOp::lower(const Launch& call) const {
  kernels::log_softmax(call.stream, call.inputs[0], call.outputs[0], a.axis, call.fusion);
}
void RmsNormOp::lower(const Launch& call) const {
  const auto [scale, bias] = weights(call, call.inputs.size() > 1, false);
  kernels::rms_norm(call.stream, call.inputs[0], scale, call.outputs[0], a.axis, a.epsilon, call.fusion);
}
void LayerNormOp::lower(const Launch& call) const {
  const auto [scale, bias] = weights(call, a.has_scale, a.has_bias);
  kernels::layer_norm(call.stream, call.inputs[0], scale, bias, call.outputs[0], a.axis, a.epsilon, call.fusion);
}
void GroupNormOp::lower(const Launch& call) const {
  const auto [scale, bias] = weights(call, a.has_scale, a.has_bias);
  const View &x = call.inputs[0], &y = call.outputs[0];
  if (a.groups == 0) return kernels::instance_norm(call.stream, x, scale, bias, y, a.axis, a.epsilon, call.fusion);
  kernels::group_norm(call.stream, x, scale, bias, y, a.axis, a.groups, a.epsilon, call.fusion);
}

OwnWork row_work(const RowInterface& rows, std::span<const View> in, std::span<const View> out) {
  return {rows.element_work(in.size() - 1), static_cast<double>(out[0].count())};
}

// ---- Derivatives and batching

namespace {

// The type in which operands are computed; one more may be among them.
DType widest(std::span<const Tensor> operands, const Tensor& more = {}) {
  const auto is_wide = [](const Tensor& v) { return v.defined() && v.dtype() == DType::f64; };
  return std::ranges::any_of(operands, is_wide) || is_wide(more) ? DType::f64 : DType::f32;
}

Tensor row_sum(const Tensor& x, int axis) { return reduce(ReduceKind::sum, x, {axis}, true); }

// softmax's Jacobian is symmetric, so that its gradient serves both directions.
Tensor softmax_gradient_of(bool logarithm, const Tensor& y, const Tensor& g, int axis, DType result) {
  return cast(apply(make_op<SoftmaxGradientOp>(SoftmaxGradientAttributes{logarithm, axis}), {y, g}), result);
}

// How the weights of a norm lie, and the axes of its rows, in the shape as which the kernel sees x.
struct NormRows {
  Shape shape, weights;
  std::vector<int> axes;
};
NormRows norm_rows(const NormAttributes& a, const Shape& x) {
  const RowInterface::Axes rows = norm_axes(a, x);
  NormRows found{rows.shape, Shape::filled(rows.shape.rank(), 1), {}};
  for (int d = 0; d < rows.shape.rank(); ++d) {
    if (rows.along[d]) found.axes.push_back(d);
  }
  const bool per_channel = !is_of_rows(a.kind);
  if (per_channel) {
    found.weights[a.axis] = rows.shape[a.axis];
    if (rows.shape.rank() > x.rank()) found.weights[a.axis + 1] = rows.shape[a.axis + 1];
    return found;
  }
  for (const int d : found.axes) found.weights[d] = rows.shape[d];
  return found;
}

// x with rows of mean 0 (not of RMS norm) and mean square 1, and the factor by which its deviations were scaled.
struct Normalised {
  Tensor values, factor;
};
Normalised normalised(const Tensor& x, const NormRows& rows, const NormAttributes& a) {
  const auto mean = [&](const Tensor& v) { return reduce(ReduceKind::mean, v, rows.axes, true); };
  const Tensor deviations = a.kind == Kind::rms ? x : x - mean(x);
  const Tensor factor = rsqrt(mean(square(deviations)) + a.epsilon);
  return {deviations * factor, factor};
}

// What the rows of a norm leave for its weights, of the cotangent g of its result: each undefined unless it is asked
// for.
struct WeightGradients {
  Tensor scale, bias;
};
WeightGradients weight_gradients(const NormAttributes& a, const Tensor& x, const Tensor& cotangent, DType type,
                                 const Tensor& scale, const Tensor& bias) {
  const NormRows rows = norm_rows(a, x.shape());
  const Tensor g = cast(reshape(cotangent, rows.shape), type);
  const auto summed = [&](const Tensor& of_rows, const Tensor& weight) {
    return cast(reshape(summed_to(of_rows, rows.weights), weight.shape()), weight.dtype());
  };
  WeightGradients made;
  if (bias.defined()) made.bias = summed(g, bias);
  if (scale.defined()) {
    made.scale = summed(g * normalised(cast(reshape(x, rows.shape), type), rows, a).values, scale);
  }
  return made;
}

// Whether kernels for all gradients of such a norm read x and its cotangent less often than those for each of them.
bool makes_gradients_together(const NormAttributes& a, const Shape& x) {
  if (is_of_rows(a.kind)) {
    return element_count(Shape(std::span(x.begin() + a.axis, x.end()))) <= kernels::kMostInRegisters;
  }
  // What segments leave is little compared with them.
  constexpr std::int64_t kLeast = 64;
  return a.axis == 1 && kernels::segment_of(element_count(Shape(std::span(x.begin() + 2, x.end())))) >= kLeast;
}

Derivatives norm_vjp(const NormAttributes& a, const Differentiated& node, const Tensor& cotangent) {
  const Tensor& x = node.inputs[0];
  const Tensor scale = a.has_scale ? node.inputs[1] : Tensor(), bias = a.has_bias ? node.inputs.back() : Tensor();
  const bool of_scale = a.has_scale && node.wanted[1], of_bias = a.has_bias && node.wanted.back();
  std::vector<Tensor> made(node.inputs.size());
  const NormGradientAttributes attributes{a, a.has_scale};
  if (node.wanted[0] && of_scale && (!of_bias || bias.dtype() == scale.dtype()) &&
      makes_gradients_together(a, x.shape())) {
    const Tensor all = apply(make_op<NormGradientsOp>(attributes), {x, cotangent, scale});
    for (std::size_t i = 0; i < (of_bias ? 3 : 2); ++i) made[i] = result(all, static_cast<int>(i));
    return made;
  }
  if (node.wanted[0]) {
    std::vector<Tensor> operands{x, cotangent};
    if (a.has_scale) operands.push_back(scale);
    made[0] = apply(make_op<NormGradientOp>(attributes), std::move(operands));
  }
  const auto asked = [](bool wanted, const Tensor& weight) { return wanted ? weight : Tensor(); };
  WeightGradients weights =
      weight_gradients(a, x, cotangent, widest(node.inputs, cotangent), asked(of_scale, scale), asked(of_bias, bias));
  if (of_bias) made.back() = weights.bias;
  if (of_scale) made[1] = weights.scale;
  return made;
}

// The Jacobian of rows without weights is symmetric, so that their gradient serves both directions.
template <class O>
Derivatives norm_jvp(const O& op, const Differentiated& node, std::span<const Tensor> tangents) {
  const NormAttributes& a = op.a;
  const Tensor& x = node.inputs[0];
  const NormRows rows = norm_rows(a, x.shape());
  const DType type = widest(node.inputs);
  const auto wide = [&](const Tensor& v, const Shape& shape) { return cast(reshape(v, shape), type); };
  const Tensor of_scale = a.has_scale ? tangents[1] : Tensor(), of_bias = a.has_bias ? tangents.back() : Tensor();
  Tensor sum;
  if (tangents[0].defined()) {
    const NormGradientAttributes of_x{a, false};
    sum = wide(apply(make_op<NormGradientOp>(of_x), {cast(x, type), cast(tangents[0], type)}), rows.shape);
    if (a.has_scale) sum = sum * wide(node.inputs[1], rows.weights);
  }
  if (of_scale.defined()) {
    NormAttributes plain = a;
    plain.has_scale = plain.has_bias = false;
    plain.type.reset();
    sum = sum_of(sum, wide(apply(make_op<O>(plain), {cast(x, type)}), rows.shape) * wide(of_scale, rows.weights));
  }
  if (of_bias.defined()) sum = sum_of(sum, wide(of_bias, rows.weights));
  if (!sum.defined()) return std::vector{sum};
  const TensorType& result = node.outputs[0].type();
  return std::vector{cast(reshape(broadcast_to(sum, rows.shape), result.shape), result.dtype)};
}

// Rows of a batch are more rows. Weights of which each entry has its own come behind the kernel.
template <class O>
Batched norm_vmap(const O& op, std::span<const Tensor> in, std::span<const int> axes) {
  NormAttributes a = op.a;
  const bool per_channel = !is_of_rows(a.kind);
  const int rank = entry_rank(in[0], axes[0]);
  const bool own_weights = std::ranges::any_of(axes.subspan(1), [](int axis) { return axis >= 0; });
  std::vector<TensorType> entry;
  DType type = DType::f32;
  for (std::size_t i = 0; i < in.size(); ++i) {
    entry.push_back(in[i].type());
    if (axes[i] >= 0) entry.back().shape.erase(axes[i]);
    if (in[i].dtype() == DType::f64) type = DType::f64;
  }
  const DType result = op.infer(entry)[0].dtype;
  Tensor x = in[0];
  Shape shape = x.shape();
  if (axes[0] >= 0) {
    x = batch_first(in[0], axes[0], 0);
    shape = x.shape();
    // Samples of all entries are more samples.
    if (per_channel)
      x = entries_merged(x, 0, shape[0]);
    else
      ++a.axis;
  }
  std::vector<Tensor> operands{x};
  if (own_weights) {
    a.has_scale = a.has_bias = false;
    operands[0] = cast(x, type);
    a.type.reset();
  } else {
    operands.insert(operands.end(), in.begin() + 1, in.end());
  }
  Tensor y = reshape(apply(make_op<O>(a), std::move(operands)), shape);
  if (!own_weights) return batched(y);
  const auto weight = [&](std::size_t i) {
    const Tensor w = axes[i] >= 0 ? batch_first(in[i], axes[i], 0) : in[i];
    Shape along = w.shape();
    if (per_channel) {
      for (int d = op.a.axis + 1; d < rank; ++d) along.push_back(1);
    }
    while (axes[i] >= 0 && along.rank() < rank + 1) along.insert(1, 1);
    return cast(reshape(w, along), type);
  };
  if (op.a.has_scale) y = y * weight(1);
  if (op.a.has_bias) y = y + weight(in.size() - 1);
  return batched(cast(y, result));
}

}  // namespace

Derivatives SoftmaxOp::vjp(const Differentiated& node, std::span<const Tensor> g) const {
  return std::vector{softmax_gradient_of(false, node.outputs[0], g[0], a.axis, node.inputs[0].dtype())};
}
Derivatives SoftmaxOp::jvp(const Differentiated& node, std::span<const Tensor> t) const {
  return std::vector{softmax_gradient_of(false, node.outputs[0], cast(t[0], node.outputs[0].dtype()), a.axis,
                                         node.outputs[0].dtype())};
}

Derivatives LogSoftmaxOp::vjp(const Differentiated& node, std::span<const Tensor> g) const {
  return std::vector{softmax_gradient_of(true, node.outputs[0], g[0], a.axis, node.inputs[0].dtype())};
}
Derivatives LogSoftmaxOp::jvp(const Differentiated& node, std::span<const Tensor> tangents) const {
  const DType type = widest(node.inputs, tangents[0]);
  const Tensor y = cast(node.outputs[0], type), t = cast(tangents[0], type);
  return std::vector{cast(t - row_sum(exp(y) * t, a.axis), node.outputs[0].dtype())};
}

Derivatives RmsNormOp::vjp(const Differentiated& node, std::span<const Tensor> g) const {
  return norm_vjp(a, node, g[0]);
}
Derivatives RmsNormOp::jvp(const Differentiated& node, std::span<const Tensor> t) const {
  return norm_jvp(*this, node, t);
}
std::optional<Batched> RmsNormOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  return norm_vmap(*this, in, axes);
}

Derivatives LayerNormOp::vjp(const Differentiated& node, std::span<const Tensor> g) const {
  return norm_vjp(a, node, g[0]);
}
Derivatives LayerNormOp::jvp(const Differentiated& node, std::span<const Tensor> t) const {
  return norm_jvp(*this, node, t);
}
std::optional<Batched> LayerNormOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  return norm_vmap(*this, in, axes);
}

Derivatives GroupNormOp::vjp(const Differentiated& node, std::span<const Tensor> g) const {
  return norm_vjp(a, node, g[0]);
}
Derivatives GroupNormOp::jvp(const Differentiated& node, std::span<const Tensor> t) const {
  return norm_jvp(*this, node, t);
}
std::optional<Batched> GroupNormOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  return norm_vmap(*this, in, axes);
}

// ---- Gradients

namespace {

void check_same_shape(std::string_view name, std::string_view operand, const TensorType& g, std::string_view of,
                      const TensorType& x) {
  if (g.shape == x.shape) return;
  throw ShapeError("{}: {} is {}, expected the shape of {} {}", name, operand, to_string(g), of, to_string(x));
}

kernels::RowGradientKind gradient_kind(Kind kind) {
  return kind == Kind::rms ? kernels::RowGradientKind::rms : kernels::RowGradientKind::centred;
}

}  // namespace

void SoftmaxGradientAttributes::normalise(std::string_view op, std::span<const TensorType> in) {
  axis = normalize_axis(axis, in[0].shape.rank(), op);
}

std::vector<TensorType> SoftmaxGradientOp::infer(std::span<const TensorType> in) const {
  check_same_shape(name(), "g", in[1], "y", in[0]);
  return {{infer_dtype(name(), {&in[0], &in[1]}, in[0].dtype), in[0].shape}};
}

OpPtr SoftmaxGradientOp::along(int axis) const {
  return make_op<SoftmaxGradientOp>(SoftmaxGradientAttributes{a.logarithm, axis});
}

void SoftmaxGradientOp::lower(const Launch& call) const {
  const auto run = a.logarithm ? kernels::log_softmax_gradient : kernels::softmax_gradient;
  run(call.stream, call.inputs[0], call.inputs[1], call.outputs[0], a.axis);
}

std::optional<OwnWork> SoftmaxGradientOp::own_work(std::span<const View>, std::span<const View> out) const {
  using kernels::RowGradientKind;
  const auto kind = a.logarithm ? RowGradientKind::log_softmax : RowGradientKind::softmax;
  return OwnWork{kernels::row_gradient_work(kind, false), static_cast<double>(out[0].count())};
}

std::vector<Tensor> SoftmaxGradientOp::decomposed(std::span<const Tensor> in) const {
  const DType type = widest(in);
  const Tensor y = cast(in[0], type), g = cast(in[1], type);
  const Tensor dx = a.logarithm ? g - exp(y) * row_sum(g, a.axis) : y * (g - row_sum(y * g, a.axis));
  return {cast(dx, in[0].dtype())};
}

void NormGradientAttributes::normalise(std::string_view op, std::span<const TensorType> in) {
  axis = normalize_axis(axis, in[0].shape.rank(), op);
}

void NormGradientAttributes::fields(AttributeVisitor& v) {
  NormOptions::fields(v);
  scale_field(v, has_scale);
}

std::string_view NormGradientOp::name() const {
  constexpr std::string_view kNames[] = {"layer_norm_gradient", "rms_norm_gradient", "group_norm_gradient",
                                         "instance_norm_gradient"};
  return kNames[static_cast<std::size_t>(a.kind)];
}

std::vector<TensorType> NormGradientOp::infer(std::span<const TensorType> in) const {
  const std::size_t named = 2 + std::size_t{a.has_scale};
  if (in.size() != named) {
    throw InvalidArgument("{}: {} operands, its attributes name {}", name(), in.size(), named);
  }
  check_same_shape(name(), "g", in[1], "x", in[0]);
  // The rest is as the norm has it.
  std::vector<TensorType> of_norm{in[0]};
  if (a.has_scale) of_norm.push_back(in[2]);
  const NormAttributes norm = a.of_norm();
  switch (a.kind) {
    case Kind::layer:
      LayerNormOp(norm).infer(of_norm);
      break;
    case Kind::rms:
      RmsNormOp(norm).infer(of_norm);
      break;
    default:
      GroupNormOp(norm).infer(of_norm);
      break;
  }
  if (a.has_scale) return {{infer_dtype(name(), {&in[0], &in[1], &in[2]}, in[0].dtype), in[0].shape}};
  return {{infer_dtype(name(), {&in[0], &in[1], nullptr}, in[0].dtype), in[0].shape}};
}

void NormGradientOp::lower(const Launch& call) const {
  const View &x = call.inputs[0], &g = call.inputs[1], &dx = call.outputs[0];
  const std::optional<View> scale = a.has_scale ? std::optional(call.inputs[2]) : std::nullopt;
  switch (a.kind) {
    case Kind::layer:
      return kernels::layer_norm_gradient(call.stream, x, g, scale, dx, a.axis, a.epsilon);
    case Kind::rms:
      return kernels::rms_norm_gradient(call.stream, x, g, scale, dx, a.axis, a.epsilon);
    case Kind::group:
      return kernels::group_norm_gradient(call.stream, x, g, scale, dx, a.axis, a.groups, a.epsilon);
    default:
      return kernels::instance_norm_gradient(call.stream, x, g, scale, dx, a.axis, a.epsilon);
  }
}

std::optional<OwnWork> NormGradientOp::own_work(std::span<const View>, std::span<const View> out) const {
  return OwnWork{kernels::row_gradient_work(gradient_kind(a.kind), a.has_scale), static_cast<double>(out[0].count())};
}

// With n the normalised x and d the cotangent of n: factor · (d - mean(d) - n · mean(d n)).
std::vector<Tensor> NormGradientOp::decomposed(std::span<const Tensor> in) const {
  const NormAttributes norm = a.of_norm();
  const NormRows rows = norm_rows(norm, in[0].shape());
  const DType type = widest(in);
  const auto wide = [&](const Tensor& v, const Shape& shape) { return cast(reshape(v, shape), type); };
  const auto mean = [&](const Tensor& v) { return reduce(ReduceKind::mean, v, rows.axes, true); };
  const auto [n, factor] = normalised(wide(in[0], rows.shape), rows, norm);
  const Tensor g = wide(in[1], rows.shape), d = a.has_scale ? g * wide(in[2], rows.weights) : g;
  const Tensor centred = a.kind == Kind::rms ? d : d - mean(d);
  return {cast(reshape(factor * (centred - n * mean(d * n)), in[0].shape()), in[0].dtype())};
}

std::string_view NormGradientsOp::name() const {
  constexpr std::string_view kNames[] = {"layer_norm_gradients", "rms_norm_gradients", "group_norm_gradients",
                                         "instance_norm_gradients"};
  return kNames[static_cast<std::size_t>(a.kind)];
}

std::vector<TensorType> NormGradientsOp::infer(std::span<const TensorType> in) const {
  if (!a.has_scale) throw InvalidArgument("{}: it has no scale", name());
  const TensorType dx = NormGradientOp(a).infer(in)[0];
  const std::vector<DType> types = infer_dtypes(name(), std::array{&in[0], &in[1], &in[2]}, dx.dtype);
  std::vector<TensorType> made{dx};
  for (std::size_t i = 1; i < types.size(); ++i) made.push_back({in[2].dtype, in[2].shape});
  return made;
}

void NormGradientsOp::lower(const Launch& call) const {
  const View &x = call.inputs[0], &g = call.inputs[1], &scale = call.inputs[2];
  const std::span<const View> out = call.outputs;
  switch (a.kind) {
    case Kind::layer:
      return kernels::layer_norm_gradients(call.stream, x, g, scale, out[0], out[1], out[2], a.axis, a.epsilon);
    case Kind::rms:
      return kernels::rms_norm_gradients(call.stream, x, g, scale, out[0], out[1], a.axis, a.epsilon);
    case Kind::group:
      return kernels::group_norm_gradients(call.stream, x, g, scale, out[0], out[1], out[2], a.axis, a.groups,
                                           a.epsilon);
    default:
      return kernels::instance_norm_gradients(call.stream, x, g, scale, out[0], out[1], out[2], a.axis, a.epsilon);
  }
}

std::optional<OwnWork> NormGradientsOp::own_work(std::span<const View>, std::span<const View> out) const {
  kernels::ElementWork work = kernels::row_gradient_work(gradient_kind(a.kind), true);
  work.flops += a.kind == Kind::rms ? 3 : 4;
  return OwnWork{work, static_cast<double>(out[0].count())};
}

std::vector<Tensor> NormGradientsOp::decomposed(std::span<const Tensor> in) const {
  std::vector<Tensor> made{apply(make_op<NormGradientOp>(a), {in[0], in[1], in[2]})};
  const WeightGradients weights =
      weight_gradients(a.of_norm(), in[0], in[1], widest(in), in[2], a.kind == Kind::rms ? Tensor() : in[2]);
  made.push_back(weights.scale);
  if (weights.bias.defined()) made.push_back(weights.bias);
  return made;
}

// Of a scale that is the same for all entries; others are part of the decomposition.
std::optional<Batched> NormGradientOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  if (a.has_scale && axes[2] >= 0) return std::nullopt;
  const std::int64_t size = batch_size(in, axes);
  NormGradientAttributes of_batch = a;
  std::vector<Tensor> operands{batch_first(in[0], axes[0], size), batch_first(in[1], axes[1], size)};
  const Shape shape = operands[0].shape();
  if (is_of_rows(a.kind)) {
    ++of_batch.axis;
  } else {
    for (Tensor& v : operands) v = entries_merged(v, 0, size);
  }
  if (a.has_scale) operands.push_back(in[2]);
  return batched(reshape(apply(make_op<NormGradientOp>(of_batch), std::move(operands)), shape));
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

namespace {

template <Kind norm>
struct ChannelNormAttributes : NormOptions {
  ChannelNormAttributes() : NormOptions(NormOptions::of(norm)) {}
  ChannelNormAttributes(int channel_axis, double epsilon, std::int64_t groups = 0)
      : NormOptions{norm, channel_axis, groups, epsilon} {}
};
constexpr std::string_view kChannels = "[channels]";
constexpr Function kBatchNorm = {
    {.name = "batch_norm",
     .operands = {{"x"},
                  {.name = "mean", .shape = kChannels},
                  {.name = "variance", .shape = kChannels},
                  {.name = "scale", .arity = Arity::optional, .shape = kChannels},
                  {.name = "bias", .arity = Arity::optional, .shape = kChannels}},
     .results = {{"y", "x's shape", "x's type"}},
     .formula = "y = (x - mean) / sqrt(variance + epsilon) · scale + bias",
     .summary = "batch norm as at inference: each channel by a mean and a variance that are given"},
    [](const Tensor& x, const Tensor& mean, const Tensor& variance, const Tensor& scale, const Tensor& bias,
       const ChannelNormAttributes<Kind::batch>& a) {
      constexpr std::string_view kName = "batch_norm";
      const auto given = [](const Tensor& v) { return v.defined() ? &v.type() : nullptr; };
      check_inputs(kernels::kernel(kName), kName,
                   std::array{given(x), given(mean), given(variance), given(scale), given(bias)});
      kernels::check_epsilon(kName, a.epsilon);
      const int axis = normalize_axis(a.axis, x.rank(), kName);
      const DType type = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
      const auto weight = [&](std::string_view operand, const Tensor& v) {
        return per_channel(kName, operand, v, x, axis, type);
      };
      Tensor factor = rsqrt(weight("variance", variance) + a.epsilon);
      if (scale.defined()) factor = factor * weight("scale", scale);
      Tensor y = (cast(x, type) - weight("mean", mean)) * factor;
      if (bias.defined()) y = y + weight("bias", bias);
      return cast(y, x.dtype());
    }};

constexpr FunctionOperand kChannelScale = {.name = "scale", .arity = Arity::optional, .shape = kChannels},
                          kChannelBias = {.name = "bias", .arity = Arity::optional, .shape = kChannels};
constexpr Function kGroupNorm = {
    {.name = "group_norm",
     .operands = {{"x"}, kChannelScale, kChannelBias},
     .results = {{"y", "x's shape", "x's type"}},
     .formula = "y = (x - mean) / sqrt(variance + epsilon) · scale + bias",
     .summary = "group norm: each group of channels of each sample by its own mean and variance"},
    [](const Tensor& x, const Tensor& scale, const Tensor& bias, const ChannelNormAttributes<Kind::group>& a) {
      if (a.groups < 1) throw InvalidArgument("group_norm: {} groups, expected 1 or more", a.groups);
      return grouped("group_norm", x, scale, bias, a);
    }};
constexpr Function kInstanceNorm = {
    {.name = "instance_norm",
     .operands = {{"x"}, kChannelScale, kChannelBias},
     .results = {{"y", "x's shape", "x's type"}},
     .formula = "y = (x - mean) / sqrt(variance + epsilon) · scale + bias",
     .summary = "instance norm: each channel of each sample by its own mean and variance"},
    [](const Tensor& x, const Tensor& scale, const Tensor& bias, const ChannelNormAttributes<Kind::instance>& a) {
      return grouped("instance_norm", x, scale, bias, a);
    }};

struct RowNormAttributes {
  std::optional<int> first_axis = {};
  double epsilon = kernels::kNormEpsilon;
  std::optional<DType> type = {};
  void fields(AttributeVisitor& v) {
    static const std::string meaning =
        std::string(kernels::kFirstAxisMeaning) + "; without it those of scale or bias, and without these the last";
    v("first_axis", first_axis, {}, meaning);
    kernels::epsilon_field(v, epsilon);
    v("type", type, {}, kResultTypeMeaning);
  }
};
constexpr FunctionOperand kRowScale = {.name = "scale", .arity = Arity::optional, .shape = "that of the axes"},
                          kRowBias = {.name = "bias", .arity = Arity::optional, .shape = "that of the axes"};

// Where the axes begin that are normalised together.
int first_axis_of(std::string_view name, const Tensor& x, const Tensor& scale, const Tensor& bias,
                  std::optional<int> given) {
  const Tensor& weight = scale.defined() ? scale : bias;
  const int rank = weight.defined() ? weight.rank() : 1, axis = given.value_or(-rank);
  if (!given && rank > x.rank() && x.rank() > 0) {
    throw ShapeError("{}: {} of rank {} is longer than x {}", name, scale.defined() ? "scale" : "bias", rank,
                     to_string(x.shape()));
  }
  if (axis < -x.rank() || axis >= x.rank()) {
    throw ShapeError("{}: x {} has no axes to norm over from axis {} on", name, to_string(x.shape()), axis);
  }
  return axis < 0 ? axis + x.rank() : axis;
}

template <class O>
Tensor row_norm(Kind kind, std::string_view name, const Tensor& x, const Tensor& scale, const Tensor& bias,
                const RowNormAttributes& a) {
  const int axis = first_axis_of(name, x, scale, bias, a.first_axis);
  return normed<O>({.kind = kind, .axis = axis, .epsilon = a.epsilon}, x, scale, bias, a.type);
}

constexpr Function kLayerNorm = {
    {.name = "layer_norm",
     .operands = {{"x"}, kRowScale, kRowBias},
     .results = {{"y", "x's shape", "x's type"}},
     .formula = "y = (x - mean) / sqrt(variance + epsilon) · scale + bias",
     .summary = "layer norm: each row, over the axes from first_axis on, by its own mean and variance"},
    [](const Tensor& x, const Tensor& scale, const Tensor& bias, const RowNormAttributes& a) {
      return row_norm<LayerNormOp>(Kind::layer, "layer_norm", x, scale, bias, a);
    }};
constexpr Function kRmsNorm = {
    {.name = "rms_norm",
     .operands = {{"x"}, kRowScale},
     .results = {{"y", "x's shape", "x's type"}},
     .formula = "y = x / sqrt(mean(x²) + epsilon) · scale",
     .summary = "root mean square norm: each row, over the axes from first_axis on, by its own mean square"},
    [](const Tensor& x, const Tensor& scale, const RowNormAttributes& a) {
      return row_norm<RmsNormOp>(Kind::rms, "rms_norm", x, scale, {}, a);
    }};

}  // namespace

Tensor batch_norm(const Operand& x, const Operand& mean, const Operand& variance, const Operand& scale,
                  const Operand& bias, double epsilon, int channel_axis) {
  return kBatchNorm(x, mean, variance, scale, bias, {channel_axis, epsilon});
}

Tensor layer_norm(const Operand& x, const Operand& scale, const Operand& bias, double epsilon) {
  return kLayerNorm(x, scale, bias, {.epsilon = epsilon});
}
Tensor layer_norm(const Operand& x, const Operand& scale, const Operand& bias, double epsilon, int first_axis) {
  return kLayerNorm(x, scale, bias, {first_axis, epsilon, {}});
}
Tensor rms_norm(const Operand& x, const Operand& scale, double epsilon) {
  return kRmsNorm(x, scale, {.epsilon = epsilon});
}
Tensor group_norm(const Operand& x, const Operand& scale, const Operand& bias, std::int64_t groups, double epsilon,
                  int channel_axis) {
  return kGroupNorm(x, scale, bias, {channel_axis, epsilon, groups});
}
Tensor instance_norm(const Operand& x, const Operand& scale, const Operand& bias, double epsilon, int channel_axis) {
  return kInstanceNorm(x, scale, bias, {channel_axis, epsilon});
}

void add_norm_functions(FunctionRows& rows) { rows.add(kBatchNorm, kLayerNorm, kRmsNorm, kGroupNorm, kInstanceNorm); }

void add_norm_ops(OpRows& rows) {
  rows.push_back(op_row<SoftmaxOp>(schema_of_kernel("softmax")));
  rows.push_back(op_row<LogSoftmaxOp>(schema_of_kernel("log_softmax")));
  const auto norm = [](Kind kind) { return NormAttributes{NormOptions::of(kind), true, kind != Kind::rms}; };
  rows.push_back(op_row<LayerNormOp>(schema_of_kernel("layer_norm"), norm(Kind::layer)));
  rows.push_back(op_row<RmsNormOp>(schema_of_kernel("rms_norm"), norm(Kind::rms)));
  rows.push_back(op_row<GroupNormOp>(schema_of_kernel("group_norm"), norm(Kind::group)));
  rows.push_back(op_row<GroupNormOp>(schema_of_kernel("instance_norm"), norm(Kind::instance)));
  rows.push_back(op_row<SoftmaxGradientOp>(schema_of_kernel("softmax_gradient")));
  rows.push_back(op_row<SoftmaxGradientOp>(schema_of_kernel("log_softmax_gradient"), {.logarithm = true}));
  for (const Kind kind : {Kind::layer, Kind::rms, Kind::group, Kind::instance}) {
    const NormGradientAttributes of_norm{NormOptions::of(kind)};
    rows.push_back(op_row<NormGradientOp>(schema_of_kernel(NormGradientOp(of_norm).name()), of_norm));
    rows.push_back(op_row<NormGradientsOp>(schema_of_kernel(NormGradientsOp(of_norm).name()), of_norm));
  }
}

}  // namespace weft
