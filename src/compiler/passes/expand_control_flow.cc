#include "compiler/passes/expand_control_flow.h"

#include <algorithm>

#include "compiler/passes/common_subexpressions.h"
#include "compiler/rewrite.h"

namespace weft::compiler {
namespace {

// Makes a graph in which some nodes are replaced by other results: `results` gives those of a node, or none.
template <class Results>
Graph replaced(Rewriter& r, Results&& results) {
  for (const NodePtr& node : r.from().impl().nodes()) {
    const std::vector<Tensor> now = results(*node);
    if (now.empty()) {
      r.copy(*node);
      continue;
    }
    for (std::size_t i = 0; i < node->types().size(); ++i) r.set(node->value(static_cast<int>(i)), now[i]);
  }
  return r.finish();
}

// What a branch, or a loop, becomes.
std::vector<Tensor> expanded(const Rewriter& r, const Node& node, bool branches) {
  const ControlFlowInterface* flow = node.op().control_flow();
  if (!flow || (flow->control().form == ControlForm::branch) != branches) return {};
  return flow->expanded(r.at(node.inputs()));
}

}  // namespace

Graph expand_control_flow(const Graph& all, const PassContext& context) {
  const auto owns = [](const NodePtr& node) { return !node->op().subgraphs().empty(); };
  if (std::ranges::none_of(all.impl().nodes(), owns)) return all;
  // Branches of conditions that are known come first, as long as there are some: their loops are like all others.
  Graph graph = all;
  for (bool found = true; found;) {
    found = false;
    Rewriter r(graph);
    graph = replaced(r, [&](const Node& node) {
      std::vector<Tensor> branch = expanded(r, node, true);
      found |= !branch.empty();
      return branch;
    });
  }
  // A loop that gives what another gives, and the carries that a derivative needs, has another form afterwards.
  graph = common_subexpressions(graph, context);
  Rewriter r(graph);
  return replaced(r, [&](const Node& node) { return expanded(r, node, false); });
}

}  // namespace weft::compiler
