// What one evaluation computes, and a key that says all of it but data and numbers.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/walk.h"
#include "weft/compile.h"
#include "weft/number.h"

namespace weft {

// A view has no memory of its own: the node that stores what it shows, which is the node itself if it is no view. Hold
// Node::recipes_lock().
const Node& stored_by(const Node& node);

// The nodes between tensors with data and those that are wanted, in the order in which they were made. While it lives,
// they keep their operands.
class Expressions {
 public:
  enum class Use : std::uint8_t {
    maybe_in_pieces,  // if pieces() are needed, nothing but them
    whole,
    look,  // only graph()
  };
  Expressions(std::span<const Tensor> wanted, Use use);
  Expressions(const Expressions&) = delete;
  Expressions& operator=(const Expressions&) = delete;

  // True if all that is wanted has data.
  bool empty() const { return roots_.empty(); }

  // ---- Pieces. An expression of more nodes than one executable should have is evaluated in several: first the tensors
  // of the first list, then those of the next, and at last what was wanted. Cuts lie where few tensors are needed
  // later, so that the turns of a loop are cut at one place of its body, and the pieces are equal.
  std::vector<std::vector<Tensor>> pieces() const;

  // ---- One executable
  // Chooses results, inputs and numbers, and makes the key.
  void prepare();
  const std::string& key() const { return key_; }
  // Tensors with data, and constants.
  const std::vector<Tensor>& leaves() const { return leaves_; }
  // The same tensor elsewhere.
  void set_leaf(std::size_t i, const Tensor& leaf) { leaves_[i] = leaf; }
  const std::vector<Number>& numbers() const { return numbers_; }
  std::vector<TensorType> result_types() const;
  // The graph whose inputs, numbers and outputs are the leaves, numbers and results, in order.
  Graph graph() const;
  // Pairs of a leaf and a result that may be in its memory, because nobody else holds the leaf, and the result is a
  // copy of it in which something is replaced.
  const std::vector<std::pair<int, int>>& donated() const { return donated_; }
  // Gives the results their data, and lets go of what led to them.
  void finish(std::span<const Tensor> data);

 private:
  void collect();
  bool is_leaf(const Node& node) const { return leaf_[place_of(node)] != 0; }
  std::size_t place_of(const Node& node) const { return static_cast<std::size_t>(places_.find(node)); }
  void choose_results();
  void choose_donations();
  bool may_donate(std::size_t leaf) const;
  std::optional<std::size_t> donor_of(std::size_t place) const;

  std::vector<const Node*> roots_;
  std::vector<const Node*> nodes_;
  NodeIds places_;  // in nodes_
  std::vector<char> leaf_;
  std::vector<std::int64_t> uses_;  // by operands of nodes_ that are computed
  std::vector<int> result_;         // of each node: the number of its first result; -1: none
  std::vector<NodePtr> results_;
  std::vector<char> needed_;  // what results need, up to leaves and to views that are such
  std::vector<std::pair<std::size_t, std::size_t>> donor_places_;
  RecipeClaims claims_;
  bool large_ = false;
  std::unique_ptr<RecipePins> pins_;
  std::vector<Tensor> leaves_;
  std::vector<std::pair<const Node*, int>> leaf_of_;  // what each leaf stands for
  std::vector<Number> numbers_;
  std::vector<std::pair<int, int>> donated_;
  std::string key_;
};

// eval(), but what depends on no tensor with data is computed on that device.
void eval_on(std::span<const Tensor> tensors, const Device& device);

}  // namespace weft
