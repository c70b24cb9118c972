// The inside of a Graph: nodes in an order in which they can be computed, since a node can only name earlier ones.
#pragma once

#include "graph/op.h"

namespace weft {

class Node {
 public:
  Node(Graph::Impl& graph, int id, OpPtr op, std::vector<Value> inputs, std::vector<TensorType> types)
      : graph_(&graph), id_(id), op_(std::move(op)), inputs_(std::move(inputs)), types_(std::move(types)) {}

  Graph::Impl& graph() const { return *graph_; }
  int id() const { return id_; }  // its place in the graph
  const Op& op() const { return *op_; }
  const OpPtr& shared_op() const { return op_; }
  const std::vector<Value>& inputs() const { return inputs_; }
  const std::vector<TensorType>& types() const { return types_; }
  std::vector<TensorType> input_types() const;
  Value value(int i = 0) const { return {const_cast<Node*>(this), i}; }
  // The operands by Op::operand_groups().
  std::vector<std::span<const Value>> input_groups() const;

  // The op, if it is one of T's.
  template <class T>
  const T* as() const {
    return dynamic_cast<const T*>(op_.get());
  }

  // The order of axes in which result 0 lies in memory; empty: its own. Set by the compiler, so that what reads the
  // result permuted finds it dense.
  const std::vector<int>& stored() const { return stored_; }
  void store_as(std::vector<int> order) { stored_ = std::move(order); }

 private:
  Graph::Impl* graph_;
  int id_;
  OpPtr op_;
  std::vector<Value> inputs_;
  std::vector<TensorType> types_;
  std::vector<int> stored_;
};

struct NamedValue {
  std::string name;
  Value value;
};

struct Graph::Impl {
  Graph* owner = nullptr;
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<NamedValue> inputs, outputs;

  // Infers and checks. Throws InvalidArgument.
  Node& add(OpPtr op, std::vector<Value> inputs);
  // Like `node`, with operands of this graph, and perhaps another op in its place. An input becomes this graph's.
  Node& copy(const Node& node, std::vector<Value> inputs) { return copy(node, node.shared_op(), std::move(inputs)); }
  Node& copy(const Node& node, OpPtr op, std::vector<Value> inputs);
  // Text that only graphs have in common that compute the same in the same way.
  std::string identity() const;
};

// The result of a new node in the operands' graph. Throws InvalidArgument if they belong to different ones.
Value apply(OpPtr op, std::vector<Value> inputs);

template <class T, class... Args>
OpPtr make_op(Args&&... args) {
  return std::make_shared<const T>(std::forward<Args>(args)...);
}

// The op of the node that makes the value, if it is one of T's.
template <class T>
const T* op_of(Value v) {
  return v.node()->as<T>();
}

// The constant that the value is, if it is one.
inline const ConstantOp* constant_op(Value v) { return v.node()->op().constant(); }

inline Value input_of(Value v, int i = 0) { return v.node()->inputs()[i]; }

// For logs and tests: "%3 = softmax{axis=1} %2 : f32 [2, 4]".
std::string to_string(const Node& node);

}  // namespace weft
