// Selections in tensors that exceed a binding.
#include "core/format.h"
#include "kernels/common/chunks.h"
#include "kernels/index/selection.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

Selection along_part(Selection s, int axis, std::int64_t begin, std::int64_t size) {
  for (View* v : {&s.whole, &s.indices, &s.part}) *v = chunk_along(*v, axis, begin, size);
  return s;
}

Selection along_index(Selection s, int k, std::int64_t begin, std::int64_t size) {
  View axis = s.whole;  // shifted along the axis
  axis.layout = {{s.axes[k].count}, {s.axes[k].stride}};
  s.whole.offset = chunk_along(axis, 0, begin, size).offset;
  s.axes[k].first += begin;
  s.axes[k].count = size;
  return s;
}

// The number of elements of the whole that the selection can reach.
std::int64_t places(const Selection& s) {
  std::int64_t n = 1;
  for (int d = 0; d < s.part.rank(); ++d) n *= s.whole.strides()[d] ? s.part.shape()[d] : 1;
  for (const IndexedAxis& axis : s.axes) n *= axis.count;
  return n;
}

// True if chunks along the axis, one after the other, give the same result as all elements in row-major order: they
// update different elements, or along no earlier axis is the same element updated repeatedly.
bool keeps_order(const Selection& s, int axis) {
  if (s.whole.strides()[axis] != 0) return true;
  for (int d = 0; d < axis; ++d) {
    if (s.whole.strides()[d] == 0 && s.part.shape()[d] > 1) return false;
  }
  return true;
}

}  // namespace

void in_index_chunks(const gpu::Capabilities& capabilities, std::string_view kernel, const Selection& s,
                     const std::function<void(const Selection&)>& run,
                     const std::function<bool(const Selection&)>& chains_fit) {
  const std::uint64_t limit = chunk_limit(capabilities);
  const View whole = reachable_whole(s), indices = reachable_indices(s);
  const View* far = span_bytes(whole) > limit                                     ? &s.whole
                    : span_bytes(indices) > limit                                 ? &s.indices
                    : span_bytes(s.part) > limit || s.part.count() > kMaxElements ? &s.part
                                                                                  : nullptr;
  if (!far && chains_fit && !chains_fit(s)) far = places(s) > s.part.count() ? &s.whole : &s.part;
  if (!far) return run(s);
  // The axis along which it extends farthest: one of the part's axes, or an indexed one.
  int axis = -1, indexed = -1;
  std::int64_t longest = 0;
  for (int d = 0; d < far->rank(); ++d) {
    const std::int64_t reach = std::abs(far->strides()[d]) * (far->shape()[d] - 1);
    if (reach > longest && (!chains_fit || keeps_order(s, d))) longest = reach, axis = d;
  }
  for (std::size_t k = 0; far == &s.whole && k < s.axes.size(); ++k) {
    const std::int64_t reach = std::abs(s.axes[k].stride) * (s.axes[k].count - 1);
    if (reach > longest) longest = reach, indexed = static_cast<int>(k);
  }
  if (longest == 0) {
    const std::string_view name = far == &s.whole     ? whole_name(kernel)
                                  : far == &s.indices ? indices_name(kernel)
                                                      : part_name(kernel);
    const View& given = far == &s.whole ? *s.given_whole : far == &s.indices ? *s.given_indices : s.part;
    throw Unsupported("{}: {} {} cannot be cut for this device's bindings of {} bytes", kernel, name, to_string(given),
                      capabilities.max_binding);
  }
  const std::int64_t size = indexed >= 0 ? s.axes[indexed].count : s.part.shape()[axis];
  const std::int64_t half = first_half(size);
  for (const auto& [begin, count] : {std::pair(std::int64_t{0}, half), std::pair(half, size - half)}) {
    in_index_chunks(capabilities, kernel,
                    indexed >= 0 ? along_index(s, indexed, begin, count) : along_part(s, axis, begin, count), run,
                    chains_fit);
  }
}

}  // namespace weft::kernels
