// The one walk over nodes: what tensors need, each node once however many paths lead to it, without recursion. It is
// here and not in src/transform because graphs collect their nodes by it.
//
// Another thread may release the operands of a node that has data, unless RetainedInputs keep them. So hold
// Node::graph_mutex() while walking over nodes that are not retained.
#pragma once

#include <span>
#include <vector>

#include "core/visits.h"
#include "graph/node_map.h"

namespace weft {

// ---- Where a walk stops. Two different questions: a node that was evaluated has data, and may have its operands too.
// For an evaluation, which reads nodes that have data. (Only leaves are asked for their op, which is rarely in cache.)
inline constexpr auto at_data = [](const Node& node) {
  return node.inputs().empty() ? node.is_computed() : node.has_data();
};
// For a transformation, which follows operands wherever there are some.
inline constexpr auto at_leaves = [](const Node& node) { return node.inputs().empty(); };

inline const Node* node_of(const Tensor& v) { return v.node(); }
inline const Node* node_of(const Node* node) { return node; }

// The nodes that the roots (tensors or nodes) need and that `seen` does not have, to which they are added. `stop` is
// asked once for each of them: if it is true, the operands are not followed. In the order of a breadth-first search,
// which is the same for equal graphs. Undefined tensors need nothing.
template <class Roots, class Stop>
std::vector<const Node*> reach(const Roots& roots, NodeIds& seen, Stop&& stop) {
  std::vector<const Node*> nodes;
  const auto add = [&](const Node& node) {
    if (seen.insert(node, static_cast<int>(nodes.size()))) nodes.push_back(&node);
  };
  nodes.reserve(32);
  seen.reserve(32);
  for (const auto& root : roots) {
    if (const Node* node = node_of(root)) add(*node);
  }
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    const Node& node = *nodes[k];
    const std::span<const Tensor> operands = stop(node) ? std::span<const Tensor>() : node.inputs();
    count_visits(1 + operands.size());
    for (const Tensor& v : operands) add(*v.node());
  }
  return nodes;
}

// Puts nodes into the order in which they were made, in which operands come before users.
void sort_by_sequence(std::vector<const Node*>& nodes);

// The same nodes in the order in which they were made, so that operands come before users.
struct Walk {
  std::vector<const Node*> nodes;
  NodeIds indices;  // into `nodes`
};
Walk in_order(std::vector<const Node*> nodes, NodeIds indices);
template <class Roots, class Stop>
Walk walk(const Roots& roots, Stop&& stop) {
  NodeIds seen;
  std::vector<const Node*> nodes = reach(roots, seen, stop);
  return in_order(std::move(nodes), std::move(seen));
}

}  // namespace weft
