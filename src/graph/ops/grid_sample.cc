#include "graph/ops/grid_sample.h"

#include <numeric>

#include "graph/graph.h"
#include "graph/op_schemas.h"
#include "weft/error.h"
#include "weft/resampling.h"

namespace weft {
namespace {

constexpr std::string_view kModes[] = {"linear", "nearest", "cubic"};
constexpr std::string_view kPaddings[] = {"zeros", "border", "reflection"};

// x with its axis `from` at `to`.
Tensor axis_moved(const Tensor& x, int from, int to) {
  std::vector<int> order(static_cast<std::size_t>(x.rank()));
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + from);
  order.insert(order.begin() + to, from);
  return permute(x, order);
}

}  // namespace

void GridSampleOp::attributes(Attributes& f) const {
  f.add("mode", kModes[static_cast<int>(options_.mode)]).add("padding", kPaddings[static_cast<int>(options_.padding)]);
  if (options_.align_corners) f.add("align_corners", true);
}

std::vector<TensorType> GridSampleOp::infer(std::span<const TensorType> in) const {
  const DType type = infer_dtype(name(), {&in[0], &in[1]});
  const Shape &x = in[0].shape, &grid = in[1].shape;
  if (x.rank() != grid.rank() || grid[-1] != x.rank() - 2 || grid[0] != x[0]) {
    throw ShapeError("grid_sample: x is {} [batch, channels, spatial…] and the grid {}, expected [batch, places…, {}]",
                     weft::to_string(in[0]), weft::to_string(in[1]), x.rank() - 2);
  }
  Shape y{x[0], x[1]};
  for (int d = 1; d + 1 < grid.rank(); ++d) y.push_back(grid[d]);
  for (int d = 2; d < x.rank(); ++d) {
    if (x[d] == 0 && element_count(y) > 0) {
      throw ShapeError("grid_sample: x is {}, expected elements along each spatial axis", weft::to_string(in[0]));
    }
  }
  return {{type, y}};
}

void GridSampleOp::lower(const Launch& call) const {
  kernels::grid_sample(call.stream, call.inputs[0], call.inputs[1], call.outputs[0], options_);
}

Work GridSampleOp::work(const Launch& call) const {
  Work w = Op::work(call);
  double products = 2;
  for (int d = 2; d < call.inputs[0].rank(); ++d) {
    products *= options_.mode == SampleMode::cubic ? 4 : options_.mode == SampleMode::linear ? 2 : 1;
  }
  w.flops = products * static_cast<double>(call.outputs[0].count());
  return w;
}

Tensor grid_sample(const Operand& x, const Operand& grid, const GridSampleOptions& o) {
  if (!x.defined() || !grid.defined()) throw InvalidArgument("grid_sample: an operand is an undefined Tensor");
  if (x.rank() < 3 || x.rank() > 5) {
    throw ShapeError("grid_sample: x is {}, expected [batch, channels] and one to three spatial axes",
                     to_string(x.type()));
  }
  const int last = x.rank() - 1;
  const Tensor y = apply(make_op<GridSampleOp>(kernels::SampleOptions{o.mode, o.padding, o.align_corners}),
                         {o.channels_last ? axis_moved(x, last, 1) : Tensor(x), grid});
  return o.channels_last ? axis_moved(y, 1, last) : y;
}

Tensor affine_grid(const Operand& theta, const Shape& sizes, bool align_corners) {
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
}

}  // namespace weft
