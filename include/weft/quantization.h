// Quantised tensors: integers or 8-bit floats with the scale of which they are multiples.
//
//   auto [values, scale, zero] = dynamic_quantize(x);                         // u8, with the range that x has
//   Tensor w8 = quantize(w, scales, {}, {.axis = 0});                         // i8, a scale for each output
//   Tensor y = matmul(x, dequantize(w4, scales, zeros, {.axis = 0, .block = 32}));
//   Tensor y8 = requantize(matmul_integer(a, b), multiplier);                 // i32 sums to i8, in matmul's kernel
//
// All are elementwise operations, which fuse with what comes before and after: into the kernel of the product that
// makes x, or of the norm or sum that reads the result.
//
// Quantised types are i8, u8, i4, u4, i2, u2, i16, u16, i32, u32, f8e4m3 and f8e5m2; numbers and scales are f32, f16,
// bf16 or f64 (on the cpu alone). Quotients x / scale are rounded once, as IEEE 754 has it, on every device, and ties
// go to the even integer. Integers saturate; NaN becomes 0, infinities the ends of the type. A zero point has the
// quantised type; 8-bit floats have none.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>

#include "weft/axes.h"
#include "weft/convolution.h"
#include "weft/tensor.h"

namespace weft {

// ---- Granularity. A scale is a number, or a tensor
//   of one element            for all of x;
//   [n]                       for each of the n indices along `axis`;
//   of x's rank               that broadcasts to x: rows have a scale each where it is [rows, 1];
//   of x's rank, with `block` for each `block` elements along `axis`: x's shape, but for ⌈n / block⌉ along the axis.
//                             Where the block divides n, that costs nothing; else scales are repeated in memory first.
// The zero point is absent, a number, a tensor of one element, or of the scale's shape.
class ZeroPoint {
 public:
  ZeroPoint() = default;                                                                          // none
  ZeroPoint(const Tensor& tensor, std::source_location line = std::source_location::current()) {  // NOLINT: implicit,
    if (tensor.defined()) value_.emplace(tensor, line);                                           // as are the next
  }
  ZeroPoint(Tensor&& tensor, std::source_location line = std::source_location::current()) {  // NOLINT
    if (tensor.defined()) value_.emplace(std::move(tensor), line);
  }
  template <class T>
    requires std::is_arithmetic_v<T>
  ZeroPoint(T value) : value_(value) {}  // NOLINT

  const TensorLike* value() const { return value_ ? &*value_ : nullptr; }  // null: none

 private:
  std::optional<TensorLike> value_;
};
struct QuantizeOptions {
  std::optional<DType> dtype = {};  // of the result; default: the zero point's, of a number or without one i8
  int axis = 1;
  std::int64_t block = 0;  // 0: none
  bool saturate = true;  // of 8-bit floats: what is too large becomes the largest number, else infinity or NaN (f8e4m3)
};
struct DequantizeOptions {
  std::optional<DType> dtype = {};  // of the result; default: the scale's, of a number f32
  int axis = 1;
  std::int64_t block = 0;
};

// x as multiples of the scale: saturate(round(x / scale) + zero_point), with ties to the even integer; 8-bit floats are
// x / scale rounded to the type. x is f32, f16, bf16 or f64. ONNX's QuantizeLinear. Throws ShapeError, TypeError,
// InvalidArgument.
Tensor quantize(const Operand& x, const TensorLike& scale, const ZeroPoint& zero_point = {},
                const QuantizeOptions& options = {});
// The numbers that quantised ones stand for: (q - zero_point) · scale, rounded once to the result's type. ONNX's
// DequantizeLinear. Throws ShapeError, TypeError, InvalidArgument.
Tensor dequantize(const Operand& q, const TensorLike& scale, const ZeroPoint& zero_point = {},
                  const DequantizeOptions& options = {});
// saturate(round(x · scale) + zero_point) of the i32 sums of quantised products; scale: that of the sums divided by the
// result's.
Tensor requantize(const Operand& x, const TensorLike& scale, const ZeroPoint& zero_point = {},
                  const QuantizeOptions& options = {});

struct FakeQuantizeOptions {
  std::int64_t low = -128, high = 127;  // the integers of the type: low < high, both within ±2^24
  int axis = 1;
  std::int64_t block = 0;
};
// dequantize(quantize(x)), as x's type, without the integers in between: what quantising leaves of x, (min(max(round(x
// / scale) + zero_point, low), high) - zero_point) · scale; NaN stays NaN. The zero point may be any integer or float.
// PyTorch's fake_quantize_per_tensor_affine and …_per_channel_affine, which multiply by 1 / scale instead, so that ties
// may go elsewhere. Its derivative is that of x itself where the range holds it, else 0, and none for the scale and the
// zero point (the straight-through estimator, PyTorch's). Throws InvalidArgument unless low < high.
Tensor fake_quantize(const Operand& x, const TensorLike& scale, const ZeroPoint& zero_point = {},
                     const FakeQuantizeOptions& options = {});

struct Quantized {
  Tensor values, scale, zero_point;  // zero_point is undefined where there is none
};
struct DynamicQuantizeOptions {
  DType dtype = DType::u8;  // an integer of at most 16 bits; symmetric: also an 8-bit float
  Axes axes = {};           // over which a scale is shared; of a matrix -1: a scale for each row
  bool symmetric = false;   // no zero point: scale = max |x| / the type's largest number
};
// Quantised by the range of x itself, which is measured in the same run. ONNX's DynamicQuantizeLinear: scale =
// (max(x, 0) - min(x, 0)) / (high - low) of the type's ends, zero_point = round(low - min(x, 0) / scale). Scales of
// zeros alone are 1. They are f32 (f64 of f64), of shape [] where the axes are all of x's, else of x's shape
// with 1 there. Throws ShapeError for x without elements.
Quantized dynamic_quantize(const Operand& x, const DynamicQuantizeOptions& options = {});

// ---- Products of quantised tensors, integers of 8 bits, as i32: Σ (a - a_zero) (b - b_zero). Zero points have their
// operand's type; absent ones are 0.

// The product of matrices, of matmul()'s shapes, of rank 2 or more. a_zero is of one element or [..., m, 1]; b_zero of
// one element, [n] or [..., 1, n]. Sums wrap. ONNX's MatMulInteger.
Tensor matmul_integer(const Operand& a, const Operand& b, const Operand& a_zero = {}, const Operand& b_zero = {});
// The convolution, of conv()'s shapes; outside of its edges x is x_zero. x_zero is of one element, w_zero of one
// element or [outputs]. ONNX's ConvInteger.
Tensor conv_integer(const Operand& x, const Operand& w, const Operand& x_zero = {}, const Operand& w_zero = {},
                    const ConvOptions& options = {});

// A quantised tensor as an operand, and how a result is to be quantised. Scales and zero points have one element, or:
// of a [..., m, 1], of b and of matmul's result [n] or [..., 1, n], of a filter [outputs].
struct QuantizedOperand {
  Tensor values, scale, zero_point = {};
};
struct QuantizedResult {
  Tensor scale, zero_point = {};
  DType dtype = DType::i8;  // without a zero point
};

// quantize(dequantize(a) · dequantize(b)), from the sums in i32: ONNX's QLinearMatMul.
Tensor qlinear_matmul(const QuantizedOperand& a, const QuantizedOperand& b, const QuantizedResult& y);
// The same for conv(); bias is i32 [outputs], in units of x's scale times w's. ONNX's QLinearConv.
Tensor qlinear_conv(const QuantizedOperand& x, const QuantizedOperand& w, const QuantizedResult& y,
                    const Operand& bias = {}, const ConvOptions& options = {});

}  // namespace weft
