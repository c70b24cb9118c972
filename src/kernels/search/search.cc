// Positions in sorted lists: checks and the launcher of search.wgsl.
#include "kernels/search/search.h"

#include "core/format.h"
#include "kernels/call.h"
#include "kernels/check.h"
#include "kernels/common/chunks.h"
#include "kernels/common/memory.h"
#include "kernels/common/ordered_key.h"
#include "kernels/common/positions.h"
#include "kernels/plan_cache.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"

namespace weft::kernels {
namespace {

constexpr std::string_view kName = "searchsorted";

// `adds`: to what y holds, the positions in the pieces of the list before this one.
void record(gpu::Commands& commands, const KeyRule& rule, const View& sorted, const View& values, const View& y,
            SearchSide side, bool adds) {
  Call call(commands, "search");
  call.iterate(y.shape());
  call.read("sorted", as_raw(sorted));
  call.read("values", as_raw(values)).strides("values", values.strides());
  if (adds)
    call.read_write("y", y);
  else
    call.write("y", y);
  call.strides("y", y.strides());
  rule.add_to(call);
  const std::uint32_t threads = workgroup_size(call.capabilities(), 128);
  call.index_param("count", y.count()).index_param("length", sorted.count());
  call.index_param("step", sorted.strides()[0]);
  call.set("threads", threads).set("right", side == SearchSide::right).set("adds", adds);
  call.set("long_result", bits(y.dtype) == 64);
  call.dispatch_groups(kName, ceil_div(y.count(), threads));
}

// Calls f(piece, adds) with pieces of the list that fit a binding each, in order.
template <class F>
void in_pieces(const gpu::Capabilities& capabilities, const View& sorted, bool adds, F&& f) {
  if (axis_to_cut(capabilities, kName, sorted, every_axis()) < 0) return f(sorted, adds);
  const std::int64_t size = sorted.count(), half = first_half(size);
  in_pieces(capabilities, chunk_along(sorted, 0, 0, half, kName), adds, f);
  in_pieces(capabilities, chunk_along(sorted, 0, half, size - half, kName), true, f);
}

}  // namespace

void searchsorted(Stream& stream, const View& sorted, const View& values, const View& y, const SearchOptions& options) {
  call(stream, CallKey(kName, options.side), {sorted, values, y}, [&](Stream& s) {
    check_views(kName, {&sorted, &values}, {&y});
    if (y.shape() != values.shape()) {
      throw InvalidArgument("{}: y is {}, expected the shape of values {}", kName, to_string(y), to_string(values));
    }
    check_counts(kName, "y", y, sorted.count());
    check_memory(s, kName, {{"sorted", sorted}, {"values", values}}, {{"y", y}}, Sharing::none);
    if (y.count() == 0) return;
    if (sorted.count() == 0) return fill(s, 0, y);
    if (s.cpu()) return searchsorted_cpu(*s.cpu(), sorted, values, y, options.side);
    const gpu::Capabilities& capabilities = s.gpu()->device().capabilities();
    const KeyRule rule(sorted.dtype, false);
    in_pieces(capabilities, sorted, false, [&](const View& piece, bool adds) {
      const View all[] = {values, y};
      const auto run = [&](std::span<const View> v) { record(*s.gpu(), rule, piece, v[0], v[1], options.side, adds); };
      if (!in_chunks(capabilities, kName, all, every_axis(), run)) run(all);
    });
  });
}

}  // namespace weft::kernels
