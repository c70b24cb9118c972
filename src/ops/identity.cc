#include "ops/identity.h"

#include "graph/node.h"
#include "ops/op_rows.h"

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

std::vector<Tensor> IdentityOp::vmap_in_order(const BatchInOrder& batch) const {
  return {weft::identity(batch.inputs[0], a.kind)};
}

const CustomDerivativePtr& CustomResultOp::derivative_of(const Node& node) { return node.as<CustomResultOp>()->call_; }

std::size_t CustomResultOp::index_of(const Node& node) {
  return static_cast<std::size_t>(node.as<CustomResultOp>()->index_);
}

std::span<const Tensor> CustomResultOp::operands_of(const Node& node) {
  const std::size_t values = node.as<CustomResultOp>()->defined_.size();
  return std::span(node.inputs()).subspan(1, node.inputs().size() - 1 - values);
}

std::vector<Tensor> CustomResultOp::values_of(const Node& node) {
  const auto& op = *node.as<CustomResultOp>();
  const auto values = std::span(node.inputs()).last(op.defined_.size());
  std::vector<Tensor> all(static_cast<std::size_t>(op.call_->results));
  for (std::size_t k = 0; k < values.size(); ++k) all[static_cast<std::size_t>(op.defined_[k])] = values[k];
  return all;
}

std::string CustomResultOp::call_of(const Node& node) {
  const CustomDerivative* call = node.op().custom_derivative();
  std::string key(reinterpret_cast<const char*>(&call), sizeof call);
  for (const Tensor& v : std::span(node.inputs()).subspan(1)) {
    const std::uint64_t id[] = {v.node()->sequence(), static_cast<std::uint64_t>(v.index())};
    key.append(reinterpret_cast<const char*>(id), sizeof id);
  }
  return key;
}

Tensor CustomResultOp::result_of(const Node& node, int index) {
  const auto& op = *node.as<CustomResultOp>();
  const Tensor value = values_of(node)[static_cast<std::size_t>(index)];
  if (!value.defined()) return {};
  std::vector<Tensor> inputs(node.inputs().begin(), node.inputs().end());
  inputs[0] = value;
  return apply(make_op<CustomResultOp>(op.call_, index, op.defined_), std::move(inputs));
}

Tensor identity(const Tensor& x, IdentityKind kind) {
  return apply(make_op<IdentityOp>(IdentityAttributes{kind}), {x});
}

std::vector<Tensor> with_derivative(const CustomDerivativePtr& call, std::span<const Tensor> results,
                                    std::span<const Tensor> operands) {
  std::vector<Tensor> out(results.size()), further(operands.begin(), operands.end());
  std::vector<int> defined;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined()) continue;
    defined.push_back(static_cast<int>(i));
    further.push_back(results[i]);
  }
  for (const int i : defined) {
    const auto at = static_cast<std::size_t>(i);
    std::vector<Tensor> inputs{results[at]};
    inputs.insert(inputs.end(), further.begin(), further.end());
    out[at] = apply(make_op<CustomResultOp>(call, i, defined), std::move(inputs));
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
