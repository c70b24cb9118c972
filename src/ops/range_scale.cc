#include "ops/range_scale.h"

#include <cmath>
#include <utility>
#include <vector>

#include "core/f32_factors.h"
#include "graph/graph.h"
#include "ops/identity.h"
#include "weft/graph.h"

namespace weft {
namespace {

// Numbers from 2^-near to 2^near stay. Others are multiplied by 2^∓by, those beyond 2^±far by 2^∓by_far.
//
// So the squares of what remains, and sums of 2^24 of them, are normal numbers. A derivative passes the scale on its
// way, and the product's inverse: a factor is no further from 1 than it must be, so that tangents and cotangents of
// about 1 are in range too wherever the function's value is.
struct Exponents {
  int near, by, far, by_far;
};
constexpr Exponents kSingle{40, 60, 100, 100}, kDouble{300, 500, 800, 900};

std::vector<double> factors_of(double value, DType type) {
  return type == DType::f64 ? std::vector{value} : f32_factors(value);
}

}  // namespace

RangeScale::RangeScale(const Tensor& x, const Axes& axes) {
  const Tensor size = abs(identity(x, IdentityKind::stop_gradient));
  const Tensor greatest = reduce(ReduceKind::max, select(is_finite(size), size, 0), axes, true);
  const Exponents e = size.dtype() == DType::f64 ? kDouble : kSingle;
  const auto chosen = [&](double power) {
    const auto two_to = [&](double exponent) { return Graph::scalar(std::exp2(exponent), size.dtype()); };
    Tensor y = two_to(0);
    for (const auto [limit, by] : {std::pair(e.near, e.by), {e.far, e.by_far}}) {
      y = select(greatest > two_to(limit), two_to(-by * power), y);
      y = select(greatest < two_to(-limit), two_to(by * power), y);
    }
    return y;
  };
  factor_ = chosen(1);
  root_ = chosen(-0.5);
}

Tensor RangeScale::scaled(const Tensor& x) const { return x * factor_; }

// (By roots of the scale, one after the other: what is in between is no larger or smaller than both ends.)
Tensor RangeScale::undone(const Tensor& y) const { return y * root_ * root_; }

Tensor RangeScale::undone_products(const Tensor& y, const RangeScale& rows) {
  const Tensor both = rows.root_ * rows.root_.T();
  return y * both * both;
}

Tensor multiplied_by(const Tensor& x, double factor) {
  if (factor == 1) return x;
  Tensor y = x;
  for (const double f : factors_of(factor, x.dtype())) y = y * Graph::scalar(f, x.dtype());
  return y;
}

Tensor divided_by(const Tensor& x, double divisor) {
  if (divisor == 1) return x;
  Tensor y = x;
  for (const double d : factors_of(divisor, x.dtype())) y = y / Graph::scalar(d, x.dtype());
  return y;
}

}  // namespace weft
