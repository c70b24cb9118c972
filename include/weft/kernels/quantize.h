// Quantised numbers: integers or 8-bit floats that stand for multiples of a scale. Conventions that all kernels share
// are in weft/kernels.h.
//
// The scale and the zero point broadcast to the other operands, so that one kernel serves every granularity: one scale
// for a tensor (shape []), one for each index of an axis ([C, 1, 1]), one for each block of an axis ([rows, blocks, 1]
// for an operand seen as [rows, blocks, block]). The zero point may be absent (none: 0).
//
// Quantised types: i8, u8, i4, u4, i2, u2, i16, u16, i32, u32, f8e4m3, f8e5m2; zero points have the same type, and
// 8-bit floats have none. Numbers and scales: f32, f16, bf16, f64 (on the CPU). Narrow floats are computed in f32, and
// if one of them is f64, all is. Quotients x / scale are those of IEEE 754, rounded once, on every device: GPUs that
// divide less exactly would move numbers that are halfway between two integers. (A GPU may flush denormals.) NaN
// becomes the integer 0, infinities the ends of the type.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

struct QuantizeOptions {
  // Of 8-bit floats: what is too large, infinities included, becomes the largest number; else it becomes infinity, or
  // NaN for f8e4m3, which has none. Integers always saturate.
  bool saturate = true;
};

// q = saturate(round(x / scale) + zero_point), ties to the even integer: ONNX's QuantizeLinear. 8-bit floats: q = x /
// scale, rounded to the type. The sum with a zero point is exact. Throws InvalidArgument, Unsupported.
void quantize(Stream& stream, const View& x, const View& scale, const std::optional<View>& zero_point, const View& q,
              const QuantizeOptions& options = {});

// x = (q - zero_point) · scale, rounded once to x's type: ONNX's DequantizeLinear. The difference of integers of 32
// bits is exact, and rounded to f32.
void dequantize(Stream& stream, const View& q, const View& scale, const std::optional<View>& zero_point, const View& x);

// q = saturate(round(x · scale) + zero_point): what becomes of the sums of a product of quantised numbers, i32 (rounded
// to f32) or a float. `scale` is the product of the factors' scales, divided by the result's.
void requantize(Stream& stream, const View& x, const View& scale, const std::optional<View>& zero_point, const View& q,
                const QuantizeOptions& options = {});

// The integers that fake_quantize rounds to.
struct IntegerRange {
  std::int64_t low = -128, high = 127;  // low < high, both within ±2^24; they need not be a type's
};

// y = (min(max(round(x / scale) + zero_point, low), high) - zero_point) · scale: what quantising leaves of x, as a
// float; PyTorch's fake_quantize_…_affine, which multiplies by 1 / scale instead, so that ties may go elsewhere. The
// zero point is i32, i64, f32 or f64, in the range or not. NaN stays NaN. Throws InvalidArgument unless low < high.
void fake_quantize(Stream& stream, const View& x, const View& scale, const std::optional<View>& zero_point,
                   const View& y, const IntegerRange& range = {});

}  // namespace weft::kernels
