// Nodes: an op and the tensors that are its operands. A Tensor is a handle to one result of a node. A node never
// changes, except that its results get data when they are evaluated, and that its operands may be released afterwards.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <vector>

#include "graph/differentiation.h"
#include "graph/op.h"

namespace weft {

class NodePtr;

// A line of a program.
struct SourceLine {
  const char* file = nullptr;
  std::uint32_t number = 0;
};

class Node {
 public:
  // The first result of a new one; `types` are what the op infers.
  static Tensor make(OpPtr op, std::span<const Tensor> inputs, std::span<const TensorType> types);
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const Op& op() const { return *op_; }
  const OpPtr& shared_op() const { return op_; }
  std::span<const Tensor> inputs() const { return {inputs_begin(), input_count_}; }
  std::span<const TensorType> types() const { return {types_begin(), type_count_}; }
  std::vector<TensorType> input_types() const;
  Tensor value(int i = 0) const { return {this, i}; }
  // The operands by Op::operand_groups().
  std::vector<std::span<const Tensor>> input_groups() const;
  // Numbers the nodes of the process in the order in which they are made: operands have smaller ones than their users.
  std::uint64_t sequence() const { return sequence_; }
  // The number that the next node will get.
  static std::uint64_t next_sequence();

  // The node's index in the graph that looked it up last. That may be another graph, so callers verify it.
  int index_hint() const { return index_hint_.load(std::memory_order_relaxed); }
  void set_index_hint(int index) const { index_hint_.store(index, std::memory_order_relaxed); }

  // ---- Data. Results that were evaluated are not computed again: an evaluation treats nodes with data as leaves.
  // The data of result i, which live as long as the node; null: it is not computed yet.
  const DataPtr& data(int i = 0) const {
    static const DataPtr none;
    const DataPtr* results = results_.load(std::memory_order_acquire);
    return results ? results[i] : none;
  }
  bool has_data() const { return results_.load(std::memory_order_acquire) != nullptr; }
  // Whether an evaluation reads this node's data. (A constant may have data too, on one device, for reads; evaluations
  // still take the constant itself.)
  bool is_computed() const { return op_->data_op() || (has_data() && !op_->constant()); }
  // Sets the data of all results. If another thread has done so already, its data stay.
  void set_data(std::span<const DataPtr> data) const;
  // Releases the operands of a node with data, unless RetainedInputs keep them. Code that reads the operands of nodes
  // that are not retained holds graph_mutex() shared. (Views have no data of their own, and so keep their operand.)
  void release_inputs() const;
  // Between the two its operands are not released, though it gets data. Hold graph_mutex() for the first, and the node
  // for the second.
  void begin_retaining() const { retainers_.fetch_add(1, std::memory_order_relaxed); }
  void end_retaining() const {
    // The node may have been evaluated in the meantime.
    if (retainers_.fetch_sub(1, std::memory_order_relaxed) == 1 && has_data()) release_inputs();
  }
  static std::shared_mutex& graph_mutex();
  // The innermost function that is being differentiated whose variables it depends on; null: there is none. As long as
  // it is active release_inputs() leaves the operands.
  const DifferentiationPtr& differentiation() const {
    static const DifferentiationPtr none;
    return differentiation_ended_.load(std::memory_order_acquire) ? none : differentiation_;
  }
  bool keeps_inputs() const { return differentiation() && differentiation()->active(); }
  // Its derivative is not taken through its operands, which it lets go once it has data.
  void end_differentiation() const;
  // For the variables of a function that is differentiated, which depend on themselves.
  void set_differentiation(DifferentiationPtr run) const { differentiation_ = std::move(run); }
  // owners() counts handles and nodes that refer to it; holders() leaves out the arguments of calls in progress
  // (weft::Operand), which only pass it on.
  std::int64_t owners() const { return owners_.load(std::memory_order_relaxed); }
  std::int64_t holders() const { return owners() - operands_.load(std::memory_order_relaxed); }
  // References other than those of nodes: handles, graphs, NodePtr.
  std::int64_t handles() const {
    const std::int64_t uses =
        uses_.load(std::memory_order_acquire);  // read first: a new use is counted as an owner before
    return owners() - uses;
  }
  void begin_operand() const { operands_.fetch_add(1, std::memory_order_relaxed); }
  void end_operand() const { operands_.fetch_sub(1, std::memory_order_relaxed); }

  // The line of the user's program that made it; without a file where it is unknown.
  const SourceLine& line() const { return line_; }
  void set_line(const SourceLine& line) const { line_ = line; }

  // Null if it has none. Labels are interned, and live as long as the process.
  const std::string* label() const { return label_.load(std::memory_order_acquire); }
  void set_label(const std::string* label) const { label_.store(label, std::memory_order_release); }

  // The op, if it is one of T's.
  template <class T>
  const T* as() const {
    return dynamic_cast<const T*>(op_.get());
  }

  // Reference counting. The last release deletes the node, and the operands that only it refers to, without recursion.
  void retain() const { owners_.fetch_add(1, std::memory_order_relaxed); }
  // Nothing: nobody holds it any more, and it is being deleted.
  std::optional<NodePtr> retain_if_alive() const;
  void release() const {
    if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }

 private:
  // A node is one piece of memory: behind it are the types of its results, and then its operands.
  Node(OpPtr op, std::span<const Tensor> inputs, std::span<const TensorType> types);
  ~Node();
  TensorType* types_begin() const { return reinterpret_cast<TensorType*>(const_cast<Node*>(this) + 1); }
  Tensor* inputs_begin() const { return reinterpret_cast<Tensor*>(types_begin() + type_count_); }
  // Ends the operands, which nobody sees any more.
  void end_inputs(std::uint32_t count) const;
  void destroy() const;

  OpPtr op_;
  const std::uint32_t type_count_;
  mutable std::uint32_t input_count_;
  mutable std::atomic<const DataPtr*> results_{nullptr};
  mutable std::atomic<int> retainers_{0};  // those between begin_retaining() and end_retaining()
  std::uint64_t sequence_;
  mutable std::atomic<std::int64_t> owners_{0};
  mutable std::atomic<std::int64_t> uses_{0};  // those owners that are operands of nodes
  mutable std::atomic<int> index_hint_{0};
  mutable std::atomic<std::int32_t> operands_{0};
  mutable SourceLine line_;
  mutable DifferentiationPtr differentiation_;  // set before others see the node
  mutable std::atomic<bool> differentiation_ended_{false};
  mutable std::atomic<const std::string*> label_;
  mutable const Node* next_ = nullptr;  // in the list of nodes to be deleted
};

// Holds a node.
class NodePtr {
 public:
  explicit NodePtr(const Node& node) : node_(&node) { node_->retain(); }
  NodePtr(const NodePtr& other) : node_(other.node_) { node_->retain(); }
  NodePtr(NodePtr&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  NodePtr& operator=(NodePtr other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~NodePtr() {
    if (node_) node_->release();
  }
  const Node& operator*() const { return *node_; }
  const Node* operator->() const { return node_; }
  const Node* get() const { return node_; }

 private:
  friend class Node;
  NodePtr() = default;
  const Node* node_ = nullptr;
};

// " (recorded at program.cc:12)" for the end of a message; empty if the line is not known.
std::string recorded_at(const SourceLine& line);

// The label of that text; after the thread's scopes, if there are any.
const std::string* interned_label(std::string_view text);

// While it lives, new nodes of the thread get neither the label scopes nor the line of the call: nodes that the
// compiler makes take the labels and lines of the nodes that they replace.
class WithoutLabelScope {
 public:
  WithoutLabelScope();
  ~WithoutLabelScope();
  WithoutLabelScope(const WithoutLabelScope&) = delete;
  WithoutLabelScope& operator=(const WithoutLabelScope&) = delete;

 private:
  const std::string* before_;
  const int depth_before_;
  const SourceLine line_before_;
};

// While it lives, what the thread records has the node's line, and its label, with a word behind it if there is one:
// "query backward".
class AsNodeScope {
 public:
  explicit AsNodeScope(const Node& node, std::string_view word = {});
  ~AsNodeScope();
  AsNodeScope(const AsNodeScope&) = delete;
  AsNodeScope& operator=(const AsNodeScope&) = delete;

 private:
  const std::string* before_;
  const int depth_before_;
  const SourceLine line_before_;
};

// The first result of a new node. Infers and checks types. Throws InvalidArgument.
Tensor apply(OpPtr op, std::span<const Tensor> inputs);
inline Tensor apply(OpPtr op, std::initializer_list<Tensor> inputs) {
  return apply(std::move(op), std::span(inputs.begin(), inputs.size()));
}
inline Tensor apply(OpPtr op, std::vector<Tensor> inputs) {
  return apply(std::move(op), std::span<const Tensor>(inputs));
}
// Result i of the node whose result `t` is.
inline Tensor result(const Tensor& t, int i) { return t.node()->value(i); }
// All results of that node.
std::vector<Tensor> results_of(const Tensor& t);

template <class T, class... Args>
OpPtr make_op(Args&&... args) {
  return std::make_shared<const T>(std::forward<Args>(args)...);
}

// The op of the node that makes the value, if it is one of T's.
template <class T>
const T* op_of(const Tensor& v) {
  return v.node()->as<T>();
}

// The constant that the value is, if it is one.
inline const ConstantOp* constant_op(const Tensor& v) { return v.node()->op().constant(); }

inline const Tensor& input_of(const Tensor& v, int i = 0) { return v.node()->inputs()[i]; }

// Nodes evaluated in place by one thread, into the memory of an operand; other evaluations wait until they have data.
// Hold Node::graph_mutex() for everything but release(), which takes it.
class PendingDonations {
 public:
  PendingDonations() = default;
  ~PendingDonations() { release(); }
  PendingDonations(const PendingDonations&) = delete;
  PendingDonations& operator=(const PendingDonations&) = delete;
  void add(const Node& node);
  void release();
  static bool any();
  static bool contains(const Node& node);
  // Waits until some nodes are released.
  static void wait(std::unique_lock<std::shared_mutex>& lock);

 private:
  std::vector<const Node*> nodes_;
};

// Keeps nodes and their operands: none is released while this lives, also when the nodes get data.
class RetainedInputs {
 public:
  RetainedInputs() = default;
  ~RetainedInputs();
  RetainedInputs(const RetainedInputs&) = delete;
  RetainedInputs& operator=(const RetainedInputs&) = delete;
  // Hold Node::graph_mutex().
  void retain(std::span<const Node* const> nodes);

 private:
  std::vector<NodePtr> nodes_;
};

}  // namespace weft
