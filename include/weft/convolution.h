// Convolutions of tensors, over one to three spatial axes.
//
//   Tensor y = relu(conv(x, w, bias, {.strides = {2, 2}, .padding = {1, 1}}));   // x [n, 3, 224, 224], w [64, 3, 3, 3]
//
// The bias and elementwise work on the result become part of the convolution's kernel.
#pragma once

#include "weft/tensor.h"

namespace weft {

// One number for each spatial axis, or none for the default.
struct ConvOptions {
  Dims strides = {};           // from a window to the next; default 1
  Dims dilations = {};         // from an element of a window to the next; default 1
  Dims padding = {};           // zeros on both sides of x; negative: elements are left out; default 0
  Dims padding_after = {};     // those behind x, if they are others
  std::int64_t groups = 1;     // parts of the channels that do not mix; depthwise: as many as channels
  bool channels_last = false;  // x and the result are [batch, spatial…, channels], else [batch, channels, spatial…]
};

// What a transposed convolution has beside: how many elements the result has along each axis.
struct ConvTransposeOptions : ConvOptions {
  Dims output_padding = {};  // elements more behind, to which products are added as far as they reach; default 0
  Dims output_sizes = {};    // the sizes, instead of output_padding
};

// ---- Convolutions, over one to three spatial axes.
// y[n, o, i] = bias[o] + Σ_c Σ_k x[n, c, i · stride + k · dilation − padding] · w[o, c, k] (cross-correlation), with c
// over the channels of o's group. w is [outputs, channels / groups, window…]; another order in memory is a permuted
// view, which costs nothing. bias [outputs] may be undefined; it is added before the result is rounded. The
// result's type is that of x and w if both have one float type, f32 for two float types, and i32 for integers of 8 to
// 32 bits, whose sums wrap; other types are a TypeError. Throws InvalidArgument (an undefined Tensor), ShapeError,
// TypeError.
Tensor conv(const Operand& x, const Operand& w, const Operand& bias = {}, const ConvOptions& options = {});

// The transposed convolution: x[n, c, j] · w[c, o, k] is added to y[n, o, j · stride + k · dilation − padding], and
// bias[o] to all. w is [channels, outputs / groups, window…]. Sizes: (n − 1) · stride + (window − 1) · dilation + 1 −
// padding − padding_after + output_padding. It is the gradient of conv() for x, if output_sizes are x's.
Tensor conv_transpose(const Operand& x, const Operand& w, const Operand& bias = {},
                      const ConvTransposeOptions& options = {});

// The gradient of conv() for w, whose window has these sizes: Σ_n Σ_i dy[n, o, i] · x[n, c, i · stride + k · dilation −
// padding].
Tensor conv_filter_gradient(const Operand& x, const Operand& dy, const Shape& window, const ConvOptions& options = {});

}  // namespace weft
