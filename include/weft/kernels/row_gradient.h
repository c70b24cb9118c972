// Gradients of softmax and of norms: what the cotangent of their result is for x. Conventions that all kernels share
// are in weft/kernels.h. All views have one shape and floating types, each its own; computed in f32, on the CPU in f64
// where one of them is that. dx may be the very view of another operand of its shape. Rows that fit in registers are
// read once.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// dx = y · (g - Σ y g) along `axis`; y is softmax's result, and g its cotangent.
void softmax_gradient(Stream& stream, const View& y, const View& g, const View& dx, int axis);
// dx = g - exp(y) · Σ g along `axis`; y is the result of log_softmax().
void log_softmax_gradient(Stream& stream, const View& y, const View& g, const View& dx, int axis);

// With n = (x - mean) · factor, factor = 1 / sqrt(variance + epsilon) and d = g · scale:
// dx = factor · (d - mean(d) - n · mean(d n)), means being those of a row. Rows, scale and epsilon are those of the
// norm of that name (weft/kernels/norm.h), whose result has the cotangent g; rows whose squares exceed f32's range give
// 0 or NaN on a GPU.
void layer_norm_gradient(Stream& stream, const View& x, const View& g, const std::optional<View>& scale, const View& dx,
                         int first_axis, double epsilon);
// The same with a mean of 0: n = x · factor, dx = factor · (d - n · mean(d n)).
void rms_norm_gradient(Stream& stream, const View& x, const View& g, const std::optional<View>& scale, const View& dx,
                       int first_axis, double epsilon);
// layer_norm_gradient() with the gradients of the scale and the bias, in the scale's shape: over all rows
// dscale = Σ g · n and dbias = Σ g, summed in a fixed order. Neither overlaps another view. Rows of up to 8192 elements
// that lie along memory are read once.
void layer_norm_gradients(Stream& stream, const View& x, const View& g, const View& scale, const View& dx,
                          const View& dscale, const View& dbias, int first_axis, double epsilon);
// The same of rms_norm_gradient(), with that of the scale.
void rms_norm_gradients(Stream& stream, const View& x, const View& g, const View& scale, const View& dx,
                        const View& dscale, int first_axis, double epsilon);
// layer_norm_gradient() of the groups of channels of each sample.
void group_norm_gradient(Stream& stream, const View& x, const View& g, const std::optional<View>& scale, const View& dx,
                         int channel_axis, std::int64_t groups, double epsilon);
// The same of each channel of each sample.
void instance_norm_gradient(Stream& stream, const View& x, const View& g, const std::optional<View>& scale,
                            const View& dx, int channel_axis, double epsilon);
// The same two with the gradients of scale and bias, [channels]. Where the pixels of a channel lie along memory, x and
// g are read once for both; for dx too, where a channel is a row of the norm of up to 8192 elements, or rows are long
// and channels end with the tiles in which they are read.
void group_norm_gradients(Stream& stream, const View& x, const View& g, const View& scale, const View& dx,
                          const View& dscale, const View& dbias, int channel_axis, std::int64_t groups, double epsilon);
// The same of each channel of each sample.
void instance_norm_gradients(Stream& stream, const View& x, const View& g, const View& scale, const View& dx,
                             const View& dscale, const View& dbias, int channel_axis, double epsilon);

}  // namespace weft::kernels
