// Elements of a tensor chosen by indices: what gather and scatter share.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "weft/gpu.h"

namespace weft::kernels {

// An axis of the whole along which an index moves. If the whole is bound in chunks, the chunk has the indices
// first…first+count-1.
struct IndexedAxis {
  std::int64_t size, stride;
  std::int64_t first = 0, count = size;
};

// A checked selection over the axes of the part. The whole and the indices have strides along these axes, 0 where they
// do not depend on them. The components of a tuple are `component_stride` apart in `indices`.
struct Selection {
  View whole, indices, part;  // all with the part's shape
  std::vector<IndexedAxis> axes;
  std::int64_t component_stride = 0;
  bool starts = false;  // an index says where the part begins: it is clamped, also if it is negative
  const View *given_whole = nullptr, *given_indices = nullptr;  // as the caller passed them, for messages
};

// Throw InvalidArgument. An empty part is always valid.
Selection select_rows(std::string_view name, const View& whole, const View& indices, const View& part, int axis);
Selection select_elements(std::string_view name, const View& whole, const View& indices, const View& part, int axis);
Selection select_tuples(std::string_view name, const View& whole, const View& indices, const View& part, int batch);
// `starts` has one index for each of `axes`, or is that of one axis.
Selection select_part(std::string_view name, const View& whole, const View& starts, const View& part,
                      std::span<const int> axes);

// The names that the kernel's users know for the whole, the part and the indices.
std::string_view whole_name(std::string_view kernel);
std::string_view part_name(std::string_view kernel);
std::string_view indices_name(std::string_view kernel);

// "u32", "i64", …: the type in which common/index.wgsl compares indices of that type.
std::string_view index_kind(DType type);

// Views of all elements of the whole, and of the indices, that the selection may reach.
View reachable_whole(const Selection& selection);
View reachable_indices(const Selection& selection);

// Calls `run` with pieces of the selection whose views each fit a binding: chunks of the part, and chunks of the
// indexed axes, for elements whose indices are within them. With `chains_fit` pieces must also satisfy it, and follow
// each other in row-major order where they update the same elements. Throws Unsupported, naming `kernel`, if nothing is
// left to cut.
void in_index_chunks(const gpu::Capabilities& capabilities, std::string_view kernel, const Selection& selection,
                     const std::function<void(const Selection&)>& run,
                     const std::function<bool(const Selection&)>& chains_fit = {});

}  // namespace weft::kernels
