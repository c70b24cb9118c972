#include "kernels/common/windows.h"

#include "weft/error.h"

namespace weft::kernels {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 31;

std::uint64_t span_bytes(const View& view) {
  if (view.count() == 0) return 0;
  const auto [low, high] = view.layout.offset_range();
  return static_cast<std::uint64_t>((high - low + 1) * bits(view.dtype) + 7) / 8;
}

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

View part_of(const View& view, int axis, std::int64_t begin, std::int64_t size) {
  View part = view;
  const std::int64_t bit = begin * view.strides()[axis] * bits(view.dtype);
  if (bit % 8 != 0) throw Unsupported("{} cannot be cut for this device's bindings: its parts begin inside a byte", to_string(view));
  part.offset = static_cast<std::uint64_t>(static_cast<std::int64_t>(view.offset) + bit / 8);
  part.layout.shape[axis] = size;
  return part;
}

}  // namespace

bool in_windows(const gpu::Capabilities& capabilities, std::string_view kernel, std::span<const View> views,
                const AxisMask& may_cut, const std::function<void(std::span<const View>)>& run) {
  // A binding may start up to an alignment before its view, and ends at a multiple of 16.
  const std::uint64_t limit = capabilities.max_binding - capabilities.storage_alignment - 16;
  int axis = -1;
  for (const View& v : views) {
    const bool far = span_bytes(v) > limit;
    if (!far && v.count() <= kMostElements) continue;
    axis = longest_axis(v, may_cut);
    if (axis >= 0) break;
    if (far) {
      throw Unsupported("{}: {} takes {} bytes where it cannot be cut; this device binds {}", kernel, to_string(v),
                        span_bytes(v), capabilities.max_binding);
    }
  }
  if (axis < 0) return false;
  // Parts start at multiples of 64, so that they vectorise as the whole does.
  const std::int64_t size = views[0].shape()[axis];
  const std::int64_t unit = size >= 128 ? 64 : size >= 16 ? 8 : 1;
  const std::int64_t half = ceil_div(size / 2, unit) * unit;
  for (const auto& [begin, count] : {std::pair(std::int64_t{0}, half), std::pair(half, size - half)}) {
    std::vector<View> parts;
    for (const View& v : views) parts.push_back(part_of(v, axis, begin, count));
    if (!in_windows(capabilities, kernel, parts, may_cut, run)) run(parts);
  }
  return true;
}

}  // namespace weft::kernels
