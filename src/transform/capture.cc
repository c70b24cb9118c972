// How a graph takes in tensors that were recorded outside of it. It keeps what they are computed from, and has their
// data where there is some: a node with data becomes a leaf, and what needs it is made again.
#include <algorithm>
#include <mutex>
#include <shared_mutex>

#include "core/format.h"
#include "core/in_quotes.h"
#include "graph/graph.h"
#include "graph/ops/leaf.h"
#include "graph/walk.h"
#include "transform/clone.h"
#include "weft/error.h"

namespace weft {

// What the outputs so far need.
struct Graph::Impl::Capture {
  NodeIds pinned;
  bool has_data = false;  // some of it
  ResultMap now;          // what stands for results of nodes that have data, or need some
};

Tensor Graph::Impl::pinned(const Tensor& value) {
  if (pins_.empty() || pins_.back().use_count() > 1) pins_.push_back(std::make_shared<RecipePins>());
  if (!capture_) capture_ = std::make_shared<Capture>();
  const std::span root(&value, 1);
  std::vector<const Node*> nodes;
  {
    std::unique_lock lock(Node::recipes_lock());
    // What is pinned already is not claimed: that keeps the data that it would be computed in.
    const auto stop = [&](const Node& node) { return capture_->pinned.contains(node) || at_data(node); };
    const auto claimed = [&](const Node* node) { return !stop(*node) && RecipeClaims::contains(*node); };
    for (NodeIds seen; RecipeClaims::any() && std::ranges::any_of(reach(root, seen, stop), claimed); seen = {}) {
      RecipeClaims::wait(lock);
    }
    nodes = reach(root, capture_->pinned, at_data);
    pins_.back()->pin(nodes);
  }
  // (Asked again, since other threads may compute them.)
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
  impl().add_output(std::move(name), impl().pinned(value));
}

}  // namespace weft
