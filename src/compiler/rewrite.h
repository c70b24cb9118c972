// Tools for passes: the users of a value, and rewriting a graph.
#pragma once

#include "graph/graph.h"

namespace weft::compiler {

// The users of every value that an output needs.
class Uses {
 public:
  explicit Uses(const Graph& graph);
  // Graph inputs count as live: they are the graph's signature.
  bool live(const Node& node) const { return live_[node.id()]; }
  // Nodes that have the value as an operand, each once, in order.
  const std::vector<const Node*>& of(Value v) const { return users_[v.node()->id()][v.index()]; }
  bool is_output(Value v) const;
  // True if `user` is the only use of the value.
  bool only(Value v, const Node& user) const { return of(v).size() == 1 && of(v)[0] == &user && !is_output(v); }

 private:
  const Graph& graph_;
  std::vector<char> live_;
  std::vector<std::vector<std::vector<const Node*>>> users_;
};

// The value behind a chain of views.
Value root_of(Value v);

// Copies a graph node by node, in order, except where a rule replaces a node. Nodes that no output needs afterwards are
// dropped, which makes rules simple: a rule replaces the last node of its pattern, and the rest of the pattern becomes
// dead.
class Rewriter {
 public:
  explicit Rewriter(const Graph& from);

  const Graph& from() const { return from_; }
  const Uses& uses() const { return uses_; }
  // The new graph's value for a value of the old graph that was reached already.
  Value at(Value old) const { return map_[old.node()->id()][old.index()]; }
  std::vector<Value> at(std::span<const Value> old) const;
  Graph& to() { return to_; }
  // Like at(), for a constant or a view of one that may not have been reached yet.
  Value constant_at(Value old);

  // Returns the replacement of the node's first result, or an empty Value to copy the node. Further results are
  // replaced by the results that follow it in its node.
  using Rule = std::function<Value(const Node&)>;
  Graph run(const Rule& rule);

 private:
  const Graph& from_;
  Uses uses_;
  Graph to_;
  std::vector<std::vector<Value>> map_;
  std::size_t copies_ = 0;
};

// The graph with the subgraphs of its ops (Op::subgraphs) rewritten by `f`.
Graph rewrite_subgraphs(Graph graph, const std::function<Graph(const Graph&)>& f);

// The graph without nodes that no output needs, in the subgraphs of its ops too.
Graph without_dead(const Graph& graph);

}  // namespace weft::compiler
