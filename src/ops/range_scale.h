// Numbers of any size. Sums of products of such: the numbers are scaled by powers of two, so that neither the products
// nor their sums leave the range of normal numbers.
//
//   const RangeScale s(x, axes);
//   y = s.undone(reduce(ReduceKind::mean, s.scaled(x), axes, true));
#pragma once

#include "weft/axes.h"
#include "weft/tensor.h"

namespace weft {

// A power of two for the elements over the axes, by their greatest finite magnitude: 1, to the bit, unless their
// squares might overflow or lose digits. It is constant for derivatives, which are those of what is homogeneous in x. x
// is f32, bf16, f64 or c64; what is scaled and undone has x's shape, or size 1 along the axes.
class RangeScale {
 public:
  RangeScale(const Tensor& x, const Axes& axes);

  Tensor scaled(const Tensor& x) const;
  // y of something that grows as x does, or as products of x and what another scale is of.
  Tensor undone(const Tensor& y) const;
  // y [n, n] of products of each two rows, of which `rows` has one scale each.
  static Tensor undone_products(const Tensor& y, const RangeScale& rows);

 private:
  Tensor factor_;  // of x
  Tensor root_;    // of the inverse of the factor
};

// x · factor and x / divisor, of numbers that x's type, f32, f64 or c64, need not hold: f32 has no 1e40 and no 1e-50.
// Such are several factors, one after the other, so that what is in between is no larger and no smaller than both x and
// the result. Of others it is one multiplication or division, and none by 1.
Tensor multiplied_by(const Tensor& x, double factor);
Tensor divided_by(const Tensor& x, double divisor);

}  // namespace weft
