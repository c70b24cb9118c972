// Tensors past what a dispatch can bind or count: the work is cut into parts that fit.
#pragma once

#include <functional>
#include <span>

#include "kernels/common/rows.h"
#include "weft/gpu.h"

namespace weft::kernels {

// Cuts views that share one shape along the axes that `may_cut` marks until each fits a binding and a part has at most
// 2^31 elements, and calls `run` with the parts in row-major order. False, and nothing is called, if they fit as they
// are. Throws Unsupported, naming `kernel`, where no such axis is left.
bool in_chunks(const gpu::Capabilities& capabilities, std::string_view kernel, std::span<const View> views,
               const AxisMask& may_cut, const std::function<void(std::span<const View>)>& run);

// Elements of a part at most.
constexpr std::int64_t kMostElements = std::int64_t{1} << 31;
// Bytes from a view's first to its last element, and how many of them fit a binding, which may start up to an alignment
// before its view and ends at a multiple of 16.
std::uint64_t span_bytes(const View& view);
std::uint64_t chunk_limit(const gpu::Capabilities& capabilities);

// The steps of that, for kernels with more to do. The shape of the parts, smaller only at the ends of axes: the largest
// that halving gives.
Shape chunk_shape(const gpu::Capabilities& capabilities, std::string_view kernel, std::span<const View> views,
                  const AxisMask& may_cut);
// Calls f with where each part of that shape begins, in row-major order, along the axes that `along` marks; 0 along
// others.
void for_each_chunk(const Shape& whole, const Shape& part, const AxisMask& along,
                    const std::function<void(const Dims& begin)>& f);
// The part that begins there along these axes; shorter at an axis' end.
View chunk_at(const View& view, const Dims& begin, const Shape& shape, const AxisMask& along,
              std::string_view kernel = {});
// The axis to halve for a view, -1 if it fits. Throws Unsupported if none is left that may be cut.
int axis_to_cut(const gpu::Capabilities& capabilities, std::string_view kernel, const View& view,
                const AxisMask& may_cut);
// Parts start at multiples of 64, so that they vectorise as the whole does.
std::int64_t first_half(std::int64_t size);
// Throws Unsupported, in the name of `kernel`, where that is inside a byte.
View chunk_along(const View& view, int axis, std::int64_t begin, std::int64_t size, std::string_view kernel = {});

// Every axis: for kernels whose elements do not depend on each other.
inline AxisMask every_axis() {
  AxisMask all;
  all.fill(true);
  return all;
}

}  // namespace weft::kernels
