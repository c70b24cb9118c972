// Softmax. Conventions that all kernels share are in weft/kernels.h.
#pragma once

#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// y = exp(x - max(x)) / sum(exp(x - max(x))) along `axis`, of floating types, computed in f32. A row that holds a NaN
// or +inf, or nothing but -inf, gives NaN.
void softmax(Stream& stream, const View& x, const View& y, int axis);

}  // namespace weft::kernels
