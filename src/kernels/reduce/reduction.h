// What reductions share: x seen as rows, and how long rows are cut into parts for more threads. The last part to be done
// joins what all have left (last_block.wgsl); parts of several windows leave it in scratch for a second call.
#pragma once

#include <optional>

#include "kernels/common/rows.h"
#include "kernels/plan_cache.h"
#include "weft/cpu.h"
#include "weft/view.h"

namespace weft::kernels {

// x and y as operands 0 and 1. y has x's shape with the sizes of `axes` 1, or without them. Throws InvalidArgument in
// the name of `kernel`.
Rows reduced_rows(std::string_view kernel, const View& x, const View& y, std::span<const int> axes);

// Whether rows of dense tensors of that shape are taken in steps of four elements.
bool reduces_in_fours(const Shape& shape, std::span<const int> axes);
// Which axes of `rank` are not reduced, and which are.
AxisMask kept_axes(int rank, std::span<const int> axes);
AxisMask reduced_axes(int rank, std::span<const int> axes);
// What lies as a reduction's y does, over the axes of `shape`: with strides of 0 along reduced ones.
View over_all_axes(const View& view, const Shape& shape, const AxisMask& kept);

// Two columns of x, operand 0, of an even length, as four of half of it, where fours of elements are two of each; nothing
// for others.
std::optional<Rows> folded_columns(const View& x, const Rows& rows);

// The plan with `options`; where they allow cutting rows and that does not pay, the one without.
RowPlan plan_split_reduction(const gpu::Capabilities& capabilities, const Rows& rows, RowPlanOptions options);
// `may_split`: rows may be cut.
RowPlan plan_reduction(const gpu::Capabilities& capabilities, const View& x, const Rows& rows, bool may_split);

// How rows are reduced, for tests and benchmarks.
struct ReduceForm {
  RowForm rows;
  int loads = 4;  // of a thread on their way at once
  std::int64_t splits = 1;
};

// Into how many parts, and of how many steps, a row is best cut.
RowSplits choose_splits(const gpu::Capabilities& capabilities, const Rows& rows, const RowPlan& plan);
// Of one of so many windows, in no more parts than leave `slots` accumulators of `type` each that all fit a binding.
RowSplits choose_chunk_splits(const gpu::Capabilities& capabilities, const Rows& rows, const RowPlan& plan,
                              std::size_t chunks, DType type, int slots);
RowSplits split_into(const RowPlan& plan, std::int64_t splits);  // that many, or fewer

// Scratch as accumulators of `type`, `slots` for each part: [rows, parts · slots].
View partials(GpuScratch& scratch, DType type, const Rows& rows, const RowSplits& splits, int slots = 1);
// Operand 1 is the partials: a row's own stand together.
Rows to_partials(const Rows& rows, const RowSplits& splits, int slots = 1);
// Operand 0 is the partials, operand 1 y where it stood.
Rows from_partials(const Rows& rows, const RowSplits& splits, int slots = 1);

// What a call does: rows whole, in parts that it joins itself, or one end of parts that another call joins.
enum class Stage : std::uint8_t { whole, joins, first, second };

// What parts that join by themselves leave of each row, and the bindings of a call without those words.
struct Joining {
  int words = 1;
  std::size_t bindings = 2;
};
// What is done first with one of so many `chunks`.
Stage first_stage(const gpu::Capabilities& capabilities, const Rows& rows, const RowPlan& plan, const RowSplits& splits,
                  const Joining& joining, std::size_t chunks);
// Tells `call` its parts, and how they join.
void add_splits(Call& call, const RowPlan& plan, const RowSplits& splits, Stage stage, int words);

}  // namespace weft::kernels
