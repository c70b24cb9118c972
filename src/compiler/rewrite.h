// The tools of the passes: who uses a value, and building a graph anew.
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
  // True if `user` is all that the value is computed for.
  bool only(Value v, const Node& user) const { return of(v).size() == 1 && of(v)[0] == &user && !is_output(v); }

 private:
  const Graph& graph_;
  std::vector<char> live_;
  std::vector<std::vector<std::vector<const Node*>>> users_;
};

// What a view of views is a view of.
Value root_of(Value v);

// Copies a graph node by node, in order, except where a rule puts something else in a node's place. What nothing needs
// afterwards is left out, which makes a rule simple: it puts the new form where the pattern ends, and the rest of the
// pattern falls away by itself.
class Rewriter {
 public:
  explicit Rewriter(const Graph& from);

  const Graph& from() const { return from_; }
  const Uses& uses() const { return uses_; }
  // The new graph's value for one of the old graph's that was reached already.
  Value at(Value old) const { return map_[old.node()->id()][old.index()]; }
  std::vector<Value> at(std::span<const Value> old) const;
  Graph& to() { return to_; }
  // Like at(), for a constant or a view of one that the walk has perhaps not reached yet.
  Value constant_at(Value old);

  // Returns what takes the place of the node's first result, as its neighbours do of further ones, or an empty Value to
  // copy the node.
  using Rule = std::function<Value(const Node&)>;
  Graph run(const Rule& rule);

 private:
  const Graph& from_;
  Uses uses_;
  Graph to_;
  std::vector<std::vector<Value>> map_;
  std::size_t copies_ = 0;
};

// The graph with those that its ops own (Op::subgraphs) rewritten by `f`.
Graph rewrite_subgraphs(Graph graph, const std::function<Graph(const Graph&)>& f);

// The graph without what no output needs, nor in those that its ops own.
Graph without_dead(const Graph& graph);

}  // namespace weft::compiler
