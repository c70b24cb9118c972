// Elements of a tensor chosen by indices: what gather and scatter share.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "weft/gpu.h"

namespace weft::kernels {

// An axis of the whole that an index moves along. Of a whole that is seen in part, indices first…first+count-1 are
// there.
struct IndexedAxis {
  std::int64_t size, stride;
  std::int64_t first = 0, count = size;
};

// A checked selection over the axes of the part: whole and indices as those axes walk them (stride 0 where they have no
// share). A tuple's numbers lie `component_stride` apart in indices.
struct Selection {
  View whole, indices, part;  // all of part's shape
  std::vector<IndexedAxis> axes;
  std::int64_t component_stride = 0;
  const View *given_whole = nullptr, *given_indices = nullptr;  // as the caller has them, for messages
};

// Throw InvalidArgument. An empty part goes with anything.
Selection select_rows(std::string_view name, const View& whole, const View& indices, const View& part, int axis);
Selection select_elements(std::string_view name, const View& whole, const View& indices, const View& part, int axis);
Selection select_tuples(std::string_view name, const View& whole, const View& indices, const View& part, int batch);

// What the kernel's users call what is chosen from, and what is chosen.
std::string_view whole_name(std::string_view kernel);
std::string_view part_name(std::string_view kernel);

// "u32", "i64", …: how indices of that type compare, for common/index.wgsl.
std::string_view index_kind(DType type);

// The whole and the indices with layouts of the ranges that the selection may reach.
View reachable_whole(const Selection& selection);
View reachable_indices(const Selection& selection);

// Calls `run` with parts of the selection whose views each fit a binding: parts of the part, and windows of the indexed
// axes, for elements whose indices lie there. With `chains_fit` parts must pass it too, and follow each other in
// row-major order where they update the same places. Throws Unsupported, naming `kernel`, where nothing is left to cut.
void in_index_chunks(const gpu::Capabilities& capabilities, std::string_view kernel, const Selection& selection,
                     const std::function<void(const Selection&)>& run,
                     const std::function<bool(const Selection&)>& chains_fit = {});

// An index as it is stored: the one numbered `component` of the tuple at element `at`. u64 keeps its bits.
std::int64_t raw_index_at(const Selection& selection, std::int64_t at, int component);
// The index numbered `component` of the tuple at element `at`, counted from the start; -1 if it is outside.
std::int64_t index_at(const Selection& selection, std::int64_t at, int component);

}  // namespace weft::kernels
