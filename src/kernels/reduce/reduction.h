// What reductions share: x seen as rows, and how long rows are split for more threads. The last workgroup of a row to
// arrive combines the partial results (last_block.wgsl); those of several chunks go through scratch to a second call.
#pragma once

#include <optional>

#include "cpu/executor.h"
#include "kernels/common/rows.h"
#include "kernels/plan_cache.h"
#include "weft/kernels/reduce.h"
#include "weft/view.h"

namespace weft::kernels {

// The name of the kernel: "reduce_sum", "variance".
std::string_view reduce_name(ReduceKind op);

// Of variances, whose divisor is the number of elements less the correction, or 0 where that is more: throws
// InvalidArgument in the name of `function` unless it is 0 or more.
void check_correction(std::string_view function, double correction);

// The axes of x that are reduced. Throws InvalidArgument in the name of `kernel` unless each is named once and y has
// x's shape with their sizes 1, or without them.
AxisMask checked_axes(std::string_view kernel, const TensorType& x, const View& y, std::span<const int> axes);

// Whether rows of dense tensors of that shape are taken in steps of four elements.
bool reduces_in_fours(const Shape& shape, std::span<const int> axes);
// A view that lies as a reduction's y does, over the axes of `shape`: with strides of 0 along the reduced ones.
View over_all_axes(const View& view, const Shape& shape, const AxisMask& reduced);

// Two columns of x, operand 0, of an even length as four columns of half that length, so that vectors of four elements
// hold two of each column; nothing for other shapes.
std::optional<Rows> folded_columns(const View& x, const Rows& rows);

// The plan with `options`, or, where they allow splitting rows and that does not pay, the plan without splits.
RowPlan plan_split_reduction(const gpu::Capabilities& capabilities, const Rows& rows, RowPlanOptions options);
// `may_split`: rows may be split.
RowPlan plan_reduction(const gpu::Capabilities& capabilities, const View& x, const Rows& rows, bool may_split);

// How rows are reduced, for tests and benchmarks.
struct ReduceForm {
  RowForm rows;
  int loads = 4;  // of a thread in flight
  std::int64_t splits = 1;
};

// The best number and length of splits for a row.
RowSplits choose_splits(const gpu::Capabilities& capabilities, const Rows& rows, const RowPlan& plan);
// The same for one of several chunks, with so few splits that `slots` accumulators of `type` of each fit a binding.
RowSplits choose_chunk_splits(const gpu::Capabilities& capabilities, const Rows& rows, const RowPlan& plan,
                              std::size_t chunks, DType type, int slots);
RowSplits split_into(const RowPlan& plan, std::int64_t splits);  // that many, or fewer

// Scratch as accumulators of `type`, `slots` for each split: [rows, splits · slots].
View partials(GpuScratch& scratch, DType type, const Rows& rows, const RowSplits& splits, int slots = 1);
// Operand 1 is the partials; a row's are contiguous.
Rows to_partials(const Rows& rows, const RowSplits& splits, int slots = 1);
// Operand 0 is the partials, operand 1 is y.
Rows from_partials(const Rows& rows, const RowSplits& splits, int slots = 1);

// What a call does: whole rows; splits that its last workgroup combines; or one of two calls for splits.
enum class Stage : std::uint8_t { whole, joins, first, second };

// For splits that the last workgroup combines: words of a row's partial result, and the call's other bindings.
struct LastBlock {
  int words = 1;
  std::size_t bindings = 2;
};
// The first call's stage for one of several `chunks`.
Stage first_stage(const gpu::Capabilities& capabilities, const Rows& rows, const RowPlan& plan, const RowSplits& splits,
                  const LastBlock& last_block, std::size_t chunks);
// Adds the splits to `call`, and how they are combined.
void add_splits(Call& call, const RowPlan& plan, const RowSplits& splits, Stage stage, int words);

}  // namespace weft::kernels
