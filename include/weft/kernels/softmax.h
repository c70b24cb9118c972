// Softmax. Conventions that all kernels share are in weft/kernels.h.
#pragma once

#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// y = exp(x - max(x)) / sum(exp(x - max(x))) along `axis`, of floating types, computed in f32. A row that holds a NaN
// or +inf, or nothing but -inf, gives NaN.
void softmax(Stream& stream, const View& x, const View& y, int axis);

// y = x - max(x) - log(sum(exp(x - max(x)))) along `axis`: the logarithm of softmax(), types and special rows as there.
// An element of -inf in a row that has others gives -inf.
void log_softmax(Stream& stream, const View& x, const View& y, int axis);

}  // namespace weft::kernels
