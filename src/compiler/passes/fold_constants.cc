#include "compiler/passes/fold_constants.h"

#include "compiler/evaluate.h"
#include "compiler/rewrite.h"
#include "core/visits.h"
#include "graph/ops/leaf.h"

namespace weft::compiler {
namespace {

// Results of up to this many elements are folded whatever their constants' size.
constexpr std::int64_t kSmall = 16384;

// Names of constants that a result is made of are listed up to this length.
constexpr std::size_t kNames = 1024;

// What the node computes of constants. Requires an op that the CPU computes, of one result.
ConstantPtr recipe(const Node& node, std::vector<ConstantPtr> inputs) {
  const OpPtr op = node.shared_op();
  return std::make_shared<const Constant>(node.types()[0], op->identity(), std::move(inputs),
                                          [op](std::span<const TensorData> data) { return evaluate(*op, data)[0]; });
}

bool may_fold(const Node& node) { return node.op().has_twin() && !node.inputs().empty() && node.types().size() == 1; }

}  // namespace

ConstantPtr Constants::of(const Tensor& v) {
  std::vector<const Node*> open{v.node()};
  while (!open.empty()) {
    const Node& node = *open.back();
    count_visits();
    if (known_.contains(&node)) {
      open.pop_back();
      continue;
    }
    ConstantPtr found;
    if (const ConstantOp* constant = node.op().constant()) {
      found = constant->data();
    } else if (may_fold(node)) {
      std::vector<ConstantPtr> inputs;
      const Node* missing = nullptr;
      for (const Tensor& input : node.inputs()) {
        const auto it = known_.find(input.node());
        if (it == known_.end()) missing = input.node();
        if (it == known_.end() || !it->second) break;
        inputs.push_back(it->second);
      }
      if (missing) {
        open.push_back(missing);
        continue;
      }
      if (inputs.size() == node.inputs().size()) found = recipe(node, std::move(inputs));
    }
    known_.emplace(&node, std::move(found));
  }
  return known_.at(v.node());
}

ConstantPtr constant_of(const Tensor& v) { return Constants().of(v); }

Graph fold_constants(const Graph& graph, const PassContext&) {
  Rewriter r(graph);
  Constants constants;
  return r.run([&](const Node& node) -> Tensor {
    if (node.op().is_leaf() || node.op().is_view() || !may_fold(node)) return {};
    std::int64_t elements = 0;
    std::vector<ConstantPtr> inputs;
    std::string names;  // of the constants it is made of, for reports
    for (const Tensor& v : node.inputs()) {
      const Tensor& now = r.at(v);
      if (!now.node()->op().is_view() && !constant_op(now)) return {};
      inputs.push_back(constants.of(now));
      if (!inputs.back()) return {};
      const Tensor root = root_of(now);
      const ConstantOp* constant = constant_op(root);
      if (!constant) return {};
      const std::string& name = constant->constant_name();
      if (!name.empty() && names.size() < kNames && names.find(name) == std::string::npos) {
        names += (names.empty() ? "" : "+") + name;
      }
      elements += element_count(root.shape());
    }
    if (element_count(node.types()[0].shape) > std::max(elements, kSmall)) return {};
    return apply(make_op<ConstantOp>(recipe(node, std::move(inputs)), std::move(names)), {});
  });
}

}  // namespace weft::compiler
