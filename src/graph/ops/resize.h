// Resampling along axes, and its gradient, with elementwise work before and after it.
#pragma once

#include "graph/op.h"
#include "weft/kernels/resize.h"

namespace weft {

// Operands: x, or those of the prologue, which broadcast; then the epilogue's.
class ResizeOp final : public Op {
 public:
  // `shape`: of the result. gradient: the operand is the gradient of a result, whose x has that shape.
  ResizeOp(Shape shape, kernels::ResizeOptions options, bool gradient, std::optional<Expression> prologue = {},
           std::optional<Expression> epilogue = {})
      : shape_(shape),
        options_(std::move(options)),
        gradient_(gradient),
        prologue_(std::move(prologue)),
        epilogue_(std::move(epilogue)) {}

  Fusion fusion() const override {
    return {.prologue = prologue_ ? &*prologue_ : nullptr, .epilogue = epilogue_ ? &*epilogue_ : nullptr};
  }
  FusionStage fusion_stage() const override { return FusionStage::reduction; }
  FusionSpec fusion_spec(const gpu::Capabilities* device, std::span<const TensorType> inputs,
                         std::span<const TensorType> outputs) const override;
  OpPtr with_fusion(std::optional<Expression> prologue, std::optional<Expression> epilogue) const override;

  std::string_view name() const override { return gradient_ ? "resize_gradient" : "resize"; }
  void attributes(Attributes& f) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Work work(const Launch& call) const override;
  std::string label(std::span<const TensorType> inputs) const override;

 private:
  // Of the operands, those that the prologue takes, or x.
  std::size_t input_count() const { return prologue_ ? static_cast<std::size_t>(prologue_->input_count()) : 1; }
  // What is resampled.
  TensorType resampled(std::span<const TensorType> inputs) const;
  // How many elements of x an element of y is made of along an axis, at most but for antialiasing.
  double neighbours(double x, double y) const;
  // How often an element of what is resampled is read, on average.
  double reads(const Shape& resampled) const;

  Shape shape_;
  kernels::ResizeOptions options_;
  bool gradient_;
  std::optional<Expression> prologue_, epilogue_;
};

}  // namespace weft
