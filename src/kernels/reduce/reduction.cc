#include "kernels/reduce/reduction.h"

#include "core/format.h"
#include "gpu/sync_flags.h"
#include "kernels/common/chunks.h"
#include "kernels/common/memory.h"
#include "weft/error.h"

namespace weft::kernels {

AxisMask checked_axes(std::string_view kernel, const TensorType& x, const View& y, std::span<const int> axes) {
  const int rank = x.shape.rank();
  AxisMask reduced{};
  for (int axis : axes) {
    axis = normalize_axis(axis, rank, kernel);
    if (std::exchange(reduced[axis], true)) throw InvalidArgument("{}: axis {} is named twice", kernel, axis);
  }
  Shape kept, with_ones;
  for (int d = 0; d < rank; ++d) {
    with_ones.push_back(reduced[d] ? 1 : x.shape[d]);
    if (!reduced[d]) kept.push_back(x.shape[d]);
  }
  if (y.shape() != kept && y.shape() != with_ones) {
    throw InvalidArgument("{}: x is {}, y is {}; expected y's shape to be {} or {}", kernel, to_string(x), to_string(y),
                          to_string(kept), to_string(with_ones));
  }
  return reduced;
}

bool reduces_in_fours(const Shape& shape, std::span<const int> axes) {
  const AxisMask along = mask_of(axes, shape.rank());
  View x;
  x.dtype = DType::f32;
  x.layout = Layout::dense(shape);
  const Rows rows = rows_along(shape, along, std::span(&x.strides(), 1));
  return vectorises_along(x, rows, 0) || vectorises_across(x, rows, 0);
}

View over_all_axes(const View& view, const Shape& shape, const AxisMask& reduced) {
  const int rank = shape.rank();
  View spread = view;
  spread.layout = {shape, Strides::filled(rank, 0)};
  for (int d = 0, at = 0; d < rank; ++d) {
    if (!reduced[d]) spread.layout.strides[d] = view.strides()[view.rank() == rank ? d : at++];
  }
  return spread;
}

std::optional<Rows> folded_columns(const View& x, const Rows& rows) {
  if (rows.count != 2 || rows.outer.shape.rank() != 1 || rows.outer.strides[0][0] != 1) return {};
  if (rows.length % 2 != 0 || rows.inner.shape.rank() != 1 || rows.inner.strides[0][0] != 2) return {};
  Rows f = rows;
  f.count = f.outer.shape[0] = 4;
  f.length = f.inner.shape[0] = rows.length / 2;
  for (Strides& s : f.inner.strides) s[0] *= 2;
  return vectorises_across(x, f, 0) ? std::optional(f) : std::nullopt;
}

RowPlan plan_split_reduction(const gpu::Capabilities& capabilities, const Rows& rows, RowPlanOptions options) {
  if (options.split) {
    // A second dispatch costs as much as a few dozen steps of a thread (H200).
    options.split = false;
    const RowPlan whole = plan_rows(capabilities, rows, options);
    if (whole.steps <= 32 * std::int64_t{whole.threads_per_row}) return whole;
    options.split = true;
  }
  return plan_rows(capabilities, rows, options);
}

RowPlan plan_reduction(const gpu::Capabilities& capabilities, const View& x, const Rows& rows, bool may_split) {
  const bool across = runs_across(rows, 0);
  RowAccesses access = {RowAccess::along, RowAccess::across, RowAccess::pairs_across, RowAccess::unaligned_across};
  access.require(RowAccess::along, vectorises_along(x, rows, 0));
  access.require(RowAccess::across, vectorises_across(x, rows, 0));
  access.require(RowAccess::pairs_across, across && packed_pairs(x, rows, 0));
  access.require(RowAccess::unaligned_across, across && unaligned_pairs(x, rows, 0));
  return plan_split_reduction(capabilities, rows, {.access = access, .across = across, .split = may_split});
}

RowSplits choose_splits(const gpu::Capabilities& capabilities, const Rows& rows, const RowPlan& plan) {
  if (plan.steps == 0 || !plan.split) return uncut(plan);
  const std::int64_t threads = rows.count / (plan.across ? plan.width : 1) * plan.threads_per_row;
  // Half as many threads as an H200 can hold at once; for single columns, with 16 loads in flight, half of these.
  const bool singles = plan.across && plan.width == 1;
  const std::int64_t wanted = capabilities.software ? 256 : singles ? 1 << 16 : 1 << 17;
  const std::int64_t least =
      std::int64_t{plan.threads_per_row} * (capabilities.software ? 16 : 4);  // steps that are worth a split
  const std::int64_t splits =
      std::clamp<std::int64_t>(wanted / threads, 1, std::max<std::int64_t>(plan.steps / least, 1));
  return split_into(plan, splits);
}

RowSplits choose_chunk_splits(const gpu::Capabilities& capabilities, const Rows& rows, const RowPlan& plan,
                              std::size_t chunks, DType type, int slots) {
  const RowSplits splits = choose_splits(capabilities, rows, plan);
  const auto accumulators = static_cast<std::uint64_t>(rows.count * slots) * chunks;
  const auto fit = static_cast<std::int64_t>(chunk_limit(capabilities) / byte_size(type, accumulators));
  const std::int64_t most = std::max<std::int64_t>(fit, 1);
  return splits.count <= most ? splits : split_into(plan, most);
}

RowSplits split_into(const RowPlan& plan, std::int64_t splits) {
  const std::int64_t steps = ceil_div(ceil_div(plan.steps, splits), plan.threads_per_row) * plan.threads_per_row;
  return {ceil_div(plan.steps, steps), steps};
}

namespace {

// The counters of arrivals and the partial results of all workgroups' rows.
std::int64_t joining_words(const RowPlan& plan, const RowSplits& splits, int words) {
  const std::int64_t rows = plan.workgroup / plan.threads_per_row * (plan.across ? plan.width : 1);
  return plan.groups * (1 + splits.count * words * rows);
}

}  // namespace

Stage first_stage(const gpu::Capabilities& capabilities, const Rows& rows, const RowPlan& plan, const RowSplits& splits,
                  const LastBlock& last_block, std::size_t chunks) {
  if (chunks > 1) return Stage::first;
  if (splits.count == 1) return Stage::whole;
  const auto bytes = static_cast<std::uint64_t>(joining_words(plan, splits, last_block.words)) * 4;
  // If a thread would combine many splits, a second dispatch has more threads for it.
  const bool few = splits.count <= std::int64_t{plan.threads_per_row} * 4;
  if (few && bytes <= capabilities.max_binding && last_block.bindings < capabilities.max_storage_buffers &&
      is_one_dispatch(capabilities, rows.count * rows.length, 8)) {
    return Stage::joins;
  }
  return Stage::first;
}

void add_splits(Call& call, const RowPlan& plan, const RowSplits& splits, Stage stage, int words) {
  call.include("last_block").set("joins", stage == Stage::joins).set("split_words", words);
  call.set("partial_out", stage == Stage::first).set("partial_in", stage == Stage::second);
  call.index_param("splits", splits.count).index_param("split_steps", splits.steps);
  // The splits of a lane that are combined at once: all of them up to four, since they take registers.
  const std::int64_t of_lane = ceil_div(splits.count, plan.threads_per_row);
  call.set("at_once", stage == Stage::joins ? std::clamp<std::int64_t>(of_lane, 1, 4) : 1);
  if (stage != Stage::joins) return;
  const auto flags = gpu::sync_flags(call.device(), static_cast<std::uint64_t>(joining_words(plan, splits, words)));
  call.raw("flags", flags, "atomic<u32>", 4, gpu::Access::read_write);
  call.single_dispatch().opaque_zero().index_param("blocks", plan.groups);
}

View partials(GpuScratch& scratch, DType type, const Rows& rows, const RowSplits& splits, int slots) {
  const Shape shape{rows.count, splits.count * slots};
  const View memory = scratch.take(byte_size(type, static_cast<std::uint64_t>(element_count(shape))));
  return {memory.buffer, memory.offset, type, shape};
}

Rows to_partials(const Rows& rows, const RowSplits& splits, int slots) {
  Rows first = rows;
  first.outer.strides[1] = dense_strides(first.outer.shape);
  for (auto& s : first.outer.strides[1]) s *= splits.count * slots;
  return first;
}

Rows from_partials(const Rows& rows, const RowSplits& splits, int slots) {
  Rows second;
  second.count = rows.count;
  second.length = splits.count;
  second.outer = {rows.outer.shape, {to_partials(rows, splits, slots).outer.strides[1], rows.outer.strides[1]}};
  second.inner = {{splits.count}, {{slots}, {0}}};
  return second;
}

}  // namespace weft::kernels
