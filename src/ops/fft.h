// Fourier transforms along an axis.
#pragma once

#include "graph/op.h"
#include "ops/patterns.h"
#include "weft/kernels/fft.h"

namespace weft {

struct FftAttributes {
  kernels::FftKind kind = kernels::FftKind::complex;
  int axis = -1;
  kernels::FftOptions options = {};

  void normalise(std::string_view op, std::span<const TensorType> inputs) {
    axis = normalize_axis(axis, inputs[0].shape.rank(), op);
  }
  void fields(AttributeVisitor& v) {
    v("axis", axis, -1, "the axis along which it transforms");
    options.fields(v);
  }
};

class FftOp final : public OpOf<FftAttributes, FusionInterface, LinearInFirst, BatchedAlongAxis> {
 public:
  using OpOf::OpOf;
  FusionStage fusion_stage() const override { return FusionStage::reduction; }
  FusionSpec fusion_spec(const gpu::Capabilities* device, std::span<const TensorType> inputs,
                         std::span<const TensorType> outputs) const override;
  std::string_view name() const override;
  std::optional<OwnWork> own_work(std::span<const View> inputs, std::span<const View> outputs) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  int batched_axis() const override { return a.axis; }
  OpPtr along(int axis) const override;
};

}  // namespace weft
