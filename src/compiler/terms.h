// For passes that recognise formulas: the operations that compute a value, across the borders between nodes.
#pragma once

#include "graph/graph.h"

namespace weft::compiler {

// True if the value comes from an op of that pattern; true if the node is one with default attributes.
inline bool is(const Tensor& v, OpPattern pattern) { return v.node()->op().pattern() == pattern; }
bool is_plain(const Node& node, OpPattern pattern);

// An operation of a Map's expression, or a value that another op computes.
class Term {
 public:
  explicit Term(const Tensor& v);

  // The elementwise operation that computed it, if one did; its operands.
  std::optional<ScalarOp> op() const;
  Term arg(int i) const;
  bool is(ScalarOp wanted) const { return op() == wanted; }
  // The type of an operation's result.
  DType type() const { return at().type; }
  // The number, if the term is one.
  std::optional<double> number() const;
  // The term's value in the graph; empty in the middle of an expression.
  Tensor value() const { return value_; }
  // True for the same operation on the same operands.
  bool operator==(const Term& other) const;

 private:
  Term(const Node* map, int node);
  void enter(const Tensor& v);
  const Expression::Node& at() const;

  Tensor value_;
  const Node* map_ = nullptr;
  int node_ = -1;  // of the map's expression
};

// The number in a constant node, for the float types.
std::optional<double> number(const Expression::Node& node);

// The reduction whose result `v` is, expanded to `shape` again: axes kept or inserted as sizes of 1, or broadcast. Null
// if it is no reduction, or expanded in another way.
const Node* spread_reduction(Tensor v, const Shape& shape);

}  // namespace weft::compiler
