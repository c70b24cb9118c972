// Pooling: maxima, averages and norms of windows, and their gradients. Conventions that all kernels share are in
// weft/kernels.h.
//
// Axes are [batch, channels, spatial…] with one to three spatial axes; strides express every other order in memory
// (channels last: a permuted view).
#pragma once

#include <cstdint>

#include "weft/attributes.h"
#include "weft/kernels/fusion.h"
#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// How windows lie on the spatial axes: a number for each of them, or none for the default.
//
// Window i of an axis holds the elements i · stride + k · dilation − before of x, for k from 0 to window − 1; those
// outside of x, in the padding, take no part. How many windows there are, y's shape says. Adaptive windows follow from
// the sizes n of x and m of y alone: window i holds the elements from ⌊i · n / m⌋ to before ⌈(i + 1) · n / m⌉.
struct PoolOptions {
  Dims window = {};       // sizes, 1 or more; none if `adaptive`
  Dims strides = {};      // from a window to the next; 1 or more; default: the window's size, so that none overlap
  Dims dilations = {};    // from an element of a window to the next; 1 or more; default 1
  Dims before = {};       // padding in front of x, 0 or more; default 0
  bool adaptive = false;  // then the numbers above must not be given

  // Of averages:
  // The divisor counts the elements of the padding, of which there are `after` behind x, too; else only those of x.
  bool count_padding = true;
  Dims after = {};           // 0 or more; default: as `before`
  std::int64_t divisor = 0;  // instead of the number of elements; 0: that number

  // Those of every pool, and all.
  void windows(AttributeVisitor& v) {
    v("window", window, {}, "the sizes of windows, for each spatial axis; none if they are adaptive");
    v("strides", strides, {}, "elements of x from a window to the next; none: the window's sizes");
    v("dilations", dilations, {}, "elements of x from an element of a window to the next; none: 1");
    v("before", before, {}, "elements of padding in front of x; none: 0");
    v("adaptive", adaptive, false,
      "windows follow from the sizes n of x and m of y: window i has the elements from ⌊i · n / m⌋ to before ⌈(i + 1) "
      "· n "
      "/ m⌉");
  }
  void fields(AttributeVisitor& v) {
    windows(v);
    v("after", after, {}, "elements of padding behind x, which count_padding counts; none: as before");
    v("count_padding", count_padding, true, "the divisor counts the elements of padding, too");
    v("divisor", divisor, 0, "the divisor instead of the number of elements; 0: that number");
  }
};

// y[n, c, i] = epilogue(max over window i of x[n, c, …]). x floats and y floats, or both one type of the integers of 8
// to 32 bits. NaN if the window has one; of zeros of both signs it may give either. A window without elements: -inf,
// of integers the least.
// Here and below the epilogue takes the result before it is rounded, as f32 (f64 if x is; integers as i32 or u32), and
// gives y any type; with a prologue, x stands for what the prologue gives, and may itself have any type. Throws
// InvalidArgument, Unsupported.
void max_pool(Stream& stream, const View& x, const View& y, const PoolOptions& options, const Fusion& fusion = {});

// The same, and where each maximum is: the position within x's spatial axes in row-major order, in an i32. The first of
// equal elements, the last NaN if there is one (as PyTorch has it), -1 for a window without elements. x's spatial axes
// have fewer than 2^31 elements.
void max_pool_with_indices(Stream& stream, const View& x, const View& y, const View& indices,
                           const PoolOptions& options, const Fusion& fusion = {});

// y[n, c, i] = epilogue(Σ over window i of x[n, c, …] / divisor). Floats; sums are f32 (f64 of f64). A window without
// elements: 0.
void average_pool(Stream& stream, const View& x, const View& y, const PoolOptions& options, const Fusion& fusion = {});

// y[n, c, i] = epilogue((Σ over window i of |x[n, c, …]|^p)^(1/p)), p a positive number. Floats; sums are f32 (f64 of
// f64), and so are the powers, which must not overflow it.
void lp_pool(Stream& stream, const View& x, const View& y, double p, const PoolOptions& options,
             const Fusion& fusion = {});

// The gradient of max_pool_with_indices() for x: dx[n, c, j] = epilogue(Σ dy[n, c, i] over the windows i whose index is
// j). `options` are those of the pool. Each element of dx looks through the windows that contain it, so that nothing is
// added atomically and results repeat to the bit. A gradient's prologue is one of dy.
void max_pool_gradient(Stream& stream, const View& dy, const View& indices, const View& dx, const PoolOptions& options,
                       const Fusion& fusion = {});

// The gradient of average_pool() for x: dx[n, c, j] = epilogue(Σ dy[n, c, i] / divisor(i) over the windows i that
// contain j).
void average_pool_gradient(Stream& stream, const View& dy, const View& dx, const PoolOptions& options,
                           const Fusion& fusion = {});

}  // namespace weft::kernels
