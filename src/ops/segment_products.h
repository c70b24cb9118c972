// Products of adjacent elements, of which derivatives of scatters are made.
#pragma once

#include "weft/tensor.h"

namespace weft {

// For each element along the axis the product of the others of its segment: how these products change along a tangent
// of x. `joined` says whether an element and the one behind it are of one segment; it has x's size along the axis, and
// x's sizes on each side of it, or is broadcast along all that are there. Nothing is divided, so that any zeros,
// infinities and NaN may be there, and 0 · ∞ is 0, as in all derivatives for x.
Tensor tangents_of_others(const Tensor& x, const Tensor& tangent, const Tensor& joined, int axis);

}  // namespace weft
