#include "graph/ops/identity.h"

#include "graph/node.h"
#include "graph/op_rows.h"

namespace weft {

std::string_view IdentityOp::name() const {
  constexpr std::string_view kNames[] = {"identity", "stop_gradient", "optimization_barrier"};
  return kNames[static_cast<std::size_t>(a.kind)];
}

// (A result with derivatives of its own that was read from a file has further operands, to which none go any more.)
Derivatives IdentityOp::vjp(const Differentiated& node, std::span<const Tensor> cotangents) const {
  std::vector<Tensor> all(node.inputs.size());
  if (a.kind != IdentityKind::stop_gradient) all[0] = cotangents[0];
  return all;
}

Derivatives IdentityOp::jvp(const Differentiated&, std::span<const Tensor> tangents) const {
  return std::vector{a.kind == IdentityKind::stop_gradient ? Tensor() : tangents[0]};
}

std::optional<Batched> IdentityOp::vmap(std::span<const Tensor> inputs, std::span<const int> axes) const {
  return Batched{{weft::identity(inputs[0], a.kind)}, {axes[0]}};
}

std::size_t CustomResultOp::index_of(const Node& node) {
  return static_cast<std::size_t>(node.as<CustomResultOp>()->index_);
}

Tensor identity(const Tensor& x, IdentityKind kind) {
  return apply(make_op<IdentityOp>(IdentityAttributes{kind}), {x});
}

std::vector<Tensor> with_derivative(const CustomDerivativePtr& call, std::span<const Tensor> results,
                                    std::span<const Tensor> operands) {
  std::vector<Tensor> out(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined()) continue;
    std::vector<Tensor> inputs{results[i]};
    inputs.insert(inputs.end(), operands.begin(), operands.end());
    out[i] = apply(make_op<CustomResultOp>(call, static_cast<int>(i)), std::move(inputs));
  }
  return out;
}

void add_identity_ops(OpRows& rows) {
  const auto row = [&](IdentityKind kind, std::string summary) {
    // A result with derivatives of its own has the operands that these go to behind it.
    const Arity arity = kind == IdentityKind::identity ? Arity::repeated : Arity::one;
    Schema schema{.name = std::string(IdentityOp(IdentityAttributes{kind}).name()),
                  .family = "view",
                  .summary = std::move(summary),
                  .formula = "y = x",
                  .inputs = {{.name = "x", .arity = arity, .shape = "any"}},
                  .outputs = {{.name = "y", .shape = "x's shape"}},
                  .signatures = {{types::any, types::any}}};
    rows.push_back(op_row<IdentityOp>(std::move(schema), {kind}));
  };
  row(IdentityKind::identity,
      "its first operand; further ones are what derivatives of a program's own go to, which files do not keep");
  row(IdentityKind::stop_gradient, "its operand, which is constant for derivatives");
  row(IdentityKind::barrier,
      "its operand; what is computed from it is not merged with what is computed from its operand");
}

}  // namespace weft
