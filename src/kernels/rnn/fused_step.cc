#include "kernels/rnn/fused_step.h"

#include <format>

#include "core/str_cat.h"
#include "kernels/call.h"

namespace weft::kernels {
namespace {

constexpr std::int64_t kUnits = 4;  // of a workgroup

// How a workgroup divides its work; rnn_step.wgsl explains the names.
struct StepTile {
  int cell, width;
  std::int64_t rows, groups, slices;
  std::int64_t sequences() const { return rows * groups; }
};

// True if rows can be taken `count` elements at a time.
bool rows_divide(const View& v, std::int64_t count) {
  if (v.buffer.is_number() || bits(v.dtype) > 32 || bits(v.dtype) < 8) return false;
  const std::int64_t bytes = count * bits(v.dtype) / 8;
  bool whole = v.offset % static_cast<std::uint64_t>(bytes) == 0 && v.strides()[-1] == 1 && v.shape()[-1] % count == 0;
  for (int d = 0; d + 1 < v.rank(); ++d) whole &= v.shape()[d] == 1 || v.strides()[d] % count == 0;
  return whole;
}

StepTile tile_of(const gpu::Capabilities& capabilities, const FusedStep& step) {
  const std::int64_t directions = step.state.shape()[0], batch = step.state.shape()[1], hidden = step.state.shape()[2];
  StepTile tile;
  tile.cell = hidden % 4 == 0 ? 4 : 1;
  tile.width = bits(step.r.dtype) <= 16 && rows_divide(step.r, 8) ? 8 : rows_divide(step.r, 4) ? 4 : 1;
  tile.rows = batch > 2 ? 4 : batch;
  const auto fits = [&](std::int64_t groups, std::int64_t slices) {
    // 512 threads hide the latency of an H100's second-level cache.
    const std::int64_t threads = groups * step.products * slices, sums = groups * step.products * kUnits * tile.rows;
    return threads <= workgroup_size(capabilities, 512) &&
           sums * (slices + 2) * 4 <= std::int64_t{capabilities.max_workgroup_memory};
  };
  // A thread for each cell.
  const std::int64_t least = ceil_div(tile.rows * kUnits / tile.cell, step.products);
  std::int64_t most = 8;
  while (most > 1 && !fits(most, least)) --most;
  // As many in each workgroup.
  const std::int64_t groups = ceil_div(batch, tile.rows);
  tile.groups = ceil_div(groups, ceil_div(groups, most));
  // Enough workgroups for a large GPU's multiprocessors, of which an H100 has 132.
  const auto workgroups = [&] { return directions * ceil_div(hidden, kUnits) * ceil_div(batch, tile.sequences()); };
  while (tile.groups > 1 && workgroups() <= 64) tile.groups = ceil_div(tile.groups, 2);
  tile.slices = least;
  while (2 * tile.slices * tile.width <= hidden && fits(tile.groups, 2 * tile.slices)) tile.slices *= 2;
  return tile;
}

// Adds an operand or output of the cells; returns how it is accessed.
std::string add_cells(Call& call, const StepTile& tile, const std::string& name, const View& v, bool output) {
  const bool vec = tile.cell == 4 && rows_divide(v, 4);
  const int width = vec ? 4 : 1;
  output ? call.write(name, v, width) : call.read(name, v, width);
  call.strides(name, {v.strides()[0], v.strides()[1]}).index_param(name + "_inner", v.strides()[2]);
  return vec ? "vec" : v.strides()[2] == 0 && !output ? "splat" : "each";
}

}  // namespace

void fused_step(gpu::Commands& commands, const FusedStep& step) {
  const std::int64_t directions = step.state.shape()[0], batch = step.state.shape()[1], hidden = step.state.shape()[2];
  const StepTile tile = tile_of(commands.device().capabilities(), step);
  Call call(commands, "rnn_step");
  if (tile.cell == 4) call.assume_aligned(4);
  call.iterate({directions, batch});
  call.read("h", step.state, tile.cell).strides("h", {step.state.strides()[0], step.state.strides()[1]});
  call.read("r", step.r, tile.width).strides("r", {step.r.strides()[0], step.r.strides()[1]});
  call.index_param("r_inner", step.r.strides()[2]).index_param("hidden", hidden);
  std::vector<std::string> modes, products, types(step.terms.size()), outputs;
  for (const Expression::Node& node : step.expression.nodes()) {
    if (node.op == ScalarOp::input) types[static_cast<std::size_t>(node.input)] = compute_type(node.type);
  }
  for (std::size_t i = 0; i < step.terms.size(); ++i) {
    const StepTerm& term = step.terms[i];
    products.push_back(term.product < 0 ? "" : str_cat(term.product));
    modes.push_back(term.time      ? "time"
                    : term.operand ? add_cells(call, tile, str_cat("x", i), *term.operand, false)
                                   : "none");
  }
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    outputs.push_back(add_cells(call, tile, str_cat("y", i), step.outputs[i], true));
  }
  const double cells = static_cast<double>(step.state.count());
  call.param("time", static_cast<std::int32_t>(step.times[0]))
      .param("time_step", static_cast<std::int32_t>(step.times[1] - step.times[0]))
      .set("products", step.products)
      .set("rows", tile.rows)
      .set("groups", tile.groups)
      .set("slices", tile.slices)
      .set("width", tile.width)
      .set("cell", tile.cell)
      .set("types", types)
      .set("modes", modes)
      .set("product", products)
      .set("outputs", outputs)
      .expression(step.expression, ExpressionRole::inner, tile.cell)
      .cost(
          {.flops = 2 * cells * static_cast<double>(step.products * hidden) + cells * step.expression.operation_count(),
           .functions = cells * step.expression.cost()})
      .variant(std::format("fused_{}x{}_{}", kUnits, tile.sequences(), tile.slices),
               "few sequences: their products take no longer than the start of a second dispatch");
  const auto grid = [](std::int64_t n, std::int64_t by) { return static_cast<std::uint32_t>(ceil_div(n, by)); };
  call.dispatch(step.name, grid(hidden, kUnits), grid(batch, tile.sequences()), grid(directions, 1));
}

}  // namespace weft::kernels
