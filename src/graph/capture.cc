// How a graph captures tensors that were recorded outside of it. It retains the nodes that compute them. A node that
// has data becomes a leaf with these data, and the nodes that use it are cloned.
#include <algorithm>
#include <mutex>
#include <shared_mutex>

#include "core/format.h"
#include "core/in_quotes.h"
#include "graph/clone.h"
#include "graph/graph.h"
#include "graph/leaf.h"
#include "graph/walk.h"
#include "weft/error.h"

namespace weft {

// The nodes that the outputs so far need.
struct Graph::Impl::Capture {
  NodeIds retained;
  bool has_data = false;  // true if some of them have data
  ResultMap now;          // replacements for results of nodes that have data, or that depend on such nodes
};

Tensor Graph::Impl::captured_value(const Tensor& value) {
  if (retained_.empty() || retained_.back().use_count() > 1) retained_.push_back(std::make_shared<RetainedInputs>());
  if (!capture_) capture_ = std::make_shared<Capture>();
  const std::span root(&value, 1);
  std::vector<const Node*> nodes;
  {
    std::unique_lock lock(Node::graph_mutex());
    // Retained nodes are not being evaluated in place: their operands' data are in use.
    const auto stop = [&](const Node& node) { return capture_->retained.contains(node) || at_data(node); };
    const auto donated = [&](const Node* node) { return !stop(*node) && PendingDonations::contains(*node); };
    for (NodeIds seen; PendingDonations::any() && std::ranges::any_of(reach(root, seen, stop), donated); seen = {}) {
      PendingDonations::wait(lock);
    }
    nodes = reach(root, capture_->retained, at_data);
    retained_.back()->retain(nodes);
  }
  // Other threads may have evaluated some of them in the meantime.
  const auto has_data = [](const Node* node) { return node->has_data() && !node->op().constant(); };
  capture_->has_data |= std::ranges::any_of(nodes, has_data);
  if (!capture_->has_data) return value;
  sort_by_sequence(nodes);
  ResultMap& now = capture_->now;
  for (const Node* node : nodes) {
    if (!has_data(node)) {
      clone_if_changed(*node, now);
      continue;
    }
    for (int i = 0; i < static_cast<int>(node->types().size()); ++i) {
      now.set(node->value(i), apply(make_op<DataOp>(node->data(i), node->types()[static_cast<std::size_t>(i)]), {}));
    }
  }
  return now.at(value);
}

void Graph::output(std::string name, const Tensor& value) {
  if (!value.defined()) throw InvalidArgument("graph: output {} is an undefined Tensor", in_quotes(name));
  impl().add_output(std::move(name), impl().captured_value(value));
}

}  // namespace weft
