// Selection of elements by a mask. How many are selected depends on the data, so results have a capacity and a count.
// Conventions that all kernels share are in weft/kernels.h.
//
// Elements are counted in row-major order. `count`: one u32, the number of selected elements, even if the capacity is
// smaller. Masks are of any type: true is what is not zero (NaN too). Unsupported: 2³² elements and more.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// y = x[mask]: the selected elements one after the other. y [capacity], of x's type (any); elements past the count are
// unchanged. mask broadcasts to x.
void compress(Stream& stream, const View& x, const View& mask, const View& y, const View& count);
// y[k, :] = the index of the k-th element of x that is not zero. y [capacity, x's rank], of 32- or 64-bit integers that
// hold x's indices.
void nonzero(Stream& stream, const View& x, const View& y, const View& count);
// y[mask] = x: the k-th selected element of y becomes x[k]; x [n], of y's type (any). If n is less than the count, the
// last selected elements are unchanged. mask broadcasts to y. (With an x of y's shape: masked_copy.)
void expand(Stream& stream, const View& x, const View& mask, const View& y, const View& count);

}  // namespace weft::kernels
