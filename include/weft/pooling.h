// Pooling of tensors, over one to three spatial axes.
//
//   Tensor y = max_pool(relu(conv(x, w, bias)), {.window = {3, 3}, .strides = {2, 2}, .padding = {1, 1}});
//
// Elementwise work on the result becomes part of the pooling's kernel.
#pragma once

#include "weft/tensor.h"

namespace weft {

// One number for each spatial axis, or none for the default.
struct PoolOptions {
  Dims window = {};            // the sizes of windows; must be given
  Dims strides = {};           // from a window to the next; default: the window's size, so that none overlap
  Dims dilations = {};         // from an element of a window to the next; default 1
  Dims padding = {};           // elements on both sides of x that take no part in maxima and sums; default 0
  Dims padding_after = {};     // those behind x, if they are others
  bool ceil_mode = false;      // also a last window that only begins in x or the padding in front of it
  Dims output_sizes = {};      // how many windows there are, whatever they reach over; instead of ceil_mode
  bool channels_last = false;  // x and the result are [batch, spatial…, channels], else [batch, channels, spatial…]

  bool count_padding = true;  // of averages: the divisor counts the elements of the padding, too
  std::int64_t divisor = 0;   // of averages: the divisor, instead of the number of elements
};

struct PooledMax {
  Tensor values, indices;  // indices are i32: positions within x's spatial axes, in row-major order
};

// ---- Pooling. x is [batch, channels, spatial…] with one to three spatial axes (or channels_last). A spatial axis of n
// elements has ⌊(n + padding + padding_after − (window − 1) · dilation − 1) / stride⌋ + 1 windows; in ceil mode that is
// rounded up, but no window begins behind x, in the padding there. With output_sizes padding may be of any size, and a
// window may lie outside of x: its maximum is the least value of the type (-inf of floats), its average and norm are 0.
// Floats are computed in f32 (f64 of f64). Throws ShapeError, InvalidArgument, TypeError.

// The greatest element of each window; NaN if there is one. Also of integers.
Tensor max_pool(const Operand& x, const PoolOptions& options);

// The same, and where it is: the first of equal elements; the last NaN if there is one.
PooledMax max_pool_with_indices(const Operand& x, const PoolOptions& options);

// The sum of each window over the number of its elements.
Tensor average_pool(const Operand& x, const PoolOptions& options);

// The p-norm of each window; p is a positive number. l2_pool: p = 2.
Tensor lp_pool(const Operand& x, double p, const PoolOptions& options);
Tensor l2_pool(const Operand& x, const PoolOptions& options);

// ---- Adaptive pooling. As many windows as `sizes` say along each spatial axis: window i of m over n elements holds
// those from ⌊i · n / m⌋ to before ⌈(i + 1) · n / m⌉.

Tensor adaptive_average_pool(const Operand& x, const Dims& sizes, bool channels_last = false);
Tensor adaptive_max_pool(const Operand& x, const Dims& sizes, bool channels_last = false);
PooledMax adaptive_max_pool_with_indices(const Operand& x, const Dims& sizes, bool channels_last = false);

// ---- Global pooling. One window, all of the spatial axes, which have size 1 in the result: reductions.

Tensor global_average_pool(const Operand& x, bool channels_last = false);
Tensor global_max_pool(const Operand& x, bool channels_last = false);
Tensor global_lp_pool(const Operand& x, double p = 2, bool channels_last = false);

// ---- Gradients of pooling. For x, of which `sizes` are the spatial axes; dy is the gradient of the result. The
// options are those of the pooling. Overlapping windows add up, in a fixed order.

// Each dy goes to the element that its index names.
Tensor max_pool_gradient(const Operand& dy, const Operand& indices, const Dims& sizes, const PoolOptions& options);
Tensor average_pool_gradient(const Operand& dy, const Dims& sizes, const PoolOptions& options);
// y is lp_pool(x, p). Windows whose norm is 0 give 0.
Tensor lp_pool_gradient(const Operand& dy, const Operand& x, const Operand& y, double p, const PoolOptions& options);
Tensor adaptive_average_pool_gradient(const Operand& dy, const Dims& sizes, bool channels_last = false);
Tensor adaptive_max_pool_gradient(const Operand& dy, const Operand& indices, const Dims& sizes,
                                  bool channels_last = false);

// The inverse of max_pool_with_indices(), as far as there is one: x's elements at their indices in a tensor of these
// spatial sizes, zeros elsewhere. Of several with one index any may be taken.
Tensor max_unpool(const Operand& x, const Operand& indices, const Dims& sizes, bool channels_last = false);

}  // namespace weft
