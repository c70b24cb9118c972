// Tools for passes: the users of a value, and the one way to rewrite a graph.
#pragma once

#include <functional>

#include "graph/graph.h"

namespace weft::compiler {

// True if the list has the tensor.
bool contains(std::span<const Tensor> list, const Tensor& v);
void add_once(std::vector<Tensor>& list, const Tensor& v);

// The users of every value of a graph.
class Uses {
 public:
  explicit Uses(const Graph& graph);
  // Nodes that have the value as an operand, each once, in order.
  const std::vector<const Node*>& of(const Tensor& v) const { return at(v).users; }
  bool is_output(const Tensor& v) const { return at(v).is_output; }
  // True if `user` is the only use of the value.
  bool only(const Tensor& v, const Node& user) const {
    const Use& use = at(v);
    return use.users.size() == 1 && use.users[0] == &user && !use.is_output;
  }

 private:
  struct Use {
    std::vector<const Node*> users;
    bool is_output = false;
  };
  const Use& at(const Tensor& v) const { return uses_[index_in_.result(v)]; }

  Graph::Impl::NodeIndices index_in_;
  std::vector<Use> uses_;  // of each result
};

// The value behind a chain of views.
Tensor root_of(Tensor v);

// Makes a new graph of an old one, node by node, in any order in which operands come first. Nodes before the first one
// that changes are shared by both graphs. What no output needs afterwards is not in the new graph, which makes rules
// simple: a rule replaces the last node of its pattern, and the rest of the pattern goes away.
class Rewriter {
 public:
  explicit Rewriter(const Graph& from);

  const Graph& from() const { return from_; }
  const Uses& uses() const {
    if (!uses_) uses_.emplace(from_);
    return *uses_;
  }
  // A node's index in the old graph.
  int id(const Node& node) const { return index_in_(node); }

  bool has(const Tensor& old) const { return map_[index_in_.result(old)].defined(); }
  // The new graph's value for a value of the old graph that was reached already.
  const Tensor& at(const Tensor& old) const { return map_[index_in_.result(old)]; }
  std::vector<Tensor> at(std::span<const Tensor> old) const;
  // Like at(), for a constant or a view of one that may not have been reached yet.
  Tensor constant_at(const Tensor& old);

  // Sets the new graph's value for a result of the old one.
  void set(const Tensor& old, Tensor now);
  // Makes the node again, on what its operands have become or on others, perhaps with another op, and sets its results.
  // Returns the first one.
  Tensor copy(const Node& old);
  Tensor copy(const Node& old, OpPtr op, std::vector<Tensor> inputs);
  // A node of the new graph gets the labels of one that is now part of it, of either graph.
  void add_labels(const Node& to, const Node& part);
  // The order of axes in which the new node lies in memory (Graph::Impl::stored).
  void store(const Tensor& now, std::vector<int> order);

  // Returns the replacement of the node's first result, or an undefined Tensor to copy the node. Further results are
  // replaced by the results that follow it in its node.
  using Rule = std::function<Tensor(const Node&)>;
  Graph run(const Rule& rule);
  // The new graph, once all outputs are reached. `output` gives their values where at() is not what they are.
  Graph finish();
  Graph finish(const std::function<Tensor(const GraphPort&)>& output);

 private:
  const Graph& from_;
  Graph::Impl::NodeIndices index_in_;
  mutable std::optional<Uses> uses_;
  std::vector<Tensor> map_;  // of each old result
  std::map<std::uint64_t, std::vector<int>> stored_;
  const std::vector<const std::string*>* labels_of(const Node& node) const;

  Graph::Impl::Labels labels_;  // of nodes that got some; others have those of the old graph
  bool changed_ = false;
};

// The graph with the subgraphs of its ops (Op::subgraphs) rewritten by `f`.
Graph rewrite_subgraphs(Graph graph, const std::function<Graph(const Graph&)>& f);

}  // namespace weft::compiler
