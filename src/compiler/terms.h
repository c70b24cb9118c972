// For passes that look for formulas: the operations that make a value, wherever the borders between nodes lie.
#pragma once

#include "graph/graph.h"

namespace weft::compiler {

// Whether the value comes from an op of that name; whether the node is one with no attributes.
bool is(Value v, std::string_view op);
bool is_plain(const Node& node, std::string_view op);

// An operation of a Map's expression, or a value that something else makes.
class Term {
 public:
  explicit Term(Value v);

  // What an elementwise operation computed it, if one did; its operands.
  std::optional<ScalarOp> op() const;
  Term arg(int i) const;
  bool is(ScalarOp wanted) const { return op() == wanted; }
  // The number that it is, if it is one.
  std::optional<double> number() const;
  // The value in the graph that it is; empty in the middle of an expression.
  Value value() const { return value_; }
  // The same operation on the same operands.
  bool operator==(const Term& other) const;

 private:
  Term(const Node* map, int node);
  void enter(Value v);
  const Expression::Node& at() const;

  Value value_;
  const Node* map_ = nullptr;
  int node_ = -1;  // of the map's expression
};

// What a constant node holds as a number, for the float types.
std::optional<double> number(const Expression::Node& node);

// The reduction whose result `v` is, spread over `shape` again: kept or put back as sizes of 1, or broadcast. Null if
// it is none, or spread in another way.
const Node* spread_reduction(Value v, const Shape& shape);

}  // namespace weft::compiler
