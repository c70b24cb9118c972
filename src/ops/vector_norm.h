// What norms of vectors, of matrices and of pools have in common (weft/linalg.h).
#pragma once

#include <string_view>

#include "weft/axes.h"
#include "weft/tensor.h"

namespace weft {

// The greatest of magnitudes, or the least; 0 and infinity of none.
Tensor extreme(const Tensor& size, bool greatest, const Axes& axes, bool keep_dims);

namespace norms {

// x, or |x| of complex numbers, in the type in which norms are computed.
Tensor numbers(const Tensor& x);
// Their magnitudes.
Tensor magnitudes(const Tensor& x);
// The type of a norm of elements of this type, also in words.
DType norm_type(DType type);
inline constexpr std::string_view kNormType = "x's type; of c64, integers and bool f32";

}  // namespace norms

}  // namespace weft
