// Eigenvalues and eigenvectors of matrices of any kind.
#pragma once

#include "graph/op.h"
#include "ops/patterns.h"
#include "weft/kernels/linalg.h"

namespace weft {

struct EigAttributes {
  bool vectors = true;

  void fields(AttributeVisitor& v) { v.brief("vectors", vectors, true, "gives eigenvectors too"); }
};

// Results: the eigenvalues, info, and the eigenvectors if they are asked for.
class EigOp final : public OpOf<EigAttributes, RewriteInterface, DerivativeInterface, BatchedMatrices> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "eig"; }
  OpPtr with_more_results() const override;
  std::optional<OwnWork> own_work(std::span<const View> inputs, std::span<const View> outputs) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  Derivatives jvp(const Differentiated& node, std::span<const Tensor> tangents) const override;

 private:
  Tensor eigenvectors(const Differentiated& node) const;
};

}  // namespace weft
