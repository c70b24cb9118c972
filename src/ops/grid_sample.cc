#include "ops/grid_sample.h"

#include <algorithm>
#include <numeric>

#include "core/format.h"
#include "graph/graph.h"
#include "ops/function_row.h"
#include "ops/identity.h"
#include "ops/op_rows.h"
#include "ops/op_schemas.h"
#include "ops/rules.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/error.h"
#include "weft/resampling.h"

namespace weft {
namespace {

constexpr std::string_view kNames[] = {"grid_sample", "grid_sample_gradient", "grid_sample_grid_gradient"};

// x with its axis `from` at `to`.
Tensor axis_moved(const Tensor& x, int from, int to) {
  std::vector<int> order(static_cast<std::size_t>(x.rank()));
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + from);
  order.insert(order.begin() + to, from);
  return permute(x, order);
}

// x, or dy, with the channels second, as kernels have them.
Tensor channels_second(const Tensor& x, bool channels_last) {
  return channels_last ? axis_moved(x, x.rank() - 1, 1) : x;
}

void check_image(std::string_view op, std::string_view what, const Tensor& x) {
  if (x.rank() >= 3 && x.rank() <= 5) return;
  throw ShapeError("{}: {} is {}, expected [batch, channels] and one to three spatial axes", op, what,
                   to_string(x.type()));
}

}  // namespace

std::string_view GridSampleOp::name() const { return kNames[static_cast<int>(a.function)]; }

std::vector<TensorType> GridSampleOp::infer(std::span<const TensorType> in) const {
  std::vector<const TensorType*> operands;
  for (const TensorType& t : in) operands.push_back(&t);
  const DType type = infer_dtypes(name(), operands)[0];
  const bool for_grid = a.function == SampleFunction::grid_gradient;
  const Shape& grid = in[for_grid ? 2 : 1].shape;
  // x's shape; of the gradient for x the result's.
  Shape x = in[for_grid ? 1 : 0].shape;
  if (a.function == SampleFunction::gradient && x.rank() == a.sizes.rank() + 2) {
    for (int d = 0; d < a.sizes.rank(); ++d) x[2 + d] = a.sizes[d];
  }
  if (x.rank() != grid.rank() || grid[-1] != x.rank() - 2 || grid[0] != x[0]) {
    const std::string_view what = a.function == SampleFunction::gradient ? "dy" : "x";
    throw ShapeError("{}: {} is {} [batch, channels, {}…] and the grid {}, expected [batch, places…, {}]", name(), what,
                     weft::to_string(in[for_grid ? 1 : 0]), what == "x" ? "spatial" : "places",
                     weft::to_string(in[for_grid ? 2 : 1]), x.rank() - 2);
  }
  Shape y{x[0], x[1]};
  for (int d = 1; d + 1 < grid.rank(); ++d) y.push_back(grid[d]);
  if (a.function != SampleFunction::sample && in[0].shape != y) {
    throw ShapeError("{}: dy is {}, expected {} for the grid {}", name(), weft::to_string(in[0]), weft::to_string(y),
                     weft::to_string(in[for_grid ? 2 : 1]));
  }
  for (int d = 2; d < x.rank(); ++d) {
    if (x[d] == 0 && element_count(y) > 0) {
      throw ShapeError("{}: {} is {}, expected elements along each spatial axis", name(),
                       a.function == SampleFunction::gradient ? "dx" : "x", weft::to_string(TensorType{type, x}));
    }
  }
  switch (a.function) {
    case SampleFunction::gradient:
      return {{type, x}};
    case SampleFunction::grid_gradient:
      return {{type, grid}};
    default:
      return {{type, y}};
  }
}

void GridSampleOp::lower(const Launch& call) const {
  const auto& in = call.inputs;
  switch (a.function) {
    case SampleFunction::sample:
      return kernels::grid_sample(call.stream, in[0], in[1], call.outputs[0], a.options);
    case SampleFunction::gradient:
      return kernels::grid_sample_gradient(call.stream, in[0], in[1], call.outputs[0], a.options);
    case SampleFunction::grid_gradient:
      return kernels::grid_sample_grid_gradient(call.stream, in[0], in[1], in[2], call.outputs[0], a.options);
  }
}

Work GridSampleOp::work(const Launch& call) const {
  Work w = Op::work(call);
  double products = a.function == SampleFunction::grid_gradient ? 4 : 2;
  for (int d = 2; d < call.inputs[0].rank(); ++d) {
    products *= a.options.mode == SampleMode::cubic ? 4 : a.options.mode == SampleMode::linear ? 2 : 1;
  }
  const View& y = a.function == SampleFunction::sample ? call.outputs[0] : call.inputs[0];
  w.flops = products * static_cast<double>(y.count());
  return w;
}

// ---- Derivatives. Samples are linear in x, whose gradient's are linear in dy.

namespace {

// The elements of x that count along one of its axes, for each position, and the derivatives of their weights by the
// grid's number: tensors [n, taps, places], as the kernels compute them (kernels/grid_sample/positions_cpu.h).
struct AxisTaps {
  Tensor indices, inside, weights, slopes;
};

// `numbers`: the grid's [n, places] for the axis, of the type that is computed in.
AxisTaps axis_taps(const Tensor& numbers, std::int64_t size, const kernels::SampleOptions& o) {
  const auto last = static_cast<double>(size - 1), n = static_cast<double>(size), span = o.align_corners ? last : n;
  const double half = o.align_corners ? 0 : 0.5;  // from the first element to where x is mirrored
  const bool cubic = o.mode == SampleMode::cubic;
  const auto clamped = [&](const Tensor& q) { return select(less(q, 0), 0, select(less(last, q), last, q)); };
  const auto odd = [](const Tensor& flips) { return not_equal(flips * 0.5, floor(flips * 0.5)); };
  const auto flips = [&](const Tensor& q) { return floor(abs(q + half) / span); };
  const auto reflected = [&](const Tensor& q) {
    if (span == 0) return q * 0;
    const Tensor turns = flips(q), rest = abs(q + half) - turns * span;
    return clamped(select(odd(turns), span - rest, rest) - half);
  };
  const Tensor g = identity(numbers, IdentityKind::stop_gradient);
  const Tensor exact = o.align_corners ? (g + 1) * 0.5 * last : ((g + 1) * n - 1) * 0.5;
  const Tensor far = logical_not(less(abs(exact), 0x1p30));
  const Tensor unpadded = select(far, -100, exact);
  Tensor q = unpadded, m = full_like(g, 0.5 * span);
  if (!cubic && o.padding != SamplePadding::zeros) {
    if (o.padding == SamplePadding::reflection && span > 0) {
      m = select(not_equal(odd(flips(q)), less(q + half, 0)), -m, m);
    }
    q = o.padding == SamplePadding::border ? clamped(q) : reflected(q);
    const Tensor at = o.padding == SamplePadding::border ? unpadded : q;
    m = select(logical_or(less_equal(at, 0), greater_equal(at, last)), 0, m);
  }
  m = select(far, 0, m);
  // The position as a function of the number, whose slope is m.
  const Tensor here = select(far, 0, numbers), there = select(far, 0, g);
  const Tensor position = q + m * (here - there);

  std::vector<Tensor> indices, are_inside, weights, slopes;
  const auto add = [&](Tensor at, const Tensor& weight, const Tensor& by_position) {
    if (o.padding == SamplePadding::border) at = clamped(at);
    if (o.padding == SamplePadding::reflection && cubic) at = reflected(at);
    const Tensor inside = logical_and(greater_equal(at, 0), less_equal(at, last));
    indices.push_back(cast(select(inside, at, 0), DType::i32));
    are_inside.push_back(inside);
    weights.push_back(weight);
    slopes.push_back(m * by_position);
  };
  if (o.mode == SampleMode::nearest) {
    add(round(q), full_like(q, 1), full_like(q, 0));
  } else {
    const Tensor first = floor(q), t = position - first;
    if (!cubic) {
      add(first, 1 - t, full_like(t, -1));
      add(first + 1, t, full_like(t, 1));
    } else {
      const auto near = [](const Tensor& d) { return (d * 1.25 - 2.25) * d * d + 1; };
      const auto wide = [](const Tensor& d) { return ((d * -0.75 + 3.75) * d - 6) * d + 3; };
      const auto near_slope = [](const Tensor& d) { return (d * 3.75 - 4.5) * d; };
      const auto wide_slope = [](const Tensor& d) { return (d * -2.25 + 7.5) * d - 6; };
      add(first - 1, wide(t + 1), wide_slope(t + 1));
      add(first, near(t), near_slope(t));
      add(first + 1, near(1 - t), -near_slope(1 - t));
      add(first + 2, wide(2 - t), -wide_slope(2 - t));
    }
  }
  return {stack(indices, 1), stack(are_inside, 1), stack(weights, 1), stack(slopes, 1)};
}

// Taps of an axis among those of all: [n, 1…, taps, 1…, places].
Tensor along_axis(const Tensor& taps, int axis, int axes) {
  Shape shape{taps.shape()[0]};
  for (int d = 0; d < axes; ++d) shape.push_back(d == axis ? taps.shape()[1] : 1);
  shape.push_back(taps.shape()[2]);
  return reshape(taps, shape);
}

}  // namespace

std::vector<Tensor> GridSampleOp::decomposed(std::span<const Tensor> in) const {
  if (a.function != SampleFunction::grid_gradient) return {};
  const Tensor &dy = in[0], &x = in[1], &grid = in[2];
  const int spatial = x.rank() - 2;
  if (dy.size() == 0 || grid.size() == 0) return {zeros_of(grid.type())};
  const DType type = x.dtype() == DType::f64 ? DType::f64 : DType::f32;
  const std::int64_t n = x.shape()[0], channels = x.shape()[1], places = grid.size() / (n * spatial);
  const Tensor numbers = reshape(cast(grid, type), {n, places, spatial});
  std::vector<AxisTaps> axes;
  Tensor offsets, inside;
  for (int d = 0; d < spatial; ++d) {
    const std::int64_t size = x.shape()[2 + d];
    axes.push_back(axis_taps(squeeze(slice(numbers, 2, spatial - 1 - d, spatial - d), 2), size, a.options));
    const Tensor own = along_axis(axes.back().indices, d, spatial);
    const Tensor is_inside = along_axis(axes.back().inside, d, spatial);
    offsets = offsets.defined() ? offsets * static_cast<std::int32_t>(size) + own : own;
    inside = inside.defined() ? logical_and(inside, is_inside) : is_inside;
  }
  // x's elements for all taps together; what is outside of x counts as 0.
  const std::int64_t taps = offsets.size() / (n * places);
  const Tensor elements = gather_elements(reshape(cast(x, type), {n, channels, x.size() / (n * channels)}),
                                          reshape(offsets, {n, 1, taps * places}), 2);
  const Tensor picked =
      select(reshape(inside, {n, 1, taps, places}), reshape(elements, {n, channels, taps, places}), 0);
  std::vector<Tensor> numbers_of_axes;
  for (int d = spatial - 1; d >= 0; --d) {
    Tensor weight;
    for (int k = 0; k < spatial; ++k) {
      const AxisTaps& axis = axes[static_cast<std::size_t>(k)];
      const Tensor own = along_axis(k == d ? axis.slopes : axis.weights, k, spatial);
      weight = weight.defined() ? weight * own : own;
    }
    weight = reshape(weight, {n, 1, taps, places});
    const Tensor slope = reduce(ReduceKind::sum, picked * weight, {2});
    numbers_of_axes.push_back(reduce(ReduceKind::sum, slope * reshape(cast(dy, type), {n, channels, places}), {1}));
  }
  return {cast(reshape(stack(numbers_of_axes, 2), grid.shape()), grid.dtype())};
}

Derivatives GridSampleOp::vjp(const Differentiated& node, std::span<const Tensor> cotangents) const {
  if (a.function == SampleFunction::grid_gradient) return std::nullopt;
  const Tensor &x = node.inputs[0], &grid = node.inputs[1], &g = cotangents[0];
  std::vector<Tensor> all(2);
  if (x.size() == 0 || g.size() == 0) return all;
  const auto made = [&](SampleFunction function, Dims sizes, std::vector<Tensor> operands) {
    return apply(make_op<GridSampleOp>(GridSampleAttributes{function, a.options, std::move(sizes)}),
                 std::move(operands));
  };
  const bool samples = a.function == SampleFunction::sample;
  if (node.wanted[0]) {
    Dims sizes;
    for (int d = 2; d < x.rank() && samples; ++d) sizes.push_back(x.shape()[d]);
    all[0] = made(samples ? SampleFunction::gradient : SampleFunction::sample, sizes, {g, grid});
  }
  // The gradient for x is to its cotangent what dy is to samples of that.
  if (node.wanted[1]) {
    all[1] = samples ? made(SampleFunction::grid_gradient, {}, {g, x, grid})
                     : made(SampleFunction::grid_gradient, {}, {x, g, grid});
  }
  return all;
}

namespace {

// ---- Rows of functions: those of an op's name also have the channels last

constexpr FunctionOperand kImage = {.name = "x", .shape = "[n, C, spatial…]"};
constexpr FunctionOperand kGrid = {.name = "grid", .shape = "[n, places…, d]"};
constexpr FunctionOperand kSampleGradient = {.name = "dy", .shape = "[n, C, places…]"};

struct SampleAttributes {
  kernels::SampleOptions options = {};
  bool channels_last = false;
  void fields(AttributeVisitor& v) {
    options.fields(v);
    v("channels_last", channels_last, false, "the channels are the last axis of all but the grid");
  }
};
struct SampleGradientAttributes : SampleAttributes {
  Dims sizes = {};
  void fields(AttributeVisitor& v) {
    v("sizes", sizes, "the sizes of the result's spatial axes");
    SampleAttributes::fields(v);
  }
};
SampleAttributes attributes_of(const GridSampleOptions& o) {
  return {{o.mode, o.padding, o.align_corners}, o.channels_last};
}

constexpr Function kGridSample = {
    {.name = "grid_sample",
     .operands = {kImage, kGrid},
     .results = {{"y", "[n, C, places…]", "x's type"}},
     .formula = "y[n, c, i] = x[n, c, p], p = the position grid[n, i, :], from -1 to 1 inside of x",
     .summary = "x at the positions that a grid has for each place of y"},
    [](const Tensor& x, const Tensor& grid, const SampleAttributes& a) {
      check_image("grid_sample", "x", x);
      const Tensor y = apply(make_op<GridSampleOp>(GridSampleAttributes{.options = a.options}),
                             {channels_second(x, a.channels_last), grid});
      return a.channels_last ? axis_moved(y, 1, x.rank() - 1) : y;
    }};
constexpr Function kGridSampleGradient = {
    {.name = "grid_sample_gradient",
     .operands = {kSampleGradient, kGrid},
     .results = {{"dx", "[n, C, sizes…]", "dy's type"}},
     .formula = "dx[n, c, j] = Σ_i dy[n, c, i] · the weight that x[n, c, j] has in y[n, c, i]",
     .summary = "the gradient of grid_sample for x, dy being the gradient of y"},
    [](const Tensor& dy, const Tensor& grid, const SampleGradientAttributes& a) {
      check_image("grid_sample_gradient", "dy", dy);
      const Dims& sizes = a.sizes;
      if (sizes.rank() != dy.rank() - 2 || std::ranges::any_of(sizes, [](std::int64_t n) { return n < 0; })) {
        throw ShapeError(
            "grid_sample_gradient: the sizes are {}, expected one of 0 or more for each of {} spatial axes",
            to_string(sizes), dy.rank() - 2);
      }
      const Tensor dx = apply(make_op<GridSampleOp>(GridSampleAttributes{SampleFunction::gradient, a.options, sizes}),
                              {channels_second(dy, a.channels_last), grid});
      return a.channels_last ? axis_moved(dx, 1, dx.rank() - 1) : dx;
    }};
constexpr Function kGridSampleGridGradient = {
    {.name = "grid_sample_grid_gradient",
     .operands = {kSampleGradient, kImage, kGrid},
     .results = {{"dgrid", "grid's shape", "grid's type"}},
     .formula = "dgrid[n, i, d] = Σ_c dy[n, c, i] · ∂y[n, c, i] / ∂grid[n, i, d]",
     .summary = "the gradient of grid_sample for the grid, dy being the gradient of y"},
    [](const Tensor& dy, const Tensor& x, const Tensor& grid, const SampleAttributes& a) {
      check_image("grid_sample_grid_gradient", "dy", dy);
      check_image("grid_sample_grid_gradient", "x", x);
      return apply(make_op<GridSampleOp>(GridSampleAttributes{SampleFunction::grid_gradient, a.options, {}}),
                   {channels_second(dy, a.channels_last), channels_second(x, a.channels_last), grid});
    }};

struct AffineGridAttributes {
  Shape sizes = {};
  bool align_corners = false;
  void fields(AttributeVisitor& v) {
    v("sizes", sizes, "the sizes of the image, one to three");
    v("align_corners", align_corners, false,
      "whether -1 and 1 are the centres of the first and last elements; else their outer ends");
  }
};
constexpr Function kAffineGrid = {
    {.name = "affine_grid",
     .operands = {{.name = "theta", .shape = "[n, d, d + 1]"}},
     .results = {{"y", "[n, sizes…, d]", "theta's type"}},
     .formula = "y[n, i…, :] = theta[n] · (position of i…, 1)",
     .summary = "the grid of an affine map"},
    [](const Tensor& theta, const AffineGridAttributes& a) {
      const Shape& sizes = a.sizes;
      const int d = sizes.rank();
      if (d < 1 || d > 3 || theta.rank() != 3 || theta.shape()[1] != d || theta.shape()[2] != d + 1) {
        throw ShapeError("affine_grid: theta is {} for the sizes {}, expected [batch, {}, {}] and one to three sizes",
                         to_string(theta.type()), to_string(sizes), d, d + 1);
      }
      if (!is_floating(theta.dtype()))
        throw TypeError("affine_grid: theta is {}, expected floats", to_string(theta.type()));
      // The places' own positions [places, d], the last axis' first.
      std::vector<Tensor> positions;
      Shape column = sizes;
      column.push_back(1);
      for (int k = d - 1; k >= 0; --k) {
        const std::int64_t n = sizes[k];
        const double end = n <= 1 ? 0 : a.align_corners ? 1 : 1 - 1 / static_cast<double>(n);
        Shape along = Dims::filled(d + 1, 1);
        along[k] = n;
        positions.push_back(broadcast_to(reshape(linspace(-end, end, n, theta.dtype()), along), column));
      }
      const std::int64_t n = theta.shape()[0];
      const Tensor places = reshape(concat(positions, d), {element_count(sizes), d});
      // theta's rows are (a matrix, what is added).
      const Tensor turn = permute(slice(theta, 2, 0, d), {0, 2, 1});
      const Tensor shift = permute(slice(theta, 2, d, d + 1), {0, 2, 1});
      Shape result{n};
      for (const std::int64_t size : sizes) result.push_back(size);
      result.push_back(d);
      return reshape(matmul(places, turn) + shift, result);
    }};

}  // namespace

Tensor grid_sample(const Operand& x, const Operand& grid, const GridSampleOptions& o) {
  return kGridSample(x, grid, attributes_of(o));
}

Tensor grid_sample_gradient(const Operand& dy, const Operand& grid, const Dims& sizes, const GridSampleOptions& o) {
  return kGridSampleGradient(dy, grid, {attributes_of(o), sizes});
}

Tensor grid_sample_grid_gradient(const Operand& dy, const Operand& x, const Operand& grid, const GridSampleOptions& o) {
  return kGridSampleGridGradient(dy, x, grid, attributes_of(o));
}

Tensor affine_grid(const Operand& theta, const Shape& sizes, bool align_corners) {
  return kAffineGrid(theta, {sizes, align_corners});
}

void add_grid_sample_functions(FunctionRows& rows) {
  rows.add(kGridSample, kGridSampleGradient, kGridSampleGridGradient, kAffineGrid);
}

void add_grid_sample_ops(OpRows& rows) {
  for (const auto function : {SampleFunction::sample, SampleFunction::gradient, SampleFunction::grid_gradient}) {
    const char* shape = function == SampleFunction::gradient ? "[n, C, sizes…]" : "";
    rows.push_back(
        op_row<GridSampleOp>(schema_of_kernel(kNames[static_cast<int>(function)], shape), {.function = function}));
  }
}

}  // namespace weft
