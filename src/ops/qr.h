// QR factors.
#pragma once

#include "graph/op.h"
#include "ops/patterns.h"
#include "weft/kernels/linalg.h"

namespace weft {

class QrOp final : public OpOf<kernels::QrOptions, DerivativeInterface, BatchedMatrices> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "qr"; }
  std::optional<OwnWork> own_work(std::span<const View> inputs, std::span<const View> outputs) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  std::vector<Tensor> decomposed(std::span<const Tensor> inputs) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  Derivatives jvp(const Differentiated& node, std::span<const Tensor> tangents) const override;

 private:
  bool has_rule(const Differentiated& node) const;
};

}  // namespace weft
