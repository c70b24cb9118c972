// Scaled dot-product attention.
#pragma once

#include "graph/op.h"
#include "weft/kernels/attention.h"

namespace weft {

// Operands: q, k, v, then those of mask, query lengths and key lengths that `operands` names.
class AttentionOp final : public Op {
 public:
  struct Operands {
    bool mask = false, query_lengths = false, key_lengths = false;
  };
  // The result has q's type unless `result` names one.
  AttentionOp(kernels::AttentionOptions options, Operands operands, std::optional<DType> result = {})
      : options_(options), operands_(operands), result_(result) {}
  const kernels::AttentionOptions& options() const { return options_; }
  const Operands& operands() const { return operands_; }
  std::string_view name() const override { return "attention"; }
  OpPtr with_types(std::span<const TensorType>, std::span<const TensorType>,
                   std::span<const DType> results) const override {
    return std::make_shared<const AttentionOp>(options_, operands_, results[0]);
  }
  void attributes(Attributes& f) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Work work(const Launch& call) const override;

 private:
  struct Call;  // the kernel's arguments
  Call call_of(const Launch& call) const;

  kernels::AttentionOptions options_;
  Operands operands_;
  std::optional<DType> result_;
};

}  // namespace weft
