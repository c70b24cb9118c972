#include "ops/conv.h"

#include <array>
#include <numeric>

#include "core/format.h"
#include "graph/graph.h"
#include "kernels/common/spatial.h"
#include "ops/function_row.h"
#include "ops/images.h"
#include "ops/op_rows.h"
#include "ops/op_schemas.h"
#include "ops/product.h"
#include "ops/rules.h"
#include "weft/array.h"
#include "weft/error.h"
#include "weft/kernels/matmul.h"

namespace weft {
namespace {

Shape channels_last(Shape shape) {
  const std::int64_t channels = shape[1];
  shape.erase(1);
  shape.push_back(channels);
  return shape;
}

constexpr std::string_view kNames[] = {"conv", "conv_transpose", "conv_filter_gradient"};

std::string_view name_of(ConvKind kind) { return kNames[static_cast<int>(kind)]; }

}  // namespace

struct ConvGeometry {
  int spatial;
  Shape x;  // [n, c, spatial…]
  kernels::ConvOptions options;
  Dims after;
};

namespace {

// Of an operation on operands of these types.
ConvGeometry geometry(const ConvAttributes& a, const TensorType& x, const TensorType& second) {
  const std::string_view op = name_of(a.kind);
  const int rank = x.shape.rank();
  if (rank < 3 || rank > 5) {
    throw ShapeError("{}: x is {}, expected [batch, channels] and one to three spatial axes", op, to_string(x));
  }
  if (second.shape.rank() != rank) {
    throw ShapeError("{}: x is {} and {} {}, expected one rank", op, to_string(x),
                     a.kind == ConvKind::filter_gradient ? "dy is" : "the filter is", to_string(second));
  }
  ConvGeometry g{rank - 2, a.channels_last ? channels_second(x.shape) : x.shape, {}, {}};
  constexpr std::int64_t kLeast = 1 - kernels::kFarthest;
  const Dims ones = Dims::filled(g.spatial, 1), zeros = Dims::filled(g.spatial, 0);
  g.options = {.strides = kernels::numbers_of_axes(op, "strides", a.strides, ones, 1),
               .dilations = kernels::numbers_of_axes(op, "dilations", a.dilations, ones, 1),
               .before = kernels::numbers_of_axes(op, "padding", a.padding, zeros, kLeast),
               .groups = a.groups};
  g.after = kernels::numbers_of_axes(op, "padding_after", a.padding_after, g.options.before, kLeast);
  return g;
}

ConvAttributes attributes_of(ConvKind kind, const ConvOptions& o) {
  return {.kind = kind,
          .strides = o.strides,
          .dilations = o.dilations,
          .padding = o.padding,
          .padding_after = o.padding_after,
          .groups = o.groups,
          .channels_last = o.channels_last};
}

// The operation, and a bias [outputs] added to its result. With a bias, results narrower than f32 are rounded after it
// is added.
Tensor convolution(ConvAttributes a, const Tensor& x, const Tensor& w, const Tensor& bias) {
  if (!bias.defined()) return apply(make_op<ConvOp>(a), {x, w});
  const DType type = a.type.value_or(product_result(x.dtype(), w.dtype()));
  if (is_floating(type) && bits(type) < 32) a.type = DType::f32;
  const Tensor y = apply(make_op<ConvOp>(a), {x, w});
  const std::int64_t outputs = y.shape()[a.channels_last ? -1 : 1];
  if (bias.rank() != 1 || bias.size() != outputs) {
    throw ShapeError("{}: the bias is {}, expected [{}]", name_of(a.kind), to_string(bias.type()), outputs);
  }
  Shape shape = Dims::filled(a.channels_last ? 1 : y.rank() - 1, 1);
  shape[0] = outputs;
  return cast(y + cast(reshape(bias, shape), y.dtype()), type);
}

}  // namespace

void ConvAttributes::fields(AttributeVisitor& v) {
  v.brief("strides", strides, {}, "elements of x from an output to the next, for each spatial axis; none: 1");
  v.brief("dilations", dilations, {}, "elements of x from an element of the filter to the next; none: 1");
  v.brief("padding", padding, {}, "zeros in front of x, negative: elements that are left out; none: 0");
  v.brief("padding_after", padding_after, {}, "the same behind x; none: as padding");
  v.brief("groups", groups, 1, "how many groups of channels there are, each with filters of its own");
  if (kind == ConvKind::transpose) {
    v.brief("output_padding", output_padding, {}, "more elements at the end of the result; none: 0");
    v.brief("output_sizes", output_sizes, {}, "the sizes of the result's spatial axes; none: as the padding says");
  }
  if (kind == ConvKind::filter_gradient) v("window", window, "the sizes of the filter's spatial axes");
  v.brief("channels_last", channels_last, false, "the channels are the last axis of what is no filter");
  v("type", type, {}, "the type of the result, instead of the usual one");
}

std::string_view ConvOp::name() const { return name_of(a.kind); }
OpPattern ConvOp::pattern() const { return a.kind == ConvKind::conv ? OpPattern::conv : OpPattern::none; }

Dims ConvOp::sizes(const TensorType& x, const TensorType& second, const ConvGeometry& g) const {
  Dims sizes;
  const Shape& w = second.shape;
  switch (a.kind) {
    case ConvKind::conv:
      for (int d = 0; d < g.spatial; ++d) {
        const WindowFit fit = kernels::fit_windows_along(name(), d, g.x[2 + d], w[2 + d], g.options.strides[d],
                                                         g.options.dilations[d], g.options.before[d], g.after[d]);
        if (fit.count == 0 || w[2 + d] == 0) {
          throw ShapeError(
              "conv: filter {} reaches over {} elements along spatial axis {}, x {} has {} with its padding",
              weft::to_string(w), fit.reach, d, weft::to_string(x.shape), fit.padded);
        }
        sizes.push_back(fit.count);
      }
      return sizes;
    case ConvKind::transpose: {
      const Dims more = kernels::numbers_of_axes(name(), "output_padding", a.output_padding, Dims::filled(g.spatial, 0),
                                                 1 - kernels::kFarthest);
      sizes = a.output_sizes;
      if (sizes.empty()) {
        for (int d = 0; d < g.spatial; ++d) {
          const std::int64_t extent = kernels::windows_extent_along(name(), d, g.x[2 + d], g.options.strides[d],
                                                                    w[2 + d], g.options.dilations[d]);
          sizes.push_back(extent - g.options.before[d] - g.after[d] + more[d]);
        }
      }
      if (sizes.rank() != g.spatial || std::ranges::any_of(sizes, [](std::int64_t n) { return n < 0; })) {
        throw ShapeError("{}: the result's sizes are {}, expected one of 0 or more for each of {} spatial axes", name(),
                         weft::to_string(sizes), g.spatial);
      }
      return sizes;
    }
    case ConvKind::filter_gradient:
      if (a.window.rank() != g.spatial || std::ranges::any_of(a.window, [](std::int64_t n) { return n < 1; })) {
        throw ShapeError("{}: the window is {}, expected one size for each of {} spatial axes", name(),
                         weft::to_string(a.window), g.spatial);
      }
      return a.window;
  }
  return sizes;
}

Shape ConvOp::result_shape(const Shape& first, const Shape& b, const Dims& sizes) const {
  // Filters are [outputs, channels / groups, …], whose outputs a transposed convolution takes.
  const Shape x = a.channels_last ? channels_second(first) : first;
  const Shape second = a.kind == ConvKind::filter_gradient && a.channels_last ? channels_second(b) : b;
  Shape y;
  switch (a.kind) {
    case ConvKind::conv:
      y = {x[0], second[0]};
      break;
    case ConvKind::transpose:
      y = {x[0], second[1] * a.groups};
      break;
    case ConvKind::filter_gradient:
      y = {second[1], x[1] / a.groups};
      break;
  }
  for (const std::int64_t size : sizes) y.push_back(size);
  return a.channels_last && a.kind != ConvKind::filter_gradient ? channels_last(y) : y;
}

std::vector<TensorType> ConvOp::infer(std::span<const TensorType> in) const {
  const ConvGeometry g = geometry(a, in[0], in[1]);
  const Dims made = sizes(in[0], in[1], g);
  infer_dtype(name(), {&in[0], &in[1]}, a.type);
  const DType usual = product_result(in[0].dtype, in[1].dtype);
  const auto fail = [&](std::string_view what, std::int64_t got, std::int64_t expected) {
    throw ShapeError("{}: {} has {} channels, expected {} for {} (groups {})", name(), what, got, expected,
                     weft::to_string(in[0].shape), a.groups);
  };
  const std::int64_t groups = a.groups;
  if (groups < 1) throw InvalidArgument("{}: {} groups, expected one or more", name(), groups);
  const Shape x = a.channels_last ? channels_second(in[0].shape) : in[0].shape;
  const std::int64_t channels = x[1];
  if (channels % groups != 0) {
    throw ShapeError("{}: x {} has {} channels, which {} groups do not divide", name(), weft::to_string(in[0].shape),
                     channels, groups);
  }
  if (a.kind == ConvKind::conv) {
    const Shape& w = in[1].shape;
    if (w[1] != channels / groups) fail(std::format("filter {}", weft::to_string(w)), w[1], channels / groups);
    if (w[0] % groups != 0) {
      throw ShapeError("conv: filter {} has {} outputs, which {} groups do not divide", weft::to_string(w), w[0],
                       groups);
    }
  } else if (a.kind == ConvKind::transpose) {
    const Shape& w = in[1].shape;
    if (w[0] != channels) fail(std::format("filter {}", weft::to_string(w)), w[0], channels);
  } else {
    const Shape dy = a.channels_last ? channels_second(in[1].shape) : in[1].shape;
    if (dy[0] != x[0] || dy[1] % groups != 0) {
      throw ShapeError("conv_filter_gradient: x is {} and dy {}, expected one batch and channels that {} groups divide",
                       weft::to_string(in[0].shape), weft::to_string(in[1].shape), groups);
    }
  }
  return {{a.type.value_or(usual), result_shape(in[0].shape, in[1].shape, made)}};
}

// A filter's gradient is small and long in its sums, which parts of the work share.
FusionStage ConvOp::fusion_stage() const {
  return a.kind == ConvKind::filter_gradient ? FusionStage::none : FusionStage::product;
}

FusionSpec ConvOp::fusion_spec(const gpu::Capabilities*, std::span<const TensorType> in,
                               std::span<const TensorType> out) const {
  if (a.kind == ConvKind::filter_gradient) return {};
  return {.epilogue_outputs = 1,
          .epilogue_input = kernels::product_type(in[0].dtype, in[1].dtype),
          .work = static_cast<double>(element_count(out[0].shape)) * static_cast<double>(element_count(in[1].shape)) /
                  static_cast<double>(std::max<std::int64_t>(1, in[1].shape[0]))};
}

OpPtr ConvOp::with_types(std::span<const TensorType>, std::span<const TensorType> to,
                         std::span<const DType> results) const {
  ConvAttributes typed = a;
  typed.type = asked_result(to[0].dtype, to[1].dtype, results[0]);
  return make_op<ConvOp>(typed);
}

std::optional<WeightOperand> ConvOp::weight_operand() const {
  return a.kind == ConvKind::filter_gradient ? std::nullopt : std::optional(WeightOperand{.operand = 1});
}

std::optional<ChannelAxes> ConvOp::channel_axes() const {
  const int result = a.channels_last ? -1 : 1;
  switch (a.kind) {
    case ConvKind::conv:
      return ChannelAxes{.weights = 0, .result = result};
    case ConvKind::transpose:
      // The filter of a transposed convolution has the outputs of one group.
      if (a.groups != 1) return ChannelAxes{.weights = {}, .result = result};
      return ChannelAxes{.weights = 1, .result = result};
    case ConvKind::filter_gradient:
      break;
  }
  return std::nullopt;
}

void ConvOp::lower(const Launch& call) const {
  const auto type = [](const View& v) { return TensorType{v.dtype, v.shape()}; };
  const kernels::ConvOptions options = geometry(a, type(call.inputs[0]), type(call.inputs[1])).options;
  const Images images(call, a.channels_last);
  if (a.kind == ConvKind::filter_gradient) {
    return kernels::conv_filter_gradient(call.stream, images.input(0), images.input(1), call.outputs[0], options);
  }
  const auto run = a.kind == ConvKind::conv ? kernels::conv : kernels::conv_transpose;
  run(call.stream, images.input(0), call.inputs[1], images.output(0), options, images.fusion().epilogue);
}

std::optional<OwnWork> ConvOp::own_work(std::span<const View> in, std::span<const View> out) const {
  // Of each element of the result: conv sums a filter, the others what conv's products are to the result.
  const Shape& w = a.kind == ConvKind::filter_gradient ? out[0].shape() : in[1].shape();
  const View& y = a.kind == ConvKind::conv ? out[0] : in[a.kind == ConvKind::transpose ? 0 : 1];
  const auto count = [](const Shape& s) { return static_cast<double>(element_count(s)); };
  const double all = count(y.shape()) * count(w) / static_cast<double>(std::max<std::int64_t>(1, w[0]));
  return product_work(in, out, all / std::max(1.0, count(out[0].shape())));
}

// ---- Derivatives: each of the three is linear in both operands, and what is left of one for an operand is another:
// with conv's x, its filter w and its y, conv is (x, w) to y, the transposed one (y, w) to x, the filter's gradient
// (x, y) to w.

namespace {

Dims spatial_sizes(const Shape& shape, bool channels_last) {
  Dims sizes;
  for (int d = 0; d + 2 < shape.rank(); ++d) sizes.push_back(shape[(channels_last ? 1 : 2) + d]);
  return sizes;
}

// The operations that make one of x, w and y of the two others, each of the type and the sizes of `like`.
struct Convolutions {
  const ConvAttributes& a;

  Tensor y_of(const Tensor& x, const Tensor& w, const Tensor& like) const {
    // Padding behind x for as many results as there are; padding alone would round down.
    const ConvGeometry g = geometry(a, x.type(), w.type());
    const Dims wanted = spatial_sizes(like.shape(), a.channels_last);
    ConvAttributes attributes = of_kind(ConvKind::conv);
    attributes.padding_after = {};
    for (int d = 0; d < g.spatial; ++d) {
      const std::int64_t extent = kernels::windows_extent_along(name_of(a.kind), d, wanted[d], g.options.strides[d],
                                                                w.shape()[2 + d], g.options.dilations[d]);
      attributes.padding_after.push_back(extent - g.x[2 + d] - g.options.before[d]);
    }
    return made(std::move(attributes), x, w, like);
  }
  Tensor x_of(const Tensor& y, const Tensor& w, const Tensor& like) const {
    ConvAttributes attributes = of_kind(ConvKind::transpose);
    attributes.output_sizes = spatial_sizes(like.shape(), a.channels_last);
    return made(std::move(attributes), y, w, like);
  }
  Tensor w_of(const Tensor& x, const Tensor& y, const Tensor& like) const {
    ConvAttributes attributes = of_kind(ConvKind::filter_gradient);
    attributes.window = spatial_sizes(like.shape(), false);
    return made(std::move(attributes), x, y, like);
  }

 private:
  ConvAttributes of_kind(ConvKind kind) const {
    return {.kind = kind,
            .strides = a.strides,
            .dilations = a.dilations,
            .padding = a.padding,
            .padding_after = a.padding_after,
            .groups = a.groups,
            .channels_last = a.channels_last};
  }
  static Tensor made(ConvAttributes attributes, const Tensor& first, const Tensor& second, const Tensor& like) {
    attributes.type = asked_result(first.dtype(), second.dtype(), like.dtype());
    return apply(make_op<ConvOp>(std::move(attributes)), {first, second});
  }
};

// The axis of the channels among those of an entry.
int channel_axis(const Tensor& entries, bool channels_last) { return channels_last ? entries.rank() - 2 : 1; }

// Entries [batch, …] whose axis `axis` has `groups` equal parts, with all entries' parts of a group together in it.
Tensor entries_joined(const Tensor& x, int axis, std::int64_t groups) {
  const std::int64_t batch = x.shape()[0], size = x.shape()[axis + 1];
  Shape split = x.shape();
  split[axis + 1] = groups;
  split.insert(axis + 2, size / groups);
  Shape joined = x.shape();
  joined.erase(0);
  joined[axis] = batch * size;
  return reshape(moveaxis(reshape(x, split), 0, axis + 1), joined);
}
// The inverse.
Tensor entries_split(const Tensor& x, int axis, std::int64_t groups, std::int64_t batch) {
  const std::int64_t size = x.shape()[axis] / batch;
  Shape split = x.shape();
  split[axis] = groups;
  split.insert(axis + 1, size / groups);
  split.insert(axis + 1, batch);
  Shape entries = x.shape();
  entries[axis] = size;
  entries.insert(0, batch);
  return reshape(moveaxis(reshape(x, split), axis + 1, 0), entries);
}

}  // namespace

Derivatives ConvOp::vjp(const Differentiated& node, std::span<const Tensor> cotangents) const {
  const Tensor &first = node.inputs[0], &second = node.inputs[1], &g = cotangents[0];
  std::vector<Tensor> all(2);
  if (first.size() == 0 || second.size() == 0 || g.size() == 0) return all;
  const Convolutions of{a};
  switch (a.kind) {
    case ConvKind::conv:
      if (node.wanted[0]) all[0] = of.x_of(g, second, first);
      if (node.wanted[1]) all[1] = of.w_of(first, g, second);
      break;
    case ConvKind::transpose:
      if (node.wanted[0]) all[0] = of.y_of(g, second, first);
      if (node.wanted[1]) all[1] = of.w_of(g, first, second);
      break;
    case ConvKind::filter_gradient:
      if (node.wanted[0]) all[0] = of.x_of(second, g, first);
      if (node.wanted[1]) all[1] = of.y_of(first, g, second);
      break;
  }
  return all;
}

Derivatives ConvOp::jvp(const Differentiated& node, std::span<const Tensor> t) const {
  Tensor sum;
  if (t[0].defined()) sum = apply(make_op<ConvOp>(a), {t[0], node.inputs[1]});
  if (t[1].defined()) sum = sum_of(sum, apply(make_op<ConvOp>(a), {node.inputs[0], t[1]}));
  return std::vector{sum};
}

// A batch of the operand that brings the batch is more of it. Otherwise entries are more channels: outputs of the
// operand that all entries share, or groups if they share none.
std::optional<Batched> ConvOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  const std::int64_t batch = batch_size(in, axes), groups = a.groups;
  const Tensor x = axes[0] < 0 ? in[0] : batch_first(in[0], axes[0], batch);
  const Tensor second = axes[1] < 0 ? in[1] : batch_first(in[1], axes[1], batch);
  const auto entry = [&](const Tensor& t, int axis) {
    TensorType type = t.type();
    if (axis >= 0) type.shape.erase(0);
    return type;
  };
  if (batch == 0) {
    TensorType type = infer(std::array{entry(x, axes[0]), entry(second, axes[1])})[0];
    type.shape.insert(0, 0);
    return batched(zeros_of(type));
  }
  ConvAttributes attributes = a;
  const auto made = [&](const Tensor& p, const Tensor& q) { return apply(make_op<ConvOp>(attributes), {p, q}); };
  const int x_channels = axes[0] < 0 ? 0 : channel_axis(x, a.channels_last);
  const bool both = axes[0] >= 0 && axes[1] >= 0;
  if (both) attributes.groups *= batch;
  if (a.kind == ConvKind::filter_gradient) {
    const int dy_channels = axes[1] < 0 ? 0 : channel_axis(second, a.channels_last);
    if (both) {
      return batched(
          entries_split(made(entries_joined(x, x_channels, 1), entries_joined(second, dy_channels, 1)), 0, 1, batch));
    }
    if (axes[0] >= 0) return batched(entries_split(made(entries_joined(x, x_channels, groups), second), 1, 1, batch));
    return batched(entries_split(made(x, entries_joined(second, dy_channels, groups)), 0, groups, batch));
  }
  if (axes[1] < 0) return batched(entries_unmerged(made(entries_merged(x, 0, batch), second), batch, x.shape()[1]));
  const int y_channels = channel_axis(second, a.channels_last);  // of one rank
  if (both) {
    return batched(
        entries_split(made(entries_joined(x, x_channels, 1), entries_joined(second, 0, 1)), y_channels, 1, batch));
  }
  const bool outputs_first = a.kind == ConvKind::conv;
  const Tensor w = outputs_first ? entries_joined(second, 0, groups) : entries_joined(second, 1, 1);
  return batched(entries_split(made(x, w), y_channels, groups, batch));
}

namespace {

constexpr std::string_view kConvType =
    "that of both operands if they have one float type, f32 for two float types, i32 for integers of 8 to 32 bits";
constexpr FunctionOperand kImage = {.name = "x", .shape = "[n, channels, spatial…]"},
                          kBias = {.name = "bias", .arity = Arity::optional, .shape = "[outputs]"};

constexpr Function kConv = {
    {.name = "conv",
     .operands = {kImage, {.name = "w", .shape = "[outputs, channels / groups, window…]"}, kBias},
     .results = {{"y", "[n, outputs, sizes…]", kConvType}},
     .formula = "y[n, o, i] = bias[o] + Σ_c Σ_k x[n, c, i · stride + k · dilation − padding] · w[o, c, k]",
     .summary = "the convolution over one to three spatial axes; x is zero outside of its edges"},
    [](const Tensor& x, const Tensor& w, const Tensor& bias, const ConvAttributes& a) {
      return convolution(a, x, w, bias);
    }};

struct TransposedConvAttributes {
  ConvAttributes conv = {.kind = ConvKind::transpose};
  void fields(AttributeVisitor& v) { conv.fields(v); }
};
constexpr Function kConvTranspose = {
    {.name = "conv_transpose",
     .operands = {kImage, {.name = "w", .shape = "[channels, outputs / groups, window…]"}, kBias},
     .results = {{"y", "[n, outputs, sizes…]", kConvType}},
     .formula = "y[n, o, j · stride + k · dilation − padding] = bias[o] + Σ_c Σ_k x[n, c, j] · w[c, o, k]",
     .summary = "the transposed convolution, the gradient of conv for its x"},
    [](const Tensor& x, const Tensor& w, const Tensor& bias, const TransposedConvAttributes& a) {
      return convolution(a.conv, x, w, bias);
    }};

}  // namespace

Tensor conv(const Operand& x, const Operand& w, const Operand& bias, const ConvOptions& o) {
  return kConv(x, w, bias, attributes_of(ConvKind::conv, o));
}

Tensor conv_transpose(const Operand& x, const Operand& w, const Operand& bias, const ConvTransposeOptions& o) {
  ConvAttributes a = attributes_of(ConvKind::transpose, o);
  a.output_padding = o.output_padding;
  a.output_sizes = o.output_sizes;
  return kConvTranspose(x, w, bias, {std::move(a)});
}

void add_conv_functions(FunctionRows& rows) { rows.add(kConv, kConvTranspose); }

Tensor conv_filter_gradient(const Operand& x, const Operand& dy, const Shape& window, const ConvOptions& o) {
  ConvAttributes a = attributes_of(ConvKind::filter_gradient, o);
  a.window = window;
  if (!x.defined() || !dy.defined()) throw InvalidArgument("conv_filter_gradient: an operand is an undefined Tensor");
  return apply(make_op<ConvOp>(std::move(a)), {x, dy});
}

void add_conv_ops(OpRows& rows) {
  for (const ConvKind kind : {ConvKind::conv, ConvKind::transpose, ConvKind::filter_gradient}) {
    const std::string shape =
        kind == ConvKind::filter_gradient ? "[outputs, channels / groups, window…]" : "[n, outputs, sizes…]";
    rows.push_back(op_row<ConvOp>(schema_of_kernel(name_of(kind), shape, std::string(kConvType)), {.kind = kind}));
  }
}

}  // namespace weft
