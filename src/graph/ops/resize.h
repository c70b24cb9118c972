// Resampling along axes, and its gradient.
#pragma once

#include "graph/op.h"
#include "weft/kernels/resize.h"

namespace weft {

class ResizeOp final : public Op {
 public:
  // `shape`: of the result. gradient: the operand is the gradient of a result, whose x has that shape.
  ResizeOp(Shape shape, kernels::ResizeOptions options, bool gradient)
      : shape_(shape), options_(std::move(options)), gradient_(gradient) {}
  std::string_view name() const override { return gradient_ ? "resize_gradient" : "resize"; }
  void attributes(Attributes& f) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Work work(const Launch& call) const override;
  std::string label(std::span<const TensorType> inputs) const override;

 private:
  Shape shape_;
  kernels::ResizeOptions options_;
  bool gradient_;
};

}  // namespace weft
