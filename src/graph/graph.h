// The inside of a Graph: its ports, and the nodes that its outputs need, in an order in which they can be computed.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <unordered_map>

#include "graph/node_map.h"

namespace weft {

struct GraphPort {
  std::string name;
  Tensor value;
};

struct Graph::Impl {
  Impl() = default;
  Impl(const Impl& other);

  std::vector<GraphPort> inputs, numbers, outputs;
  // Tables by nodes' sequence numbers, which unlike addresses are never reused.
  // The order of axes in which a node's result 0 is stored, where it is not row-major. Set by the compiler, so that a
  // reader of the permuted result finds it dense.
  std::map<std::uint64_t, std::vector<int>> stored;
  // The labels of what was fused into a node, beside its own; each once.
  using Labels = std::unordered_map<std::uint64_t, std::vector<const std::string*>>;
  Labels labels;
  std::string name;

  // All inputs, and what the outputs need, in the order in which it was made. Throws InvalidArgument if an output needs
  // an input of another graph.
  const std::vector<NodePtr>& nodes() const { return collected().nodes; }
  // A node's index in nodes(), -1 if it is not there.
  int id(const Node& node) const { return collected().id(node); }
  // Looks indices up without a lock; valid until the graph is changed.
  class NodeIndices;
  NodeIndices node_indices() const;
  const std::vector<int>& stored_order(const Node& node) const;
  // " stored=[1, 0]", or nothing.
  std::string stored_text(const Node& node) const;
  // The node's label, and those of what was fused into it: "a"+"b"; empty if there are none.
  std::string label_text(const Node& node) const;
  // Tensors with data that the outputs need, in an order that is the same for equal graphs.
  std::vector<Tensor> captured() const;

  // The tensor that represents `value` in the graph: retains the operands of the nodes that it needs, and replaces
  // nodes that have data by leaves (graph/capture.cc).
  Tensor captured_value(const Tensor& value);

  void add_input(std::string name, Tensor value);
  void add_number(std::string name, Tensor value);
  void add_output(std::string name, Tensor value);

  // Text that only graphs have in common that compute the same in the same way.
  std::string identity() const;

 private:
  struct Collected {
    std::vector<NodePtr> nodes;
    std::vector<std::size_t> first_results;  // of each node, in a list of all results; last, how many there are
    NodeIds ids;
    int id(const Node& node) const {
      const int hint = node.index_hint();
      if (static_cast<std::size_t>(hint) < nodes.size() && nodes[static_cast<std::size_t>(hint)].get() == &node) {
        return hint;
      }
      return ids.find(node);
    }
  };
  const Collected& collected() const;
  std::vector<std::shared_ptr<RetainedInputs>> retained_;  // shared with copies
  struct Capture;
  std::shared_ptr<Capture> capture_;  // what captured_value() has visited; not copied
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Collected> collected_;  // empty: not yet
  using Names = std::set<std::string, std::less<>>;
  void add_port(std::vector<GraphPort>& ports, Names& names, const char* what, std::string name, Tensor value);
  Names input_names_, number_names_, output_names_;
};

class Graph::Impl::NodeIndices {
 public:
  int operator()(const Node& node) const { return collected_->id(node); }
  // For tables of values: the index of a result among the results of all nodes in order, and how many there are.
  std::size_t result(const Tensor& v) const {
    return collected_->first_results[static_cast<std::size_t>((*this)(*v.node()))] +
           static_cast<std::size_t>(v.index());
  }
  std::size_t results() const { return collected_->first_results.back(); }

 private:
  friend struct Graph::Impl;
  explicit NodeIndices(std::shared_ptr<const Collected> collected) : collected_(std::move(collected)) {}
  std::shared_ptr<const Collected> collected_;
};
inline Graph::Impl::NodeIndices Graph::Impl::node_indices() const {
  collected();
  return NodeIndices(collected_);
}

// For logs and tests: "%3 = softmax{axis=1} %2 : f32 [2, 4]"; numbers are indices in the graph.
std::string to_string(const Node& node, const Graph& graph);
// For messages: "softmax{axis=1} : f32 [2, 4]".
std::string to_string(const Node& node);

}  // namespace weft
