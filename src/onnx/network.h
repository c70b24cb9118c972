// What the rows of networks, of quantisation and of com.microsoft share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "onnx/node.h"
#include "weft/convolution.h"
#include "weft/pooling.h"

namespace weft::onnx {

// ---- Tensors

// Numbers of the host as a constant, converted as Graph::scalar() does it; the type has 8 bits or more.
Tensor constant(const Shape& shape, std::span<const double> values, DType dtype);
// x in that type; undefined if x is.
Tensor as(const Tensor& x, DType dtype);
// f64 of f64, else f32: what sums are computed in.
inline DType wide(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }
// The first of these results, as many as the node has.
Tensors results(const Node& n, Tensors all);
// `count` sizes from axis `first` on.
Dims sizes_from(const Shape& shape, int first, int count);

// start, start + step, … along an axis of `rank` axes, of which the others have size 1.
Tensor steps_along(int axis, int rank, std::int64_t count, std::int64_t start, std::int64_t step, DType type);

// ---- Windows of convolutions and pools

// The attribute's number for each spatial axis; default: all of them `otherwise`.
Dims axis_numbers(const Node& n, std::string_view name, int count, std::int64_t otherwise, std::int64_t least);
// How many spatial axes x has: one to three.
int spatial_axes(const Node& n, const Shape& x);
// auto_pad.
std::string padding_mode(const Node& n);
Dims kernel_shape(const Node& n, int count);
struct Windows {
  Dims strides, dilations, before, after;
  bool automatic = false;  // the padding follows from the sizes: auto_pad is not NOTSET
};
// By the attributes strides, dilations, pads and auto_pad. `sizes` are those of the spatial axes.
Windows windows_of(const Node& n, const Dims& sizes, const Dims& window);
// windows_extent() (core/windows.h) of `count` windows along spatial axis d; an error of the node past 64 bits.
std::int64_t extent_of(const Node& n, const Windows& w, int d, std::int64_t count, std::int64_t window);
// Convolutions over the spatial axes of x by windows of these sizes, which kernel_shape must have.
ConvOptions conv_options(const Node& n, const Shape& x, const Dims& window, bool channels_last = false);
// conv() with the filter's spatial axes behind the first two.
Tensor conv_of(const Node& n, const Tensor& x, const Tensor& w, const Tensor& bias);
PoolOptions pool_options(const Node& n, const Shape& x, bool channels_last = false);

// ---- Quantised operands

// Operand i, whose scale and zero point, which may be left out, follow: as numbers.
Tensor dequantized(const Node& n, std::size_t i);
// Numbers as the integers of the scale that is operand i and the zero point behind it; without one, of that type.
Tensor quantized(const Node& n, const Tensor& y, std::size_t i, DType otherwise = DType::u8);
// One number for each row of a matrix, [rows], as a column; others as they are.
Tensor of_rows(const Tensor& x);
// Products of 8-bit integers as numbers: the sums of matmul_integer() times both scales, with a bias; zero points and
// the bias may be undefined.
Tensor scaled_product(const Tensor& a, const Tensor& a_scale, const Tensor& a_zero, const Tensor& b,
                      const Tensor& b_scale, const Tensor& b_zero, const Tensor& bias);
// QLinearConv; channels_last: x and the result.
Tensors qlinear_conv_of(const Node& n, bool channels_last);
// By the attributes axis and block_size, and of the latter output_dtype.
Tensors quantize_linear(const Node& n);
Tensors dequantize_linear(const Node& n);

// ---- Recurrent networks

// LSTM of these weights.
Tensors lstm_of(const Node& n, const Tensor& x, const Tensor& w, const Tensor& r);

// ---- Attention. q, k and v are [batch, heads, sequence, dim], as in weft::attention().
struct AttentionCall {
  Tensor q, k, v;
  Tensor bias = {};                             // is added to the scores; broadcasts to [batch, heads, queries, keys]
  Tensor visible = {};                          // bool, likewise: false hides
  Tensor query_lengths = {}, key_lengths = {};  // i32 [batch]
  Tensor sink = {};                             // a score of no value: broadcasts to [batch, heads, queries, 1]
  std::optional<double> scale = {};             // default: 1 / sqrt(dim)
  double softcap = 0;                           // scores become softcap · tanh(score / softcap); 0: they do not
  bool causal = false;
  std::optional<std::int64_t> offset = {};  // of queries' positions; default: the last query is at the last key
  std::int64_t window_left = -1, window_right = -1;
  bool keep_scores = false;
};
struct AttentionScores {
  Tensor y;
  Tensor products, capped, biased, weights;  // with keep_scores: f32, f64 of f64 [batch, heads, queries, keys]
};
AttentionScores attend(const AttentionCall& call);

// [batch, sequence, heads · dim] as [batch, heads, sequence, dim], and back.
Tensor split_heads(const Node& n, const Tensor& x, std::int64_t heads);
Tensor merge_heads(const Tensor& x);

// Rotary embeddings of x [batch, sequence, heads · dim] or [batch, heads, sequence, dim], by the attributes num_heads,
// rotary_embedding_dim and interleaved.
Tensor rotated_heads(const Node& n, const Tensor& x, const Tensor& positions, const Tensor& offsets, const Tensor& cos,
                     const Tensor& sin);

// ---- Operators of com.microsoft

// microsoft_attention.cc
Tensors microsoft_attention(const Node& n);
Tensors quantized_attention(const Node& n);
Tensors multi_head_attention(const Node& n);
Tensors group_query_attention(const Node& n);
Tensors microsoft_rotary_embedding(const Node& n);
// microsoft_rows.cc: those that exported models have in the domain of ONNX.
Tensors microsoft_layer_normalization(const Node& n);
Tensors simplified_layer_normalization(const Node& n);

}  // namespace weft::onnx
