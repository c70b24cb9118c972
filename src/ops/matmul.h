// The matrix product, with what happens to each of its elements before it is stored.
#pragma once

#include "graph/op.h"
#include "ops/batch_in_order.h"

namespace weft {

struct MatmulAttributes {
  std::optional<DType> type = {};

  void fields(AttributeVisitor& v) { v("type", type, {}, "the type of the result, instead of what matmul() says"); }
};

// Operands: a [..., m, k], b [..., k, n].
class MatmulOp final
    : public OpOf<MatmulAttributes, FusionInterface, RewriteInterface, DerivativeInterface, BatchingInterface> {
 public:
  using OpOf::OpOf;
  FusionStage fusion_stage() const override { return FusionStage::product; }
  FusionSpec fusion_spec(const gpu::Capabilities* device, std::span<const TensorType> inputs,
                         std::span<const TensorType> outputs) const override;
  OpPtr with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                   std::span<const DType> results) const override;
  std::optional<WeightOperand> weight_operand() const override { return WeightOperand{.operand = 1, .summed = true}; }
  std::optional<ChannelAxes> channel_axes() const override { return ChannelAxes{.weights = -1, .result = -1}; }
  std::vector<int> joined_axes(std::span<const TensorType> inputs) const override {
    return inputs[1].shape.rank() == 2 ? std::vector{-1} : std::vector<int>();
  }

  std::string_view name() const override { return "matmul"; }
  OpPattern pattern() const override { return OpPattern::matmul; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  std::optional<OwnWork> own_work(std::span<const View> inputs, std::span<const View> outputs) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
  std::vector<Tensor> vmap_in_order(const BatchInOrder& batch) const override;
};

}  // namespace weft
