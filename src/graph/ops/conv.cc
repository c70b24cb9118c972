#include "graph/ops/conv.h"

#include <numeric>

#include "core/format.h"
#include "graph/graph.h"
#include "graph/op_schemas.h"
#include "graph/ops/product.h"
#include "kernels/common/moved_axis.h"
#include "kernels/common/spatial.h"
#include "weft/array.h"
#include "weft/error.h"

namespace weft {
namespace {

// [n, spatial…, c] as [n, c, spatial…].
Layout channels_second(const Layout& layout) { return kernels::moved_axis(layout, layout.rank() - 1, 1); }
Shape channels_second(const Shape& shape) { return channels_second(Layout::dense(shape)).shape; }
Shape channels_last(Shape shape) {
  const std::int64_t channels = shape[1];
  shape.erase(1);
  shape.push_back(channels);
  return shape;
}

constexpr std::string_view kNames[] = {"conv", "conv_transpose", "conv_filter_gradient"};

struct Geometry {
  int spatial;
  Shape x;  // [n, c, spatial…]
  kernels::ConvOptions options;
  Dims after;
};

Geometry geometry(std::string_view op, const Operand& x, const Operand& second, const ConvOptions& o) {
  if (!x.defined() || !second.defined()) throw InvalidArgument("{}: an operand is an undefined Tensor", op);
  if (x.rank() < 3 || x.rank() > 5) {
    throw ShapeError("{}: x is {}, expected [batch, channels] and one to three spatial axes", op, to_string(x.type()));
  }
  if (second.rank() != x.rank()) {
    throw ShapeError("{}: x is {} and {} {}, expected one rank", op, to_string(x.type()),
                     op == kNames[2] ? "dy is" : "the filter is", to_string(second.type()));
  }
  Geometry g{x.rank() - 2, o.channels_last ? channels_second(x.shape()) : x.shape(), {}, {}};
  constexpr std::int64_t kLeast = 1 - kernels::kFarthest;
  const Dims ones = Dims::filled(g.spatial, 1), zeros = Dims::filled(g.spatial, 0);
  g.options = {.strides = kernels::numbers_of_axes(op, "strides", o.strides, ones, 1),
               .dilations = kernels::numbers_of_axes(op, "dilations", o.dilations, ones, 1),
               .before = kernels::numbers_of_axes(op, "padding", o.padding, zeros, kLeast),
               .groups = o.groups};
  g.after = kernels::numbers_of_axes(op, "padding_after", o.padding_after, g.options.before, kLeast);
  return g;
}

// The operation, and a bias [outputs] added to its result. With a bias, results narrower than f32 are rounded after it
// is added.
Tensor convolution(ConvKind kind, const Geometry& g, const Dims& sizes, bool last, const Operand& x, const Operand& w,
                   const Operand& bias) {
  if (!bias.defined()) return apply(make_op<ConvOp>(kind, g.options, sizes, last), {x, w});
  const DType usual = product_result(x.dtype(), w.dtype());
  const std::optional<DType> sums = is_floating(usual) && bits(usual) < 32 ? std::optional(DType::f32) : std::nullopt;
  const Tensor y = apply(make_op<ConvOp>(kind, g.options, sizes, last, sums), {x, w});
  const std::int64_t outputs = y.shape()[last ? -1 : 1];
  if (bias.rank() != 1 || bias.size() != outputs) {
    throw ShapeError("{}: the bias is {}, expected [{}]", kNames[static_cast<int>(kind)], to_string(bias.type()),
                     outputs);
  }
  Shape shape = Dims::filled(last ? 1 : y.rank() - 1, 1);
  shape[0] = outputs;
  return cast(y + cast(reshape(bias, shape), y.dtype()), usual);
}

}  // namespace

std::string_view ConvOp::name() const { return kNames[static_cast<int>(kind_)]; }

void ConvOp::attributes(Attributes& f) const {
  f.add("strides", options_.strides).add("dilations", options_.dilations).add("before", options_.before);
  f.add("groups", options_.groups).add("sizes", sizes_);
  if (channels_last_) f.add("channels_last", true);
  if (result_) f.add("type", weft::name(*result_));
  if (epilogue_) f.add("epilogue", epilogue_->to_string());
}

Shape ConvOp::result_shape(const Shape& a, const Shape& b) const {
  // Filters are [outputs, channels / groups, …], whose outputs a transposed convolution takes.
  const Shape x = channels_last_ ? channels_second(a) : a;
  const Shape second = kind_ == ConvKind::filter_gradient && channels_last_ ? channels_second(b) : b;
  Shape y;
  switch (kind_) {
    case ConvKind::conv:
      y = {x[0], second[0]};
      break;
    case ConvKind::transpose:
      y = {x[0], second[1] * options_.groups};
      break;
    case ConvKind::filter_gradient:
      y = {second[1], x[1] / options_.groups};
      break;
  }
  for (const std::int64_t size : sizes_) y.push_back(size);
  return channels_last_ && kind_ != ConvKind::filter_gradient ? channels_last(y) : y;
}

std::vector<TensorType> ConvOp::infer(std::span<const TensorType> in) const {
  infer_dtype(name(), {&in[0], &in[1]}, result_);
  const DType usual = product_result(in[0].dtype, in[1].dtype);
  const auto fail = [&](std::string_view what, std::int64_t got, std::int64_t expected) {
    throw ShapeError("{}: {} has {} channels, expected {} for {} (groups {})", name(), what, got, expected,
                     weft::to_string(in[0].shape), options_.groups);
  };
  const std::int64_t groups = options_.groups;
  if (groups < 1) throw InvalidArgument("{}: {} groups, expected one or more", name(), groups);
  const Shape x = channels_last_ ? channels_second(in[0].shape) : in[0].shape;
  const std::int64_t channels = x[1];
  if (channels % groups != 0) {
    throw ShapeError("{}: x {} has {} channels, which {} groups do not divide", name(), weft::to_string(in[0].shape),
                     channels, groups);
  }
  if (kind_ == ConvKind::conv) {
    const Shape& w = in[1].shape;
    if (w[1] != channels / groups) fail(std::format("filter {}", weft::to_string(w)), w[1], channels / groups);
    if (w[0] % groups != 0) {
      throw ShapeError("conv: filter {} has {} outputs, which {} groups do not divide", weft::to_string(w), w[0],
                       groups);
    }
  } else if (kind_ == ConvKind::transpose) {
    const Shape& w = in[1].shape;
    if (w[0] != channels) fail(std::format("filter {}", weft::to_string(w)), w[0], channels);
  } else {
    const Shape dy = channels_last_ ? channels_second(in[1].shape) : in[1].shape;
    if (dy[0] != x[0] || dy[1] % groups != 0) {
      throw ShapeError("conv_filter_gradient: x is {} and dy {}, expected one batch and channels that {} groups divide",
                       weft::to_string(in[0].shape), weft::to_string(in[1].shape), groups);
    }
  }
  return {with_epilogue(name(), epilogue_, in, {result_.value_or(usual), result_shape(in[0].shape, in[1].shape)})};
}

// A filter's gradient is small and long in its sums, which parts of the work share.
FusionStage ConvOp::fusion_stage() const {
  return epilogue_ || kind_ == ConvKind::filter_gradient ? FusionStage::none : FusionStage::product;
}

FusionSpec ConvOp::fusion_spec(const gpu::Capabilities*, std::span<const TensorType> in,
                               std::span<const TensorType> out) const {
  if (kind_ == ConvKind::filter_gradient) return {};
  return {.epilogue_outputs = 1,
          .epilogue_input = kernels::product_type(in[0].dtype, in[1].dtype),
          .work = static_cast<double>(element_count(out[0].shape)) * static_cast<double>(element_count(in[1].shape)) /
                  static_cast<double>(std::max<std::int64_t>(1, in[1].shape[0]))};
}

OpPtr ConvOp::with_fusion(std::optional<Expression> prologue, std::optional<Expression> epilogue) const {
  if (prologue || !epilogue) throw InternalError("{}: it takes an epilogue alone", name());
  return make_op<ConvOp>(kind_, options_, sizes_, channels_last_, std::nullopt, std::move(epilogue));
}

OpPtr ConvOp::with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                         std::span<const DType> results) const {
  if (epilogue_) {
    return make_op<ConvOp>(kind_, options_, sizes_, channels_last_, std::nullopt,
                           epilogue_with_types(*epilogue_, from, to, results[0]));
  }
  std::optional<DType> result;
  if (results[0] != product_result(to[0].dtype, to[1].dtype)) result = results[0];
  return make_op<ConvOp>(kind_, options_, sizes_, channels_last_, result);
}

std::optional<WeightOperand> ConvOp::weight_operand() const {
  return kind_ == ConvKind::filter_gradient ? std::nullopt : std::optional(WeightOperand{.operand = 1});
}

std::optional<ChannelAxes> ConvOp::channel_axes() const {
  const int result = channels_last_ ? -1 : 1;
  if (kind_ == ConvKind::conv) return ChannelAxes{.weights = 0, .result = result};
  // The filter of a transposed convolution has the outputs of one group.
  if (kind_ == ConvKind::transpose && options_.groups == 1) return ChannelAxes{.weights = 1, .result = result};
  return std::nullopt;
}

void ConvOp::lower(const Launch& call) const {
  const auto image = [&](const View& v) { return channels_last_ ? v.with_layout(channels_second(v.layout)) : v; };
  const View x = image(call.inputs[0]);
  if (kind_ == ConvKind::filter_gradient) {
    return kernels::conv_filter_gradient(call.stream, x, image(call.inputs[1]), call.outputs[0], options_);
  }
  const View y = image(call.outputs[0]);
  std::vector<View> operands;
  for (const View& v : call.inputs.subspan(2)) operands.push_back(image(v.broadcast_to(call.outputs[0].shape())));
  const kernels::Epilogue epilogue{epilogue_ ? &*epilogue_ : nullptr, operands};
  const auto run = kind_ == ConvKind::conv ? kernels::conv : kernels::conv_transpose;
  run(call.stream, x, call.inputs[1], y, options_, epilogue);
}

Work ConvOp::work(const Launch& call) const {
  // Of each element of the result: conv sums a filter, the others what conv's products are to the result.
  const Shape& w = kind_ == ConvKind::filter_gradient ? call.outputs[0].shape() : call.inputs[1].shape();
  const View& y = kind_ == ConvKind::conv ? call.outputs[0] : call.inputs[kind_ == ConvKind::transpose ? 0 : 1];
  const auto count = [](const Shape& s) { return static_cast<double>(element_count(s)); };
  const double all = count(y.shape()) * count(w) / static_cast<double>(std::max<std::int64_t>(1, w[0]));
  return product_work(Op::work(call), call, all / std::max(1.0, count(call.outputs[0].shape())), epilogue_);
}

std::string ConvOp::label(std::span<const TensorType> in) const {
  std::string s =
      epilogue_ ? product_label(name(), epilogue_, in, infer(in)[0].shape, channels_last_ ? in[0].shape.rank() - 1 : 1)
                : std::string(name());
  return s;
}

Tensor conv(const Operand& x, const Operand& w, const Operand& bias, const ConvOptions& o) {
  const Geometry g = geometry("conv", x, w, o);
  Dims sizes;
  for (int d = 0; d < g.spatial; ++d) {
    const std::int64_t reach = (w.shape()[2 + d] - 1) * g.options.dilations[d] + 1;
    const std::int64_t padded = g.x[2 + d] + g.options.before[d] + g.after[d];
    if (padded < reach || w.shape()[2 + d] == 0) {
      throw ShapeError("conv: filter {} reaches over {} elements along spatial axis {}, x {} has {} with its padding",
                       to_string(w.shape()), reach, d, to_string(x.shape()), padded);
    }
    sizes.push_back((padded - reach) / g.options.strides[d] + 1);
  }
  return convolution(ConvKind::conv, g, sizes, o.channels_last, x, w, bias);
}

Tensor conv_transpose(const Operand& x, const Operand& w, const Operand& bias, const ConvTransposeOptions& o) {
  constexpr std::string_view kName = "conv_transpose";
  const Geometry g = geometry(kName, x, w, o);
  const Dims more = kernels::numbers_of_axes(kName, "output_padding", o.output_padding, Dims::filled(g.spatial, 0),
                                             1 - kernels::kFarthest);
  Dims sizes = o.output_sizes;
  if (sizes.empty()) {
    for (int d = 0; d < g.spatial; ++d) {
      sizes.push_back((g.x[2 + d] - 1) * g.options.strides[d] + (w.shape()[2 + d] - 1) * g.options.dilations[d] + 1 -
                      g.options.before[d] - g.after[d] + more[d]);
    }
  }
  if (sizes.rank() != g.spatial || std::ranges::any_of(sizes, [](std::int64_t n) { return n < 0; })) {
    throw ShapeError("{}: the result's sizes are {}, expected one of 0 or more for each of {} spatial axes", kName,
                     to_string(sizes), g.spatial);
  }
  return convolution(ConvKind::transpose, g, sizes, o.channels_last, x, w, bias);
}

Tensor conv_filter_gradient(const Operand& x, const Operand& dy, const Shape& window, const ConvOptions& o) {
  const Geometry g = geometry(kNames[2], x, dy, o);
  if (window.rank() != g.spatial || std::ranges::any_of(window, [](std::int64_t n) { return n < 1; })) {
    throw ShapeError("conv_filter_gradient: the window is {}, expected one size for each of {} spatial axes",
                     to_string(window), g.spatial);
  }
  return apply(make_op<ConvOp>(ConvKind::filter_gradient, g.options, window, o.channels_last), {x, dy});
}

}  // namespace weft
