// What one evaluation computes, and a key of it: equal keys mean that one executable serves both.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/value_check.h"
#include "graph/walk.h"
#include "weft/compile.h"
#include "weft/number.h"

namespace weft {

// The node whose memory the node's result is: its own, or that of what a chain of views shows. Hold
// Node::graph_mutex().
const Node& stored_by(const Node& node);

// The nodes that lead from tensors with data to those that are wanted, in the order in which they were made. Their
// operands are retained while it lives.
class PendingGraph {
 public:
  enum class Use : std::uint8_t {
    maybe_in_pieces,  // evaluated as a whole, or by pieces() if it is large
    whole,            // evaluated as a whole
    look,             // only graph() is called
  };
  PendingGraph(std::span<const Tensor> wanted, Use use);
  PendingGraph(const PendingGraph&) = delete;
  PendingGraph& operator=(const PendingGraph&) = delete;

  // True if all that is wanted has data.
  bool empty() const { return roots_.empty(); }

  // ---- Pieces. A graph of more nodes than one executable should have is evaluated in several: first the tensors of
  // the first list, then those of the next, and at last what was wanted. It is cut where few tensors are needed later.
  // So the iterations of a loop are cut at the same point of its body, and equal pieces share an executable.
  std::vector<std::vector<Tensor>> pieces() const;

  // ---- One executable
  // Chooses results, inputs and numbers, and makes the key.
  void prepare();
  const std::string& key() const { return key_; }
  // Tensors with data, and constants.
  const std::vector<Tensor>& leaves() const { return leaves_; }
  // Replaces a leaf by a copy on another device.
  void set_leaf(std::size_t i, const Tensor& leaf) { leaves_[i] = leaf; }
  const std::vector<Number>& numbers() const { return numbers_; }
  std::vector<TensorType> result_types() const;
  // The graph whose inputs, numbers and outputs are the leaves, numbers and results, in order.
  Graph graph() const;
  // Pairs of a leaf and a result that is written into the leaf's memory: the result is the leaf with some elements
  // replaced, and nothing else refers to the leaf.
  const std::vector<std::pair<int, int>>& donated() const { return donated_; }
  // Sets the results' data, and releases the nodes that led to them.
  void finish(std::span<const Tensor> data);

 private:
  void collect();
  bool is_leaf(const Node& node) const { return leaf_[index_of(node)] != 0; }
  std::size_t index_of(const Node& node) const { return static_cast<std::size_t>(indices_.find(node)); }
  void choose_results();
  void choose_donations();
  // Gives the results the checks of what they depend on. Call when they have data.
  void pass_checks_on();
  bool may_donate(std::size_t leaf) const;
  std::optional<std::size_t> donor_of(std::size_t index) const;

  std::vector<const Node*> roots_;
  std::vector<const Node*> nodes_;
  NodeIds indices_;  // in nodes_
  std::vector<char> leaf_;
  std::vector<std::int64_t> uses_;  // how often each is an operand of nodes that are computed
  std::vector<int> result_;         // of each node: the number of its first result; -1: none
  std::vector<NodePtr> results_;
  std::vector<char> needed_;  // by results, up to leaves and to views that serve as leaves
  std::vector<std::pair<std::size_t, std::size_t>> donor_indices_;
  PendingDonations pending_donations_;
  bool large_ = false;
  std::unique_ptr<RetainedInputs> retained_;
  std::vector<std::size_t> checked_;  // the nodes of CheckedOps that are computed
  std::vector<std::pair<std::size_t, ValueChecks>> leaf_checks_;
  std::vector<Tensor> leaves_;
  std::vector<std::pair<const Node*, int>> leaf_of_;  // what each leaf stands for
  std::vector<Number> numbers_;
  std::vector<std::pair<int, int>> donated_;
  std::string key_;
};

// eval(), but what depends on no tensor with data is computed on that device.
void eval_on(std::span<const Tensor> tensors, const Device& device);

}  // namespace weft
