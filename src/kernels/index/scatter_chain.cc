// Scatters of elements that no atomic operation can hold, and of long rows, which would take an atomic operation for
// each element: the launcher of scatter_chain.wgsl.
#include <algorithm>

#include "core/str_cat.h"
#include "kernels/call.h"
#include "kernels/common/bits.h"
#include "kernels/common/chunks.h"
#include "kernels/index/scatter.h"
#include "kernels/index/selected_rows.h"
#include "kernels/plan_state.h"
#include "weft/kernels/copy.h"
#include "weft/kernels/sort.h"

namespace weft::kernels {
namespace {

// The part's axes in two groups: a row is the elements that one tuple of indices moves, each to an element of its own;
// the other axes number the tuples.
struct Chains {
  Collapsed axes;                   // strides of whole, indices, part and heads; the tuples' axes first
  std::vector<std::int64_t> heads;  // stride of the head's number for each indexed axis
  std::int64_t head_count = 1;      // targets that a tuple can refer to
  std::int64_t tuples = 1, row = 1;
};

Chains chains(const Selection& s) {
  Chains result;
  const int rank = s.part.rank();
  Strides heads = Strides::filled(rank, 0);
  std::vector<int> order, row_axes;
  for (int d = 0; d < rank; ++d) {
    if (s.indices.strides()[d] == 0 && s.whole.strides()[d] != 0) {
      row_axes.push_back(d);
      result.row *= s.part.shape()[d];
      continue;
    }
    order.push_back(d);
    result.tuples *= s.part.shape()[d];
    if (s.whole.strides()[d] == 0) continue;
    heads[d] = result.head_count;
    result.head_count *= s.part.shape()[d];
  }
  for (const IndexedAxis& axis : s.axes) {
    result.heads.push_back(result.head_count);
    result.head_count *= axis.count;
  }
  order.insert(order.end(), row_axes.begin(), row_axes.end());
  std::vector<Strides> strides;
  Shape shape;
  for (const Strides& own : {s.whole.strides(), s.indices.strides(), s.part.strides(), heads}) {
    const Layout l = Layout{s.part.shape(), own}.permuted(order);
    shape = l.shape;
    strides.push_back(l.strides);
  }
  result.axes = collapse(shape, strides);
  return result;
}

// True if four adjacent elements of a row are a vec4 of the whole and of the part.
bool in_fours(const Selection& s, const Chains& c) {
  const auto fours = [&](const View& view, const Strides& strides) {
    const int b = bits(view.dtype);
    return b >= 8 && b <= 32 && static_cast<std::int64_t>(view.offset) * 8 / b % 4 == 0 && strides.back() == 1 &&
           std::all_of(strides.begin(), strides.end() - 1, [](std::int64_t stride) { return stride % 4 == 0; });
  };
  return !c.axes.shape.empty() && c.axes.shape.back() % 4 == 0 && c.axes.strides[1].back() == 0 &&
         fours(s.whole, c.axes.strides[0]) && fours(s.part, c.axes.strides[2]) &&
         std::ranges::all_of(s.axes, [](const IndexedAxis& a) { return a.stride % 4 == 0; });
}

// Records a selection that fits bindings.
void record(gpu::Commands& commands, ScatterKind op, const Selection& selection, bool sorts) {
  const Chains c = chains(selection);
  const int width = op != ScatterKind::assign && c.row > 1 && in_fours(selection, c) ? 4 : 1;
  GpuScratch scratch(commands);
  const auto words = [&](std::int64_t count) {
    const View memory = scratch.take(static_cast<std::uint64_t>(count) * 4);
    return View(memory.buffer, memory.offset, DType::u32, {count});
  };
  // Links of the chains; or the number of each tuple's place, and these sorted.
  const View links = words(sorts ? c.tuples : c.head_count + c.tuples);
  const View keys = sorts ? words(c.tuples) : links, order = sorts ? words(c.tuples) : links;
  if (!sorts) fill(commands, 0, View(links.buffer, links.offset, DType::u32, {c.head_count}));
  Selection s = selection;
  if (op == ScatterKind::assign) {
    s.whole = as_unsigned(s.whole);
    s.part = as_unsigned(s.part);
  }
  for (const bool link : {true, false}) {
    Call call(commands, "scatter_chain");
    const std::uint32_t workgroup = workgroup_size(call.capabilities(), 256);
    const std::int64_t threads = link ? c.tuples : c.tuples * c.row / width;
    if (!link) call.read_write("y", reachable_whole(s), width).read("updates", s.part, width);
    call.read("indices", reachable_indices(s));
    call.raw("links", link ? links : keys, link && !sorts ? "atomic<u32>" : "u32", 4,
             link ? gpu::Access::read_write : gpu::Access::read);
    if (sorts && !link) call.raw("order", order, "u32", 4, gpu::Access::read);
    call.iterate(c.axes.shape).strides("indices", c.axes.strides[1]).strides("heads", c.axes.strides[3]);
    if (!link) call.strides("y", c.axes.strides[0]).strides("updates", c.axes.strides[2]);
    add_axes(call, s);
    for (std::size_t k = 0; k < c.heads.size(); ++k) call.index_param(str_cat("heads", k), c.heads[k]);
    call.set("link", link)
        .set("sorts", sorts)
        .set("op", op_name(op))
        .set("formula", scatter_formula(op, s.whole.dtype))
        .set("workgroup", workgroup)
        .index_param("head_count", c.head_count)
        .set("width", width)
        .index_param("row", c.row)
        .index_param("row_groups", c.row / width)
        .index_param("threads", threads)
        .index_param("tuples", c.tuples)
        .dispatch_groups("scatter", ceil_div(threads, workgroup));
    if (link && sorts) sort(commands, links, keys, order, {.axis = 0});
  }
}

}  // namespace

std::uint64_t chain_words(const Selection& selection) {
  const Chains c = chains(selection);
  return static_cast<std::uint64_t>(c.head_count + c.tuples);
}

bool has_long_rows(const gpu::Capabilities& capabilities, const Selection& selection) {
  constexpr std::int64_t kLongRow = 64, kManyBytes = std::int64_t{1} << 20;
  const int b = bits(selection.whole.dtype);
  if (capabilities.software || b < 8 || selection.part.count() * b / 8 < kManyBytes) return false;
  return chains(selection).row >= kLongRow;
}

bool may_repeat(const Selection& s) {
  for (int d = 0; d < s.part.rank(); ++d) {
    if (s.whole.strides()[d] == 0 && s.part.shape()[d] > 1) return true;
  }
  return false;
}

void scatter_chained_gpu(gpu::Commands& commands, ScatterKind op, const Selection& selection, bool ordered) {
  const gpu::Capabilities& capabilities = commands.device().capabilities();
  const auto fits = [&](const Selection& part) {
    return chain_words(part) * sizeof(std::uint32_t) <= chunk_limit(capabilities);
  };
  in_index_chunks(
      capabilities, "scatter", selection,
      [&](const Selection& part) { record(commands, op, part, ordered && op != ScatterKind::assign); }, fits);
}

}  // namespace weft::kernels
