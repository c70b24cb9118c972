#include "graph/ops/grid_sample.h"

#include <algorithm>
#include <numeric>

#include "core/error_context.h"
#include "core/format.h"
#include "graph/graph.h"
#include "graph/op_rows.h"
#include "graph/op_schemas.h"
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
Tensor channels_second(const Operand& x, bool channels_last) {
  return channels_last ? axis_moved(x, x.rank() - 1, 1) : Tensor(x);
}

void check_image(std::string_view op, std::string_view what, const Operand& x) {
  if (x.rank() >= 3 && x.rank() <= 5) return;
  throw ShapeError("{}: {} is {}, expected [batch, channels] and one to three spatial axes", op, what,
                   to_string(x.type()));
}

kernels::SampleOptions kernel_options(const GridSampleOptions& o) { return {o.mode, o.padding, o.align_corners}; }

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

Tensor grid_sample(const Operand& x, const Operand& grid, const GridSampleOptions& o) {
  if (!x.defined() || !grid.defined()) throw InvalidArgument("grid_sample: an operand is an undefined Tensor");
  check_image("grid_sample", "x", x);
  const Tensor y = apply(make_op<GridSampleOp>(GridSampleAttributes{.options = kernel_options(o)}),
                         {channels_second(x, o.channels_last), grid});
  return o.channels_last ? axis_moved(y, 1, x.rank() - 1) : y;
}

Tensor grid_sample_gradient(const Operand& dy, const Operand& grid, const Dims& sizes, const GridSampleOptions& o) {
  if (!dy.defined() || !grid.defined()) {
    throw InvalidArgument("grid_sample_gradient: an operand is an undefined Tensor");
  }
  check_image("grid_sample_gradient", "dy", dy);
  if (sizes.rank() != dy.rank() - 2 || std::ranges::any_of(sizes, [](std::int64_t n) { return n < 0; })) {
    throw ShapeError("grid_sample_gradient: the sizes are {}, expected one of 0 or more for each of {} spatial axes",
                     to_string(sizes), dy.rank() - 2);
  }
  const Tensor dx =
      apply(make_op<GridSampleOp>(GridSampleAttributes{SampleFunction::gradient, kernel_options(o), sizes}),
            {channels_second(dy, o.channels_last), grid});
  return o.channels_last ? axis_moved(dx, 1, dx.rank() - 1) : dx;
}

Tensor grid_sample_grid_gradient(const Operand& dy, const Operand& x, const Operand& grid, const GridSampleOptions& o) {
  if (!dy.defined() || !x.defined() || !grid.defined()) {
    throw InvalidArgument("grid_sample_grid_gradient: an operand is an undefined Tensor");
  }
  check_image("grid_sample_grid_gradient", "dy", dy);
  check_image("grid_sample_grid_gradient", "x", x);
  return apply(make_op<GridSampleOp>(GridSampleAttributes{SampleFunction::grid_gradient, kernel_options(o), {}}),
               {channels_second(dy, o.channels_last), channels_second(x, o.channels_last), grid});
}

Tensor affine_grid(const Operand& theta, const Shape& sizes, bool align_corners) try {
  if (!theta.defined()) throw InvalidArgument("affine_grid: theta is an undefined Tensor");
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
    const double end = n <= 1 ? 0 : align_corners ? 1 : 1 - 1 / static_cast<double>(n);
    Shape along = Dims::filled(d + 1, 1);
    along[k] = n;
    positions.push_back(broadcast_to(reshape(linspace(-end, end, n, theta.dtype()), along), column));
  }
  const std::int64_t n = theta.shape()[0];
  const Tensor places = reshape(concat(positions, d), {element_count(sizes), d});
  // theta's rows are (a matrix, what is added).
  const Tensor turn = permute(slice(theta, 2, 0, d), {0, 2, 1}), shift = permute(slice(theta, 2, d, d + 1), {0, 2, 1});
  Shape result{n};
  for (const std::int64_t size : sizes) result.push_back(size);
  result.push_back(d);
  return reshape(matmul(places, turn) + shift, result);
} catch (const Error& e) {
  throw_in_function(e, "affine_grid");
}

void add_grid_sample_ops(OpRows& rows) {
  for (const auto function : {SampleFunction::sample, SampleFunction::gradient, SampleFunction::grid_gradient}) {
    const char* shape = function == SampleFunction::gradient ? "[n, C, sizes…]" : "";
    rows.push_back(
        op_row<GridSampleOp>(schema_of_kernel(kNames[static_cast<int>(function)], shape), {.function = function}));
  }
}

}  // namespace weft
