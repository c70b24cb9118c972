#include "compiler/passes/expand_control_flow.h"

#include <algorithm>
#include <map>

#include "compiler/rewrite.h"
#include "transform/control_flow.h"

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

}  // namespace

Graph merge_extended(const Graph& graph, const PassContext&) {
  using Operands = std::vector<std::pair<std::uint64_t, int>>;
  const auto operands_of = [](const Node& node) {
    Operands all;
    for (const Tensor& v : node.inputs()) all.emplace_back(v.node()->sequence(), v.index());
    return all;
  };
  // Ops that extend another have several results.
  std::map<Operands, std::vector<const Node*>> by_operands;
  for (const NodePtr& node : graph.impl().nodes()) {
    if (node->types().size() > 1) by_operands[operands_of(*node)].push_back(node.get());
  }
  if (by_operands.empty()) return graph;
  std::map<const Node*, const Node*> instead;
  for (const NodePtr& less : graph.impl().nodes()) {
    if (less->op().is_leaf() || less->op().elementwise() || less->op().is_view()) continue;
    const auto found = by_operands.find(operands_of(*less));
    if (found == by_operands.end()) continue;
    const auto gives_all = [&](const Node* n) {
      return n->types().size() >= less->types().size() &&
             std::ranges::equal(less->types(), std::span(n->types()).first(less->types().size())) &&
             n->op().extends(less->op());
    };
    const auto more = std::ranges::find_if(found->second, gives_all);
    if (more != found->second.end()) instead.emplace(less.get(), *more);
  }
  if (instead.empty()) return graph;
  Rewriter r(graph);
  return replaced(r, [&](const Node& node) -> std::vector<Tensor> {
    const auto it = instead.find(&node);
    const Node& more = it == instead.end() ? node : *it->second;
    if (!r.has(more.value())) r.copy(more);
    std::vector<Tensor> results;
    for (int i = 0; i < static_cast<int>(more.types().size()); ++i) results.push_back(r.at(more.value(i)));
    return results;
  });
}

Graph expand_control_flow(const Graph& graph, const PassContext&) {
  const auto owns = [](const NodePtr& node) { return !node->op().subgraphs().empty(); };
  if (std::ranges::none_of(graph.impl().nodes(), owns)) return graph;
  Rewriter r(graph);
  return replaced(r, [&](const Node& node) -> std::vector<Tensor> {
    if (const auto* cond = node.as<CondOp>()) return cond->expanded(r.at(node.inputs()));
    const auto* loop = node.as<ScanLoopOp>();
    return loop && !loop->is_plain() ? loop->expanded(r.at(node.inputs())) : std::vector<Tensor>();
  });
}

}  // namespace weft::compiler
