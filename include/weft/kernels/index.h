// Indexing: elements chosen by integer tensors. Conventions that all kernels share are in weft/kernels.h.
#pragma once

#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// y[i…, j…, k…] = x[i…, indices[j…], k…], indices standing at `axis` of x. Negative indices count from the end; those
// outside are clamped to the valid range. indices: any integer type. y: x.shape with `axis` replaced by indices.shape.
void gather(Stream& stream, const View& x, const View& indices, const View& y, int axis);

}  // namespace weft::kernels
