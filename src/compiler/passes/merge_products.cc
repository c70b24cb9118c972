#include "compiler/passes/merge_products.h"

#include <format>
#include <map>

#include "compiler/rewrite.h"
#include "transform/clone.h"

namespace weft::compiler {
namespace {

// A product that can be merged: two-dimensional constant weights, constant epilogue operands of one row.
bool fits(const Node& node, const Uses& uses) {
  if (!node.op().joins_columns() || uses.is_output(node.value())) return false;
  const Tensor b = node.inputs()[1];
  if (b.rank() != 2 || !constant_op(root_of(b))) return false;
  for (std::size_t i = 2; i < node.inputs().size(); ++i) {
    const Tensor v = node.inputs()[i];
    if (!constant_op(root_of(v)) || v.shape() != Shape{b.shape()[1]}) return false;
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
      std::vector<Tensor> operands{r.at(node.inputs()[0])};
      for (std::size_t i = 1; i < node.inputs().size(); ++i) {
        // Weights are joined transposed: kernels prefer each column's numbers contiguous, and models store them so.
        std::vector<Tensor> parts;
        for (const Node* m : members) {
          const Tensor v = r.constant_at(m->inputs()[i]);
          parts.push_back(i == 1 ? v.T() : v);
        }
        operands.push_back(i == 1 ? concat(parts, 0).T() : concat(parts, 0));
      }
      const Tensor all = clone(node, std::move(operands));
      for (const Node* m : members) r.add_labels(*all.node(), *m);
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
