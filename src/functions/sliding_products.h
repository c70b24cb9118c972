// Products of a signal with a window that slides along it, of any type: what convolutions and filters are made of
// (weft/numeric.h, weft/signal.h).
#pragma once

#include <cstdint>

#include "weft/tensor.h"

namespace weft {

// y[r, i] = Σ_j rows[r, i + j - before] · window[j], of rows [r, n] with that many zeros in front of and behind each,
// and a window [m] of the same type: [r, n + before + after - m + 1]. Floats and c64 keep their type; bool is whether
// some product is true; integers, of 8 bits or more, wrap in the type of their sums (summed() in ops/composition.h).
// Complex numbers are two channels of one convolution; integers of 64 bits are sums over a view of overlapping windows.
Tensor sliding_products(const Tensor& rows, const Tensor& window, std::int64_t before, std::int64_t after);

}  // namespace weft
