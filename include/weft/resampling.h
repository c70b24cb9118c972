// Resampling of tensors: images of other sizes, and elements moved between channels and pixels.
//
//   Tensor y = upsample(x, {224, 224}, {.mode = ResizeMode::cubic, .antialias = true});   // x [n, 3, h, w]
#pragma once

#include <span>

#include "weft/kernels/grid_sample.h"
#include "weft/kernels/resize.h"
#include "weft/tensor.h"

namespace weft {

using kernels::ResizeCoordinates;
using kernels::ResizeMode;
using kernels::ResizeOptions;
using kernels::ResizeRounding;
using kernels::SampleMode;
using kernels::SamplePadding;

// Images of other sizes, as PyTorch's interpolate makes them.
struct UpsampleOptions {
  ResizeMode mode = ResizeMode::nearest;
  bool align_corners = false;  // of linear and cubic: the centres of the first and last elements meet, not their edges
  // Of linear and cubic: where y is smaller, all of x counts (and elements outside of x do not). Cubic ones then have
  // the coefficient -0.5 instead of -0.75.
  bool antialias = false;
  // Of nearest: elements are intervals, as in the other modes; else element i is at i · n / m, rounded down.
  bool exact = false;
  bool channels_last = false;  // x and the result are [batch, spatial…, channels], else [batch, channels, spatial…]
};

struct GridSampleOptions {
  SampleMode mode = SampleMode::linear;
  SamplePadding padding = SamplePadding::zeros;  // what is outside of x
  bool align_corners = false;                    // -1 and 1 are the centres of x's outer elements, not their outer ends
  bool channels_last = false;                    // x and the result are [batch, spatial…, channels]
};

// How windows lie on spatial axes: a number for each of them, or none for the default.
struct WindowOptions {
  Dims strides = {};        // from a window to the next; default 1
  Dims dilations = {};      // from an element of a window to the next; default 1
  Dims padding = {};        // zeros on both sides; default 0
  Dims padding_after = {};  // those behind, if they are others
};

// Which channels depth_to_space takes for a block of pixels.
enum class BlockOrder : std::uint8_t {
  depth_column_row,  // those far apart: the block's place is in front of the channels that are left (DCR)
  column_row_depth,  // neighbours: the block's place is behind them (CRD), as in pixel_shuffle
};

// ---- Resampling.
// Each axis is resampled on its own: an element of the result is a weighted sum of x's elements near its position,
// which options.coordinates says. Floats are computed in f32, in f64 of f64 (on the cpu alone); i8 and u8 are rounded
// to the nearest integer, up from halfway, and saturate. Elements of weight 0 do not count, even if they are NaN.
// Throws ShapeError, TypeError, InvalidArgument.

// x resampled along any of its axes to this shape, of its rank. x is of any type of 8 bits or more for mode nearest,
// else of floats, i8 or u8; the result has its type. ONNX's Resize.
Tensor resize(const Operand& x, const Shape& shape, const ResizeOptions& options = {});

// The same to x's sizes times the scales, rounded down, with positions by these scales (options.scales is not given).
Tensor resize_by(const Operand& x, std::span<const double> scales, const ResizeOptions& options = {});

// The gradient of resize() for x, whose shape this is; dy is the gradient of the result. Floats.
Tensor resize_gradient(const Operand& dy, const Shape& shape, const ResizeOptions& options = {});

// Images x [batch, channels, spatial…], or with the channels last, of other spatial sizes, of which there are one to
// six. Types are those of resize(). PyTorch's interpolate.
Tensor upsample(const Operand& x, const Shape& sizes, const UpsampleOptions& options = {});

// ---- Sampling and windows.
// y[n, c, i…] = x[n, c, …] at the position grid[n, i…, :], whose numbers are from -1 to 1 inside of x, the last axis'
// first: x [n, C, spatial…] with one to three spatial axes, grid [n, places…, spatial axes]. Floats. Throws ShapeError,
// TypeError.
Tensor grid_sample(const Operand& x, const Operand& grid, const GridSampleOptions& options = {});

// The gradient of grid_sample() for x, whose spatial axes have these sizes; dy is the gradient of the result. Where
// several samples take one element of x, GPUs add in any order.
Tensor grid_sample_gradient(const Operand& dy, const Operand& grid, const Dims& sizes,
                            const GridSampleOptions& options = {});

// The gradient of grid_sample() for the grid, of its type and shape. It is 0 of mode nearest, where the padding clamps
// a position (at x's outer elements, too), and of numbers that are NaN or further than 2^30 elements away. A linear
// sample at an element's centre has the slope towards the next element.
Tensor grid_sample_grid_gradient(const Operand& dy, const Operand& x, const Operand& grid,
                                 const GridSampleOptions& options = {});

// The grid of an affine map, [n, sizes…, d] of d = one to three sizes: theta[n] · (position, 1) for the position of
// each element of an image of these sizes. theta [n, d, d + 1], floats. align_corners as grid_sample() is given.
Tensor affine_grid(const Operand& theta, const Shape& sizes, bool align_corners = false);

// The windows of x [n, C, spatial…], with one to three spatial axes, as columns [n, C · window elements, windows], both
// in row-major order (im2col).
Tensor unfold(const Operand& x, const Shape& window, const WindowOptions& options = {});

// What the columns of unfold() add up to, on an image of these spatial sizes, [n, C, sizes…] (col2im): the gradient of
// unfold(). Floats, i32 and u32.
Tensor fold(const Operand& x, const Shape& sizes, const Shape& window, const WindowOptions& options = {});

// ---- Channels and pixels.
// Of each pixel block^d, d being the number of spatial axes (one to three): [n, C · block^d, sizes…] becomes [n, C,
// sizes · block…]; channels_last: [n, sizes…, C · block^d]. Throws ShapeError.
Tensor depth_to_space(const Operand& x, std::int64_t block, BlockOrder order = BlockOrder::depth_column_row,
                      bool channels_last = false);

// The inverse: [n, C, sizes · block…] becomes [n, C · block^d, sizes…].
Tensor space_to_depth(const Operand& x, std::int64_t block, BlockOrder order = BlockOrder::depth_column_row,
                      bool channels_last = false);

// depth_to_space() with neighbouring channels for a block: PyTorch's pixel_shuffle.
Tensor pixel_shuffle(const Operand& x, std::int64_t factor, bool channels_last = false);
// space_to_depth() with neighbouring channels for a block: PyTorch's pixel_unshuffle.
Tensor pixel_unshuffle(const Operand& x, std::int64_t factor, bool channels_last = false);

}  // namespace weft
