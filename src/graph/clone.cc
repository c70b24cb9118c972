#include "graph/clone.h"

#include <algorithm>

#include "graph/walk.h"

namespace weft {

Tensor clone(const Node& node, OpPtr op, std::vector<Tensor> inputs) {
  const Tensor made = apply(std::move(op), std::move(inputs));
  made.node()->set_label(node.label());
  made.node()->set_line(node.line());
  return made;
}

Tensor clone(const Node& node, std::vector<Tensor> inputs) { return clone(node, node.shared_op(), std::move(inputs)); }

void clone(const Node& node, ResultMap& now) {
  const Tensor made = clone(node, now.at(node.inputs()));
  for (int i = 0; i < static_cast<int>(node.types().size()); ++i) now.set(node.value(i), result(made, i));
}

void clone_if_changed(const Node& node, ResultMap& now) {
  if (std::ranges::any_of(node.inputs(), [&](const Tensor& v) { return now.find(v).defined(); })) clone(node, now);
}

std::vector<Tensor> clone(std::span<const Tensor> roots, ResultMap& now) {
  const Walk all = walk(roots, [&](const Node& node) { return now.contains(node) || at_leaves(node); });
  for (const Node* node : all.nodes) {
    if (!now.contains(*node)) clone_if_changed(*node, now);
  }
  return now.at(roots);
}

}  // namespace weft
