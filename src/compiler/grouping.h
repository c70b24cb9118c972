// Groups nodes that become one node each: decides which may be joined, and builds the graph again from the groups.
#pragma once

#include <functional>
#include <set>

#include "compiler/rewrite.h"

namespace weft::compiler {

// Elementwise operations of one kernel at most: registers are limited, and results that are used far apart would occupy
// them for long.
inline constexpr std::size_t kMaxOperations = 64;

class Grouping {
 public:
  static constexpr int kFarthest = 64;  // nodes between the first and the last of groups that may_join() allows

  using Group = std::vector<const Node*>;  // in order
  // At first every node is a group of its own.
  explicit Grouping(const Graph& graph);

  const Graph& graph() const { return rewriter_.from(); }
  const Uses& uses() const { return rewriter_.uses(); }
  // A node's index in the graph.
  int id(const Node& node) const { return rewriter_.id(node); }
  int of(const Node& node) const { return group_[id(node)]; }
  // Users of the value that are near enough to the node for may_join(), in order.
  std::span<const Node* const> users_near(const Tensor& v, const Node& node) const;
  const Group& at(int group) const { return groups_[group]; }
  Group joined(int a, int b) const;
  static bool member(const Group& group, const Node& node) { return std::ranges::find(group, &node) != group.end(); }

  // True unless a path between the two goes through a node outside of them, or they are too far apart to check quickly.
  bool may_join(int a, int b) const;
  void join(int from, int into);
  // build() calls `make` for this group even if it has only one node.
  void remake(int group) { remade_.insert(group); }

  // The values from outside that a group reads, each once, and its values that something outside needs.
  static std::vector<Tensor> operands(const Group& group);
  std::vector<Tensor> results(const Group& group) const;

  // The graph with each group of more than one node, or to be remade, made by `make`, which computes the new values for
  // the results from those for the operands.
  using At = std::function<Tensor(const Tensor& old)>;
  using Make = std::function<std::vector<Tensor>(const Group& group, std::span<const Tensor> results, const At& at)>;
  Graph build(const Make& make);

 private:
  int horizon(int last) const;
  bool path_outside(int a, int b, int last) const;
  int first_id(const Group& group) const { return id(*group.front()); }
  int last_id(const Group& group) const { return id(*group.back()); }
  void emit(const Node& node, const Make& make);

  Rewriter rewriter_;
  std::vector<Group> groups_;
  std::vector<int> group_;     // of each node
  std::vector<char> emitted_;  // of each group
  std::set<int> remade_;
  std::vector<int> reach_;  // for each index, the last node of the groups that begin at or before it
};

}  // namespace weft::compiler
