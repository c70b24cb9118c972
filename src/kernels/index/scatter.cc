// Scatters: checks, and the launcher of scatter.wgsl. Elements that are only moved are treated as bits, as in gather.
#include "kernels/index/scatter.h"

#include "core/format.h"
#include "kernels/call.h"
#include "kernels/common/memory.h"
#include "kernels/elementwise/scalar_ops.h"
#include "kernels/index/selected_rows.h"
#include "kernels/plan_cache.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

ScalarOp scalar_op(ScatterKind op) {
  switch (op) {
    case ScatterKind::add:
      return ScalarOp::add;
    case ScatterKind::mul:
      return ScalarOp::mul;
    case ScatterKind::min:
      return ScalarOp::min;
    case ScatterKind::max:
      return ScalarOp::max;
    case ScatterKind::assign:
      break;
  }
  throw InternalError("scatter: assign has no scalar operation");
}

void check_type(std::string_view name, ScatterKind op, const View& y, bool on_gpu) {
  const DTypeKind kind = info(y.dtype).kind;
  const bool compares = op == ScatterKind::min || op == ScatterKind::max;
  if (op == ScatterKind::assign || (compares ? kind != DTypeKind::complex : kind != DTypeKind::boolean)) {
    if (op == ScatterKind::assign || !on_gpu || y.dtype != DType::f64) return;
    throw Unsupported("{}: y is {}; {} of f64 runs on the CPU only, WGSL has no such type", name, to_string(y),
                      op_name(op));
  }
  throw InvalidArgument("{}: y is {}; there is no {} of such elements", name, to_string(y), op_name(op));
}

void run(Stream& stream, std::string_view name, ScatterKind op, const Selection& s, const View& indices,
         const View& updates, const View& y, bool ordered) {
  check_type(name, op, y, stream.gpu() != nullptr);
  check_memory(stream, name, {{indices_name(name), indices}, {part_name(name), updates}}, {{"y", y}}, Sharing::none);
  if (s.part.count() == 0) return;
  gpu::Commands* commands = stream.gpu();
  if (!commands) return scatter_cpu(*stream.cpu(), op, s);
  // Integers, the least and the greatest are the same in any order.
  const bool rounds = (op == ScatterKind::add || op == ScatterKind::mul) && !is_integer(y.dtype);
  if (ordered && (op == ScatterKind::assign || rounds) && may_repeat(s)) {
    return scatter_chained_gpu(*commands, op, s, true);
  }
  if (bits(s.whole.dtype) < 64 || s.starts) {
    // 32-bit integers are added by one atomic operation.
    const bool adds = op == ScatterKind::add && bits(s.whole.dtype) == 32 && !is_floating(s.whole.dtype);
    if (op == ScatterKind::assign || adds || !has_long_rows(commands->device().capabilities(), s))
      return scatter_gpu(*commands, op, s);
  }
  scatter_chained_gpu(*commands, op, s);
}

}  // namespace

std::string_view op_name(ScatterKind op) {
  constexpr std::string_view kNames[] = {"assign", "add", "mul", "min", "max"};
  return kNames[static_cast<int>(op)];
}

std::string scatter_formula(ScatterKind op, DType type) {
  if (op == ScatterKind::assign) return "b";
  if (type == DType::c64) {
    return op == ScatterKind::add ? "a + b" : "vec2<f32>(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x)";
  }
  const ScalarOpInfo& row = info(scalar_op(op));
  std::string_view text = row.f32;
  if (bits(type) == 64) {
    text = is_signed(type) || row.u64.empty() ? row.i64 : row.u64;
  } else if (!is_floating(type)) {
    if (!row.i32.empty()) text = row.i32;
    if (!is_signed(type) && !row.u32.empty()) text = row.u32;
  }
  std::string formula;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '$')
      formula += text[++i] == '0' ? 'a' : 'b';
    else
      formula += text[i];
  }
  return formula;
}

namespace {

std::uint64_t assigned_bytes(const Selection& s) { return 2 * touched_bytes(s.part) + touched_bytes(s.indices); }

// Records a selection that fits bindings.
void record(gpu::Commands& commands, ScatterKind op, const Selection& selection, int groups) {
  // Four narrow elements a thread change fewer words; the words of adjacent threads are stored together.
  const bool each = bits(selection.whole.dtype) < 32;
  const SelectedRows r = op == ScatterKind::assign ? rows_of_bits(selection, each) : rows_of(selection, each);
  const View& whole = r.selection.whole;
  const bool words = op != ScatterKind::assign || (r.width == 1 && bits(whole.dtype) < 32);
  Call call(commands, "scatter");
  call.include("index_groups");
  const std::uint32_t workgroup = workgroup_size(call.capabilities(), 256);
  if (words)
    call.update("y", reachable_whole(r.selection));
  else
    call.write("y", reachable_whole(r.selection), r.width);
  const int unroll = groups ? groups : groups_a_thread(call.capabilities(), r);
  call.read("indices", reachable_indices(r.selection), r.each ? 4 : 1)
      .read("updates", r.selection.part, r.each ? 4 : r.width);
  add_rows(call, r, "y", "updates", workgroup);
  call.set("unroll", unroll).set("each", r.each);
  // Of y as much as is written.
  if (op == ScatterKind::assign) call.cost({.bytes = assigned_bytes(selection)});
  const int per_word = 32 / bits(whole.dtype);
  call.set("words", words)
      .set("op", op_name(op))
      .set("floats", is_floating(whole.dtype))
      .set("formula", scatter_formula(op, whole.dtype))
      .set("per_word", per_word)
      .set("mask", (std::int64_t{1} << bits(whole.dtype)) - 1)
      .dispatch_groups("scatter", ceil_div(r.groups, std::int64_t{workgroup} * unroll));
}

}  // namespace

void scatter_gpu(gpu::Commands& commands, ScatterKind op, const Selection& selection, int unroll) {
  in_index_chunks(commands.device().capabilities(), "scatter", selection,
                  [&](const Selection& part) { record(commands, op, part, unroll); });
}

void scatter(Stream& stream, ScatterKind op, const View& indices, const View& updates, const View& y, int axis,
             bool ordered) {
  call(stream, CallKey("scatter", op, axis, ordered), {indices, updates, y}, [&](Stream& s) {
    run(s, "scatter", op, select_rows("scatter", y, indices, updates, axis), indices, updates, y, ordered);
  });
}

void scatter_elements(Stream& stream, ScatterKind op, const View& indices, const View& updates, const View& y, int axis,
                      bool ordered) {
  call(stream, CallKey("scatter_elements", op, axis, ordered), {indices, updates, y}, [&](Stream& s) {
    const Selection selection = select_elements("scatter_elements", y, indices, updates, axis);
    run(s, "scatter_elements", op, selection, indices, updates, y, ordered);
  });
}

void scatter_nd(Stream& stream, ScatterKind op, const View& indices, const View& updates, const View& y, int batch,
                bool ordered) {
  call(stream, CallKey("scatter_nd", op, batch, ordered), {indices, updates, y}, [&](Stream& s) {
    const Selection selection = select_tuples("scatter_nd", y, indices, updates, batch);
    run(s, "scatter_nd", op, selection, indices, updates, y, ordered);
  });
}

void scatter(Stream& stream, ScatterKind op, const View& indices, const View& updates, const View& y, int axis) {
  scatter(stream, op, indices, updates, y, axis, false);
}

void scatter_elements(Stream& stream, ScatterKind op, const View& indices, const View& updates, const View& y,
                      int axis) {
  scatter_elements(stream, op, indices, updates, y, axis, false);
}

void scatter_nd(Stream& stream, ScatterKind op, const View& indices, const View& updates, const View& y, int batch) {
  scatter_nd(stream, op, indices, updates, y, batch, false);
}

void dynamic_update_slice(Stream& stream, const View& update, const View& starts, const View& y,
                          std::span<const int> axes) {
  call(stream, CallKey("dynamic_update_slice", axes), {update, starts, y}, [&](Stream& s) {
    run(s, "dynamic_update_slice", ScatterKind::assign, select_part("dynamic_update_slice", y, starts, update, axes),
        starts, update, y, false);
  });
}

}  // namespace weft::kernels
