// Scans along an axis.
#pragma once

#include "graph/op.h"
#include "ops/patterns.h"
#include "weft/kernels/scan.h"

namespace weft {

struct ScanAttributes {
  kernels::ScanKind kind = kernels::ScanKind::sum;
  int axis = -1;
  kernels::ScanOptions options = {};

  void normalise(std::string_view op, std::span<const TensorType> inputs) {
    axis = normalize_axis(axis, inputs[0].shape.rank(), op);
  }
  void fields(AttributeVisitor& v) {
    v("axis", axis, -1, "the axis along which elements are combined");
    options.fields(v);
  }
};

class ScanOp final : public OpOf<ScanAttributes, DerivativeInterface, BatchedAlongAxis> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override;
  Work work(const Launch& call) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  Derivatives jvp(const Differentiated& node, std::span<const Tensor> tangents) const override;
  int batched_axis() const override { return a.axis; }
  OpPtr along(int axis) const override;
};

// a · b of real numbers, in which 0 · ∞ is 0, as in all of its derivatives: a factor or a tangent of 0 takes away what
// is infinite beside it. NaN stays NaN.
Tensor zeros_absorbing_product(const Tensor& a, const Tensor& b);

}  // namespace weft
