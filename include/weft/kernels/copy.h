// Copies and casts. Conventions that all kernels share are in weft/kernels.h.
#pragma once

#include <cstdint>
#include <span>

#include "weft/number.h"
#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// y = x, converted to y's type: to a narrower float rounding to nearest even; float to integer towards zero,
// saturating, NaN to 0; integers wrap; to boolean: x != 0. x broadcasts to y. A GPU, which has no f64, converts between
// f64 and other types by integer operations, to the same values.
void copy(Stream& stream, const View& x, const View& y);
// y = value converted to y's type.
void fill(Stream& stream, Number value, const View& y);
// y = x where the mask is true; elsewhere y is unchanged. mask: boolean; x has y's type (any). mask and x broadcast to
// y.
void masked_copy(Stream& stream, const View& mask, const View& x, const View& y);

// An `end` of slice() that stands for an omitted one.
inline constexpr std::int64_t kToEnd = INT64_MAX;
// Elements begin, begin + step, … before `end` along an axis: a view, nothing is copied. As in Python, negative numbers
// count from the end, ends outside are clamped, and a negative step goes down. Throws
// InvalidArgument if step is 0, Unsupported if a slice of a packed type would start inside a byte (pad can copy it).
View slice(const View& x, int axis, std::int64_t begin, std::int64_t end = kToEnd, std::int64_t step = 1);

// y = concatenation of the parts along `axis`. The parts have y's type, and y's shape except along that axis.
void concat(Stream& stream, std::span<const View> parts, const View& y, int axis);
// Cuts x along `axis` into the parts, in the sizes that they have.
void split(Stream& stream, const View& x, std::span<const View> parts, int axis);

}  // namespace weft::kernels
