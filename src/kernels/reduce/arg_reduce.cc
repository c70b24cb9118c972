#include "kernels/common/memory.h"
#include "kernels/common/ordered_key.h"
#include "kernels/common/row_parts.h"
#include "kernels/reduce/arg_reduce_cpu.h"
#include "kernels/reduce/reduction.h"
#include "weft/error.h"
#include "weft/kernels/reduce.h"

namespace weft::kernels {
namespace {

constexpr std::string_view kNames[] = {"argmin", "argmax"};

Rows check(ArgOp op, const View& x, const View& y, std::span<const int> axes) {
  const std::string_view name = kNames[static_cast<int>(op)];
  if (!has_order(x.dtype)) throw InvalidArgument("{}: x is {}; expected a type with an order", name, to_string(x));
  if (!is_integer(y.dtype) || bits(y.dtype) < 32) {
    throw InvalidArgument("{}: y is {}; expected an integer of 32 or 64 bits", name, to_string(y));
  }
  Rows rows = reduced_rows(name, x, y, axes);
  if (rows.length == 0 && rows.count > 0) {
    throw InvalidArgument("{}: x is {}; there is nothing to choose from", name, to_string(x));
  }
  return rows;
}

// Accumulators of a part: key and index together, or one after the other.
int slots_of(const View& x) { return bits(x.dtype) == 64 ? 2 : 1; }

// Narrow floats are compared as f32 first (arg_reduce.wgsl); of the others only the bits count.
bool by_value(DType type) { return is_floating(type) && bits(type) <= 16; }
View read_as(const View& x) { return by_value(x.dtype) ? x : as_raw(x); }

AxisMask along(int rank, std::span<const int> axes) {
  AxisMask mask = kept_axes(rank, axes);
  for (bool& m : mask) m = !m;
  return mask;
}

// How an index within a window of a row becomes one of the whole row: a window is runs of `length` elements, `step`
// apart in the row, of which the first begins at `begin`.
struct IndexInRow {
  std::int64_t length, step, begin;
};

void record(Stream& stream, const KeyRule& rule, std::string_view name, const View& x, const View& y, const Rows& rows,
            const RowPlan& plan, const Parts& parts, Stage stage, const std::optional<IndexInRow>& index = {}) {
  Call call(*stream.gpu(), "arg_reduce");
  call.read("x", x, plan.width).write("y", y);
  add_rows(call, rows, plan, std::array<std::string_view, 2>{"x", "y"});
  rule.add_to(call);
  call.set("partial_out", stage == Stage::first).set("partial_in", stage == Stage::second);
  // bf16 shares its denormals with f32.
  call.set("by_value", stage != Stage::second && by_value(x.dtype)).set("may_flush", x.dtype == DType::bf16);
  call.set("batch", loads_at_once(call.capabilities(), plan, bits(x.dtype) <= 16));
  call.set("long_result", bits(y.dtype) == 64).set("windowed", index.has_value());
  call.index_param("parts", parts.count).index_param("part_steps", parts.steps);
  if (index) {
    call.index_param("run", index->length).index_param("run_step", index->step).index_param("run_begin", index->begin);
  }
  call.dispatch_groups(name, plan.groups * parts.count);
}

// Rows: whole ones, or what a window holds of rows that are longer than a binding.
struct Window {
  View x, y;
  Rows rows;
  RowPlan plan;
  Parts parts;
  std::optional<IndexInRow> index;
};

// `whole` is the shape of all windows and rows together.
std::vector<Window> windows_of(const gpu::Capabilities& capabilities, const Shape& whole, const AxisMask& along,
                               RowWindowViews pieces, bool cut) {
  int axis = 0;  // along which windows follow each other
  const bool windowed = pieces.size() > 1;
  while (windowed && (!along[axis] || pieces[0][0].shape()[axis] == whole[axis])) ++axis;
  std::int64_t behind = 1, begin = 0;
  for (int d = axis + 1; d < whole.rank(); ++d) behind *= along[d] ? whole[d] : 1;
  std::vector<Window> windows;
  for (const auto& piece : pieces) {
    Window w{piece[0], piece[1],
             split_rows(piece[0].shape(), along, std::array{piece[0].strides(), piece[1].strides()})};
    w.plan = plan_reduction(capabilities, w.x, w.rows, cut || windowed);
    w.parts = cut_rows(capabilities, w.rows, w.plan);
    if (windowed) {
      const std::int64_t size = w.x.shape()[axis];
      w.index = {size * behind, whole[axis] * behind, begin * behind};
      begin += size;
    }
    windows.push_back(std::move(w));
  }
  return windows;
}

Parts joined(std::span<const Window> windows) {
  Parts all{0, 0};
  for (const Window& w : windows) all.count += w.parts.count;
  return all;
}

// Parts leave accumulators in the workspace, which a last call joins.
void run_in_parts(Stream& stream, const KeyRule& rule, std::string_view name, std::span<const Window> windows,
                  const View& workspace) {
  const Parts all = joined(windows);
  const int slots = slots_of(windows[0].x);
  const Rows& rows = windows[0].rows;
  const View partial = partials("arg_reduce", workspace, DType::u64, rows, all, slots);
  std::int64_t first = 0;
  for (const Window& w : windows) {
    View y = partial;
    y.offset += byte_size(DType::u64, static_cast<std::uint64_t>(first * slots));
    record(stream, rule, name, w.x, y, to_partials(w.rows, all, slots), w.plan, w.parts, Stage::first, w.index);
    first += w.parts.count;
  }
  const Rows second = from_partials(rows, all, slots);
  const RowPlan last = plan_rows(stream.gpu()->device().capabilities(), second, {});
  record(stream, rule, name, partial, windows[0].y, second, last, uncut(last), Stage::second);
}

// What windows of such rows take of a workspace.
auto scratch_of(const gpu::Capabilities& capabilities, const View& x, const AxisMask& along) {
  return [&capabilities, &x, along](RowWindowViews pieces) -> std::uint64_t {
    const std::vector<Window> windows = windows_of(capabilities, x.shape(), along, pieces, true);
    const std::int64_t parts = joined(windows).count;
    return parts == 1 ? 0
                      : byte_size(DType::u64, static_cast<std::uint64_t>(windows[0].rows.count * parts * slots_of(x)));
  };
}

}  // namespace

std::uint64_t arg_reduce_workspace(Stream& stream, ArgOp op, const View& x, const View& y, std::span<const int> axes) {
  const Rows rows = check(op, x, y, axes);
  if (stream.cpu() || rows.count == 0) return 0;
  const gpu::Capabilities& capabilities = stream.gpu()->device().capabilities();
  const AxisMask mask = along(x.rank(), axes);
  const std::array views{read_as(x), over_all_axes(y, x.shape(), kept_axes(x.rank(), axes))};
  return row_windows_scratch(capabilities, kNames[static_cast<int>(op)], views, mask,
                             scratch_of(capabilities, x, mask));
}

void arg_reduce(Stream& stream, ArgOp op, const View& x, const View& y, std::span<const int> axes,
                const std::optional<View>& workspace) {
  const std::string_view name = kNames[static_cast<int>(op)];
  const Rows rows = check(op, x, y, axes);
  check_memory(stream, name, {x}, {y}, Sharing::same_view, workspace);
  if (rows.count == 0) return;
  if (stream.cpu()) return arg_reduce_cpu(*stream.cpu(), op, x, y, rows);

  if (rows.length > std::int64_t{1} << 32) {
    throw Unsupported("{}: rows of {} have {} elements; on a GPU up to 2^32 are counted", name, to_string(x),
                      rows.length);
  }
  const gpu::Capabilities& capabilities = stream.gpu()->device().capabilities();
  // NaN has the greatest key both ways.
  const KeyRule rule(by_value(x.dtype) ? DType::f32 : x.dtype, op == ArgOp::min);
  const AxisMask mask = along(x.rank(), axes);
  const std::array views{read_as(x), over_all_axes(y, x.shape(), kept_axes(x.rank(), axes))};
  const auto scratch = scratch_of(capabilities, x, mask);
  in_row_windows(capabilities, name, views, mask, scratch, [&](RowWindowViews pieces) {
    const std::vector<Window> windows = windows_of(capabilities, x.shape(), mask, pieces, workspace.has_value());
    if (windows.size() > 1 && !workspace) {
      throw Unsupported("{}: rows of {} are longer than this device's bindings of {} bytes; that takes a workspace of "
                        "{} dense bytes, given none", name, to_string(x), capabilities.max_binding, scratch(pieces));
    }
    const Window& w = windows[0];
    if (joined(windows).count > 1) return run_in_parts(stream, rule, name, windows, *workspace);
    record(stream, rule, name, w.x, w.y, w.rows, w.plan, uncut(w.plan), Stage::whole);
  });
}

}  // namespace weft::kernels
