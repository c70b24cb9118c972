// The matrix product, with what happens to each of its elements before it is stored.
#pragma once

#include "graph/op.h"

namespace weft {

// Operands: a [..., m, k], b [..., k, n], then the epilogue's.
class MatmulOp final : public Op {
 public:
  MatmulOp() = default;
  // Without an epilogue: the type of the result, instead of what matmul() in weft/graph.h says.
  explicit MatmulOp(DType result) : result_(result) {}
  // Input 0 of the expression is the product's element, of kernels::product_type(); the others are the further
  // operands, which broadcast to the result.
  explicit MatmulOp(Expression epilogue) : epilogue_(std::move(epilogue)) {}

  Fusion fusion() const override { return {.epilogue = epilogue_ ? &*epilogue_ : nullptr}; }
  FusionStage fusion_stage() const override { return epilogue_ ? FusionStage::none : FusionStage::product; }
  FusionSpec fusion_spec(const gpu::Capabilities* device, std::span<const TensorType> inputs,
                         std::span<const TensorType> outputs) const override;
  OpPtr with_fusion(std::optional<Expression> prologue, std::optional<Expression> epilogue) const override;
  OpPtr with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                   std::span<const DType> results) const override;
  std::optional<WeightOperand> weight_operand() const override { return WeightOperand{.operand = 1, .summed = true}; }
  bool joins_columns() const override { return true; }

  std::string_view name() const override { return "matmul"; }
  void attributes(Attributes& f) const override {
    if (result_) f.add("type", weft::name(*result_));
    if (epilogue_) f.add("epilogue", epilogue_->to_string());
  }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Work work(const Launch& call) const override;
  // "matmul+bias+gelu_erf+residual"
  std::string label(std::span<const TensorType> inputs) const override;

 private:
  std::optional<DType> result_;
  std::optional<Expression> epilogue_;
};

}  // namespace weft
