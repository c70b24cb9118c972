// Nodes: what tensors are made of. A node is an operation on tensors, which never changes; each of its results is a
// tensor, to which Tensor is a handle. Once its results were computed, a node has their data, and its operands may go.
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
  // `types` are what the op infers.
  Node(OpPtr op, std::vector<Tensor> inputs, std::vector<TensorType> types);
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const Op& op() const { return *op_; }
  const OpPtr& shared_op() const { return op_; }
  const std::vector<Tensor>& inputs() const { return inputs_; }
  const std::vector<TensorType>& types() const { return types_; }
  std::vector<TensorType> input_types() const;
  Tensor value(int i = 0) const { return {this, i}; }
  // The operands by Op::operand_groups().
  std::vector<std::span<const Tensor>> input_groups() const;
  // Grows from each node that a process makes to the next: operands have smaller ones.
  std::uint64_t sequence() const { return sequence_; }
  // Of the node that is made next.
  static std::uint64_t next_sequence();

  // Its place in the graph that looked at it last, which may be another one than the caller's: a guess that is checked.
  int place_hint() const { return place_hint_.load(std::memory_order_relaxed); }
  void set_place_hint(int place) const { place_hint_.store(place, std::memory_order_relaxed); }

  // ---- Data. What a node was asked for once is not computed again: who collects a graph stops at nodes with data.
  // That of result i; null: it is still to be computed.
  DataPtr data(int i = 0) const;
  bool has_data() const { return results_.load(std::memory_order_acquire) != nullptr; }
  // Whether an expression stops here, and reads data. (That of a constant is on one device, for those who read it;
  // expressions go on taking the constant itself.)
  bool is_computed() const { return op_->data_op() || (has_data() && !op_->constant()); }
  // All results' data. What another thread gave first stays.
  void set_data(std::vector<DataPtr> data) const;
  // Lets the operands of a node with data go, unless a graph holds them (RecipePins). Nobody may be reading them: who
  // looks at operands of tensors that are not pinned holds recipes_lock() shared. (Views have no data of their own, and
  // so keep their operand.)
  void drop_recipe() const;
  static std::shared_mutex& recipes_lock();
  // The innermost function that is being differentiated whose variables it depends on; null: there is none. As long as
  // it is active drop_recipe() leaves the operands.
  const DifferentiationPtr& differentiation() const { return differentiation_; }
  bool keeps_inputs() const { return differentiation_ && differentiation_->active(); }
  // Its derivative is not taken through its operands, which it lets go once it has data.
  void end_differentiation() const;
  // For the variables of a function that is differentiated, which depend on themselves.
  void set_differentiation(DifferentiationPtr run) const { differentiation_ = std::move(run); }
  // Handles and nodes that hold it; without the operands of calls in progress (weft::Operand), which only pass it on.
  std::int64_t owners() const { return owners_.load(std::memory_order_relaxed); }
  std::int64_t holders() const { return owners() - operands_.load(std::memory_order_relaxed); }
  // Handles that are no node's operand, graphs and others that retain it.
  std::int64_t handles() const {
    const std::int64_t uses = uses_.load(std::memory_order_acquire);  // first: a new use counts as an owner before
    return owners() - uses;
  }
  void begin_operand() const { operands_.fetch_add(1, std::memory_order_relaxed); }
  void end_operand() const { operands_.fetch_sub(1, std::memory_order_relaxed); }

  // The line of the caller's program that made it; no file: it is not known.
  const SourceLine& line() const { return line_; }
  void set_line(const SourceLine& line) const { line_ = line; }

  // Null if it has none. Labels are kept for the life of the process, each text once.
  const std::string* label() const { return label_.load(std::memory_order_acquire); }
  void set_label(const std::string* label) const { label_.store(label, std::memory_order_release); }

  // The op, if it is one of T's.
  template <class T>
  const T* as() const {
    return dynamic_cast<const T*>(op_.get());
  }

  // Handles and graphs that hold the node; the last one deletes it, and with it what only it holds, without recursion.
  void retain() const { owners_.fetch_add(1, std::memory_order_relaxed); }
  // Nothing: nobody holds it any more, and it is being deleted.
  std::optional<NodePtr> retain_if_alive() const;
  void release() const {
    if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }

 private:
  ~Node();
  static void end_uses(const std::vector<Tensor>& inputs) {
    for (const Tensor& v : inputs) v.node()->uses_.fetch_sub(1, std::memory_order_release);
  }
  void destroy() const;
  friend class RecipePins;

  OpPtr op_;
  mutable std::vector<Tensor> inputs_;
  mutable std::atomic<const std::vector<DataPtr>*> results_{nullptr};
  mutable std::atomic<int> pins_{0};
  std::vector<TensorType> types_;
  std::uint64_t sequence_;
  mutable std::atomic<std::int64_t> owners_{0};
  mutable std::atomic<std::int64_t> uses_{0};  // of them, as an operand of a node
  mutable std::atomic<int> place_hint_{0};
  mutable std::atomic<std::int32_t> operands_{0};
  mutable SourceLine line_;
  mutable DifferentiationPtr differentiation_;
  mutable std::atomic<const std::string*> label_;
  mutable const Node* next_ = nullptr;  // of those that wait to be deleted
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

// While it lives, the thread's scopes and the line of its call do not count: what the compiler makes has the labels and
// lines of what it is made of.
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
Tensor apply(OpPtr op, std::vector<Tensor> inputs);
// Result i of the node whose result `t` is.
inline Tensor result(const Tensor& t, int i) { return t.node()->value(i); }

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

// Nodes that somebody computes in the memory of their operands: nobody else can compute them until they have data. All
// of it under Node::recipes_lock(), but for release().
class RecipeClaims {
 public:
  RecipeClaims() = default;
  ~RecipeClaims() { release(); }
  RecipeClaims(const RecipeClaims&) = delete;
  RecipeClaims& operator=(const RecipeClaims&) = delete;
  void claim(const Node& node);
  void release();
  static bool any();
  static bool contains(const Node& node);
  // Until one was released.
  static void wait(std::unique_lock<std::shared_mutex>& lock);

 private:
  std::vector<const Node*> nodes_;
};

// Keeps the operands of nodes.
class RecipePins {
 public:
  RecipePins() = default;
  ~RecipePins();
  RecipePins(const RecipePins&) = delete;
  RecipePins& operator=(const RecipePins&) = delete;
  // Hold Node::recipes_lock().
  void pin(std::span<const Node* const> nodes);

 private:
  std::vector<NodePtr> nodes_;
};

}  // namespace weft
