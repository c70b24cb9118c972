// Putting nodes together that become one node each: which may be joined, and the graph built anew from them.
#pragma once

#include <functional>
#include <set>

#include "compiler/rewrite.h"

namespace weft::compiler {

// Elementwise operations of one kernel: registers are not endless, and results that lie far apart would have to be kept
// long.
inline constexpr std::size_t kMostOperations = 64;

class Grouping {
  static constexpr int kFarthest = 64;  // nodes between the first and the last of groups that may_join() allows

 public:
  using Group = std::vector<const Node*>;  // in order
  // At first every node is a group of its own.
  explicit Grouping(const Graph& graph);

  const Graph& graph() const { return graph_; }
  const Uses& uses() const { return uses_; }
  int of(const Node& node) const { return group_[node.id()]; }
  const Group& at(int group) const { return groups_[group]; }
  Group joined(int a, int b) const;
  static bool member(const Group& group, const Node& node) { return std::ranges::find(group, &node) != group.end(); }

  // True unless something outside of the two would have to come between them, or they are too far apart to tell soon.
  bool may_join(int a, int b) const;
  void join(int from, int into);
  // A group of one node is made by build()'s `make`, too.
  void remake(int group) { remade_.insert(group); }

  // What a group reads from outside, each once, and what of its values something outside needs.
  static std::vector<Value> operands(const Group& group);
  std::vector<Value> results(const Group& group) const;

  // The graph with each group of more than one node, or to be remade, made by `make`: of the new graph's values for the
  // operands it makes those for the results.
  using At = std::function<Value(Value old)>;
  using Make =
      std::function<std::vector<Value>(Graph& to, const Group& group, std::span<const Value> results, const At& at)>;
  Graph build(const Make& make);

 private:
  int horizon(int last) const;
  bool path_outside(int a, int b, int last) const;
  void emit(const Node& node, const Make& make);

  const Graph& graph_;
  Uses uses_;
  std::vector<Group> groups_;
  std::vector<int> group_;                // of each node
  std::set<int> remade_;
  int widest_ = kFarthest;  // between the first and the last of any group
  std::vector<std::vector<Value>> made_;  // of each old node
  Graph to_;
};

}  // namespace weft::compiler
