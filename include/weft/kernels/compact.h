// Elements that a mask chooses. How many there are is data, so results have a capacity and a count. Conventions that
// all kernels share are in weft/kernels.h.
//
// Elements are counted in row-major order. `count`: one u32, the number of chosen elements, also where there was no
// room for all of them. Masks are of any type: true is what
// is not zero (NaN too). At most 2³² elements on a GPU.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// y = x[mask]: the chosen elements one after the other. y [capacity], of x's type, any one; what lies past the count
// stays. mask broadcasts to x.
void compress(Stream& stream, const View& x, const View& mask, const View& y, const View& count);
// y[k, :] = the index of the k-th element of x that is not zero. y [capacity, x's rank], of 32- or 64-bit integers.
void nonzero(Stream& stream, const View& x, const View& y, const View& count);
// y[mask] = x: the k-th chosen element of y becomes x[k]; x [n], of y's type, any one. If n is less than the count, the
// last chosen ones stay. mask broadcasts to y. (With an x of y's shape: masked_copy.)
void expand(Stream& stream, const View& x, const View& mask, const View& y, const View& count);

}  // namespace weft::kernels
