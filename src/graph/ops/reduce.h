// Reductions over axes, with elementwise work before and after them.
#pragma once

#include "graph/op.h"

namespace weft {

// Operands: x, or the inputs of `before`; then those of `after` but its first. Results: y, then those of `before` but
// its first.
class ReduceOpNode final : public Op {
 public:
  // `axes` ascend; of variance and deviation `correction` comes off n. Result 0 of `before` is x; its inputs
  // broadcast. Input 0 of `after` is the reduction's result in f32, the others broadcast to it; it has one output.
  ReduceOpNode(ReduceOp op, std::vector<int> axes, bool keep_dims, double correction = 0,
               std::optional<Expression> before = {}, std::optional<Expression> after = {})
      : op_(op),
        axes_(std::move(axes)),
        keep_dims_(keep_dims),
        correction_(correction),
        before_(std::move(before)),
        after_(std::move(after)) {}

  std::string_view name() const override;
  std::optional<Reduction> reduction() const override {
    return before_ || after_ ? std::nullopt : std::optional(Reduction{op_, axes_, correction_});
  }
  Fusion fusion() const override {
    return {.prologue = before_ ? &*before_ : nullptr, .epilogue = after_ ? &*after_ : nullptr};
  }
  FusionStage fusion_stage() const override { return FusionStage::reduction; }
  FusionSpec fusion_spec(const gpu::Capabilities* device, std::span<const TensorType> inputs,
                         std::span<const TensorType> outputs) const override;
  OpPtr with_fusion(std::optional<Expression> prologue, std::optional<Expression> epilogue) const override;
  OpPtr with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                   std::span<const DType> results) const override;
  Work work(const Launch& call) const override;
  void fields(Fields& f) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  std::string label(std::span<const TensorType> inputs) const override;

 private:
  // Of the operands, those that come before the reduction.
  std::size_t input_count() const { return before_ ? static_cast<std::size_t>(before_->input_count()) : 1; }
  // Of what is reduced.
  Shape reduced_shape(std::span<const TensorType> inputs) const;
  kernels::ReduceWork around(const Launch& call) const;

  ReduceOp op_;
  std::vector<int> axes_;
  bool keep_dims_;
  double correction_;  // of variance and deviation
  std::optional<Expression> before_, after_;
};

// Where the least or the greatest is: i32.
class ArgReduceOp final : public Op {
 public:
  // `axes` ascend.
  ArgReduceOp(kernels::ArgOp op, std::vector<int> axes, bool keep_dims)
      : op_(op), axes_(std::move(axes)), keep_dims_(keep_dims) {}
  std::string_view name() const override { return op_ == kernels::ArgOp::max ? "argmax" : "argmin"; }
  double cost() const override { return 0.3; }
  void fields(Fields& f) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;

 private:
  kernels::ArgOp op_;
  std::vector<int> axes_;
  bool keep_dims_;
};

}  // namespace weft
