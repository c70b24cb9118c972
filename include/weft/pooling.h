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

// The greatest element of each window; NaN if there is one. Of floats, and of integers of 8 to 64 bits, in x's type.
// The derivative is that of the element which max_pool_with_indices() finds.
Tensor max_pool(const Operand& x, const PoolOptions& options);

// The same, and where it is: the first of equal elements; the last NaN if there is one. Of floats, and of integers of 8
// to 32 bits.
PooledMax max_pool_with_indices(const Operand& x, const PoolOptions& options);

// The sum of each window over the number of its elements (options.count_padding, options.divisor), of floats.
Tensor average_pool(const Operand& x, const PoolOptions& options);

// The p-norm of each window, (Σ |x|^p)^(1/p), of floats; p is a positive, finite number. PyTorch's lp_pool.
// The derivative of a window of zeros is 0.
Tensor lp_pool(const Operand& x, double p, const PoolOptions& options);
// The Euclidean norm of each window: lp_pool() with p = 2.
Tensor l2_pool(const Operand& x, const PoolOptions& options);

// ---- Adaptive pooling. As many windows as `sizes` say along each spatial axis: window i of m over n elements holds
// those from ⌊i · n / m⌋ to before ⌈(i + 1) · n / m⌉.

// The mean of each window, of floats. PyTorch's adaptive_avg_pool.
Tensor adaptive_average_pool(const Operand& x, const Dims& sizes, bool channels_last = false);
// The greatest element of each window, NaN if there is one; of floats and integers.
Tensor adaptive_max_pool(const Operand& x, const Dims& sizes, bool channels_last = false);
// The same, and where it is: the first of equal elements; the last NaN if there is one. PyTorch's adaptive_max_pool
// with return_indices.
PooledMax adaptive_max_pool_with_indices(const Operand& x, const Dims& sizes, bool channels_last = false);

// ---- Global pooling. One window, all of the spatial axes, which have size 1 in the result: reductions.

// The mean over the spatial axes, of floats. ONNX's GlobalAveragePool.
Tensor global_average_pool(const Operand& x, bool channels_last = false);
// The greatest element over the spatial axes, NaN if there is one; of floats and integers. ONNX's GlobalMaxPool.
Tensor global_max_pool(const Operand& x, bool channels_last = false);
// The p-norm over the spatial axes, (Σ |x|^p)^(1/p), of floats; p is a positive, finite number. ONNX's GlobalLpPool.
Tensor global_lp_pool(const Operand& x, double p = 2, bool channels_last = false);

// ---- Gradients of pooling. For x, of which `sizes` are the spatial axes; dy is the gradient of the result. The
// options are those of the pooling. Overlapping windows add up, in a fixed order.

// Of max_pool_with_indices(): each dy is added to the element that its index, of its window, names.
Tensor max_pool_gradient(const Operand& dy, const Operand& indices, const Dims& sizes, const PoolOptions& options);
// Of average_pool(): each dy is spread over the elements of its window, divided by the window's divisor.
Tensor average_pool_gradient(const Operand& dy, const Dims& sizes, const PoolOptions& options);
// Of lp_pool(), where y is lp_pool(x, p): sign(x) · |x|^(p − 1) times the sum of dy · y^(1 − p) over an element's
// windows. Windows whose norm is 0 give 0.
Tensor lp_pool_gradient(const Operand& dy, const Operand& x, const Operand& y, double p, const PoolOptions& options);
// Of adaptive_average_pool(): each dy is spread evenly over the elements of its window.
Tensor adaptive_average_pool_gradient(const Operand& dy, const Dims& sizes, bool channels_last = false);
// Of adaptive_max_pool_with_indices(): each dy is added to the element that its index names.
Tensor adaptive_max_pool_gradient(const Operand& dy, const Operand& indices, const Dims& sizes,
                                  bool channels_last = false);

// The inverse of max_pool_with_indices(), as far as there is one: x's elements at their indices in a tensor of these
// spatial sizes, zeros elsewhere. Of several with one index any may be taken. PyTorch's max_unpool.
Tensor max_unpool(const Operand& x, const Operand& indices, const Dims& sizes, bool channels_last = false);

}  // namespace weft
