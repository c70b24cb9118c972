#include "compiler/passes/merge_products.h"

#include <format>
#include <map>

#include "compiler/joined_products.h"

namespace weft::compiler {
namespace {

// A product that can be merged: constant weights, constant epilogue operands of one row.
bool fits(const Node& node, const Uses& uses) {
  const std::size_t own = joinable_operands(node);
  if (own == 0 || uses.is_output(node.value())) return false;
  for (std::size_t i = own; i < node.inputs().size(); ++i) {
    const Tensor v = node.inputs()[i];
    if (!constant_op(root_of(v)) || v.shape() != Shape{node.types()[0].shape[-1]}) return false;
  }
  return true;
}

}  // namespace

Graph merge_products(const Graph& graph, const PassContext& context) {
  // Weights are not joined if that would happen in each run.
  if (!context.options.constant_folding) return graph;
  Rewriter r(graph);
  // Grouped by left operand and epilogue, in order.
  std::map<std::string, std::vector<const Node*>> groups;
  NodeMap<std::string> group_of;
  for (const NodePtr& node : graph.impl().nodes()) {
    if (!fits(*node, r.uses())) continue;
    const Tensor a = node->inputs()[0];
    std::string key = std::format("%{}.{} {}", graph.impl().id(*a.node()), a.index(), node->op().identity());
    for (const Tensor& v : node->inputs()) key += std::format(" {}", weft::name(v.dtype()));
    groups[key].push_back(node.get());
    group_of[*node] = std::move(key);
  }
  NodeMap<Tensor> slices;
  return r.run([&](const Node& node) -> Tensor {
    const std::string* group = group_of.find(node);
    if (!group) return {};
    const std::vector<const Node*>& members = groups[*group];
    if (members.size() < 2) return {};
    if (!slices.contains(node)) {
      // The first product of a group stands for all: constants may be computed this early.
      const Tensor all = joined(r, members);
      std::int64_t at = 0;
      for (const Node* m : members) {
        const std::int64_t n = m->types()[0].shape[-1];
        slices[*m] = slice(all, -1, at, at + n);
        at += n;
      }
    }
    return slices[node];
  });
}

}  // namespace weft::compiler
