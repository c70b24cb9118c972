#include "compiler/passes/fold_constants.h"

#include "compiler/evaluate.h"
#include "compiler/rewrite.h"
#include "graph/ops/leaf.h"

namespace weft::compiler {
namespace {

// Results of up to this many elements are folded whatever their constants' size.
constexpr std::int64_t kSmall = 16384;

}  // namespace

ConstantPtr constant_of(const Tensor& v) {
  std::map<const Node*, ConstantPtr> known;
  std::vector<const Node*> open{v.node()};
  while (!open.empty()) {
    const Node& node = *open.back();
    if (const ConstantOp* constant = node.op().constant()) known[&node] = constant->data();
    if (known.contains(&node)) {
      open.pop_back();
      continue;
    }
    if (!node.op().has_twin() || node.inputs().empty() || node.types().size() != 1) return nullptr;
    std::vector<ConstantPtr> inputs;
    for (const Tensor& input : node.inputs()) {
      if (const auto it = known.find(input.node()); it != known.end()) inputs.push_back(it->second);
      else open.push_back(input.node());
    }
    if (inputs.size() < node.inputs().size()) continue;
    const OpPtr op = node.shared_op();
    known[&node] = std::make_shared<const Constant>(node.types()[0], op->identity(), inputs, [op, inputs] {
      std::vector<TensorData> data;
      for (const ConstantPtr& c : inputs) data.push_back(c->data());
      return evaluate(*op, data)[0];
    });
  }
  return known.at(v.node());
}

Graph fold_constants(const Graph& graph, const PassContext&) {
  Rewriter r(graph);
  return r.run([&](const Node& node) -> Tensor {
    if (node.op().is_leaf() || node.op().is_view() || node.inputs().empty() || node.types().size() != 1) return {};
    if (!node.op().has_twin()) return {};
    std::int64_t elements = 0;
    std::vector<Tensor> inputs;
    std::string names;  // of the constants it is made of, for reports
    for (const Tensor& v : node.inputs()) {
      Tensor root = r.at(v);
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
    const Tensor folded = apply(node.shared_op(), std::move(inputs));
    return apply(make_op<ConstantOp>(constant_of(folded), std::move(names)), {});
  });
}

}  // namespace weft::compiler
