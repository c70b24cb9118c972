#include "weft/view.h"

#include <algorithm>

#include "core/format.h"
#include "weft/error.h"

namespace weft {

View::View(Buffer buffer, std::uint64_t offset, DType dtype, const Shape& shape)
    : View(std::move(buffer), offset, dtype, shape, dense_strides(shape)) {}

View::View(Buffer b, std::uint64_t byte_offset, DType type, const Shape& shape, const Strides& strides)
    : buffer(std::move(b)), offset(byte_offset), dtype(type), layout{shape, strides} {
  if (shape.rank() != strides.rank()) {
    throw InvalidArgument("view: shape {} and strides {} differ in rank", to_string(shape), to_string(strides));
  }
  const std::uint64_t element = std::max(bits(type) / 8, 1);
  if (offset % element != 0) {
    throw InvalidArgument("view: offset {} is not a multiple of the {} bytes of {}", offset, element, name(type));
  }
  if (count() == 0) return;
  const auto [low, high] = layout.offset_range();
  // Elements before and from the offset on. Divisions, because their bytes may be more than 2^64.
  const std::uint64_t before = std::uint64_t{0} - static_cast<std::uint64_t>(low);
  const std::uint64_t after = static_cast<std::uint64_t>(high) + 1;
  const std::uint64_t packed = bits(type) < 8 ? 8 / static_cast<std::uint64_t>(bits(type)) : 1;  // elements in a byte
  const auto fits = [&](std::uint64_t elements, std::uint64_t bytes) {
    return elements / packed + (elements % packed != 0) <= bytes / element;
  };
  if (!fits(before, offset) || offset > buffer.size() || !fits(after, buffer.size() - offset)) {
    const auto bytes_of = [&](std::uint64_t elements) { return (elements + packed - 1) / packed * element; };
    throw InvalidArgument("view: {} at byte {} reaches bytes {} to {} of a buffer of {}", to_string(*this), offset,
                          static_cast<std::int64_t>(offset - bytes_of(before)),
                          static_cast<std::int64_t>(offset + bytes_of(after)), buffer.size());
  }
}

View View::with_layout(const Layout& other) const { return View(buffer, offset, dtype, other.shape, other.strides); }

std::string to_string(const View& view) {
  std::string s = std::format("{} {}", name(view.dtype), to_string(view.shape()));
  if (!view.is_dense()) s += " strides " + to_string(view.strides());
  return s;
}

std::uint64_t touched_bytes(const View& view) {
  std::uint64_t elements = 1;
  for (int i = 0; i < view.rank(); ++i) {
    if (view.strides()[i] != 0 || view.shape()[i] == 0) elements *= static_cast<std::uint64_t>(view.shape()[i]);
  }
  return byte_size(view.dtype, elements);
}

}  // namespace weft
