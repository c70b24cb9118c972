// How a GPU iterates over the rows of a selection.
#pragma once

#include <array>
#include <string_view>

#include "kernels/call.h"
#include "kernels/index/selection.h"

namespace weft::kernels {

struct SelectedRows {
  Selection selection;
  Shape outer;                   // all axes but the last
  std::vector<Strides> strides;  // of whole, indices and part, along `outer`
  std::array<std::int64_t, 3> inner{};
  std::int64_t row_groups = 0, groups = 0;
  int width = 1;      // elements of a group that move together, 1 or 4
  bool each = false;  // or four elements, each with its own index
};

// Single elements, or four of them if indices and part allow vec4s and `each` is set.
SelectedRows rows_of(const Selection& selection, bool each);
// To move bits: unsigned integers, adjacent elements joined, four of them if both sides allow vec4s; or `each`, as
// above.
SelectedRows rows_of_bits(const Selection& selection, bool each);
// Groups that a thread takes: with one, too few loads are in flight while it waits for its index.
int groups_a_thread(const gpu::Capabilities& capabilities, const SelectedRows& rows);

// Adds the variables and parameters that gather.wgsl and scatter.wgsl share.
void add_rows(Call& call, const SelectedRows& rows, std::string_view whole, std::string_view part,
              std::uint32_t workgroup);
// Adds those of the indexed axes, and common/index.wgsl.
void add_axes(Call& call, const Selection& selection);

}  // namespace weft::kernels
