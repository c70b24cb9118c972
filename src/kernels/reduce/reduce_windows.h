// How reductions run on a GPU when a row is longer than a binding, and the steps of reduce.cc that it takes.
#pragma once

#include <optional>
#include <string_view>

#include "kernels/reduce/reduce_cpu.h"
#include "kernels/reduce/reduction.h"

namespace weft::kernels {

std::string_view reduce_name(ReduceOp op);
// What a part of a row leaves in the workspace: `slots` elements of `type`.
struct Accumulator {
  DType type;
  int slots = 1;
  std::uint64_t bytes(std::int64_t parts) const { return byte_size(type, static_cast<std::uint64_t>(parts * slots)); }
};
Accumulator reduce_accumulator(ReduceOp op, DType x);
// How the inputs of `r` share rows. All must allow fours: by lying so, or by being one value for all four. `cut` and
// `keep` as in RowPlanOptions.
RowPlan plan_reduce(const gpu::Capabilities& capabilities, const ReduceProblem& r, bool cut, bool keep = false);
// `length`: elements of a whole row.
void record_reduce(Stream& stream, const ReduceProblem& r, const RowPlan& plan, const Parts& parts, Stage stage,
                   std::int64_t length);

// All views over the axes of what is reduced: the inputs, y, the operands. y's strides are 0 along reduced axes.
std::vector<View> over_all_axes(const ReduceProblem& r, const AxisMask& kept);

// How rows that are longer than a binding are cut: into pieces of a grid over all axes. Each piece leaves `parts.count`
// accumulators for each of its rows.
struct RowWindows {
  AxisMask kept{};
  Shape piece;
  std::int64_t rows = 1, count = 1;  // of a piece; pieces that share rows
  Parts parts;
};

// Nothing if whole rows fit.
std::optional<RowWindows> row_windows(const gpu::Capabilities& capabilities, const ReduceProblem& r,
                                      std::span<const int> axes);
// What the workspace must hold.
std::uint64_t window_bytes(const ReduceProblem& r, const RowWindows& windows);
void reduce_in_row_windows(Stream& stream, const ReduceProblem& r, const RowWindows& windows, const View& workspace);

}  // namespace weft::kernels
