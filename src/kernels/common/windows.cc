#include "kernels/common/windows.h"

#include "weft/error.h"

namespace weft::kernels {
namespace {

// The axis along which `view` reaches farthest; -1: none that may be cut.
int longest_axis(const View& view, const AxisMask& may_cut) {
  int axis = -1;
  std::int64_t longest = 0;
  for (int i = 0; i < view.rank(); ++i) {
    const std::int64_t reach = std::abs(view.strides()[i]) * (view.shape()[i] - 1);
    if (may_cut[i] && reach > longest) longest = reach, axis = i;
  }
  return axis;
}

}  // namespace

std::uint64_t span_bytes(const View& view) {
  if (view.count() == 0) return 0;
  const auto [low, high] = view.layout.offset_range();
  return static_cast<std::uint64_t>((high - low + 1) * bits(view.dtype) + 7) / 8;
}

std::uint64_t window_limit(const gpu::Capabilities& capabilities) {
  return capabilities.max_binding - capabilities.storage_alignment - 16;
}

View part_along(const View& view, int axis, std::int64_t begin, std::int64_t size) {
  View part = view;
  const std::int64_t bit = begin * view.strides()[axis] * bits(view.dtype);
  if (bit % 8 != 0) {
    throw Unsupported("{} cannot be cut for this device's bindings: its parts begin inside a byte", to_string(view));
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
  const bool far = span_bytes(view) > window_limit(capabilities);
  if (!far && view.count() <= kMostElements) return -1;
  const int axis = longest_axis(view, may_cut);
  if (axis < 0 && far) {
    throw Unsupported("{}: {} takes {} bytes where it cannot be cut; this device binds {}", kernel, to_string(view),
                      span_bytes(view), capabilities.max_binding);
  }
  return axis;
}

bool in_windows(const gpu::Capabilities& capabilities, std::string_view kernel, std::span<const View> views,
                const AxisMask& may_cut, const std::function<void(std::span<const View>)>& run) {
  int axis = -1;
  for (const View& v : views) {
    if ((axis = axis_to_cut(capabilities, kernel, v, may_cut)) >= 0) break;
  }
  if (axis < 0) return false;
  const std::int64_t size = views[0].shape()[axis];
  const std::int64_t half = first_half(size);
  for (const auto& [begin, count] : {std::pair(std::int64_t{0}, half), std::pair(half, size - half)}) {
    std::vector<View> parts;
    for (const View& v : views) parts.push_back(part_along(v, axis, begin, count));
    if (!in_windows(capabilities, kernel, parts, may_cut, run)) run(parts);
  }
  return true;
}

}  // namespace weft::kernels
