#include "core/format.h"
#include "kernels/check.h"
#include "kernels/common/memory.h"
#include "kernels/common/ordered_key.h"
#include "kernels/common/positions.h"
#include "kernels/common/split_rows.h"
#include "kernels/reduce/arg_reduce_cpu.h"
#include "kernels/reduce/reduction.h"
#include "weft/error.h"
#include "weft/kernels/reduce.h"

namespace weft::kernels {
namespace {

constexpr std::string_view kNames[] = {"argmin", "argmax"};

Rows check(ArgKind op, const View& x, const View& y, std::span<const int> axes) {
  const std::string_view name = kNames[static_cast<int>(op)];
  check_views(name, {&x}, {&y});
  const AxisMask reduced = checked_axes(name, {x.dtype, x.shape()}, y, axes);
  const std::array<Strides, 2> strides{x.strides(), over_all_axes(y, x.shape(), reduced).strides()};
  Rows rows = rows_along(x.shape(), reduced, strides);
  if (rows.length == 0 && rows.count > 0) {
    throw InvalidArgument("{}: x is {}; there is nothing to choose from", name, to_string(x));
  }
  check_positions(name, "y", y, rows.length);
  return rows;
}

// Accumulators of a split: key and index together, or one after the other.
int slots_of(const View& x) { return bits(x.dtype) == 64 ? 2 : 1; }
// Words of the key and index of splits that the last workgroup combines.
int words_of(const View& x) { return bits(x.dtype) == 64 ? 3 : 2; }

// Narrow floats are compared as f32 first (arg_reduce.wgsl); of other types only the bits matter.
bool by_value(DType type) { return is_floating(type) && bits(type) <= 16; }
View read_as(const View& x) { return by_value(x.dtype) ? x : as_raw(x); }

// Converts an index within a chunk of a row to one of the whole row. A chunk that is cut along one axis is runs of
// `length` elements, `step` apart in the row, of which the first begins at `begin`; a chunk that is cut along several
// axes is a chunk of one that is cut along one axis less. The innermost axis comes first.
struct RunsInRow {
  std::int64_t length, step, begin;
};
using IndexInRow = std::vector<RunsInRow>;

// `whole` is the shape of all chunks and rows together.
IndexInRow index_in_row(const RowChunk& chunk, const Shape& whole, const AxisMask& along) {
  IndexInRow index;
  std::int64_t behind = 1;
  for (int d = whole.rank() - 1; d >= 0; --d) {
    if (!along[d]) continue;
    const std::int64_t size = chunk.views[0].shape()[d];
    if (size < whole[d]) index.push_back({size * behind, whole[d] * behind, chunk.begin[d] * behind});
    behind *= whole[d];
  }
  // There is only one run along the outermost axis.
  if (!index.empty() && index.back().step == behind) index.back().step = 0;
  return index;
}

void record(Stream& stream, const KeyRule& rule, std::string_view name, const View& x, const View& y, const Rows& rows,
            const RowPlan& plan, const RowSplits& splits, Stage stage, const IndexInRow& index = {}, int folds = 1) {
  Call call(*stream.gpu(), "arg_reduce");
  call.read("x", x, plan.width, plan.width == 4 ? plan.pair_stride() : 0).write("y", y);
  add_rows(call, rows, plan, std::array<std::string_view, 2>{"x", "y"});
  rule.add_to(call);
  add_splits(call, plan, splits, stage, words_of(x));
  // bf16 has the same denormals as f32.
  call.set("by_value", stage != Stage::second && by_value(x.dtype)).set("may_flush", x.dtype == DType::bf16);
  add_batches(call, plan, splits, loads_at_once(call.capabilities(), plan, bits(x.dtype) <= 16));
  call.set("long_result", bits(y.dtype) == 64).set("cuts", static_cast<int>(index.size())).set("folds", folds);
  for (std::size_t i = 0; i < index.size(); ++i) {
    call.index_param(std::format("run{}", i), index[i].length).index_param(std::format("step{}", i), index[i].step);
    call.index_param(std::format("begin{}", i), index[i].begin);
  }
  call.dispatch_groups(name, plan.groups * splits.count);
}

// Whole rows, or a chunk of rows that exceed a binding.
struct Chunk {
  View x, y;
  Rows rows;
  RowPlan plan;
  RowSplits splits;
  IndexInRow index;
  Stage stage = Stage::whole;
  int folds = 1;  // that many adjacent `rows` are one row
};

std::vector<Chunk> chunks_of(const gpu::Capabilities& capabilities, const Shape& whole, const AxisMask& along,
                             RowChunks pieces) {
  std::vector<Chunk> chunks;
  for (const RowChunk& piece : pieces) {
    const View &x = piece.views[0], &y = piece.views[1];
    Chunk w{x, y, rows_along(x.shape(), along, std::array{x.strides(), y.strides()})};
    const auto plan = [&](Chunk& w) {
      w.plan = plan_reduction(capabilities, w.x, w.rows, true);
      w.splits = choose_chunk_splits(capabilities, w.rows, w.plan, pieces.size(), DType::u64, slots_of(x));
      w.stage = first_stage(capabilities, w.rows, w.plan, w.splits, {words_of(x), 2}, pieces.size());
      if (w.stage != Stage::whole) return;
      if (w.plan.split) w.plan = plan_reduction(capabilities, w.x, w.rows, false);
      w.splits = uncut(w.plan);
    };
    if (const auto rows = pieces.size() == 1 ? folded_columns(x, w.rows) : std::nullopt) {
      Chunk two{x, y, *rows};
      two.folds = 2;
      plan(two);
      if (two.stage != Stage::first) return {two};
    }
    plan(w);
    w.index = index_in_row(piece, whole, along);
    chunks.push_back(std::move(w));
  }
  return chunks;
}

RowSplits joined(std::span<const Chunk> chunks) {
  RowSplits all{0, 0};
  for (const Chunk& w : chunks) all.count += w.splits.count;
  return all;
}

// Splits write accumulators to scratch, which a last call combines.
void run_split(Stream& stream, const KeyRule& rule, std::string_view name, std::span<const Chunk> chunks) {
  const RowSplits all = joined(chunks);
  const int slots = slots_of(chunks[0].x);
  const Rows& rows = chunks[0].rows;
  GpuScratch scratch(*stream.gpu());
  const View partial = partials(scratch, DType::u64, rows, all, slots);
  std::int64_t first = 0;
  for (const Chunk& w : chunks) {
    View y = partial;
    y.offset += byte_size(DType::u64, static_cast<std::uint64_t>(first * slots));
    record(stream, rule, name, w.x, y, to_partials(w.rows, all, slots), w.plan, w.splits, w.stage, w.index);
    first += w.splits.count;
  }
  const Rows second = from_partials(rows, all, slots);
  const RowPlan last = plan_rows(stream.gpu()->device().capabilities(), second, {});
  record(stream, rule, name, partial, chunks[0].y, second, last, uncut(last), Stage::second);
}

// The scratch for chunks of such rows.
auto scratch_of(const gpu::Capabilities& capabilities, const View& x, const AxisMask& along) {
  return [&capabilities, &x, along](RowChunks pieces) -> std::uint64_t {
    const std::vector<Chunk> chunks = chunks_of(capabilities, x.shape(), along, pieces);
    if (chunks[0].stage != Stage::first) return 0;
    const std::int64_t splits = joined(chunks).count;
    return byte_size(DType::u64, static_cast<std::uint64_t>(chunks[0].rows.count * splits * slots_of(x)));
  };
}

void run(Stream& stream, ArgKind op, const View& x, const View& y, std::span<const int> axes) {
  const std::string_view name = kNames[static_cast<int>(op)];
  const Rows rows = check(op, x, y, axes);
  check_memory(stream, name, {{"x", x}}, {{"y", y}}, Sharing::same_view);
  if (rows.count == 0) return;
  if (stream.cpu()) return arg_reduce_cpu(*stream.cpu(), op, x, y, rows);

  if (rows.length > std::int64_t{1} << 32) {
    throw Unsupported("{}: rows of {} have {} elements; on a GPU up to 2^32 are counted", name, to_string(x),
                      rows.length);
  }
  const gpu::Capabilities& capabilities = stream.gpu()->device().capabilities();
  // NaN has the greatest key in both orders.
  const KeyRule rule(by_value(x.dtype) ? DType::f32 : x.dtype, op == ArgKind::min);
  const AxisMask mask = mask_of(axes, x.rank());
  const std::array views{read_as(x), over_all_axes(y, x.shape(), mask)};
  const auto scratch = scratch_of(capabilities, x, mask);
  in_row_chunks(capabilities, name, views, mask, scratch, [&](RowChunks pieces) {
    const std::vector<Chunk> chunks = chunks_of(capabilities, x.shape(), mask, pieces);
    const Chunk& w = chunks[0];
    if (w.stage == Stage::first) return run_split(stream, rule, name, chunks);
    record(stream, rule, name, w.x, w.y, w.rows, w.plan, w.splits, w.stage, {}, w.folds);
  });
}

}  // namespace

void arg_reduce(Stream& stream, ArgKind op, const View& x, const View& y, std::span<const int> axes) {
  call(stream, CallKey(kNames[static_cast<int>(op)], axes), {x, y}, [&](Stream& s) { run(s, op, x, y, axes); });
}

}  // namespace weft::kernels
