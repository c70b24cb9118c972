// What of a device's own arithmetic Weft's functions use: only what has proved itself there.
#pragma once

#include <string_view>

#include "kernels/library.h"
#include "weft/gpu.h"

namespace weft::kernels {

// How values become 16-bit floats: WGSL leaves the rounding of pack2x16float open, so it is used where it has proved
// itself, and integer arithmetic (common/convert.wgsl) elsewhere. The declarations of narrow_f16 and narrow_f16x2 by
// pack2x16float; empty where that does not round to the nearest even as Weft's conversions do, with denormals and
// infinities kept.
std::string_view f16_packing(const gpu::Device& device);

// True if the device's exp2 is within 2.5 ULP, its reciprocal and inverse root within 1.5 and 2, its log2 of what is
// below 4 within 2^-21 (or that share of it), its fma rounds once, comparisons are right for infinities and NaN, too,
// and sums with large numbers round: then the functions of common/device_math.wgsl and common/device_narrow_math.wgsl
// take the place of those of the same names in other files.
bool device_exp2(const gpu::Device& device);

// Which of those functions may be used there: all of them where device_exp2 says so, lgamma only where log2 is within
// 2.2 ULP of what is below ½, too, min, max and clamp where the device's put -0 before 0 and keep denormals, forms for
// narrow floats, and lgamma, where exp2, log2, reciprocals and roots give what they should at their ends.
DeviceForms device_forms(const gpu::Device& device);

}  // namespace weft::kernels
