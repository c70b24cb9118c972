// Singular values, with vectors and without.
#pragma once

#include "graph/op.h"
#include "ops/patterns.h"
#include "weft/kernels/linalg.h"

namespace weft {

class SvdOp final : public OpOf<kernels::SvdOptions, DerivativeInterface, BatchedMatrices> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "svd"; }
  std::optional<OwnWork> own_work(std::span<const View> inputs, std::span<const View> outputs) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
};

struct SvdvalsAttributes {
  void fields(AttributeVisitor&) {}
};

class SvdvalsOp final : public OpOf<SvdvalsAttributes, DerivativeInterface, BatchedMatrices> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "svdvals"; }
  std::optional<OwnWork> own_work(std::span<const View> inputs, std::span<const View> outputs) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
};

// The pseudo-inverse y of a, with derivatives that also hold where a is not of full rank.
Tensor pseudo_inverse(const Tensor& a, const Tensor& y);

}  // namespace weft
