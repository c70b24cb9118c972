#include "kernels/common/chunks.h"

#include "core/format.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

// The axis along which `view` extends farthest. For a view that is not `far` but has too many elements: the longest
// axis, if it extends along none. -1: there is none that may be cut.
int longest_axis(const View& view, const AxisMask& may_cut, bool far) {
  int axis = -1;
  std::pair longest(std::int64_t{0}, far ? view.count() : 1);
  for (int i = 0; i < view.rank(); ++i) {
    const std::int64_t size = view.shape()[i];
    const std::pair extent(std::abs(view.strides()[i]) * (size - 1), size);
    if (may_cut[i] && extent > longest) longest = extent, axis = i;
  }
  return axis;
}

}  // namespace

std::uint64_t span_bytes(const View& view) {
  if (view.count() == 0) return 0;
  const auto [low, high] = view.layout.offset_range();
  return static_cast<std::uint64_t>((high - low + 1) * bits(view.dtype) + 7) / 8;
}

std::uint64_t chunk_limit(const gpu::Capabilities& capabilities) {
  return capabilities.max_binding - capabilities.storage_alignment - 16;
}

View chunk_along(const View& view, int axis, std::int64_t begin, std::int64_t size, std::string_view kernel) {
  View part = view;
  const std::int64_t bit = begin * view.strides()[axis] * bits(view.dtype);
  if (bit % 8 != 0) {
    throw Unsupported("{}{}{} cannot be cut for this device's bindings: its parts begin inside a byte", kernel,
                      kernel.empty() ? "" : ": ", to_string(view));
  }
  part.offset = static_cast<std::uint64_t>(static_cast<std::int64_t>(view.offset) + bit / 8);
  part.layout.shape[axis] = size;
  return part;
}

std::int64_t first_half(std::int64_t size) {
  const std::int64_t unit = size >= 128 ? 64 : size >= 16 ? 8 : 1;
  return ceil_div(ceil_div(size, 2), unit) * unit;
}

int axis_to_cut(const gpu::Capabilities& capabilities, std::string_view kernel, const View& view,
                const AxisMask& may_cut) {
  const bool far = span_bytes(view) > chunk_limit(capabilities);
  if (!far && view.count() <= kMaxElements) return -1;
  const int axis = longest_axis(view, may_cut, far);
  if (axis < 0 && far) {
    throw Unsupported("{}: {} takes {} bytes where it cannot be cut; this device binds {}", kernel, to_string(view),
                      span_bytes(view), capabilities.max_binding);
  }
  return axis;
}

Shape chunk_shape(const gpu::Capabilities& capabilities, std::string_view kernel, std::span<const View> views,
                  const AxisMask& may_cut) {
  Shape shape = views[0].shape();
  for (View part : views) {
    for (;;) {
      part.layout.shape = shape;
      const int axis = axis_to_cut(capabilities, kernel, part, may_cut);
      if (axis < 0) break;
      shape[axis] = first_half(shape[axis]);
    }
  }
  return shape;
}

void for_each_chunk(const Shape& whole, const Shape& part, const AxisMask& along,
                    const std::function<void(const Dims& begin)>& f) {
  Dims begin = Dims::filled(whole.rank(), 0);
  for (;;) {
    f(begin);
    int d = whole.rank() - 1;
    for (; d >= 0; --d) {
      if (!along[d]) continue;
      if ((begin[d] += part[d]) < whole[d]) break;
      begin[d] = 0;
    }
    if (d < 0) return;
  }
}

View chunk_at(const View& view, const Dims& begin, const Shape& shape, const AxisMask& along, std::string_view kernel) {
  View part = view;
  for (int d = 0; d < view.rank(); ++d) {
    if (along[d]) part = chunk_along(part, d, begin[d], std::min(shape[d], view.shape()[d] - begin[d]), kernel);
  }
  return part;
}

bool in_chunks(const gpu::Capabilities& capabilities, std::string_view kernel, std::span<const View> views,
               const AxisMask& may_cut, const std::function<void(std::span<const View>)>& run) {
  const Shape &whole = views[0].shape(), shape = chunk_shape(capabilities, kernel, views, may_cut);
  if (shape == whole) return false;
  for_each_chunk(whole, shape, may_cut, [&](const Dims& begin) {
    std::vector<View> parts;
    for (const View& v : views) parts.push_back(chunk_at(v, begin, shape, may_cut, kernel));
    run(parts);
  });
  return true;
}

}  // namespace weft::kernels
