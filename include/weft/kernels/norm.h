// Normalisation. Conventions that all kernels share are in weft/kernels.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "weft/kernels/row_fusion.h"
#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// y = (x - mean) / sqrt(variance + epsilon) · scale + bias over the axes from `first_axis` on; scale and bias
// (optional) have the shape of those axes. If first_axis is x's rank there are none: each element is a row by itself, its
// own mean, and y is the bias, or 0 (rms_norm: x / sqrt(x² + epsilon)). Floating types, each operand its own; computed in f32, with a mean that is
// large beside the deviation costing no digits beyond those that x itself lost. Deviations past 1.8e19, whose squares
// f32 does not hold, give 0 on a GPU, with a difference from the mean past f32 NaN; the CPU squares in f64. On a GPU a
// result that f32 has exactly between two of bf16 may be either of them.
void layer_norm(Stream& stream, const View& x, const std::optional<View>& scale, const std::optional<View>& bias,
                const View& y, int first_axis, float epsilon);

// y = x / sqrt(mean of x² + epsilon) · scale over the axes from `first_axis` on; scale (optional) has their shape.
// Types as for layer_norm(). Squares past f32's range give 0. Source: Zhang and Sennrich, "Root Mean Square Layer
// Normalization", 2019.
void rms_norm(Stream& stream, const View& x, const std::optional<View>& scale, const View& y, int first_axis,
              float epsilon);

// y = (x - mean) / sqrt(variance + epsilon) · scale + bias, mean and variance being those of each sample (axis 0) and
// each of `groups` groups of neighbouring channels, over all other axes. Channels stand at `channel_axis`, any but 0;
// scale and bias (optional) have a value a channel. Types and accuracy as for layer_norm(). Of rank 8 two
// neighbouring axes besides must lie as one in every operand, as in dense ones; else it is Unsupported.
// Source: Wu and He, "Group Normalization", 2018.
void group_norm(Stream& stream, const View& x, const std::optional<View>& scale, const std::optional<View>& bias,
                const View& y, int channel_axis, std::int64_t groups, float epsilon);
// With each channel a group, of any rank.
void instance_norm(Stream& stream, const View& x, const std::optional<View>& scale, const std::optional<View>& bias,
                   const View& y, int channel_axis, float epsilon);

// The same with a prologue and an epilogue (row_fusion.h), such as gelu(layer_norm(x + residual)) with the sum as a second
// output.
void layer_norm(Stream& stream, std::span<const View> inputs, const std::optional<View>& scale,
                const std::optional<View>& bias, std::span<const View> outputs, int first_axis, float epsilon,
                const RowFusion& fusion);
void rms_norm(Stream& stream, std::span<const View> inputs, const std::optional<View>& scale,
              std::span<const View> outputs, int first_axis, float epsilon, const RowFusion& fusion);
void group_norm(Stream& stream, std::span<const View> inputs, const std::optional<View>& scale,
                const std::optional<View>& bias, std::span<const View> outputs, int channel_axis, std::int64_t groups,
                float epsilon, const RowFusion& fusion);
void instance_norm(Stream& stream, std::span<const View> inputs, const std::optional<View>& scale,
                   const std::optional<View>& bias, std::span<const View> outputs, int channel_axis, float epsilon,
                   const RowFusion& fusion);

// y = (x - mean) / sqrt(variance + epsilon) · scale + bias with given means and variances, all of them of one value a
// channel; channels stand at `channel_axis`. scale and bias are optional. Floating types, each operand its own;
// computed in f32, on the CPU in f64 if one of them is that. Source: Ioffe and Szegedy, "Batch Normalization", 2015, as
// at inference.
void batch_norm(Stream& stream, const View& x, const View& mean, const View& variance, const std::optional<View>& scale,
                const std::optional<View>& bias, const View& y, int channel_axis, float epsilon);

}  // namespace weft::kernels
