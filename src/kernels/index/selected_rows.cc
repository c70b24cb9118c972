#include "kernels/index/selected_rows.h"

#include "core/str_cat.h"
#include "kernels/common/bits.h"
#include "kernels/elementwise/elementwise.h"

namespace weft::kernels {

namespace {

SelectedRows collapsed(const Selection& s) {
  SelectedRows r{s};
  const Strides strides[] = {s.whole.strides(), s.indices.strides(), s.part.strides()};
  const Collapsed c = sort_and_collapse(s.part.shape(), strides, 2);
  r.outer = c.shape;
  r.outer.pop_back();
  r.strides = c.strides;
  for (std::size_t k = 0; k < 3; ++k) {
    r.inner[k] = c.strides[k].back();
    r.strides[k].pop_back();
  }
  r.row_groups = c.shape.back();
  r.groups = element_count(c.shape);
  return r;
}

bool has_fours(const View& v, const Strides& outer, std::int64_t inner) {
  const int b = bits(v.dtype);
  return b >= 8 && b <= 32 && inner == 1 && v.offset * 8 / b % 4 == 0 &&
         std::ranges::all_of(outer, [](auto s) { return s % 4 == 0; });
}

// Elements with an index each: takes four at once, if the indices and the part allow it.
void take_each(SelectedRows& r) {
  const Selection& s = r.selection;
  r.each = r.width == 1 && s.axes.size() == 1 && s.axes[0].count == s.axes[0].size && r.row_groups % 4 == 0 &&
           has_fours(s.indices, r.strides[1], r.inner[1]) && has_fours(s.part, r.strides[2], r.inner[2]);
  if (!r.each) return;
  r.row_groups /= 4;
  r.groups /= 4;
}

}  // namespace

SelectedRows rows_of(const Selection& selection, bool each) {
  SelectedRows r = collapsed(selection);
  if (each) take_each(r);
  return r;
}

SelectedRows rows_of_bits(const Selection& selection, bool each) {
  Selection s = selection;
  View moved[] = {s.whole, s.part};
  std::vector<std::int64_t> steps;
  for (const IndexedAxis& axis : s.axes) steps.push_back(axis.stride);
  // Elements are joined along the last axis only, if that is not one of the indices' axes.
  const int rank = s.part.rank();
  as_bits(moved, steps, rank > 0 && s.indices.strides()[-1] == 0 ? rank - 1 : -1);
  for (std::size_t k = 0; k < steps.size(); ++k) s.axes[k].stride = steps[k];
  s.whole = moved[0];
  s.part = moved[1];
  s.indices.layout.shape = s.part.shape();
  if (s.part.rank() > rank) s.indices.layout.strides.push_back(0);

  SelectedRows r = collapsed(s);
  const bool fours = r.row_groups % 4 == 0 && r.inner[1] == 0 && has_fours(s.whole, r.strides[0], r.inner[0]) &&
                     has_fours(s.part, r.strides[2], r.inner[2]) &&
                     std::ranges::all_of(steps, [](auto step) { return step % 4 == 0; });
  if (fours) {
    r.width = 4;
    r.row_groups /= 4;
    r.groups /= 4;
  }
  if (each) take_each(r);
  return r;
}

int groups_a_thread(const gpu::Capabilities& capabilities, const SelectedRows& rows) {
  constexpr std::int64_t kManyGroups = 1 << 19;  // with fewer a large GPU needs a thread for each
  if (capabilities.software || rows.each || rows.groups < kManyGroups) return 1;
  return rows.width == 4 ? 2 : 4;
}

void add_axes(Call& call, const Selection& selection) {
  call.include("index").set("index_kind", index_kind(selection.indices.dtype));
  call.set("components", static_cast<int>(selection.axes.size()));
  call.index_param("component_stride", selection.component_stride);
  const bool windowed =
      std::ranges::any_of(selection.axes, [](const IndexedAxis& axis) { return axis.count != axis.size; });
  call.set("windowed", windowed);
  for (std::size_t k = 0; k < selection.axes.size(); ++k) {
    const IndexedAxis& axis = selection.axes[k];
    call.index_param(str_cat("size", k), axis.size).index_param(str_cat("stride", k), axis.stride);
    if (windowed) {
      call.index_param(str_cat("first", k), axis.first).index_param(str_cat("count", k), axis.count);
    }
  }
}

void add_rows(Call& call, const SelectedRows& rows, std::string_view whole, std::string_view part,
              std::uint32_t workgroup) {
  call.iterate(rows.outer)
      .strides(whole, rows.strides[0])
      .strides("indices", rows.strides[1])
      .strides(part, rows.strides[2])
      .set("width", rows.width)
      .set("starts", rows.selection.starts)
      .set("workgroup", workgroup)
      .index_param("groups", rows.groups)
      .index_param("row_groups", rows.row_groups)
      .index_param(str_cat(whole, "_inner"), rows.inner[0])
      .index_param("indices_inner", rows.inner[1])
      .index_param(str_cat(part, "_inner"), rows.inner[2]);
  add_axes(call, rows.selection);
}

}  // namespace weft::kernels
