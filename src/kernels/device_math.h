// Which of a device's own arithmetic functions Weft's functions use: only those that passed a test on the device.
#pragma once

#include <string>
#include <string_view>

#include "kernels/library.h"
#include "weft/gpu.h"

namespace weft::kernels {

// Conversions to 16-bit floats. WGSL leaves the rounding of pack2x16float open, so it is used where it passed a test,
// and integer arithmetic (common/convert.wgsl) elsewhere. Returns declarations of narrow_f16 and narrow_f16x2 by
// pack2x16float; empty where that does not round to nearest even as Weft's conversions do, or does not keep denormals
// and infinities.
std::string_view f16_packing(const gpu::Device& device);

// True if the device's exp2 is within 2.5 ULP, its reciprocal and inverse root within 1.5 and 2 ULP, its log2 of
// numbers below 4 within 2^-21 (absolute or relative), its fma rounds once, comparisons are right also for infinities
// and NaN, and sums with large numbers round to integers. Then the functions of common/device_math.wgsl and
// common/device_narrow_math.wgsl replace those of the same names in other files.
bool device_exp2(const gpu::Device& device);

// True if the device's exp, exp2, log and log2 give NaN for NaN, which WGSL leaves open: SwiftShader's do not.
bool keeps_nan(const gpu::Device& device);

// The text with each call of these functions replaced by one that gives NaN for NaN on any device. Arguments appear
// three times, so they have no side effects.
std::string with_nan_kept(std::string_view wgsl);

// Says which of those functions may be used on the device: none unless device_exp2(). Besides, min, max and clamp
// need that the device's own order -0 before 0 and keep denormals; forms for narrow floats, and lgamma, if exp2, log2,
// reciprocals and roots are right at the ends of their ranges; lgamma also needs log2 within 2.2 ULP below ½.
DeviceForms device_forms(const gpu::Device& device);

}  // namespace weft::kernels
