// Kernels of users as operations.
#pragma once

#include "graph/op.h"
#include "weft/custom_op.h"

namespace weft {

class CustomOp final : public Op {
 public:
  explicit CustomOp(std::shared_ptr<const CustomKernel> kernel) : kernel_(std::move(kernel)) {}
  std::string_view name() const override { return "custom"; }
  void visit(AttributeVisitor& v) const override;
  // Two kernels are the same if they are one object.
  std::string hidden_identity() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  std::optional<std::string> unsupported(const Launch& call) const override;
  bool takes_strides() const override { return false; }
  bool has_reference() const override { return kernel_->cpu != nullptr; }
  std::string label(std::span<const TensorType>) const override { return kernel_->name; }

 private:
  std::shared_ptr<const CustomKernel> kernel_;
};

}  // namespace weft
