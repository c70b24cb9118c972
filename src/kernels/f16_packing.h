// How values become 16-bit floats: WGSL leaves the rounding of pack2x16float open, so it is used where it has proved
// itself, and integer arithmetic (common/convert.wgsl) elsewhere.
#pragma once

#include <string_view>

#include "weft/gpu.h"

namespace weft::kernels {

// The declarations of narrow_f16 and narrow_f16x2 by pack2x16float; empty where that does not round to the nearest even
// as Weft's conversions do, with denormals and infinities kept.
std::string_view f16_packing(const gpu::Device& device);

}  // namespace weft::kernels
