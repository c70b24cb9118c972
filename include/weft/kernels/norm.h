// Normalisation. Conventions that all kernels share are in weft/kernels.h.
#pragma once

#include <optional>

#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// y = (x - mean) / sqrt(variance + epsilon) · scale + bias over the axes from `first_axis` on; scale and bias (optional)
// have the shape of those axes. Floating types, each operand its own; computed in f32, with a mean that is large beside
// the deviation costing no digits beyond those that x itself lost.
void layer_norm(Stream& stream, const View& x, const std::optional<View>& scale, const std::optional<View>& bias,
                const View& y, int first_axis, float epsilon);

}  // namespace weft::kernels
