// Decompositions of matrices, and triangular systems. Like their kernels they take any leading dimensions.
#pragma once

#include "graph/op.h"
#include "ops/patterns.h"
#include "weft/linalg.h"

namespace weft {

class CholeskyOp final : public OpOf<kernels::CholeskyOptions, DerivativeInterface, BatchedMatrices> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "cholesky"; }
  bool works_in_place(std::size_t) const override { return true; }
  std::optional<OwnWork> own_work(std::span<const View> inputs, std::span<const View> outputs) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  Derivatives jvp(const Differentiated& node, std::span<const Tensor> tangents) const override;
};

struct LuAttributes {
  void fields(AttributeVisitor&) {}
};

class LuOp final : public OpOf<LuAttributes, DerivativeInterface, BatchedMatrices> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "lu"; }
  bool works_in_place(std::size_t) const override { return true; }
  std::optional<OwnWork> own_work(std::span<const View> inputs, std::span<const View> outputs) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
};

class TriangularSolveOp final : public OpOf<kernels::TriangularSolveOptions, DerivativeInterface, BatchingInterface> {
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
  std::vector<Tensor> vmap_in_order(const BatchInOrder& batch) const override;
};

struct SolutionAttributes {
  bool adjoint = false;

  void fields(AttributeVisitor& v) { v.brief("adjoint", adjoint, false, "aᴴ x = b instead of a x = b"); }
};

// Operand 0, the x of a x = b that LU factors gave: x, a, b, lu, order, info. The factors are there for derivatives,
// which solve further systems with them.
class SolutionOp final : public OpOf<SolutionAttributes, RewriteInterface, DerivativeInterface, BatchingInterface> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "solution"; }
  bool works_in_place(std::size_t operand) const override { return operand == 0; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  Tensor simplified(std::span<const Tensor> x) const override { return x[0]; }
  void lower(const Launch& call) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  Derivatives jvp(const Differentiated& node, std::span<const Tensor> tangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
};

// Of matrices of a type in which they are decomposed.
LuFactors factors_of(const Tensor& a);
// The x of a x = b, or aᴴ x = b, by a's factors: NaN where info is not 0. Leading dimensions of a and b broadcast.
// Derivatives go through the factors.
Tensor solved_by(const LuFactors& factors, const Tensor& b, bool with_adjoint);
// The same; derivatives are those of a, and take no derivatives of factors.
Tensor solution(const LuFactors& factors, const Tensor& a, const Tensor& b, bool with_adjoint);

// How a function reports that a result of it does not exist, for the first read of what depends on it.
enum class Failure : std::uint8_t {
  cholesky,
  solve,
  inv,
};
inline constexpr std::string_view kFailures[] = {"cholesky", "solve", "inv"};

struct CheckedAttributes {
  Failure failure = Failure::cholesky;

  void fields(AttributeVisitor& v) { v("failure", failure, Failure::cholesky, kFailures, "whose results these are"); }
};

// Operand 0. Operand 1, i32 of any shape, is 0 where the matrix of that place in the batch has a result: where
// tensors are evaluated when they are read, that throws LinAlgError otherwise (compiler/value_check.h). In compiled
// graphs it is operand 0 and nothing else.
class CheckedOp final
    : public OpOf<CheckedAttributes, ValueCheckInterface, RewriteInterface, DerivativeInterface, BatchingInterface> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "checked"; }
  bool works_in_place(std::size_t operand) const override { return operand == 0; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  Tensor simplified(std::span<const Tensor> x) const override { return x[0]; }
  void lower(const Launch& call) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  Derivatives jvp(const Differentiated& node, std::span<const Tensor> tangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
  std::string message(std::span<const std::int32_t> info, const Shape& batch) const override;
};

// x, whose reads check that info.
Tensor checked(const Tensor& x, const Tensor& info, Failure failure);

// The conjugate transpose of the last two axes.
Tensor adjoint(const Tensor& x);
// The order that undoes `order`, i32 [..., n]: what LU's row i was, for each row of the matrix.
Tensor inverse_order(const Tensor& order);
// The rows of x [..., m, k] in that order, whose leading dimensions broadcast with x's.
Tensor rows_in_order(const Tensor& x, const Tensor& order);

// What eigenvalues of a are, info and, if they are asked for, eigenvectors. Throws ShapeError and TypeError.
std::vector<TensorType> eigenvalue_types(std::string_view name, const TensorType& a, bool vectors);
// Which element is on the diagonal, of x's matrices.
Tensor diagonal_mask(const Tensor& x);

}  // namespace weft
