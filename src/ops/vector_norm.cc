#include "ops/vector_norm.h"

#include <cmath>
#include <limits>

#include "core/format.h"
#include "ops/function_attributes.h"
#include "ops/function_row.h"
#include "ops/identity.h"
#include "ops/rules.h"
#include "weft/error.h"
#include "weft/graph.h"
#include "weft/linalg.h"

namespace weft {

Tensor extreme(const Tensor& size, bool greatest, const Axes& axes, bool keep_dims) {
  const Tensor found = reduce(greatest ? ReduceKind::max : ReduceKind::min, size, axes, keep_dims);
  return greatest && size.size() == 0 ? maximum(found, 0) : found;
}

namespace norms {

Tensor numbers(const Tensor& x) {
  if (x.dtype() == DType::c64) return abs(x);
  return accumulated(is_floating(x.dtype()) ? x : cast(x, DType::f32));
}
Tensor magnitudes(const Tensor& x) { return x.dtype() == DType::c64 ? numbers(x) : abs(numbers(x)); }

DType norm_type(DType type) { return is_floating(type) ? type : DType::f32; }

}  // namespace norms

namespace {

using norms::kNormType, norms::magnitudes, norms::norm_type, norms::numbers;

// (Σ size^ord)^(1/ord), with derivatives of 0 for magnitudes of 0 and a norm of 0. The magnitudes are divided by the
// one that decides, so that powers are in range; this is constant for derivatives.
Tensor power_norm(const Tensor& size, double ord, const Axes& axes, bool keep_dims) {
  const auto power = [](const Tensor& x, double exponent) {
    const Tensor zero = equal(x, 0);
    return select(zero, exponent > 0 ? 0.0F : std::numeric_limits<float>::infinity(),
                  pow(select(zero, 1, x), exponent));
  };
  const auto greatest = [&](bool keep) {
    const Tensor found = extreme(identity(size, IdentityKind::stop_gradient), ord > 0, axes, keep);
    return select(logical_and(is_finite(found), found > 0), found, 1);
  };
  const Tensor sum = reduce(ReduceKind::sum, power(size / greatest(true), ord), axes, keep_dims);
  const Tensor scale = greatest(keep_dims);
  if (std::abs(ord) >= 1) return scale * power(sum, 1 / ord);
  // A large power of the sum, of which half may be in range.
  const Tensor root = power(sum, 0.5 / ord);
  return scale * root * root;
}

struct VectorNormAttributes {
  double ord = 2;
  Axes axes = {};
  bool keep_dims = false;
  void fields(AttributeVisitor& v) {
    v("ord", ord, 2, "the power; of infinity the greatest magnitude, of -infinity the least, of 0 the count");
    v("axes", axes, {}, "what the norm goes over; without them all axes");
    v("keep_dims", keep_dims, false, "leave the axes in the result, with size 1");
  }
};
constexpr Function kVectorNorm = {{.name = "vector_norm",
                                   .operands = {{"x"}},
                                   .results = {{"y", kReducedShape, kNormType}},
                                   .formula = "y = (Σ |x|^ord)^(1/ord)",
                                   .summary = "the norm over the axes"},
                                  [](const Tensor& x, const VectorNormAttributes& a) {
                                    if (std::isnan(a.ord)) throw InvalidArgument("vector_norm: ord is NaN");
                                    const auto norm = [&] {
                                      if (a.ord == 2) return reduce(ReduceKind::l2, numbers(x), a.axes, a.keep_dims);
                                      const Tensor size = magnitudes(x);
                                      if (std::isinf(a.ord)) return extreme(size, a.ord > 0, a.axes, a.keep_dims);
                                      if (a.ord == 0) return reduce(ReduceKind::count, size, a.axes, a.keep_dims);
                                      if (a.ord == 1) return reduce(ReduceKind::sum, size, a.axes, a.keep_dims);
                                      return power_norm(size, a.ord, a.axes, a.keep_dims);
                                    };
                                    return cast(norm(), norm_type(x.dtype()));
                                  }};

}  // namespace

void add_vector_norm_functions(FunctionRows& rows) { rows.add(kVectorNorm); }

Tensor vector_norm(const Operand& x, double ord, const Axes& axes, bool keep_dims) {
  return kVectorNorm(x, {ord, axes, keep_dims});
}

}  // namespace weft
