// Elementwise computation: one op for all of it, an expression over operands that broadcast. Fusing two of them is
// putting one expression into the other.
#pragma once

#include "graph/op.h"

namespace weft {

class ElementwiseOp final : public Op {
 public:
  // `cpu_form`: a shorter expression of the same values on the CPU; null: none.
  explicit ElementwiseOp(Expression expression, OpPtr cpu_form = nullptr)
      : expression_(std::move(expression)), cpu_form_(std::move(cpu_form)) {}
  const Expression* elementwise() const override { return &expression_; }

  std::string_view name() const override { return "map"; }
  void attributes(Attributes& f) const override { f.add("y", expression_.to_string()); }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  OpPtr cpu_form() const override { return cpu_form_; }
  bool works_in_place(std::size_t) const override { return true; }
  OpPtr with_iotas(std::span<const std::optional<Placement>> operands, const Shape& result) const override;
  // Results as large as an operand that is stored narrow are worth storing so, too.
  OpPtr with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                   std::span<const DType> results) const override;
  Work work(const Launch& call) const override;
  std::string label(std::span<const TensorType> inputs) const override;

 private:
  Expression expression_;
  OpPtr cpu_form_;
};

// An operation that leaves integers as they are.
bool rounds_to_integer(ScalarOp op);

// Stores its operand's elements as they are, dense.
OpPtr copy_op(DType dtype);

// The operations of an expression in the order in which they happen, for labels: "add+gelu_erf".
std::string operations(const Expression& expression);
// With those before and after another operation: "exp+sum+relu".
std::string operations_around(std::string_view name, const std::optional<Expression>& before,
                              const std::optional<Expression>& after);

}  // namespace weft
