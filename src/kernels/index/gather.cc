// Gathers: rows of bits, chosen by indices, which the kernel clamps.
#include "kernels/index/gather.h"

#include "core/str_cat.h"
#include "kernels/call.h"
#include "kernels/common/memory.h"
#include "kernels/index/selected_rows.h"
#include "kernels/plan_cache.h"
#include "weft/error.h"
#include "weft/kernels/index.h"

namespace weft::kernels {

namespace {

// Records a selection that fits bindings.
void record(gpu::Commands& commands, const Selection& selection, int groups) {
  const SelectedRows r = rows_of_bits(selection, true);
  Call call(commands, "gather");
  call.include("index_groups");
  // The bytes of x count as far as they are read.
  call.cost({.bytes = 2 * touched_bytes(selection.part) + touched_bytes(selection.indices)});
  call.variant(str_cat("width_", r.width, r.each ? "_each" : ""), r.width == 4 ? "rows are whole vectors of four"
                                                                  : r.each     ? "four indices a thread"
                                                                               : "rows do not come in fours");
  const std::uint32_t workgroup = workgroup_size(call.capabilities(), 256);
  call.read("x", reachable_whole(r.selection), r.width).read("indices", reachable_indices(r.selection), r.each ? 4 : 1);
  call.write("y", r.selection.part, r.each ? 4 : r.width);
  add_rows(call, r, "x", "y", workgroup);
  const int unroll = groups ? groups : groups_a_thread(call.capabilities(), r);
  call.set("unroll", unroll).set("each", r.each);
  call.dispatch_groups("gather", ceil_div(r.groups, std::int64_t{workgroup} * unroll));
}

void run(Stream& stream, std::string_view name, const Selection& s, const View& x, const View& indices, const View& y) {
  check_memory(stream, name, {{"x", x}, {indices_name(name), indices}}, {{"y", y}}, Sharing::none);
  if (s.part.count() == 0) return;
  if (gpu::Commands* commands = stream.gpu())
    gather_gpu(*commands, s);
  else
    gather_cpu(*stream.cpu(), s);
}

}  // namespace

void gather_gpu(gpu::Commands& commands, const Selection& selection, int unroll) {
  in_index_chunks(commands.device().capabilities(), "gather", selection,
                  [&](const Selection& part) { record(commands, part, unroll); });
}

void gather(Stream& stream, const View& x, const View& indices, const View& y, int axis) {
  call(stream, CallKey("gather", axis), {x, indices, y},
       [&](Stream& s) { run(s, "gather", select_rows("gather", x, indices, y, axis), x, indices, y); });
}

void gather_elements(Stream& stream, const View& x, const View& indices, const View& y, int axis) {
  call(stream, CallKey("gather_elements", axis), {x, indices, y}, [&](Stream& s) {
    run(s, "gather_elements", select_elements("gather_elements", x, indices, y, axis), x, indices, y);
  });
}

void gather_nd(Stream& stream, const View& x, const View& indices, const View& y, int batch) {
  call(stream, CallKey("gather_nd", batch), {x, indices, y},
       [&](Stream& s) { run(s, "gather_nd", select_tuples("gather_nd", x, indices, y, batch), x, indices, y); });
}

void dynamic_slice(Stream& stream, const View& x, const View& starts, const View& y, std::span<const int> axes) {
  call(stream, CallKey("dynamic_slice", axes), {x, starts, y},
       [&](Stream& s) { run(s, "dynamic_slice", select_part("dynamic_slice", x, starts, y, axes), x, starts, y); });
}

}  // namespace weft::kernels
