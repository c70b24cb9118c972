// Expressions of several nodes together.
#pragma once

#include "graph/graph.h"

namespace weft::compiler {

// True if computing it twice costs less than a trip through memory: a few operations, none of them a function.
bool is_cheap(const Expression& expression);

// An expression that grows by elementwise nodes. What they read from outside becomes its inputs, each once.
class Region {
 public:
  // The node of the expression that `v` is: what was computed or read already, or a new input.
  int at(Value v);
  std::vector<int> at(std::span<const Value> values);
  // That `v` is this node, without being computed here.
  void set(Value v, int node) { nodes_.emplace_back(v, node); }
  // Computes what `from` does of `operands`. Returns the nodes of its outputs.
  std::vector<int> add(const Expression& from, std::span<const Value> operands);
  // The same of nodes, in order, whose results are there from then on. Inputs come before what they compute.
  void add(std::span<const Node* const> nodes);

  Expression expression;
  std::vector<Value> inputs;  // in order

 private:
  std::vector<std::pair<Value, int>> nodes_;
};

}  // namespace weft::compiler
