// Reductions over axes, with elementwise work before and after them.
#pragma once

#include "graph/op.h"

namespace weft {

// Operands: x, or the inputs of `prologue`; then those of `epilogue` but its first. Results: y, then those of `prologue` but
// its first.
class ReduceOp final : public Op {
 public:
  // `axes` ascend; of variance and deviation `correction` comes off n. Result 0 of `prologue` is x; its inputs
  // broadcast. Input 0 of `epilogue` is the reduction's result in f32, the others broadcast to it; it has one output.
  ReduceOp(ReduceKind op, std::vector<int> axes, bool keep_dims, double correction = 0,
           std::optional<Expression> prologue = {}, std::optional<Expression> epilogue = {})
      : op_(op),
        axes_(std::move(axes)),
        keep_dims_(keep_dims),
        correction_(correction),
        prologue_(std::move(prologue)),
        epilogue_(std::move(epilogue)) {}

  std::string_view name() const override;
  std::optional<Reduction> reduction() const override {
    return prologue_ || epilogue_ ? std::nullopt : std::optional(Reduction{op_, axes_, correction_});
  }
  Fusion fusion() const override {
    return {.prologue = prologue_ ? &*prologue_ : nullptr, .epilogue = epilogue_ ? &*epilogue_ : nullptr};
  }
  FusionStage fusion_stage() const override { return FusionStage::reduction; }
  FusionSpec fusion_spec(const gpu::Capabilities* device, std::span<const TensorType> inputs,
                         std::span<const TensorType> outputs) const override;
  OpPtr with_fusion(std::optional<Expression> prologue, std::optional<Expression> epilogue) const override;
  OpPtr with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                   std::span<const DType> results) const override;
  Work work(const Launch& call) const override;
  void attributes(Attributes& f) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  std::string label(std::span<const TensorType> inputs) const override;

 private:
  // Of the operands, those that come before the reduction.
  std::size_t input_count() const { return prologue_ ? static_cast<std::size_t>(prologue_->input_count()) : 1; }
  // Of what is reduced.
  Shape reduced_shape(std::span<const TensorType> inputs) const;
  kernels::ReduceFusion fusion(const Launch& call) const;

  ReduceKind op_;
  std::vector<int> axes_;
  bool keep_dims_;
  double correction_;  // of variance and deviation
  std::optional<Expression> prologue_, epilogue_;
};

// Where the least or the greatest is: i32.
class ArgReduceOp final : public Op {
 public:
  // `axes` ascend.
  ArgReduceOp(kernels::ArgKind op, std::vector<int> axes, bool keep_dims)
      : op_(op), axes_(std::move(axes)), keep_dims_(keep_dims) {}
  std::string_view name() const override { return op_ == kernels::ArgKind::max ? "argmax" : "argmin"; }
  double cost() const override { return 0.3; }
  void attributes(Attributes& f) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;

 private:
  kernels::ArgKind op_;
  std::vector<int> axes_;
  bool keep_dims_;
};

}  // namespace weft
