#include "graph/ops/pool.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/error_context.h"
#include "core/format.h"
#include "graph/graph.h"
#include "graph/op_schemas.h"
#include "graph/ops/elementwise.h"
#include "kernels/common/element_work.h"
#include "kernels/common/moved_axis.h"
#include "kernels/common/spatial.h"
#include "weft/creation.h"
#include "weft/error.h"

namespace weft {
namespace {

constexpr std::string_view kNames[] = {"max_pool", "max_pool_with_indices", "average_pool",
                                       "lp_pool",  "max_pool_gradient",     "average_pool_gradient"};
constexpr std::string_view name_of(PoolFunction f) { return kNames[static_cast<int>(f)]; }

// [n, spatial…, c] as [n, c, spatial…].
Layout channels_second(const Layout& layout) { return kernels::moved_axis(layout, layout.rank() - 1, 1); }

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

void check_rank(std::string_view op, std::string_view what, const Operand& x) {
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
Geometry geometry(std::string_view op, const Dims& x, const PoolOptions& o) {
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
    const std::int64_t reach = (g.options.window[d] - 1) * g.options.dilations[d] + 1;
    const std::int64_t before = g.options.before[d], after = g.options.after[d], stride = g.options.strides[d];
    if (before >= reach || after >= reach) {
      throw InvalidArgument(
          "{}: padding of {} and {} around spatial axis {}, where a window reaches over {} elements "
          "and would lie in the padding alone",
          op, before, after, d, reach);
    }
    const std::int64_t more = x[d] + before + after - reach;
    std::int64_t size = more < 0 ? 0 : more / stride + 1;
    if (o.ceil_mode) {
      const bool also = more < 0 ? more > -stride : more % stride != 0;
      if (also && size * stride < x[d] + before) ++size;
    }
    if (size == 0) {
      throw ShapeError(
          "{}: a window reaches over {} elements along spatial axis {}, of {} there are {} with the padding", op, reach,
          d, to_string(x), more + reach);
    }
    g.sizes.push_back(size);
  }
  return g;
}

Tensor pool(PoolFunction f, const Operand& x, double norm, const PoolOptions& o) {
  check_rank(name_of(f), "x", x);
  if (f == PoolFunction::lp && (!(norm > 0) || !std::isfinite(norm))) {
    throw InvalidArgument("lp_pool: p is {}, expected a positive number", norm);
  }
  const Geometry g = geometry(name_of(f), spatial_sizes(x.shape(), o.channels_last), o);
  return apply(make_op<PoolOp>(f, g.options, norm, g.sizes, o.channels_last), {x});
}

// The maxima of integers of 64 bits, which the kernel has not: along one spatial axis after the other, of all elements
// of each window, gathered.
Tensor wide_max_pool(const Operand& x, const PoolOptions& o) try {
  constexpr std::string_view kName = "max_pool";
  const Geometry g = geometry(kName, spatial_sizes(x.shape(), o.channels_last), o);
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

Tensor adaptive(std::string_view name, PoolFunction f, const Operand& x, const Dims& sizes, bool channels_last) try {
  check_rank(name, "x", x);
  checked_sizes(name, sizes, x.rank() - 2);
  if (x.size() == 0 && element_count(spatial_sizes(x.shape(), channels_last)) == 0 && element_count(sizes) > 0) {
    throw ShapeError("{}: x is {}, there is nothing to pool", name, to_string(x.type()));
  }
  return apply(make_op<PoolOp>(f, kernels::PoolOptions{.adaptive = true}, 1, sizes, channels_last), {x});
} catch (const Error& e) {
  throw_in_function(e, name);
}

// Checks that dy is like the result of pooling.
void check_gradient(std::string_view op, const Operand& dy, const Dims& windows, const Dims& sizes,
                    bool channels_last) {
  if (spatial_sizes(dy.shape(), channels_last) == windows) return;
  throw ShapeError("{}: dy is {}, expected spatial axes of {}, the windows over {}", op, to_string(dy.type()),
                   to_string(windows), to_string(sizes));
}

PooledMax both(const Tensor& values) { return {values, values.node()->value(1)}; }

Tensor global(std::string_view op, kernels::ReduceKind kind, const Operand& x, bool channels_last) try {
  check_rank(op, "x", x);
  return reduce(kind, x, spatial_axes(x.rank(), channels_last), true);
} catch (const Error& e) {
  throw_in_function(e, op);
}

bool one_window(const Dims& sizes) {
  return std::ranges::all_of(sizes, [](std::int64_t n) { return n == 1; });
}

}  // namespace

std::string_view PoolOp::name() const { return name_of(function_); }

void PoolOp::attributes(Attributes& f) const {
  if (options_.adaptive) {
    f.add("adaptive", true);
  } else {
    f.add("window", options_.window).add("strides", options_.strides).add("dilations", options_.dilations);
    f.add("before", options_.before);
  }
  if (is_average() && !options_.adaptive) {
    f.add("after", options_.after).add("count_padding", options_.count_padding).add("divisor", options_.divisor);
  }
  if (function_ == PoolFunction::lp) f.add("p", norm_);
  f.add("sizes", sizes_);
  if (channels_last_) f.add("channels_last", true);
  if (result_) f.add("type", weft::name(*result_));
  if (prologue_) f.add("prologue", prologue_->to_string());
  if (epilogue_) f.add("epilogue", epilogue_->to_string());
}

TensorType PoolOp::pooled(std::span<const TensorType> in) const {
  if (!prologue_) return in[0];
  TensorType x{prologue_->output_type(0), {}};
  for (const TensorType& t : in.first(input_count())) x.shape = broadcast(x.shape, t.shape);
  return x;
}

std::vector<TensorType> PoolOp::infer(std::span<const TensorType> in) const {
  const std::size_t own = own_operands();
  const std::size_t more = epilogue_ ? static_cast<std::size_t>(epilogue_->input_count()) - 1 : 0;
  if (in.size() != own + more) {
    throw InvalidArgument("{}: {} operands, expected {}", name(), in.size(), own + more);
  }
  const TensorType x = pooled(in);
  std::vector<const TensorType*> operands{&x};
  for (std::size_t k = input_count(); k < own; ++k) operands.push_back(&in[k]);
  const std::vector<DType> types = infer_dtypes(name(), operands, result_);
  TensorType y{types[0], x.shape};
  if (sizes_.rank() != y.shape.rank() - 2) {
    throw ShapeError("{}: operand {} has another number of spatial axes than the sizes {}", name(), weft::to_string(x),
                     weft::to_string(sizes_));
  }
  for (int d = 0; d < sizes_.rank(); ++d) y.shape[first_spatial(channels_last_) + d] = sizes_[d];
  if (function_ == PoolFunction::max_gradient && in[own - 1].shape != x.shape) {
    throw ShapeError("{}: dy is {} and the indices are {}, expected one shape", name(), weft::to_string(x),
                     weft::to_string(in[own - 1]));
  }
  for (const TensorType& t : in.subspan(own)) {
    if (!broadcasts_to(t.shape, y.shape)) {
      throw ShapeError("{}: the epilogue's operand {} does not broadcast to the result {}", name(), weft::to_string(t),
                       weft::to_string(y.shape));
    }
  }
  if (epilogue_) y.dtype = epilogue_->output_type(0);
  if (function_ == PoolFunction::max_with_indices) return {y, {DType::i32, y.shape}};
  return {y};
}

double PoolOp::reads(const Shape& x) const {
  double reads = 1;
  for (int d = 0; d < sizes_.rank(); ++d) {
    const auto from = static_cast<double>(x[first_spatial(channels_last_) + d]), to = static_cast<double>(sizes_[d]);
    if (from == 0 || to == 0) return 1;
    const double window = options_.adaptive ? std::ceil(std::max(from, to) / std::min(from, to))
                                            : static_cast<double>(options_.window[d]);
    // Forward a window reads its elements; backward each of them reads the window.
    reads *= is_gradient() ? window : options_.adaptive && from < to ? window : window * to / from;
  }
  return reads;
}

// What rounds to a narrower type has an epilogue of f32; a pool with two results has none. Where an element is the
// greatest must not depend on whether it was rounded.
FusionSpec PoolOp::fusion_spec(const gpu::Capabilities* device, std::span<const TensorType> in,
                               std::span<const TensorType>) const {
  const TensorType x = pooled(in);
  const bool rounds = is_floating(x.dtype) && x.dtype != DType::f64, plain = !prologue_ && !epilogue_;
  const bool indexed = function_ == PoolFunction::max_with_indices;
  const bool narrow = is_floating(x.dtype) && bits(x.dtype) < 32;
  const int passes = static_cast<int>(std::clamp(std::ceil(reads(x.shape) - 0.05), 1.0, 1e6));
  // On the CPU a prologue is evaluated for a row at a time, which short rows are not worth; nor, repeated, are rows of
  // channels (3x3 windows at a distance of 2 of 64 channels: 19 ms instead of 12 on two cores).
  constexpr std::int64_t kShortRow = 32;
  const bool rows = device || (x.shape[-1] >= kShortRow && (passes == 1 || !channels_last_));
  return {.prologue = plain && rows && !(indexed && narrow),
          .prologue_passes = passes,
          .epilogue_outputs = rounds && !epilogue_ && !indexed ? 1 : 0};
}

OpPtr PoolOp::with_fusion(std::optional<Expression> prologue, std::optional<Expression> epilogue) const {
  return make_op<PoolOp>(function_, options_, norm_, sizes_, channels_last_, std::nullopt, std::move(prologue),
                         std::move(epilogue));
}

OpPtr PoolOp::with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                         std::span<const DType> results) const {
  const std::size_t first = input_count(), own = own_operands();
  const DType pooled = prologue_ ? prologue_->output_type(0) : from[0].dtype;
  if (!is_floating(pooled) || pooled == DType::f64 || (!prologue_ && !is_floating(to[0].dtype))) return nullptr;
  std::optional<Expression> prologue, epilogue;
  if (prologue_) {
    prologue.emplace();
    const std::vector<int> args = converted_inputs(*prologue, to.first(first), from.first(first));
    prologue->output(splice(*prologue, *prologue_, args)[0]);
  }
  std::optional<DType> result;
  if (epilogue_) {
    epilogue.emplace();
    std::vector<int> args{epilogue->input(DType::f32)};
    for (const int node : converted_inputs(*epilogue, to.subspan(own), from.subspan(own))) args.push_back(node);
    epilogue->output(epilogue->cast(splice(*epilogue, *epilogue_, args)[0], results[0]));
  } else if (results[0] != (prologue_ ? pooled : to[0].dtype)) {
    result = results[0];
  }
  return make_op<PoolOp>(function_, options_, norm_, sizes_, channels_last_, result, std::move(prologue),
                         std::move(epilogue));
}

void PoolOp::lower(const Launch& call) const {
  const auto image = [&](const View& v) { return channels_last_ ? v.with_layout(channels_second(v.layout)) : v; };
  Shape shape = call.inputs[0].shape();
  for (const View& v : call.inputs.first(input_count())) shape = broadcast(shape, v.shape());
  const auto read = [&](std::size_t k) { return image(call.inputs[k].broadcast_to(shape)); };
  const View x = read(0), y = image(call.outputs[0]);
  std::vector<View> beside;
  for (std::size_t k = 1; k < input_count(); ++k) beside.push_back(read(k));
  const kernels::Prologue prologue{prologue_ ? &*prologue_ : nullptr, beside};
  std::vector<View> operands;
  for (const View& v : call.inputs.subspan(own_operands())) {
    operands.push_back(image(v.broadcast_to(call.outputs[0].shape())));
  }
  const kernels::Epilogue epilogue{epilogue_ ? &*epilogue_ : nullptr, operands};
  switch (function_) {
    case PoolFunction::max:
      return kernels::max_pool(call.stream, x, y, options_, epilogue, prologue);
    case PoolFunction::max_with_indices:
      return kernels::max_pool_with_indices(call.stream, x, y, image(call.outputs[1]), options_, prologue);
    case PoolFunction::average:
      return kernels::average_pool(call.stream, x, y, options_, epilogue, prologue);
    case PoolFunction::lp:
      return kernels::lp_pool(call.stream, x, y, norm_, options_, epilogue, prologue);
    case PoolFunction::max_gradient:
      return kernels::max_pool_gradient(call.stream, x, image(call.inputs[own_operands() - 1]), y, options_, epilogue,
                                        prologue);
    case PoolFunction::average_gradient:
      return kernels::average_pool_gradient(call.stream, x, y, options_, epilogue, prologue);
  }
}

Work PoolOp::work(const Launch& call) const {
  // As many steps as windows have elements, forward and backward.
  Shape pooled;
  for (const View& v : call.inputs.first(input_count())) pooled = broadcast(pooled, v.shape());
  const auto from = static_cast<double>(element_count(pooled)), to = static_cast<double>(call.outputs[0].count());
  double steps = is_gradient() == options_.adaptive ? to : from;
  for (const std::int64_t n : options_.window) steps *= static_cast<double>(n);
  const kernels::ElementWork own{function_ == PoolFunction::lp ? 2.0 : 1.0,
                                 function_ == PoolFunction::lp && norm_ != 1 && norm_ != 2 ? 1.5 : 0.0};
  return with_bytes(
      call, kernels::work_of(own, steps, prologue_ ? &*prologue_ : nullptr, to, epilogue_ ? &*epilogue_ : nullptr));
}

std::string PoolOp::label(std::span<const TensorType>) const {
  return operations_around(options_.adaptive ? "adaptive_" + std::string(name()) : std::string(name()), prologue_,
                           epilogue_);
}

Tensor max_pool(const Operand& x, const PoolOptions& o) {
  const std::string_view function = name_of(PoolFunction::max);
  check_rank(function, "x", x);
  const TypeSet wide{DType::i64, DType::u64}, narrow = op_schema(function).types_of(0);
  if (wide.contains(x.dtype())) return wide_max_pool(x, o);
  if (!narrow.contains(x.dtype())) {
    throw TypeError("{}: x is {}; expected {}", function, to_string(x.type()), to_string(narrow | wide));
  }
  return pool(PoolFunction::max, x, 1, o);
}

PooledMax max_pool_with_indices(const Operand& x, const PoolOptions& o) {
  return both(pool(PoolFunction::max_with_indices, x, 1, o));
}

Tensor average_pool(const Operand& x, const PoolOptions& o) { return pool(PoolFunction::average, x, 1, o); }

Tensor lp_pool(const Operand& x, double p, const PoolOptions& o) { return pool(PoolFunction::lp, x, p, o); }

Tensor l2_pool(const Operand& x, const PoolOptions& o) {
  return in_function("l2_pool", [&] { return lp_pool(x, 2, o); });
}

Tensor adaptive_average_pool(const Operand& x, const Dims& sizes, bool channels_last) {
  constexpr std::string_view kName = "adaptive_average_pool";
  check_rank(kName, "x", x);
  if (one_window(checked_sizes(kName, sizes, x.rank() - 2)) && x.size() > 0) {
    return global(kName, ReduceKind::mean, x, channels_last);
  }
  return adaptive(kName, PoolFunction::average, x, sizes, channels_last);
}

Tensor adaptive_max_pool(const Operand& x, const Dims& sizes, bool channels_last) {
  constexpr std::string_view kName = "adaptive_max_pool";
  check_rank(kName, "x", x);
  if (one_window(checked_sizes(kName, sizes, x.rank() - 2)) && x.size() > 0) {
    return global(kName, ReduceKind::max, x, channels_last);
  }
  return adaptive(kName, PoolFunction::max, x, sizes, channels_last);
}

PooledMax adaptive_max_pool_with_indices(const Operand& x, const Dims& sizes, bool channels_last) {
  return both(adaptive("adaptive_max_pool_with_indices", PoolFunction::max_with_indices, x, sizes, channels_last));
}

Tensor global_average_pool(const Operand& x, bool channels_last) {
  return global("global_average_pool", ReduceKind::mean, x, channels_last);
}

Tensor global_max_pool(const Operand& x, bool channels_last) {
  return global("global_max_pool", ReduceKind::max, x, channels_last);
}

Tensor global_lp_pool(const Operand& x, double p, bool channels_last) {
  constexpr std::string_view kName = "global_lp_pool";
  if (!(p > 0) || !std::isfinite(p)) throw InvalidArgument("{}: p is {}, expected a positive number", kName, p);
  if (p == 1) return global(kName, ReduceKind::l1, x, channels_last);
  if (p == 2) return global(kName, ReduceKind::l2, x, channels_last);
  check_rank(kName, "x", x);
  // Powers and their sums are no narrower than f32.
  const Tensor wide = x.dtype() == DType::f64 ? Tensor(x) : cast(x, DType::f32);
  return cast(pow(global(kName, ReduceKind::sum, pow(abs(wide), p), channels_last), 1 / p), x.dtype());
}

Tensor max_pool_gradient(const Operand& dy, const Operand& indices, const Dims& sizes, const PoolOptions& o) try {
  constexpr std::string_view kName = "max_pool_gradient";
  check_rank(kName, "dy", dy);
  if (!indices.defined()) throw InvalidArgument("{}: the indices are an undefined Tensor", kName);
  const Geometry g = geometry(kName, checked_sizes(kName, sizes, dy.rank() - 2), o);
  check_gradient(kName, dy, g.sizes, sizes, o.channels_last);
  return apply(make_op<PoolOp>(PoolFunction::max_gradient, g.options, 1, sizes, o.channels_last), {dy, indices});
} catch (const Error& e) {
  throw_in_function(e, "max_pool_gradient");
}

Tensor average_pool_gradient(const Operand& dy, const Dims& sizes, const PoolOptions& o) try {
  constexpr std::string_view kName = "average_pool_gradient";
  check_rank(kName, "dy", dy);
  const Geometry g = geometry(kName, checked_sizes(kName, sizes, dy.rank() - 2), o);
  check_gradient(kName, dy, g.sizes, sizes, o.channels_last);
  return apply(make_op<PoolOp>(PoolFunction::average_gradient, g.options, 1, sizes, o.channels_last), {dy});
} catch (const Error& e) {
  throw_in_function(e, "average_pool_gradient");
}

Tensor lp_pool_gradient(const Operand& dy, const Operand& x, const Operand& y, double p, const PoolOptions& o) try {
  constexpr std::string_view kName = "lp_pool_gradient";
  check_rank(kName, "dy", dy);
  check_rank(kName, "x", x);
  if (!y.defined() || y.shape() != dy.shape()) {
    throw ShapeError("{}: y is {}, expected the shape of dy {}", kName,
                     y.defined() ? to_string(y.type()) : "an undefined Tensor", to_string(dy.type()));
  }
  if (!(p > 0) || !std::isfinite(p)) throw InvalidArgument("{}: p is {}, expected a positive number", kName, p);
  if (x.rank() != dy.rank()) {
    throw ShapeError("{}: x is {} and dy is {}, expected one rank", kName, to_string(x.type()), to_string(dy.type()));
  }
  // dy · y^(1 − p), summed over the windows of each element, times sign(x) · |x|^(p − 1); no narrower than f32.
  const DType wide = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
  const auto as_wide = [wide](const Tensor& v) { return v.dtype() == wide ? v : cast(v, wide); };
  const Tensor norm = as_wide(y), scaled = p == 1   ? as_wide(dy)
                                           : p == 2 ? as_wide(dy) / norm
                                                    : as_wide(dy) * pow(norm, 1 - p);
  PoolOptions sums = o;
  sums.divisor = 1;
  const Tensor sum =
      average_pool_gradient(select(equal(norm, 0), 0, scaled), spatial_sizes(x.shape(), o.channels_last), sums);
  const Tensor own = as_wide(x);
  const Tensor dx = sum * (p == 1 ? sign(own) : p == 2 ? own : sign(own) * pow(abs(own), p - 1));
  return x.dtype() == wide ? dx : cast(dx, x.dtype());
} catch (const Error& e) {
  throw_in_function(e, "lp_pool_gradient");
}

Tensor adaptive_average_pool_gradient(const Operand& dy, const Dims& sizes, bool channels_last) try {
  constexpr std::string_view kName = "adaptive_average_pool_gradient";
  check_rank(kName, "dy", dy);
  checked_sizes(kName, sizes, dy.rank() - 2);
  return apply(
      make_op<PoolOp>(PoolFunction::average_gradient, kernels::PoolOptions{.adaptive = true}, 1, sizes, channels_last),
      {dy});
} catch (const Error& e) {
  throw_in_function(e, "adaptive_average_pool_gradient");
}

Tensor adaptive_max_pool_gradient(const Operand& dy, const Operand& indices, const Dims& sizes,
                                  bool channels_last) try {
  constexpr std::string_view kName = "adaptive_max_pool_gradient";
  check_rank(kName, "dy", dy);
  if (!indices.defined()) throw InvalidArgument("{}: the indices are an undefined Tensor", kName);
  checked_sizes(kName, sizes, dy.rank() - 2);
  return apply(
      make_op<PoolOp>(PoolFunction::max_gradient, kernels::PoolOptions{.adaptive = true}, 1, sizes, channels_last),
      {dy, indices});
} catch (const Error& e) {
  throw_in_function(e, "adaptive_max_pool_gradient");
}

Tensor max_unpool(const Operand& x, const Operand& indices, const Dims& sizes, bool channels_last) try {
  constexpr std::string_view kName = "max_unpool";
  check_rank(kName, "x", x);
  checked_sizes(kName, sizes, x.rank() - 2);
  if (!indices.defined() || indices.shape() != x.shape()) {
    throw ShapeError("{}: the indices are {}, expected the shape of x {}", kName,
                     indices.defined() ? to_string(indices.type()) : "an undefined Tensor", to_string(x.type()));
  }
  // The spatial axes as one.
  const auto flat = [&](const Tensor& v, const Dims& spatial) {
    const std::int64_t count = element_count(spatial);
    return channels_last ? reshape(v, {v.shape()[0], count, v.shape()[-1]})
                         : reshape(v, {v.shape()[0], v.shape()[1], count});
  };
  const Dims windows = spatial_sizes(x.shape(), channels_last);
  Shape result = x.shape();
  for (int d = 0; d < sizes.rank(); ++d) result[first_spatial(channels_last) + d] = sizes[d];
  const Tensor empty = flat(broadcast_to(Graph::scalar(0, x.dtype()), result), sizes);
  return reshape(scatter_elements(ScatterKind::assign, empty, flat(indices, windows), flat(x, windows),
                                  first_spatial(channels_last) == 1 ? 1 : 2),
                 result);
} catch (const Error& e) {
  throw_in_function(e, "max_unpool");
}

}  // namespace weft
