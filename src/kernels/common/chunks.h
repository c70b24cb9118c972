// Chunks: pieces of tensors that exceed what one dispatch can bind or count.
#pragma once

#include <functional>
#include <span>

#include "kernels/common/rows.h"
#include "weft/gpu.h"

namespace weft::kernels {

// Splits views of one shape along the axes that `may_cut` marks until each fits a binding and a chunk has at most 2^31
// elements, and calls `run` with the chunks in row-major order. Returns false, without a call, if the views fit as they
// are. Throws Unsupported, naming `kernel`, if no such axis is left.
bool in_chunks(const gpu::Capabilities& capabilities, std::string_view kernel, std::span<const View> views,
               const AxisMask& may_cut, const std::function<void(std::span<const View>)>& run);

// The most elements of a chunk.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 31;
// Bytes from a view's first to its last element, and how many of them fit a binding. (A binding may start up to an
// alignment before its view, and ends at a multiple of 16.)
std::uint64_t span_bytes(const View& view);
std::uint64_t chunk_limit(const gpu::Capabilities& capabilities);

// The steps of in_chunks(), for kernels with more to do. The shape of the chunks: the largest that halving gives; those
// at the ends of axes are smaller.
Shape chunk_shape(const gpu::Capabilities& capabilities, std::string_view kernel, std::span<const View> views,
                  const AxisMask& may_cut);
// Calls f with the begin of each chunk of that shape, in row-major order, along the axes that `along` marks; 0 along
// the others.
void for_each_chunk(const Shape& whole, const Shape& part, const AxisMask& along,
                    const std::function<void(const Dims& begin)>& f);
// The chunk that begins there along these axes; shorter at the end of an axis.
View chunk_at(const View& view, const Dims& begin, const Shape& shape, const AxisMask& along,
              std::string_view kernel = {});
// The axis along which to halve a view, or -1 if it fits. Throws Unsupported if no axis is left that may be cut.
int axis_to_cut(const gpu::Capabilities& capabilities, std::string_view kernel, const View& view,
                const AxisMask& may_cut);
// The size of an axis' first half: a multiple of 64, so that both halves vectorise as the whole does.
std::int64_t first_half(std::int64_t size);
// Throws Unsupported, in the name of `kernel`, where that is inside a byte.
View chunk_along(const View& view, int axis, std::int64_t begin, std::int64_t size, std::string_view kernel = {});

// For kernels whose elements do not depend on each other.
inline AxisMask every_axis() {
  AxisMask all;
  all.fill(true);
  return all;
}

}  // namespace weft::kernels
