#include "graph/walk.h"

#include <algorithm>

namespace weft {

void sort_by_sequence(std::vector<const Node*>& nodes) {
  // A search finds users first, so that this is nearly the order. (What is nearly in order, quicksort sorts slowly.)
  std::ranges::reverse(nodes);
  if (!std::ranges::is_sorted(nodes, {}, &Node::sequence)) std::ranges::stable_sort(nodes, {}, &Node::sequence);
}

Walk in_order(std::vector<const Node*> nodes, NodeIds indices) {
  sort_by_sequence(nodes);
  for (std::size_t k = 0; k < nodes.size(); ++k) indices.set(*nodes[k], static_cast<int>(k));
  return {std::move(nodes), std::move(indices)};
}

}  // namespace weft
