// Scaled dot-product attention.
#pragma once

#include "graph/op.h"
#include "weft/kernels/attention.h"

namespace weft {

// Operands: q, k, v, and a mask or not.
class AttentionOp final : public Op {
 public:
  // The result has q's type unless `result` names one.
  explicit AttentionOp(kernels::AttentionOptions options, std::optional<DType> result = {})
      : options_(options), result_(result) {}
  const kernels::AttentionOptions& options() const { return options_; }
  std::string_view name() const override { return "attention"; }
  void fields(Fields& f) const override {
    f.add("scale", static_cast<double>(options_.scale));
    if (options_.causal) f.add("causal", true);
    if (result_) f.add("type", weft::name(*result_));
  }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Work work(const Launch& call) const override;

 private:
  kernels::AttentionOptions options_;
  std::optional<DType> result_;
};

}  // namespace weft
