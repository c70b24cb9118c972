// Scatters: checks, and the launcher of scatter.wgsl. What only moves goes as bits, as in gather.
#include "kernels/index/scatter.h"

#include "kernels/call.h"
#include "kernels/common/memory.h"
#include "kernels/copy/bits.h"
#include "kernels/elementwise/scalar_ops.h"
#include "kernels/index/selected_rows.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

ScalarOp scalar_op(ScatterOp op) {
  switch (op) {
    case ScatterOp::add: return ScalarOp::add;
    case ScatterOp::mul: return ScalarOp::mul;
    case ScatterOp::min: return ScalarOp::min;
    case ScatterOp::max: return ScalarOp::max;
    case ScatterOp::assign: break;
  }
  throw InternalError("scatter: assign has no scalar operation");
}

void check_type(std::string_view name, ScatterOp op, const Selection& s, bool on_gpu) {
  const DTypeKind kind = info(s.whole.dtype).kind;
  const bool compares = op == ScatterOp::min || op == ScatterOp::max;
  if (op == ScatterOp::assign || (compares ? kind != DTypeKind::complex : kind != DTypeKind::boolean)) {
    if (op == ScatterOp::assign || !on_gpu || s.whole.dtype != DType::f64) return;
    throw Unsupported("{} {}: y is {}; f64 runs on the CPU only, WGSL has no such type", name, op_name(op),
                      to_string(s.whole));
  }
  throw InvalidArgument("{}: no {} of {} elements", name, op_name(op), weft::name(s.whole.dtype));
}

void run(Stream& stream, std::string_view name, ScatterOp op, const Selection& s, const View& indices,
         const View& updates, const View& y, const std::optional<View>& workspace) {
  check_type(name, op, s, stream.gpu() != nullptr);
  check_memory(stream, name, {indices, updates}, {y}, Sharing::none, workspace);
  if (s.part.count() == 0) return;
  gpu::Commands* commands = stream.gpu();
  if (!commands) return scatter_cpu(*stream.cpu(), op, s);
  const std::uint64_t needed = chain_words(s) * 4;
  const bool holds = workspace && workspace->is_dense() && workspace->offset % 4 == 0 &&
                     byte_size(workspace->dtype, static_cast<std::uint64_t>(workspace->count())) >= needed;
  if (bits(s.whole.dtype) < 64) {
    // Whole words of integers are added by one operation.
    const bool adds = op == ScatterOp::add && bits(s.whole.dtype) == 32 && !is_floating(s.whole.dtype);
    if (op == ScatterOp::assign || adds || !holds || !has_long_rows(commands->device().capabilities(), s))
      return scatter_gpu(*commands, op, s);
  }
  if (!holds) {
    throw InvalidArgument("{}: y is {}; elements of 64 bits need a workspace of {} dense bytes at a multiple of 4",
                          name, to_string(s.whole), needed);
  }
  scatter_chained_gpu(*commands, op, s, *workspace);
}

std::uint64_t workspace_of(Stream& stream, const Selection& s) {
  if (!stream.gpu() || s.part.count() == 0) return 0;
  if (bits(s.whole.dtype) < 64 && !has_long_rows(stream.gpu()->device().capabilities(), s)) return 0;
  return chain_words(s) * 4;
}

}  // namespace

std::string_view op_name(ScatterOp op) {
  constexpr std::string_view kNames[] = {"assign", "add", "mul", "min", "max"};
  return kNames[static_cast<int>(op)];
}

std::string scatter_formula(ScatterOp op, DType type) {
  if (op == ScatterOp::assign) return "b";
  if (type == DType::c64) {
    return op == ScatterOp::add ? "a + b" : "vec2<f32>(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x)";
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
    if (text[i] == '$') formula += text[++i] == '0' ? 'a' : 'b';
    else formula += text[i];
  }
  return formula;
}

namespace {

// What fits bindings.
void record(gpu::Commands& commands, ScatterOp op, const Selection& selection, int groups) {
  // Of narrow elements four a thread are fewer words to change; words of neighbouring threads go out together.
  const bool each = bits(selection.whole.dtype) < 32;
  const SelectedRows r = op == ScatterOp::assign ? rows_of_bits(selection, each) : rows_of(selection, each);
  const View& whole = r.selection.whole;
  const bool words = op != ScatterOp::assign || (r.width == 1 && bits(whole.dtype) < 32);
  Call call(commands, "scatter");
  call.include("index_groups");
  const std::uint32_t workgroup = workgroup_size(call.capabilities(), 256);
  if (words) call.update("y", reachable_whole(r.selection));
  else call.write("y", reachable_whole(r.selection), r.width);
  const int unroll = groups ? groups : groups_a_thread(call.capabilities(), r);
  call.read("indices", reachable_indices(r.selection), r.each ? 4 : 1)
      .read("updates", r.selection.part, r.each ? 4 : r.width);
  add_rows(call, r, "y", "updates", workgroup);
  call.set("unroll", unroll).set("each", r.each);
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

void scatter_gpu(gpu::Commands& commands, ScatterOp op, const Selection& selection, int unroll) {
  in_index_windows(commands.device().capabilities(), "scatter", selection,
                   [&](const Selection& part) { record(commands, op, part, unroll); });
}

void scatter(Stream& stream, ScatterOp op, const View& indices, const View& updates, const View& y, int axis,
             const std::optional<View>& workspace) {
  run(stream, "scatter", op, select_rows("scatter", y, indices, updates, axis), indices, updates, y, workspace);
}

void scatter_elements(Stream& stream, ScatterOp op, const View& indices, const View& updates, const View& y, int axis,
                      const std::optional<View>& workspace) {
  run(stream, "scatter_elements", op, select_elements("scatter_elements", y, indices, updates, axis), indices, updates,
      y, workspace);
}

void scatter_nd(Stream& stream, ScatterOp op, const View& indices, const View& updates, const View& y, int batch,
                const std::optional<View>& workspace) {
  run(stream, "scatter_nd", op, select_tuples("scatter_nd", y, indices, updates, batch), indices, updates, y,
      workspace);
}

std::uint64_t scatter_workspace(Stream& stream, const View& indices, const View& updates, const View& y, int axis) {
  return workspace_of(stream, select_rows("scatter", y, indices, updates, axis));
}

std::uint64_t scatter_elements_workspace(Stream& stream, const View& indices, const View& updates, const View& y,
                                         int axis) {
  return workspace_of(stream, select_elements("scatter_elements", y, indices, updates, axis));
}

std::uint64_t scatter_nd_workspace(Stream& stream, const View& indices, const View& updates, const View& y, int batch) {
  return workspace_of(stream, select_tuples("scatter_nd", y, indices, updates, batch));
}

}  // namespace weft::kernels
