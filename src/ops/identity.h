// Ops whose result is their operand, and that mean something to derivatives or to the compiler.
#pragma once

#include <memory>

#include "ops/view.h"

namespace weft {

enum class IdentityKind : std::uint8_t {
  identity,       // a name of its own, such as the variable of a derivative
  stop_gradient,  // constant for derivatives
  barrier,        // what is computed from it is not merged with what is computed from its operand
};

struct IdentityAttributes {
  IdentityKind kind = IdentityKind::identity;

  void fields(AttributeVisitor&) {}
};

class IdentityOp final : public ViewOpOf<IdentityAttributes, RewriteInterface, DerivativeInterface, BatchingInterface> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override { return {inputs[0]}; }
  std::optional<Placement> view_layout(const Layout& x) const override { return Placement{0, x}; }
  Tensor simplified(std::span<const Tensor> x) const override {
    return a.kind == IdentityKind::barrier ? Tensor() : x[0];
  }
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  Derivatives jvp(const Differentiated& node, std::span<const Tensor> tangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
  std::vector<Tensor> vmap_in_order(const BatchInOrder& batch) const override;
};

Tensor identity(const Tensor& x, IdentityKind kind = IdentityKind::identity);

// A call of a function whose derivatives the program gives, shared by the ops of its results.
class CustomDerivative {
 public:
  virtual ~CustomDerivative() = default;
  // As DerivativeInterface's rules: of the call's operands and results.
  virtual Derivatives vjp(const Differentiated& call, std::span<const Tensor> cotangents) const = 0;
  virtual Derivatives jvp(const Differentiated& call, std::span<const Tensor> tangents) const = 0;
  int results = 0;  // how many
};
using CustomDerivativePtr = std::shared_ptr<const CustomDerivative>;

// Result `index` of such a call: its operand 0, followed by the call's operands and the values of all of its results
// that are defined. These tell one call of a function from others, also when it is made again on other operands, and
// rules may need them where nothing else does.
class CustomResultOp final : public Op, public ViewInterface, public RewriteInterface {
 public:
  CustomResultOp(CustomDerivativePtr call, int index, std::vector<int> defined)
      : call_(std::move(call)), index_(index), defined_(std::move(defined)) {}
  std::string_view name() const override { return "identity"; }
  const ViewInterface* view() const override { return this; }
  const RewriteInterface& rewriting() const override { return *this; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override { return {inputs[0]}; }
  std::optional<Placement> view_layout(const Layout& x) const override { return Placement{0, x}; }
  Tensor simplified(std::span<const Tensor> x) const override { return x[0]; }
  const CustomDerivative* custom_derivative() const override { return call_.get(); }
  // The call that the node is a result of.
  static const CustomDerivativePtr& derivative_of(const Node& node);
  // Which result of its call the node is.
  static std::size_t index_of(const Node& node);
  static std::span<const Tensor> operands_of(const Node& node);
  // Of each result of the call; undefined ones are undefined.
  static std::vector<Tensor> values_of(const Node& node);
  // Equal for all results of one call.
  static std::string call_of(const Node& node);
  // Another result of the node's call; undefined ones are undefined.
  static Tensor result_of(const Node& node, int index);

 private:
  CustomDerivativePtr call_;
  int index_;
  std::vector<int> defined_;  // results
};

// The results with these derivatives. Undefined ones stay so.
std::vector<Tensor> with_derivative(const CustomDerivativePtr& call, std::span<const Tensor> results,
                                    std::span<const Tensor> operands);

}  // namespace weft
