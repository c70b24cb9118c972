#include "kernels/common/bits.h"

#include "core/format.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

DType unsigned_of(int bits) {
  switch (bits) {
    case 2:
      return DType::u2;
    case 4:
      return DType::u4;
    case 8:
      return DType::u8;
    case 16:
      return DType::u16;
    case 32:
      return DType::u32;
    case 64:
      return DType::u64;
    default:
      throw InternalError("no unsigned type of {} bits", bits);
  }
}

// True if the view's elements can be paired along the axis.
bool pairs(const View& v, int axis) {
  const int b = bits(v.dtype);
  if (v.shape()[axis] % 2 || v.strides()[axis] != 1 || v.offset * 8 / b % 2) return false;
  for (int i = 0; i < v.rank(); ++i) {
    if (i != axis && v.shape()[i] != 1 && v.strides()[i] % 2) return false;
  }
  return true;
}

// Views 64-bit types as pairs of u32; false if that is not possible. A number of the call has one element, which cannot
// be indexed as a pair.
bool split(std::span<View> views, std::span<std::int64_t> steps) {
  if (bits(views[0].dtype) != 64 || views[0].rank() == kMaxRank) return false;
  if (std::ranges::any_of(views, [](const View& v) { return v.buffer.is_number(); })) return false;
  for (View& v : views) {
    for (auto& s : v.layout.strides) s *= 2;
    v.layout.shape.push_back(2);
    v.layout.strides.push_back(1);
    v.dtype = DType::u32;
  }
  for (auto& s : steps) s *= 2;
  return true;
}

bool merge(std::span<View> views, std::span<std::int64_t> steps, int axis) {
  if (bits(views[0].dtype) >= 32 || !std::ranges::all_of(views, [&](const View& v) { return pairs(v, axis); }) ||
      std::ranges::any_of(steps, [](auto s) { return s % 2 != 0; })) {
    return false;
  }
  for (View& v : views) {
    v.dtype = unsigned_of(2 * bits(v.dtype));
    for (int i = 0; i < v.rank(); ++i) {
      if (i != axis) v.layout.strides[i] /= 2;
    }
    v.layout.shape[axis] /= 2;
  }
  for (auto& s : steps) s /= 2;
  return true;
}

}  // namespace

View as_unsigned(const View& view) {
  View v = view;
  v.dtype = unsigned_of(bits(view.dtype));
  return v;
}

void as_bits(std::span<View> views, std::span<std::int64_t> steps, int axis) {
  if (split(views, steps)) return;
  for (View& v : views) v.dtype = unsigned_of(bits(v.dtype));
  while (axis >= 0 && merge(views, steps, axis)) {
  }
}

void as_bits(std::span<View> views) {
  as_bits(views, {}, -1);
  for (int axis = 0; axis < views[0].rank(); ++axis) {
    while (merge(views, {}, axis)) {
    }
  }
}

}  // namespace weft::kernels
