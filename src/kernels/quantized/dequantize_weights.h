// Parts of quantised weights as floats.
#pragma once

#include "kernels/quantized/formats.h"
#include "weft/gpu.h"

namespace weft::kernels {

// Writes the weights' elements of a view of placeholder memory (stored_elements()), whose last axis is along rows, to
// y, of the same shape. A dispatch must be able to count and to bind them.
void dequantize_elements(gpu::Commands& commands, const QuantizedMatrix& w, const QuantizedLayout& l,
                         const View& elements, const View& y, DType rounded = DType::f32);

}  // namespace weft::kernels
