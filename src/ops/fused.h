// An op with elementwise work before and after it, in the op's own kernel.
#pragma once

#include "graph/op.h"

namespace weft {

// Operands: the base's, with the prologue's inputs in place of the one that it makes; the epilogue's but its first.
// Results: the epilogue's, or without one the base's; then the prologue's but its first.
class FusedOp final : public Op, public FusionInterface, public RewriteInterface {
 public:
  // `operands`: how many the base takes. The prologue's result 0 is the one that the base's prologue_operand() says;
  // its inputs broadcast. The epilogue's input 0, its first node, is the base's result as FusionSpec says; the others
  // broadcast to the result.
  FusedOp(OpPtr base, std::size_t operands, std::optional<Expression> prologue, std::optional<Expression> epilogue)
      : base_(std::move(base)), operands_(operands), prologue_(std::move(prologue)), epilogue_(std::move(epilogue)) {}
  const OpPtr& base() const { return base_; }

  std::string_view name() const override { return base_->name(); }
  void visit(AttributeVisitor& v) const override;
  std::string hidden_identity() const override { return base_->hidden_identity(); }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;

  const FusionInterface& fusing() const override { return *this; }
  const RewriteInterface& rewriting() const override { return *this; }
  Fusion fusion() const override;
  FusionStage fusion_stage() const override { return base_->fusing().fusion_stage(); }
  FusionSpec fusion_spec(const gpu::Capabilities* device, std::span<const TensorType> inputs,
                         std::span<const TensorType> outputs) const override;
  OpPtr with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                   std::span<const DType> results) const override;
  std::optional<WeightOperand> weight_operand() const override;
  std::vector<int> joined_axes(std::span<const TensorType> inputs) const override {
    return prologue_ ? std::vector<int>() : base_->rewriting().joined_axes(inputs.first(operands_));
  }

  bool takes_strides() const override { return base_->takes_strides(); }
  bool takes_strides_of(std::size_t operand) const override {
    return prologue_ || operand >= operands_ ? takes_strides() : base_->takes_strides_of(operand);
  }
  bool works_in_place(std::size_t operand) const override;
  bool has_reference() const override { return base_->has_reference(); }
  void lower(const Launch& call) const override;
  std::optional<std::string> unsupported(const Launch& call) const override;
  Work work(const Launch& call) const override;
  double cost() const override { return base_->cost(); }
  std::string label(std::span<const TensorType> inputs) const override;

 private:
  FusedOperands<const TensorType> split(std::span<const TensorType> inputs) const;
  std::size_t extra_outputs() const { return prologue_ ? prologue_->outputs().size() - 1 : 0; }
  // The base's own operands, of these.
  std::vector<TensorType> own(std::span<const TensorType> inputs) const;
  // Calls f with the base's launch, whose operands are broadcast.
  template <class F>
  auto launch(const Launch& call, F&& f) const;

  OpPtr base_;
  std::size_t operands_;
  std::optional<Expression> prologue_, epilogue_;
};

// The op, which takes so many operands, with the work around it in place of what it has.
OpPtr with_fusion(const OpPtr& op, std::size_t operands, std::optional<Expression> prologue,
                  std::optional<Expression> epilogue);

}  // namespace weft
