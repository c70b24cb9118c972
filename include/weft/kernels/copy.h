// Copies and casts. Conventions that all kernels share are in weft/kernels.h.
#pragma once

#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// y = x, converted to y's type: to a narrower float rounding to nearest even; float to integer towards zero, saturating,
// NaN to 0; integers wrap; to boolean: x != 0. x broadcasts to y.
void copy(Stream& stream, const View& x, const View& y);
// y = value converted to y's type.
void fill(Stream& stream, double value, const View& y);

}  // namespace weft::kernels
