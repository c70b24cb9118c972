// Copies and casts. Conventions that all kernels share are in weft/kernels.h.
#pragma once

#include <cstdint>
#include <span>

#include "weft/number.h"
#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// y = x, converted to y's type: to a narrower float rounding to nearest even; float to integer towards zero,
// saturating, NaN to 0; integers wrap; to boolean: x != 0. x broadcasts to y. Between f64 and other types a GPU,
// which has no such numbers, converts by integer operations, to the same values.
void copy(Stream& stream, const View& x, const View& y);
// y = value converted to y's type.
void fill(Stream& stream, Number value, const View& y);
// y = x where the mask is true; elsewhere y stays. mask: boolean; x has y's type, any one. mask and x broadcast to y.
void masked_copy(Stream& stream, const View& mask, const View& x, const View& y);

// Elements begin, begin + step, … before `end` along an axis: a view, nothing moves. As in Python, negative numbers
// count from the end, ends outside are cut off, and a negative step walks down; kToEnd stands for what Python leaves
// out. Throws InvalidArgument if step is 0, Unsupported if a packed type's part would start inside a byte (pad can move
// it).
inline constexpr std::int64_t kToEnd = INT64_MAX;
View slice(const View& x, int axis, std::int64_t begin, std::int64_t end = kToEnd, std::int64_t step = 1);

// y = the parts one after the other along `axis`. The parts have y's type, and y's shape but for that axis.
void concat(Stream& stream, std::span<const View> parts, const View& y, int axis);
// The parts = x cut along `axis`, in the sizes that the parts have.
void split(Stream& stream, const View& x, std::span<const View> parts, int axis);

}  // namespace weft::kernels
