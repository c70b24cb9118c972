// Normalisation. Conventions that all kernels share are in weft/kernels.h. All but batch norm take work into their
// kernels, as in gelu(layer_norm(x + residual)) with the sum as a further result; the epilogue takes the result in f32,
// on the CPU f64 where x is that. An output may be the very view of an input.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "weft/kernels/fusion.h"
#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// y = (x - mean) / sqrt(variance + epsilon) · scale + bias over the axes from `first_axis` on; scale and bias
// (optional) have the shape of those axes. If first_axis is x's rank there are none: each element is a row by itself
// and its own mean, and y is the bias, or 0 (rms_norm: x / sqrt(x² + epsilon)). Floating types, each operand its own;
// computed in f32. A mean that is large compared with the deviation costs no digits beyond those that x itself has
// lost. On a GPU deviations past 1.8e19, whose squares f32 does not hold, give 0, and differences from the mean past
// f32's range give NaN; the CPU squares in f64. A result that in f32 is exactly between two bf16 values may be rounded
// to either on a GPU.
void layer_norm(Stream& stream, const View& x, const std::optional<View>& scale, const std::optional<View>& bias,
                const View& y, int first_axis, double epsilon, const Fusion& fusion = {});

// y = x / sqrt(mean of x² + epsilon) · scale over the axes from `first_axis` on; scale (optional) has their shape.
// Types as for layer_norm(). Squares past f32's range give 0. Source: Zhang and Sennrich, "Root Mean Square Layer
// Normalization", 2019.
void rms_norm(Stream& stream, const View& x, const std::optional<View>& scale, const View& y, int first_axis,
              double epsilon, const Fusion& fusion = {});

// y = (x - mean) / sqrt(variance + epsilon) · scale + bias, mean and variance being those of each sample (axis 0) and
// each of `groups` groups of neighbouring channels, over all other axes. `channel_axis` is any axis but 0; scale and
// bias (optional) have a value a channel. Types and accuracy as for layer_norm(). Of rank 8, two neighbouring axes
// other than those must be contiguous with each other in every operand, as in dense ones; else it is Unsupported.
// Source: Wu and He, "Group Normalization", 2018.
void group_norm(Stream& stream, const View& x, const std::optional<View>& scale, const std::optional<View>& bias,
                const View& y, int channel_axis, std::int64_t groups, double epsilon, const Fusion& fusion = {});
// Group norm with each channel a group, of any rank.
void instance_norm(Stream& stream, const View& x, const std::optional<View>& scale, const std::optional<View>& bias,
                   const View& y, int channel_axis, double epsilon, const Fusion& fusion = {});

// y = (x - mean) / sqrt(variance + epsilon) · scale + bias with given means and variances. mean, variance, scale and
// bias have a value for each channel, along `channel_axis`; scale and bias are optional. Floating types, each operand
// its own; computed in f32, on the CPU in f64 if one of them is f64. Source: Ioffe and Szegedy, "Batch Normalization",
// 2015, as at inference.
void batch_norm(Stream& stream, const View& x, const View& mean, const View& variance, const std::optional<View>& scale,
                const std::optional<View>& bias, const View& y, int channel_axis, double epsilon);

}  // namespace weft::kernels
