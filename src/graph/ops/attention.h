// Scaled dot-product attention.
#pragma once

#include "graph/op.h"
#include "weft/kernels/attention.h"

namespace weft {

// Operands: q, k, v, and a mask or not.
class AttentionOp final : public Op {
 public:
  explicit AttentionOp(kernels::AttentionOptions options) : options_(options) {}
  std::string_view name() const override { return "attention"; }
  void fields(Fields& f) const override {
    f.add("scale", static_cast<double>(options_.scale));
    if (options_.causal) f.add("causal", true);
  }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;

 private:
  kernels::AttentionOptions options_;
};

}  // namespace weft
