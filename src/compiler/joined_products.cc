#include "compiler/joined_products.h"

#include "graph/clone.h"

namespace weft::compiler {

std::size_t joinable_operands(const Node& node) {
  const std::size_t own = node.op().rewriting().joined_axes(node.input_types()).size() + 1;
  if (own == 1) return 0;
  for (std::size_t i = 1; i < own; ++i) {
    if (!constant_op(root_of(node.inputs()[i]))) return 0;
  }
  return own;
}

Tensor joined(Rewriter& r, std::span<const Node* const> members) {
  const Node& first = *members[0];
  const std::vector<int> axes = first.op().rewriting().joined_axes(first.input_types());
  std::vector<Tensor> operands{r.at(first.inputs()[0])};
  for (std::size_t i = 1; i < first.inputs().size(); ++i) {
    const bool last = i <= axes.size() && axes[i - 1] == -1;
    // Columns are joined transposed: kernels prefer each one's numbers contiguous, and models store them so.
    std::vector<Tensor> parts;
    for (const Node* m : members) {
      const Tensor v = r.constant_at(m->inputs()[i]);
      parts.push_back(last ? v.T() : v);
    }
    const Tensor all = concat(parts, 0);
    operands.push_back(last ? all.T() : all);
  }
  const Tensor product = clone(first, std::move(operands));
  for (const Node* m : members) r.add_labels(*product.node(), *m);
  return product;
}

}  // namespace weft::compiler
