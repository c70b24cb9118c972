#include "graph/range_scale.h"

#include <cmath>

#include "graph/graph.h"
#include "graph/ops/identity.h"
#include "weft/graph.h"

namespace weft {
namespace {

// Numbers from 2^-middle to 2^middle stay; those above are multiplied by 2^-down, those below by 2^up.
struct Exponents {
  int middle, down, up;
};
// The squares of what remains are within 2^±100, of f64 within 2^±800, and so are sums of 2^24 and more of them.
constexpr Exponents kSingle{40, 88, 86}, kDouble{300, 700, 700};

}  // namespace

RangeScale::RangeScale(const Tensor& x, const Axes& axes) {
  const Tensor size = abs(identity(x, IdentityKind::stop_gradient));
  const Tensor greatest = reduce(ReduceKind::max, select(is_finite(size), size, 0), axes, true);
  const Exponents e = size.dtype() == DType::f64 ? kDouble : kSingle;
  const auto chosen = [&](double for_large, double for_small) {
    const auto number = [&](double v) { return Graph::scalar(v, size.dtype()); };
    return select(greatest > number(std::ldexp(1.0, e.middle)), number(for_large),
                  select(greatest < number(std::ldexp(1.0, -e.middle)), number(for_small), number(1)));
  };
  factor_ = chosen(std::ldexp(1.0, -e.down), std::ldexp(1.0, e.up));
  root_ = chosen(std::ldexp(1.0, e.down / 2), std::ldexp(1.0, -e.up / 2));
}

Tensor RangeScale::scaled(const Tensor& x) const { return x * factor_; }

// (By roots of the scale, one after the other: what is in between is no larger or smaller than both ends.)
Tensor RangeScale::undone(const Tensor& y) const { return y * root_ * root_; }

Tensor RangeScale::undone_products(const Tensor& y, const RangeScale& rows) {
  const Tensor both = rows.root_ * rows.root_.T();
  return y * both * both;
}

}  // namespace weft
