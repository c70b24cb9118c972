// Windows added up to a whole. Conventions that all kernels share are in weft/kernels.h.
#pragma once

#include "weft/attributes.h"
#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// How windows lie on the spatial axes: a number for each of them, or none for the default.
struct FoldOptions {
  Dims strides = {};    // from a window to the next, in elements of y; 1 or more; default 1
  Dims dilations = {};  // from an element of a window to the next, in elements of y; 1 or more; default 1
  Dims before = {};     // elements of windows that are in front of y, and are left out; 0 or more; default 0

  void fields(AttributeVisitor& v) {
    v("strides", strides, {}, "elements of y from a window to the next, for each spatial axis; none: 1");
    v("dilations", dilations, {}, "elements of y from an element of a window to the next; none: 1");
    v("before", before, {}, "elements of windows in front of y, which are left out; none: 0");
  }
};

// y[n, c, i…] = Σ x[n, c, k…, j…] over all k and j with j · stride + k · dilation − before = i along each axis: what
// windows of y, a column for each, add up to (col2im), which is the gradient of taking them. x [n, C, window…,
// places…], y [n, C, spatial…], with one to three spatial axes. Elements that no window has are 0, elements of windows
// outside of y are left out. Floats, summed in f32 (f64 in f64, which GPUs do not have), and i32 and u32, whose sums
// wrap around. Throws InvalidArgument, Unsupported.
void fold(Stream& stream, const View& x, const View& y, const FoldOptions& options = {});

}  // namespace weft::kernels
