// Merges the expressions of several nodes.
#pragma once

#include <map>

#include "graph/fusion.h"
#include "graph/graph.h"

namespace weft::compiler {

// True if computing it twice costs less than storing and loading its result: a few operations, none of them a function.
bool is_cheap(const Expression& expression);

// An expression that grows by elementwise nodes. Values from outside become its inputs, each once.
class Region {
 public:
  Region() = default;
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  // The expression's node for `v`: one that was computed or read already, or a new input.
  int at(const Tensor& v);
  std::vector<int> at(std::span<const Tensor> values);
  // A new input for `v`, even if it has one already.
  int add_input(const Tensor& v);
  // Sets the node for `v`, so that it is not computed here.
  void set(const Tensor& v, int node) { nodes_.emplace(std::pair(v.node(), v.index()), node); }
  // Adds the operations of `from`, applied to `operands`. Returns the nodes of its outputs.
  std::vector<int> add(const Expression& from, std::span<const Tensor> operands);
  // The same, applied to nodes of the expression.
  std::vector<int> splice(const Expression& from, std::span<const int> args) {
    return weft::splice(shared_, from, args);
  }
  // Adds the nodes in order; at() finds their results afterwards. Inputs come before what they compute.
  void add(std::span<const Node* const> nodes);
  // A graph node that computes `from`, whose inputs are the expression's nodes `args`. Ends the region.
  Tensor node(const Expression& from, std::span<const int> args);

  Expression expression;
  std::vector<Tensor> inputs;  // in order

 private:
  SharedNodes shared_{expression};
  std::map<std::pair<const Node*, int>, int> nodes_;  // of tensors
};

}  // namespace weft::compiler
