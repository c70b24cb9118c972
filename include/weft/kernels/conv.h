// Convolutions. Conventions that all kernels share are in weft/kernels.h.
//
// Axes are [batch, channels, spatial…] with one to three spatial axes; strides express every other order in memory
// (channels last: a permuted view), and every order of a filter's axes.
#pragma once

#include <cstdint>

#include "weft/attributes.h"
#include "weft/kernels/fusion.h"
#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// How windows lie on the spatial axes: a number for each of them, or none for the default.
struct ConvOptions {
  Dims strides = {};    // from an output to the next, in elements of x; 1 or more; default 1
  Dims dilations = {};  // from an element of the filter to the next, in elements of x; 1 or more; default 1
  Dims before = {};     // zeros in front of x; negative: its first elements are left out; default 0
  std::int64_t groups = 1;

  void fields(AttributeVisitor& v) {
    v("strides", strides, {}, "elements of x from a window to the next, for each spatial axis; none: 1");
    v("dilations", dilations, {}, "elements of x from an element of a window to the next; none: 1");
    v("before", before, {}, "zeros in front of x; negative: elements left out; none: 0");
    v("groups", groups, 1, "equal parts of the channels that do not mix");
  }
};

// y[n, o, i] = epilogue(Σ_c Σ_k x[n, c, i · stride + k · dilation − before] · w[o, c', k]): the cross-correlation that
// frameworks call convolution. x is zero outside of its edges; padding behind it follows from y's shape. Padding takes
// no part in a sum, even where the filter is infinite or NaN. With groups, the channels of x and of y are split into as
// many equal parts, c runs over the part of x that belongs to o's part of y, and c' counts from its begin: x [n, C, …],
// w [O, C / groups, …], y [n, O, …]. Depthwise: groups = C. A bias [O] is an epilogue operand of shape [O, 1, …]. Types
// and sums are those of matmul (weft/kernels/matmul.h), without c64.
// Throws InvalidArgument, Unsupported.
void conv(Stream& stream, const View& x, const View& w, const View& y, const ConvOptions& options = {},
          const Epilogue& epilogue = {});

// The transposed convolution, which is conv's gradient for x: every x[n, c, j] · w[c, o', k] is added to
// y[n, o, j · stride + k · dilation − before]. x [n, C, …], w [C, O / groups, …], y [n, O, …]; `before` leaves out the
// first elements of y, and its shape says how many there are behind (output padding). Elements of y that nothing is
// added to are epilogue(0).
void conv_transpose(Stream& stream, const View& x, const View& w, const View& y, const ConvOptions& options = {},
                    const Epilogue& epilogue = {});

// conv's gradient for its filter: w[o, c', k] = Σ_n Σ_i y[n, o, i] · x[n, c, i · stride + k · dilation − before], where
// y is the gradient of conv's result.
void conv_filter_gradient(Stream& stream, const View& x, const View& y, const View& w, const ConvOptions& options = {});

}  // namespace weft::kernels
