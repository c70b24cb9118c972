// Resampling along axes, and its gradient.
#pragma once

#include "graph/op.h"
#include "weft/kernels/resize.h"

namespace weft {

struct ResizeAttributes {
  bool gradient = false;  // the operand is the gradient of a result, whose x has `shape`
  Shape shape = {};       // of the result
  kernels::ResizeOptions options = {};

  void fields(AttributeVisitor& v);
};

// Operand: x.
class ResizeOp final : public OpOf<ResizeAttributes, FusionInterface, DerivativeInterface, BatchingInterface> {
 public:
  using OpOf::OpOf;
  FusionStage fusion_stage() const override { return FusionStage::reduction; }
  FusionSpec fusion_spec(const gpu::Capabilities* device, std::span<const TensorType> inputs,
                         std::span<const TensorType> outputs) const override;

  std::string_view name() const override { return a.gradient ? "resize_gradient" : "resize"; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  std::optional<OwnWork> own_work(std::span<const View> inputs, std::span<const View> outputs) const override;
  std::string label(std::span<const TensorType> inputs) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  Derivatives jvp(const Differentiated& node, std::span<const Tensor> tangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;

 private:
  // How many elements of x an element of y is made of along an axis, at most but for antialiasing.
  double neighbours(double x, double y) const;
  // How often an element of what is resampled is read, on average.
  double reads(const Shape& resampled) const;
};

}  // namespace weft
