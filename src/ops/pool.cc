#include "ops/pool.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/error_context.h"
#include "core/format.h"
#include "graph/graph.h"
#include "kernels/common/spatial.h"
#include "ops/function_row.h"
#include "ops/images.h"
#include "ops/op_rows.h"
#include "ops/op_schemas.h"
#include "ops/rules.h"
#include "weft/creation.h"
#include "weft/error.h"
#include "weft/linalg.h"

namespace weft {
namespace {

constexpr std::string_view kNames[] = {"max_pool", "max_pool_with_indices", "average_pool",
                                       "lp_pool",  "max_pool_gradient",     "average_pool_gradient"};
constexpr std::string_view name_of(PoolFunction f) { return kNames[static_cast<int>(f)]; }

// The spatial axes of a tensor of that rank: the first, and how many.
int first_spatial(bool channels_last) { return channels_last ? 1 : 2; }
Dims spatial_sizes(const Shape& shape, bool channels_last) {
  Dims sizes;
  for (int d = 0; d < shape.rank() - 2; ++d) sizes.push_back(shape[first_spatial(channels_last) + d]);
  return sizes;
}
Axes spatial_axes(int rank, bool channels_last) {
  std::vector<int> axes;
  for (int d = 0; d < rank - 2; ++d) axes.push_back(first_spatial(channels_last) + d);
  return Axes(axes);
}

void check_rank(std::string_view op, std::string_view what, const Tensor& x) {
  if (!x.defined()) throw InvalidArgument("{}: {} is an undefined Tensor", op, what);
  if (x.rank() < 3 || x.rank() > 5) {
    throw ShapeError("{}: {} is {}, expected [batch, channels] and one to three spatial axes", op, what,
                     to_string(x.type()));
  }
}

Dims checked_sizes(std::string_view op, const Dims& sizes, int spatial) {
  if (sizes.rank() != spatial || std::ranges::any_of(sizes, [](std::int64_t n) { return n < 0; })) {
    throw ShapeError("{}: the sizes are {}, expected one of 0 or more for each of {} spatial axes", op,
                     to_string(sizes), spatial);
  }
  return sizes;
}

struct Geometry {
  kernels::PoolOptions options;
  Dims sizes;  // of the result
};

// Of windows over spatial axes of these sizes.
Geometry geometry(const PoolAttributes& o, const Dims& x) {
  const std::string_view op = name_of(o.function);
  if (o.adaptive) return {{.adaptive = true}, o.is_gradient() ? Dims() : checked_sizes(op, o.output_sizes, x.rank())};
  const int spatial = x.rank();
  const Dims ones = Dims::filled(spatial, 1), zeros = Dims::filled(spatial, 0);
  if (o.window.empty()) throw InvalidArgument("{}: the window has no sizes", op);
  Geometry g;
  g.options.window = kernels::numbers_of_axes(op, "window", o.window, ones, 1);
  g.options.strides = kernels::numbers_of_axes(op, "strides", o.strides, g.options.window, 1);
  g.options.dilations = kernels::numbers_of_axes(op, "dilations", o.dilations, ones, 1);
  g.options.before = kernels::numbers_of_axes(op, "padding", o.padding, zeros, 0);
  g.options.after = kernels::numbers_of_axes(op, "padding_after", o.padding_after, g.options.before, 0);
  if (o.divisor < 0) throw InvalidArgument("{}: the divisor is {}, expected 0 or more", op, o.divisor);
  g.options.count_padding = o.count_padding;
  g.options.divisor = o.divisor;
  if (!o.output_sizes.empty()) {
    g.sizes = checked_sizes(op, o.output_sizes, spatial);
    return g;
  }
  for (int d = 0; d < spatial; ++d) {
    const std::int64_t before = g.options.before[d], after = g.options.after[d], stride = g.options.strides[d];
    const WindowFit fit =
        kernels::fit_windows_along(op, d, x[d], g.options.window[d], stride, g.options.dilations[d], before, after);
    if (before >= fit.reach || after >= fit.reach) {
      throw InvalidArgument(
          "{}: padding of {} and {} around spatial axis {}, where a window reaches over {} elements "
          "and would lie in the padding alone",
          op, before, after, d, fit.reach);
    }
    const std::int64_t size = o.ceil_mode ? windows_rounded_up(fit, stride, x[d] + before) : fit.count;
    if (size == 0) {
      throw ShapeError(
          "{}: a window reaches over {} elements along spatial axis {}, of {} there are {} with the padding", op,
          fit.reach, d, to_string(x), fit.padded);
    }
    g.sizes.push_back(size);
  }
  return g;
}

// Checks that dy is like the result of pooling.
void check_gradient(std::string_view op, const TensorType& dy, const Dims& windows, const Dims& sizes,
                    bool channels_last) {
  if (spatial_sizes(dy.shape, channels_last) == windows) return;
  throw ShapeError("{}: dy is {}, expected spatial axes of {}, the windows over {}", op, to_string(dy),
                   to_string(windows), to_string(sizes));
}

PoolAttributes attributes_of(PoolFunction f, const PoolOptions& o) {
  return {.function = f,
          .window = o.window,
          .strides = o.strides,
          .dilations = o.dilations,
          .padding = o.padding,
          .padding_after = o.padding_after,
          .ceil_mode = o.ceil_mode,
          .output_sizes = o.output_sizes,
          .count_padding = o.count_padding,
          .divisor = o.divisor,
          .channels_last = o.channels_last};
}

Tensor pool(PoolAttributes attributes, const Tensor& x) {
  check_rank(name_of(attributes.function), "x", x);
  return apply(make_op<PoolOp>(std::move(attributes)), {x});
}

// The maxima of integers of 64 bits, which the kernel has not: along one spatial axis after the other, of all elements
// of each window, gathered.
Tensor wide_max_pool(const Operand& x, const PoolAttributes& o) try {
  const Geometry g = geometry(o, spatial_sizes(x.shape(), o.channels_last));
  const Number least =
      x.dtype() == DType::u64 ? Number(std::uint64_t{0}) : Number(std::numeric_limits<std::int64_t>::min());
  Tensor y = x;
  for (int d = 0; d < g.sizes.rank(); ++d) {
    const int axis = first_spatial(o.channels_last) + d;
    const std::int64_t window = g.options.window[d], stride = g.options.strides[d], dilation = g.options.dilations[d];
    const std::int64_t size = y.shape()[axis], count = g.sizes[d];
    // One element of padding on either side stands for all of it.
    Dims around = Dims::filled(y.rank(), 0);
    around[axis] = 1;
    y = pad(y, {around.begin(), around.end()}, {around.begin(), around.end()}, PadMode::constant, least);
    const Tensor begins = reshape(arange(0, count, 1, DType::i64) * stride, {count, 1}) - (g.options.before[d] - 1);
    const Tensor places = begins + reshape(arange(0, window, 1, DType::i64) * dilation, {1, window});
    y = reduce(ReduceKind::max, gather(y, clamp(places, 0, size + 1), axis), axis + 1);
  }
  return y;
} catch (const Error& e) {
  throw_in_function(e, "max_pool");
}

Tensor max_pool_of(PoolAttributes attributes, const Operand& x) {
  const std::string_view function = name_of(PoolFunction::max);
  check_rank(function, "x", x);
  const TypeSet narrow = op_schema(function).types_of(0);
  const TypeSet wide = attributes.adaptive ? TypeSet() : TypeSet{DType::i64, DType::u64};
  if (wide.contains(x.dtype())) return wide_max_pool(x, attributes);
  if (!narrow.contains(x.dtype())) {
    throw TypeError("{}: x is {}; expected {}", function, to_string(x.type()), to_string(narrow | wide));
  }
  return pool(std::move(attributes), x);
}

Tensor adaptive(std::string_view name, PoolFunction f, const Tensor& x, const Dims& sizes, bool channels_last) {
  check_rank(name, "x", x);
  checked_sizes(name, sizes, x.rank() - 2);
  if (x.size() == 0 && element_count(spatial_sizes(x.shape(), channels_last)) == 0 && element_count(sizes) > 0) {
    throw ShapeError("{}: x is {}, there is nothing to pool", name, to_string(x.type()));
  }
  return apply(make_op<PoolOp>(PoolAttributes{
                   .function = f, .adaptive = true, .output_sizes = sizes, .channels_last = channels_last}),
               {x});
}

// The gradient of a pool of an x with spatial axes of these sizes.
Tensor gradient(PoolAttributes attributes, const Tensor& dy, const Dims& sizes, const Tensor* indices = nullptr) {
  const std::string_view name = name_of(attributes.function);
  check_rank(name, "dy", dy);
  if (indices && !indices->defined()) throw InvalidArgument("{}: the indices are an undefined Tensor", name);
  attributes.sizes = checked_sizes(name, sizes, dy.rank() - 2);
  std::vector<Tensor> operands{dy};
  if (indices) operands.push_back(*indices);
  return apply(make_op<PoolOp>(std::move(attributes)), std::move(operands));
}

PooledMax both(const Tensor& values) { return {values, values.node()->value(1)}; }

Tensor global(std::string_view op, kernels::ReduceKind kind, const Tensor& x, bool channels_last) {
  check_rank(op, "x", x);
  return reduce(kind, x, spatial_axes(x.rank(), channels_last), true);
}

bool one_window(const Dims& sizes) {
  return std::ranges::all_of(sizes, [](std::int64_t n) { return n == 1; });
}

}  // namespace

std::string_view PoolOp::name() const { return name_of(a.function); }

void PoolAttributes::fields(AttributeVisitor& v) {
  v.brief("adaptive", adaptive, false, "windows follow from the sizes alone");
  if (!adaptive) {
    v("window", window, {}, "the sizes of windows");
    v.brief("strides", strides, {}, "elements of x from a window to the next; none: the window's sizes");
    v.brief("dilations", dilations, {}, "elements of x from an element of a window to the next; none: 1");
    v.brief("padding", padding, {}, "elements in front of x that take no part; none: 0");
    v.brief("padding_after", padding_after, {}, "the same behind x; none: as padding");
    v.brief("ceil_mode", ceil_mode, false, "also a last window that only begins in x or the padding in front of it");
  }
  if (is_average() && !adaptive) {
    v.brief("count_padding", count_padding, true, "the divisor counts the elements of the padding, too");
    v.brief("divisor", divisor, 0, "the divisor, instead of the number of elements; 0: that number");
  }
  if (function == PoolFunction::lp) v("p", p, 2, "the exponent of the norm");
  if (is_gradient()) v("sizes", sizes, "the sizes of the spatial axes of x");
  v.brief("output_sizes", output_sizes, {}, "how many windows there are, instead of what follows from the padding");
  v.brief("channels_last", channels_last, false, "the channels are the last axis of all tensors");
  v("type", type, {}, "the type of the result, instead of operand 0's");
}

std::vector<TensorType> PoolOp::infer(std::span<const TensorType> in) const {
  const TensorType& x = in[0];
  if (x.shape.rank() < 3 || x.shape.rank() > 5) {
    throw ShapeError("{}: {} is {}, expected [batch, channels] and one to three spatial axes", name(),
                     a.is_gradient() ? "dy" : "x", weft::to_string(x));
  }
  if (a.function == PoolFunction::lp && (!(a.p > 0) || !std::isfinite(a.p))) {
    throw InvalidArgument("lp_pool: p is {}, expected a positive number", a.p);
  }
  std::vector<const TensorType*> operands;
  for (const TensorType& t : in) operands.push_back(&t);
  const std::vector<DType> types = infer_dtypes(name(), operands, a.type);
  const Dims given = spatial_sizes(x.shape, a.channels_last);
  Dims made;
  if (a.is_gradient()) {
    made = checked_sizes(name(), a.sizes, given.rank());
    if (!a.adaptive) check_gradient(name(), x, geometry(a, made).sizes, made, a.channels_last);
  } else {
    made = geometry(a, given).sizes;
  }
  TensorType y{types[0], x.shape};
  for (int d = 0; d < made.rank(); ++d) y.shape[first_spatial(a.channels_last) + d] = made[d];
  if (a.function == PoolFunction::max_gradient && in[1].shape != x.shape) {
    throw ShapeError("{}: dy is {} and the indices are {}, expected one shape", name(), weft::to_string(x),
                     weft::to_string(in[1]));
  }
  if (a.function == PoolFunction::max_with_indices) return {y, {DType::i32, y.shape}};
  return {y};
}

double PoolOp::reads(const Shape& x, const Shape& y) const {
  double reads = 1;
  const Dims made = spatial_sizes(y, a.channels_last);
  for (int d = 0; d < made.rank(); ++d) {
    const auto from = static_cast<double>(x[first_spatial(a.channels_last) + d]), to = static_cast<double>(made[d]);
    if (from == 0 || to == 0) return 1;
    const double window =
        a.adaptive ? std::ceil(std::max(from, to) / std::min(from, to)) : static_cast<double>(a.window[d]);
    // Forward a window reads its elements; backward each of them reads the window.
    reads *= a.is_gradient() ? window : a.adaptive && from < to ? window : window * to / from;
  }
  return reads;
}

// What rounds to a narrower type has an epilogue of f32; a pool with two results has none. Where an element is the
// greatest must not depend on whether it was rounded.
FusionSpec PoolOp::fusion_spec(const gpu::Capabilities* device, std::span<const TensorType> in,
                               std::span<const TensorType> out) const {
  const TensorType& x = in[0];
  const bool rounds = is_floating(x.dtype) && x.dtype != DType::f64;
  const bool indexed = a.function == PoolFunction::max_with_indices;
  const bool narrow = is_floating(x.dtype) && bits(x.dtype) < 32;
  const int passes = static_cast<int>(std::clamp(std::ceil(reads(x.shape, out[0].shape) - 0.05), 1.0, 1e6));
  // On the CPU a prologue is evaluated for a row at a time, which short rows are not worth; nor, repeated, are rows of
  // channels (3x3 windows at a distance of 2 of 64 channels: 19 ms instead of 12 on two cores).
  constexpr std::int64_t kShortRow = 32;
  const bool rows = device || (x.shape[-1] >= kShortRow && (passes == 1 || !a.channels_last));
  return {.prologue = rows && !(indexed && narrow),
          .prologue_passes = passes,
          .epilogue_outputs = rounds && !indexed ? 1 : 0,
          .again = true};
}

OpPtr PoolOp::with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                         std::span<const DType> results) const {
  if (!is_floating(from[0].dtype) || from[0].dtype == DType::f64 || !is_floating(to[0].dtype)) return nullptr;
  PoolAttributes typed = a;
  typed.type = results[0] == to[0].dtype ? std::nullopt : std::optional(results[0]);
  return make_op<PoolOp>(std::move(typed));
}

void PoolOp::lower(const Launch& call) const {
  const Images images(call, a.channels_last);
  const View x = images.input(0), y = images.output(0);
  const kernels::Fusion fusion = images.fusion();
  const Dims over = a.is_gradient() ? a.sizes : spatial_sizes(call.inputs[0].shape(), a.channels_last);
  const kernels::PoolOptions options = geometry(a, over).options;
  switch (a.function) {
    case PoolFunction::max:
      return kernels::max_pool(call.stream, x, y, options, fusion);
    case PoolFunction::max_with_indices:
      return kernels::max_pool_with_indices(call.stream, x, y, images.output(1), options, fusion);
    case PoolFunction::average:
      return kernels::average_pool(call.stream, x, y, options, fusion);
    case PoolFunction::lp:
      return kernels::lp_pool(call.stream, x, y, a.p, options, fusion);
    case PoolFunction::max_gradient:
      return kernels::max_pool_gradient(call.stream, x, images.input(1), y, options, fusion);
    case PoolFunction::average_gradient:
      return kernels::average_pool_gradient(call.stream, x, y, options, fusion);
  }
}

std::optional<OwnWork> PoolOp::own_work(std::span<const View> in, std::span<const View> out) const {
  // As many steps as windows have elements, forward and backward.
  const auto from = static_cast<double>(in[0].count()), to = static_cast<double>(out[0].count());
  double steps = a.is_gradient() == a.adaptive ? to : from;
  const int spatial = in[0].rank() - 2;
  for (int d = 0; !a.adaptive && d < spatial; ++d) {
    steps *= static_cast<double>(a.window[d]);
  }
  const bool norm = a.function == PoolFunction::lp;
  return OwnWork{{norm ? 2.0 : 1.0, norm && a.p != 1 && a.p != 2 ? 1.5 : 0.0}, steps};
}

std::string PoolOp::label(std::span<const TensorType>) const {
  return a.adaptive ? "adaptive_" + std::string(name()) : std::string(name());
}

OpPtr PoolOp::with_more_results() const {
  if (a.function != PoolFunction::max) return nullptr;
  PoolAttributes indexed = a;
  indexed.function = PoolFunction::max_with_indices;
  return make_op<PoolOp>(std::move(indexed));
}

// ---- Derivatives: a maximum's cotangent goes to the element that the kernel with indices finds, which is PyTorch's:
// the first of equal ones, the last NaN.

namespace {

// The operation on a tensor for a result of this type.
PoolAttributes giving(PoolAttributes attributes, DType from, DType result) {
  attributes.type = from == result ? std::nullopt : std::optional(result);
  return attributes;
}

PoolOptions options_of(const PoolAttributes& a) {
  return {.window = a.window,
          .strides = a.strides,
          .dilations = a.dilations,
          .padding = a.padding,
          .padding_after = a.padding_after,
          .ceil_mode = a.ceil_mode,
          .output_sizes = a.output_sizes,
          .channels_last = a.channels_last};
}

// The spatial axes as one, which is axis first_spatial().
Tensor with_one_plane(const Tensor& x, bool channels_last) {
  const std::int64_t places = element_count(spatial_sizes(x.shape(), channels_last));
  return channels_last ? reshape(x, {x.shape()[0], places, x.shape()[-1]})
                       : reshape(x, {x.shape()[0], x.shape()[1], places});
}

// x's elements at positions in its planes; 0 at negative ones.
Tensor at_positions(const Tensor& x, const Tensor& indices, bool channels_last) {
  const Tensor flat = with_one_plane(indices, channels_last);
  const Tensor found =
      gather_elements(with_one_plane(x, channels_last), maximum(flat, 0), first_spatial(channels_last));
  return reshape(select(less(flat, 0), 0, found), indices.shape());
}

}  // namespace

Derivatives PoolOp::vjp(const Differentiated& node, std::span<const Tensor> cotangents) const {
  const Tensor &x = node.inputs[0], &g = cotangents[0];
  if (x.size() == 0 || g.size() == 0) return std::vector<Tensor>(node.inputs.size());
  PoolAttributes attributes = giving(a, g.dtype(), x.dtype());
  const Dims sizes = spatial_sizes(x.shape(), a.channels_last);
  const auto transposed = [&](PoolFunction function, std::vector<Tensor> operands) {
    attributes.function = function;
    attributes.sizes = sizes;
    if (a.adaptive) attributes.output_sizes = {};
    return std::vector{apply(make_op<PoolOp>(attributes), std::move(operands))};
  };
  switch (a.function) {
    case PoolFunction::max: {
      PoolAttributes indexed = giving(a, x.dtype(), x.dtype());
      indexed.function = PoolFunction::max_with_indices;
      return transposed(PoolFunction::max_gradient, {g, result(apply(make_op<PoolOp>(indexed), {x}), 1)});
    }
    case PoolFunction::max_with_indices:
      return transposed(PoolFunction::max_gradient, {g, node.outputs[1]});
    case PoolFunction::average:
      return transposed(PoolFunction::average_gradient, {g});
    case PoolFunction::lp:
      return std::vector{cast(lp_pool_gradient(g, x, node.outputs[0], a.p, options_of(a)), x.dtype())};
    case PoolFunction::max_gradient:
      return std::vector{cast(at_positions(g, node.inputs[1], a.channels_last), x.dtype()), Tensor()};
    case PoolFunction::average_gradient:
      attributes.function = PoolFunction::average;
      attributes.sizes = {};
      if (a.adaptive) attributes.output_sizes = sizes;
      return std::vector{apply(make_op<PoolOp>(attributes), {g})};
  }
  return std::nullopt;
}

Tensor max_pool(const Operand& x, const PoolOptions& o) { return max_pool_of(attributes_of(PoolFunction::max, o), x); }

PooledMax max_pool_with_indices(const Operand& x, const PoolOptions& o) {
  return both(pool(attributes_of(PoolFunction::max_with_indices, o), x));
}

Tensor average_pool(const Operand& x, const PoolOptions& o) { return pool(attributes_of(PoolFunction::average, o), x); }

Tensor lp_pool(const Operand& x, double p, const PoolOptions& o) {
  PoolAttributes attributes = attributes_of(PoolFunction::lp, o);
  attributes.p = p;
  return pool(std::move(attributes), x);
}

Tensor max_pool_gradient(const Operand& dy, const Operand& indices, const Dims& sizes, const PoolOptions& o) {
  return gradient(attributes_of(PoolFunction::max_gradient, o), dy, sizes, &indices);
}

Tensor average_pool_gradient(const Operand& dy, const Dims& sizes, const PoolOptions& o) {
  return gradient(attributes_of(PoolFunction::average_gradient, o), dy, sizes);
}

namespace {

// ---- Rows of functions that have no op of their name

constexpr std::string_view kWindows = "[n, c, windows…]", kPooled = "[n, c, sizes…]", kOnes = "[n, c, 1…]";
constexpr std::string_view kSame = "x's type";
constexpr FunctionOperand kImage = {.name = "x", .shape = "[n, c, spatial…]"};
constexpr FunctionOperand kPooledGradient = {.name = "dy", .shape = "the result's shape"};

// Of norms, whose divisor is no part of them.
struct NormPoolAttributes {
  PoolOptions options = {};
  void fields(AttributeVisitor& v) {
    v("window", options.window, "the sizes of windows");
    v("strides", options.strides, {}, "elements of x from a window to the next; none: the window's sizes");
    v("dilations", options.dilations, {}, "elements of x from an element of a window to the next; none: 1");
    v("padding", options.padding, {}, "elements in front of x that take no part; none: 0");
    v("padding_after", options.padding_after, {}, "the same behind x; none: as padding");
    v("ceil_mode", options.ceil_mode, false, "also a last window that only begins in x or the padding in front of it");
    v("output_sizes", options.output_sizes, {}, "how many windows there are, instead of what follows from the padding");
    v("channels_last", options.channels_last, false, "the channels are the last axis of all tensors");
  }
};
struct NormPoolGradientAttributes : NormPoolAttributes {
  double p = 2;
  void fields(AttributeVisitor& v) {
    v("p", p, 2, "the exponent of the norm");
    NormPoolAttributes::fields(v);
  }
};
struct SizesAttributes {
  Dims sizes = {};
  bool channels_last = false;
  void fields(AttributeVisitor& v) {
    v("sizes", sizes, "the sizes of the result's spatial axes");
    v("channels_last", channels_last, false, "the channels are the last axis of all tensors");
  }
};
struct ChannelsAttributes {
  bool channels_last = false;
  void fields(AttributeVisitor& v) {
    v("channels_last", channels_last, false, "the channels are the last axis of x and the result");
  }
};
struct GlobalNormAttributes {
  double p = 2;
  bool channels_last = false;
  void fields(AttributeVisitor& v) {
    v("p", p, 2, "the exponent of the norm");
    v("channels_last", channels_last, false, "the channels are the last axis of x and the result");
  }
};

void check_exponent(std::string_view function, double p) {
  if (!(p > 0) || !std::isfinite(p)) throw InvalidArgument("{}: p is {}, expected a positive number", function, p);
}

constexpr Function kL2Pool = {{.name = "l2_pool",
                               .operands = {kImage},
                               .results = {{"y", kWindows, kSame}},
                               .formula = "y = (Σ over each window of x²)^(1/2)",
                               .summary = "the Euclidean norm of each window, as lp_pool"},
                              [](const Tensor& x, const NormPoolAttributes& a) { return lp_pool(x, 2, a.options); }};

// One window over all is a reduction.
Tensor adaptive_or_global(std::string_view name, PoolFunction function, ReduceKind kind, const Tensor& x,
                          const SizesAttributes& a) {
  check_rank(name, "x", x);
  if (one_window(checked_sizes(name, a.sizes, x.rank() - 2)) && x.size() > 0) {
    return global(name, kind, x, a.channels_last);
  }
  return adaptive(name, function, x, a.sizes, a.channels_last);
}
constexpr Function kAdaptiveAveragePool = {{.name = "adaptive_average_pool",
                                            .operands = {kImage},
                                            .results = {{"y", kPooled, kSame}},
                                            .formula = "y = the mean of each window",
                                            .summary = "the mean of each of as many windows as are asked for"},
                                           [](const Tensor& x, const SizesAttributes& a) {
                                             return adaptive_or_global("adaptive_average_pool", PoolFunction::average,
                                                                       ReduceKind::mean, x, a);
                                           }};
constexpr Function kAdaptiveMaxPool = {{.name = "adaptive_max_pool",
                                        .operands = {kImage},
                                        .results = {{"y", kPooled, kSame}},
                                        .formula = "y = the greatest of each window",
                                        .summary = "the greatest element of each of as many windows as are asked for"},
                                       [](const Tensor& x, const SizesAttributes& a) {
                                         return adaptive_or_global("adaptive_max_pool", PoolFunction::max,
                                                                   ReduceKind::max, x, a);
                                       }};
constexpr Function kAdaptiveMaxPoolWithIndices = {
    {.name = "adaptive_max_pool_with_indices",
     .operands = {kImage},
     .results = {{"values", kPooled, kSame}, {"indices", kPooled, "i32"}},
     .formula = "values = the greatest of each window, at indices of the spatial axes",
     .summary = "the greatest element of each of as many windows as are asked for, and its position"},
    [](const Tensor& x, const SizesAttributes& a) {
      return both(
          adaptive("adaptive_max_pool_with_indices", PoolFunction::max_with_indices, x, a.sizes, a.channels_last));
    }};

constexpr Function kGlobalAveragePool = {{.name = "global_average_pool",
                                          .operands = {kImage},
                                          .results = {{"y", kOnes, kSame}},
                                          .formula = "y = the mean over the spatial axes",
                                          .summary = "a reduction over the spatial axes"},
                                         [](const Tensor& x, const ChannelsAttributes& a) {
                                           return global("global_average_pool", ReduceKind::mean, x, a.channels_last);
                                         }};
constexpr Function kGlobalMaxPool = {{.name = "global_max_pool",
                                      .operands = {kImage},
                                      .results = {{"y", kOnes, kSame}},
                                      .formula = "y = the greatest over the spatial axes",
                                      .summary = "a reduction over the spatial axes"},
                                     [](const Tensor& x, const ChannelsAttributes& a) {
                                       return global("global_max_pool", ReduceKind::max, x, a.channels_last);
                                     }};
constexpr Function kGlobalLpPool = {{.name = "global_lp_pool",
                                     .operands = {kImage},
                                     .results = {{"y", kOnes, kSame}},
                                     .formula = "y = (Σ over the spatial axes of |x|^p)^(1/p)",
                                     .summary = "a reduction over the spatial axes"},
                                    [](const Tensor& x, const GlobalNormAttributes& a) {
                                      constexpr std::string_view kName = "global_lp_pool";
                                      check_exponent(kName, a.p);
                                      if (a.p == 1) return global(kName, ReduceKind::l1, x, a.channels_last);
                                      if (a.p == 2) return global(kName, ReduceKind::l2, x, a.channels_last);
                                      check_rank(kName, "x", x);
                                      if (!is_floating(x.dtype()))
                                        throw TypeError("{}: x is {}; expected floats", kName, to_string(x.type()));
                                      return vector_norm(x, a.p, spatial_axes(x.rank(), a.channels_last), true);
                                    }};

constexpr Function kLpPoolGradient = {
    {.name = "lp_pool_gradient",
     .operands = {kPooledGradient, kImage, {.name = "y", .shape = "dy's shape"}},
     .results = {{"dx", "x's shape", kSame}},
     .formula = "dx = sign(x) · |x|^(p - 1) · Σ over the windows of x of dy · y^(1 - p)",
     .summary = "the gradient of lp_pool for x, dy being the gradient of y"},
    [](const Tensor& dy, const Tensor& x, const Tensor& y, const NormPoolGradientAttributes& a) {
      constexpr std::string_view kName = "lp_pool_gradient";
      const double p = a.p;
      check_rank(kName, "dy", dy);
      check_rank(kName, "x", x);
      if (y.shape() != dy.shape()) {
        throw ShapeError("{}: y is {}, expected the shape of dy {}", kName, to_string(y.type()), to_string(dy.type()));
      }
      check_exponent(kName, p);
      if (x.rank() != dy.rank()) {
        throw ShapeError("{}: x is {} and dy is {}, expected one rank", kName, to_string(x.type()),
                         to_string(dy.type()));
      }
      // dy · y^(1 − p), summed over the windows of each element, times sign(x) · |x|^(p − 1); no narrower than f32. Of
      // windows of zeros it is 0, and so are its own derivatives.
      const DType wide = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
      const auto as_wide = [wide](const Tensor& v) { return v.dtype() == wide ? v : cast(v, wide); };
      const Tensor zero = equal(y, 0), norm = select(zero, 1, as_wide(y));
      const Tensor scaled = p == 1 ? as_wide(dy) : p == 2 ? as_wide(dy) / norm : as_wide(dy) * pow(norm, 1 - p);
      PoolOptions sums = a.options;
      sums.divisor = 1;
      const Tensor sum =
          average_pool_gradient(select(zero, 0, scaled), spatial_sizes(x.shape(), sums.channels_last), sums);
      const Tensor own = as_wide(x);
      const Tensor dx = sum * (p == 1 ? sign(own) : p == 2 ? own : sign(own) * pow(abs(own), p - 1));
      return x.dtype() == wide ? dx : cast(dx, x.dtype());
    }};
constexpr Function kAdaptiveAveragePoolGradient = {
    {.name = "adaptive_average_pool_gradient",
     .operands = {kPooledGradient},
     .results = {{"dx", kPooled, "dy's type"}},
     .formula = "dx[n, c, j] = Σ over the windows i that contain j of dy[n, c, i] / divisor(i)",
     .summary = "the gradient of adaptive_average_pool for x"},
    [](const Tensor& dy, const SizesAttributes& a) {
      return gradient({.function = PoolFunction::average_gradient, .adaptive = true, .channels_last = a.channels_last},
                      dy, a.sizes);
    }};
constexpr Function kAdaptiveMaxPoolGradient = {
    {.name = "adaptive_max_pool_gradient",
     .operands = {kPooledGradient, {.name = "indices", .shape = "dy's shape"}},
     .results = {{"dx", kPooled, "dy's type"}},
     .formula = "dx[n, c, j] = Σ dy[n, c, i] over the windows i whose index is j",
     .summary = "the gradient of adaptive_max_pool_with_indices for x"},
    [](const Tensor& dy, const Tensor& indices, const SizesAttributes& a) {
      return gradient({.function = PoolFunction::max_gradient, .adaptive = true, .channels_last = a.channels_last}, dy,
                      a.sizes, &indices);
    }};

constexpr Function kMaxUnpool = {
    {.name = "max_unpool",
     .operands = {{.name = "x", .shape = "[n, c, windows…]"}, {.name = "indices", .shape = "x's shape"}},
     .results = {{"y", kPooled, kSame}},
     .formula = "y[n, c, indices[n, c, i]] = x[n, c, i], else 0",
     .summary = "elements put back where max_pool_with_indices found them"},
    [](const Tensor& x, const Tensor& indices, const SizesAttributes& a) {
      constexpr std::string_view kName = "max_unpool";
      check_rank(kName, "x", x);
      checked_sizes(kName, a.sizes, x.rank() - 2);
      if (indices.shape() != x.shape()) {
        throw ShapeError("{}: the indices are {}, expected the shape of x {}", kName, to_string(indices.type()),
                         to_string(x.type()));
      }
      const bool last = a.channels_last;
      Shape result = x.shape();
      for (int d = 0; d < a.sizes.rank(); ++d) result[first_spatial(last) + d] = a.sizes[d];
      const Tensor empty = with_one_plane(broadcast_to(Graph::scalar(0, x.dtype()), result), last);
      return reshape(scatter_elements(ScatterKind::assign, empty, with_one_plane(indices, last),
                                      with_one_plane(x, last), first_spatial(last)),
                     result);
    }};

}  // namespace

Tensor l2_pool(const Operand& x, const PoolOptions& o) { return kL2Pool(x, {o}); }

Tensor adaptive_average_pool(const Operand& x, const Dims& sizes, bool channels_last) {
  return kAdaptiveAveragePool(x, {sizes, channels_last});
}

Tensor adaptive_max_pool(const Operand& x, const Dims& sizes, bool channels_last) {
  return kAdaptiveMaxPool(x, {sizes, channels_last});
}

PooledMax adaptive_max_pool_with_indices(const Operand& x, const Dims& sizes, bool channels_last) {
  return kAdaptiveMaxPoolWithIndices(x, {sizes, channels_last});
}

Tensor global_average_pool(const Operand& x, bool channels_last) { return kGlobalAveragePool(x, {channels_last}); }

Tensor global_max_pool(const Operand& x, bool channels_last) { return kGlobalMaxPool(x, {channels_last}); }

Tensor global_lp_pool(const Operand& x, double p, bool channels_last) { return kGlobalLpPool(x, {p, channels_last}); }

Tensor lp_pool_gradient(const Operand& dy, const Operand& x, const Operand& y, double p, const PoolOptions& o) {
  return kLpPoolGradient(dy, x, y, {{o}, p});
}

Tensor adaptive_average_pool_gradient(const Operand& dy, const Dims& sizes, bool channels_last) {
  return kAdaptiveAveragePoolGradient(dy, {sizes, channels_last});
}

Tensor adaptive_max_pool_gradient(const Operand& dy, const Operand& indices, const Dims& sizes, bool channels_last) {
  return kAdaptiveMaxPoolGradient(dy, indices, {sizes, channels_last});
}

Tensor max_unpool(const Operand& x, const Operand& indices, const Dims& sizes, bool channels_last) {
  return kMaxUnpool(x, indices, {sizes, channels_last});
}

void add_pool_functions(FunctionRows& rows) {
  rows.add(kL2Pool, kAdaptiveAveragePool, kAdaptiveMaxPool, kAdaptiveMaxPoolWithIndices, kGlobalAveragePool,
           kGlobalMaxPool, kGlobalLpPool);
  rows.add(kLpPoolGradient, kAdaptiveAveragePoolGradient, kAdaptiveMaxPoolGradient, kMaxUnpool);
}

void add_pool_ops(OpRows& rows) {
  for (int i = 0; i <= static_cast<int>(PoolFunction::average_gradient); ++i) {
    const PoolAttributes usual{.function = static_cast<PoolFunction>(i)};
    OpRow row = op_row<PoolOp>(
        schema_of_kernel(name_of(usual.function), "[n, c, sizes…]", usual.is_gradient() ? "dy's type" : "x's type"),
        usual);
    if (row.schema.outputs.size() > 1) row.schema.outputs[1].type = "i32";  // positions in a plane
    if (usual.function == PoolFunction::max) {
      row.call = [](std::span<const Tensor> operands, const AttributeMap& given) -> std::vector<Tensor> {
        return {max_pool_of(from_map("max_pool", given, PoolAttributes()), operands[0])};
      };
    }
    rows.push_back(std::move(row));
  }
}

}  // namespace weft
