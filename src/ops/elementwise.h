// Elementwise computation: one op for all of it, an expression over operands that broadcast. Fusing two of them is
// putting one expression into the other.
#pragma once

#include "graph/op.h"

namespace weft {

struct MapAttributes {
  Expression expression;

  void fields(AttributeVisitor& v) { v.text("y", expression, "the expression of each element (weft/expression.h)"); }
};

class ElementwiseOp final : public OpOf<MapAttributes, RewriteInterface, DerivativeInterface, BatchingInterface> {
 public:
  explicit ElementwiseOp(Expression expression) : OpOf(MapAttributes{std::move(expression)}) {}
  explicit ElementwiseOp(MapAttributes attributes) : OpOf(std::move(attributes)) {}
  const Expression* elementwise() const override { return &a.expression; }

  std::string_view name() const override { return "map"; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  PreparedCall prepared(const Launch& call) const override;
  bool works_in_place(std::size_t) const override { return true; }
  OpPtr with_iotas(std::span<const std::optional<Placement>> operands, const Shape& result) const override;
  // Results as large as an operand that is stored narrow are worth storing so, too.
  OpPtr with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                   std::span<const DType> results) const override;
  Work work(const Launch& call) const override;
  std::string label(std::span<const TensorType> inputs) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  Derivatives jvp(const Differentiated& node, std::span<const Tensor> tangents) const override;
  std::vector<Tensor> decomposed(std::span<const Tensor> inputs) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
};

// A cotangent times a derivative; where a selection hides the cotangent it is 0, whatever the derivative is there.
Tensor times_derivative(const Tensor& cotangent, const Tensor& derivative);

// Stores its operand's elements as they are, dense.
OpPtr copy_op(DType dtype);

// The operations of an expression in the order in which they happen, for labels: "add+gelu_erf".
std::string operations(const Expression& expression);
// With those before and after another operation: "exp+sum+relu".
std::string operations_around(std::string_view name, const std::optional<Expression>& before,
                              const std::optional<Expression>& after);

}  // namespace weft
