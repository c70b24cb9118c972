// Matrices of quantised weights, a few bits an element with a scale for each group of them, and products that
// dequantise what they read. Conventions that all kernels share are in weft/kernels.h.
//
// scheme    source                  values                              a weight
// integers  ONNX DequantizeLinear   a type's [rows, cols]               (value - zero) · scale, zeros?
// affine    MLX                     u32 [rows, cols · bits / 32]        value · scale + zero (MLX's bias)
// mxfp4     MLX, OCP                the same, E2M1; scales E8M0 (u8)    value · scale
// mxfp8     MLX, OCP                the same, E4M3; scales E8M0 (u8)    value · scale
// nvfp4     MLX                     the same, E2M1; scales E4M3         value · scale
// nbits     ONNX MatMulNBits        u8 [rows, blocks, group bytes]      (value - zero) · scale, zeros?
// gptq      AutoGPTQ                u32 [rows · bits / 32, cols]        (value - zero) · scale, zeros?, groups?
// gptq_v2   GPTQModel               the same, other zeros               (value - zero) · scale, zeros?, groups?
// awq       AutoAWQ                 u32 [rows, cols / 8]                (value - zero) · scale
// q4_0 …    GGUF, the same names    u8 [rows, bytes], with the scales   ggml's
// u32 may be i32, as PyTorch has it; E4M3 scales are u8 or f8e4m3.
//
// GGUF's blocks are q4_0, q4_1, q5_0, q5_1, q8_0, iq4_nl and ggml_mxfp4 (its MXFP4) of 32 elements, ggml_nvfp4 (its
// NVFP4) of 64, and of 256 q2_k to q6_k, iq4_xs, tq1_0 and tq2_0, which have three values, and those whose codes are
// entries of a codebook: iq3_s, iq3_xxs, iq2_s, iq2_xs, iq2_xxs, iq1_s, iq1_m.
//
// Bits follow each other from the lowest bit of a byte or word on, along a row; those of gptq down a column. The half
// bytes of a word of awq are the columns 0 2 4 6 1 3 5 7 of eight. A group is adjacent elements of a row; of gptq and
// awq, adjacent rows of a column, for their rows are what the others' columns are: the axis over which a product sums.
// Leading axes are matrices.
//
// Scales and zeros have an element for each group, [rows, groups] ([groups, cols] of gptq and awq); a group of all rows
// or columns is one even of none. Zeros are numbers of the scales' type, or packed as the values are (nbits, gptq, awq:
// rows of nbits are whole bytes; gptq's are 1 less than the zero point, gptq_v2's are the zero point), or of the
// values' type (integers). Without zeros the zero point is 2^(bits - 1) of nbits and gptq, and 0 of integers. `groups`
// says which group each row of gptq belongs to (its g_idx), clamped. What is said of gptq holds for gptq_v2, which is
// the format of that name of GPTQ's checkpoints. Values of integers are i8, u8, i4, u4, i2, u2, f8e4m3 or f8e5m2.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "weft/attributes.h"
#include "weft/kernels/fusion.h"
#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

enum class QuantizedScheme : std::uint8_t {
  integers,
  affine,
  mxfp4,
  mxfp8,
  nvfp4,
  nbits,
  gptq,
  gptq_v2,
  awq,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q8_0,
  q2_k,
  q3_k,
  q4_k,
  q5_k,
  q6_k,
  iq4_nl,
  ggml_mxfp4,
  tq1_0,
  tq2_0,
  iq4_xs,
  iq3_s,
  iq3_xxs,
  iq2_s,
  iq2_xs,
  iq2_xxs,
  iq1_s,
  iq1_m,
  ggml_nvfp4,
};
inline constexpr std::string_view kQuantizedSchemes[] = {
    "integers", "affine", "mxfp4", "mxfp8",   "nvfp4", "nbits",  "gptq",    "gptq_v2", "awq",    "q4_0",       "q4_1",
    "q5_0",     "q5_1",   "q8_0",  "q2_k",    "q3_k",  "q4_k",   "q5_k",    "q6_k",    "iq4_nl", "ggml_mxfp4", "tq1_0",
    "tq2_0",    "iq4_xs", "iq3_s", "iq3_xxs", "iq2_s", "iq2_xs", "iq2_xxs", "iq1_s",   "iq1_m",  "ggml_nvfp4"};

struct QuantizedFormat {
  QuantizedScheme scheme = QuantizedScheme::affine;
  // Of affine 1 to 6 and 8, nbits 2 to 8, gptq 2, 3, 4 and 8; 0 and for all others: what the scheme or type has (4).
  int bits = 0;
  // Elements that share a scale. Of affine 32, 64 (the default) or 128, of nbits a power of two from 16 on (32), of
  // gptq and awq any number (128); of integers any number, and 0 for a whole row.
  std::int64_t group = 0;
  // Of integers: adjacent rows that share it too; 0: all rows.
  std::int64_t group_rows = 1;
  // Of nbits: how many columns there are, where they do not fill the last group; 0: they do.
  std::int64_t columns = 0;

  bool operator==(const QuantizedFormat&) const = default;
  void fields(AttributeVisitor& v) {
    v("scheme", scheme, QuantizedScheme::affine, kQuantizedSchemes, "how the weights are stored");
    v.brief("bits", bits, 0, "bits of an element; 0: the scheme's");
    v.brief("group", group, 0, "elements that share a scale; 0: the scheme's, of integers a whole row");
    v.brief("group_rows", group_rows, 1, "of integers: rows that share a scale; 0: all");
    v.brief("columns", columns, 0, "of nbits: the columns, where they do not fill the last group; 0: they do");
  }
};

// The format with its scheme's bits and group in place of 0. Throws InvalidArgument for what the scheme has not.
QuantizedFormat complete(const QuantizedFormat& format);

struct QuantizedMatrix {
  QuantizedFormat format;
  View values;  // dense, as all are
  std::optional<View> scales = {}, zeros = {}, groups = {};
};

// The shape [..., rows, columns] of the weights that are stored in values of that type and shape. Throws ShapeError,
// TypeError, InvalidArgument.
Shape quantized_shape(const QuantizedFormat& format, DType values, const Shape& shape);

// y = the weights, [..., rows, columns], as f32, f16, bf16 or (on the CPU) f64. Computed in f32; of affine weights as
// f16 or bf16, where scales and zeros are of that type too, the product is rounded to it before the sum, as MLX does.
// Throws InvalidArgument, Unsupported.
void dequantize_weights(Stream& stream, const QuantizedMatrix& w, const View& y);

struct QuantizedMatmulOptions {
  bool transposed = true;  // y = x wᵀ, whose sums are over columns; else x w, over rows

  void fields(AttributeVisitor& v) { v("transposed", transposed, true, "multiplies by the weights' transpose"); }
};

// y[…, m, n] = epilogue(Σ_k x[…, m, k] · w[…, n, k]), or w[…, k, n] unless `transposed`; leading axes broadcast. With
// `chosen`, integers that broadcast to y's leading axes, each entry takes that matrix of w, [matrices, rows, columns]
// (a mixture of experts); indices are clamped.
//
// x is f32, f16, bf16, or (on the CPU) f64; y any of these. Weights are dequantised in f32 as they are read, and sums
// are f32 (f64 of f64): |error| ≤ k · 2^-23 · Σ|x| · (|value · scale| + |zero|), with what is added or comes off, times
// the scale, as zero: a GPU may sum both by
// themselves, so that an infinite x may give NaN. Of x in f16 on cooperative matrices, weights are rounded to
// f16. Throws InvalidArgument, Unsupported.
void quantized_matmul(Stream& stream, const View& x, const QuantizedMatrix& w, const std::optional<View>& chosen,
                      const View& y, const QuantizedMatmulOptions& options = {}, const Epilogue& epilogue = {});

// Stores weights x [..., rows, columns] in that format, of which w has the memory: each group by its own range, to the
// same bits on every device. x is f32, f16, bf16 or (on the CPU) f64, in any layout, and computed in f32.
//
// affine, by MLX's rule: the end of larger magnitude has the code 0 and is the bias, and the scale has the other sign.
// A group of zeros has the scale -1e-7, the least magnitude, and the bias 0. Of one bit the scale is max - min, and the
// bias min. Codes come from the scale and the bias before these are rounded to their types.
//
// mxfp4, mxfp8, nvfp4: the scale is max |x| / 6 or / 448, to the least power of two that is not below it (E8M0; 1 for
// zeros), so that nothing saturates, or to the nearest E4M3. Codes are the nearest to x / scale, saturated; ties go to
// the even code, and 0 keeps its sign, as by OCP and on MLX's GPUs (on its CPU they do not).
//
// integers, nbits, by onnxruntime's scales: with zeros, the range is from min(x, 0) to max(x, 0); without, the number
// of largest magnitude (of two, the negative one) has the code -2^(bits - 1), and the scale the other sign. A group of
// zeros has the scale 0 (-0 without zeros). Codes are those of `quantize` by the scale as it is stored, or the zero
// point where that is 0; nbits has the zero point behind the last column, too, and behind a row's last zero point the
// bits of 2^(bits - 1). Unsigned integers need zeros. Of f8e4m3 and f8e5m2 the scale is max |x| / the type's largest
// number.
//
// q4_0, q4_1, q5_0, q5_1, q8_0, ggml_mxfp4, tq1_0, tq2_0: by ggml's reference rules, products and sums rounded one by
// one.
//
// q2_k, q3_k, q4_k, q5_k, q6_k, iq4_nl, iq4_xs: by ggml's reference searches for the scales that fit best, some hundred
// operations a number. Of runs that share a scale and whose largest magnitude is at least 2^-16, and 2^-30 times the
// block's, these are the bits of quantize_row_q2_K_ref and its kin (of iq4_nl quantize_iq4_nl), compiled without fused
// multiplications and additions; smaller runs are searched in their own scale, where ggml's products underflow.
//
// All other schemes are refused: gptq, gptq_v2 and awq come from calibration, iq3_s to iq1_m from searches for entries
// of codebooks, and scales of ggml_nvfp4 have no NaN.
//
// In ranges -0 is 0, and a group is taken for zeros where all of it is below 2^-100. One with NaN or infinity, or whose
// range f32 does not hold, has NaN for its scale (of E8M0 the code 255), and codes and zeros of 0; so has a block of
// 256 elements, or of iq4_nl, whose scale f16 does not hold. Where x has no elements, nothing is stored. Throws
// InvalidArgument, Unsupported.
void quantize_weights(Stream& stream, const View& x, const QuantizedMatrix& w);

}  // namespace weft::kernels
