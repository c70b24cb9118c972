// Decompositions of matrices, and triangular systems. Like their kernels they take any leading dimensions.
#pragma once

#include "graph/op.h"
#include "weft/kernels/linalg.h"

namespace weft {

class CholeskyOp final : public OpOf<kernels::CholeskyOptions> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "cholesky"; }
  bool works_in_place(std::size_t) const override { return true; }
  std::optional<OwnWork> own_work(std::span<const View> inputs, std::span<const View> outputs) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  Derivatives jvp(const Differentiated& node, std::span<const Tensor> tangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
};

class TriangularSolveOp final : public OpOf<kernels::TriangularSolveOptions> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "triangular_solve"; }
  bool works_in_place(std::size_t operand) const override { return operand == 1; }
  std::optional<OwnWork> own_work(std::span<const View> inputs, std::span<const View> outputs) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  Derivatives jvp(const Differentiated& node, std::span<const Tensor> tangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
};

// The conjugate transpose of the last two axes.
Tensor adjoint(const Tensor& x);

}  // namespace weft
