#include "compiler/passes/fold_constants.h"

#include "compiler/evaluate.h"
#include "compiler/rewrite.h"
#include "graph/ops/leaf.h"

namespace weft::compiler {
namespace {

// Results of up to this many elements are folded whatever their constants' size.
constexpr std::int64_t kSmall = 16384;

}  // namespace

ConstantPtr constant_of(Value v) {
  if (const ConstantOp* constant = constant_op(v)) return constant->data();
  const Node& node = *v.node();
  if (!node.op().has_twin() || node.op().is_leaf() || node.inputs().empty() || node.types().size() != 1) return nullptr;
  std::vector<ConstantPtr> inputs;
  for (const Value& input : node.inputs()) {
    inputs.push_back(constant_of(input));
    if (!inputs.back()) return nullptr;
  }
  const OpPtr op = node.shared_op();
  return std::make_shared<const Constant>(node.types()[0], op->identity(), inputs, [op, inputs] {
    std::vector<TensorData> data;
    for (const ConstantPtr& c : inputs) data.push_back(c->data());
    return evaluate(*op, data)[0];
  });
}

Graph fold_constants(const Graph& graph, const PassContext&) {
  Rewriter r(graph);
  return r.run([&](const Node& node) -> Value {
    if (node.op().is_leaf() || node.op().is_view() || node.inputs().empty() || node.types().size() != 1) return {};
    if (!node.op().has_twin()) return {};
    std::int64_t elements = 0;
    std::vector<Value> inputs;
    std::string names;  // of the constants it is made of, for reports
    for (const Value& v : node.inputs()) {
      Value root = r.at(v);
      while (root.node()->op().is_view()) root = input_of(root);
      const ConstantOp* constant = constant_op(root);
      if (!constant) return {};
      if (const std::string& name = constant->constant_name(); !name.empty() && names.find(name) == std::string::npos) {
        names += (names.empty() ? "" : "+") + name;
      }
      elements += element_count(root.shape());
      inputs.push_back(r.at(v));
    }
    if (element_count(node.types()[0].shape) > std::max(elements, kSmall)) return {};
    // A temporary node whose result is the recipe.
    const Value folded = apply(node.shared_op(), std::move(inputs));
    return r.to().impl().add(make_op<ConstantOp>(constant_of(folded), std::move(names)), {}).value();
  });
}

}  // namespace weft::compiler
