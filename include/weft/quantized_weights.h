// Weights of a few bits an element, with a scale for each group of them, as language models have them.
//
//   QuantizedWeights w = quantize_weights(weights, {QuantizedScheme::affine, 4, 64});   // [outputs, inputs]
//   Tensor y = quantized_matmul(x, w);                                                  // x wᵀ
//   Tensor rows = quantized_embedding(w, ids);
//   QuantizedWeights blocks{{QuantizedScheme::q4_k}, bytes_of_a_gguf_tensor};           // u8 [outputs, bytes of a row]
//
// Products dequantise what they read: weights stay packed in memory. What the schemes are, and what is stored how, is
// in weft/kernels/quantized.h. matmul(x, dequantize_weights(w).T()) is the same product: compiled, it becomes
// quantized_matmul. Weights that are integers with scales along an axis, as ONNX's DequantizeLinear has them, may also
// be written with dequantize() (weft/quantization.h).
#pragma once

#include <optional>

#include "weft/kernels/quantized.h"
#include "weft/tensor.h"

namespace weft {

using kernels::QuantizedFormat;
using kernels::QuantizedScheme;

// ---- Quantised weights. A matrix of them, or several; scales, zeros and groups are undefined where the scheme has
// none.
struct QuantizedWeights {
  QuantizedFormat format;
  Tensor values, scales = {}, zeros = {}, groups = {};

  // [..., rows, columns] of the weights. Throws ShapeError, TypeError, InvalidArgument for operands that do not go
  // together.
  Shape shape() const;
  // Bytes of all of it.
  std::uint64_t bytes() const;
};

struct QuantizeWeightsOptions {
  std::optional<DType> values = {};  // without one i8, or what the scheme has: of integers any of theirs
  std::optional<DType> scales = {};  // without one x's type (of f64 f32) where they are numbers, else u8
  bool zeros = false;                // integers and nbits get zero points, of nbits packed

  void fields(AttributeVisitor& v) {
    v("values", values, {}, "the type of the values, instead of i8 or what the scheme has");
    v("scales", scales, {}, "the type of the scales, instead of x's or what the scheme has");
    v.brief("zeros", zeros, false, "whether integers and nbits have zero points");
  }
};

// Weights x [..., rows, columns], f32, f16, bf16 or (on the cpu) f64, in that format: each group by its own range, to
// the same bits on every device, by the rules of MLX, ONNX and GGUF that weft/kernels/quantized.h has. Rows must be
// whole groups, but of integers and of nbits, whose last group is padded (the result's format.columns then says so).
// They have no derivatives. Throws ShapeError, TypeError, InvalidArgument; Unsupported of schemes whose weights
// come from calibration or from codebooks: gptq, gptq_v2, awq, ggml_nvfp4, iq1_s to iq3_xxs.
QuantizedWeights quantize_weights(const Operand& x, const QuantizedFormat& format,
                                  const QuantizeWeightsOptions& options = {});

// The weights as floats. Without a type that of the scales, if it is a float, else f32. Throws ShapeError, TypeError,
// InvalidArgument.
Tensor dequantize_weights(const QuantizedWeights& w, std::optional<DType> dtype = {});

struct QuantizedProduct {
  bool transposed = true;  // x wᵀ, over the weights' columns; else x w, over their rows
  // Integers that broadcast to the leading axes of the result: which of the matrices w [matrices, rows, columns] each
  // takes, as in a mixture of experts. They are clamped.
  Operand chosen = {};
  std::optional<DType> dtype = {};  // of the result, instead of x's
  // i8: x is quantised too, each row by its largest magnitude (dynamic_quantize), and the sums are exact in i32. Of
  // integers of 8 bits whose scales do not change along the sums: group 0 of transposed ones, else group_rows 0; of at
  // most 132,104 products a sum, 66,311 of u8 or with zeros; without `chosen`. Derivatives are as if x were not
  // rounded.
  std::optional<DType> activations = {};
};

// The product of x [..., m, k] (or [k]) with weights [..., n, k], or [..., k, n] unless transposed; leading axes
// broadcast. x is f32, f16, bf16 or (on the cpu) f64; sums are f32, of f64 f64. Derivatives are those of x: weights
// have none. Throws ShapeError, TypeError, InvalidArgument.
Tensor quantized_matmul(const Operand& x, const QuantizedWeights& w, const QuantizedProduct& options = {});

// Rows of the weights [rows, columns], one for each index: [indices..., columns]. Negative indices count from the end;
// those outside are clamped.
// Throws ShapeError, TypeError, InvalidArgument; Unsupported of gptq and gptq_v2, whose rows lie across words.
Tensor quantized_embedding(const QuantizedWeights& w, const Operand& indices, std::optional<DType> dtype = {});

}  // namespace weft
