#include "compiler/passes/merge_maps.h"

#include <map>
#include <set>

#include "compiler/expressions.h"
#include "compiler/rewrite.h"
#include "graph/ops/leaf.h"
#include "graph/ops/map.h"

namespace weft::compiler {
namespace {

// Registers are not endless, and results that lie far apart would have to be kept long.
constexpr std::size_t kMostOperations = 64;
constexpr int kFarthest = 64;  // nodes between the first and the last of a group

class Merger {
 public:
  Merger(const Graph& graph, std::size_t operands)
      : graph_(graph), uses_(graph), most_(operands), group_(graph.impl().nodes.size()), made_(graph.impl().nodes.size()) {
    for (const auto& node : graph.impl().nodes) {
      group_[node->id()] = static_cast<int>(groups_.size());
      groups_.push_back({node.get()});
    }
  }

  Graph run() {
    for (const auto& node : graph_.impl().nodes) {
      if (!candidate(*node)) continue;
      // Partners: makers of an operand, and earlier readers of one.
      std::set<int> partners;
      for (const Value& v : node->inputs()) {
        if (v.shape() != node->types()[0].shape) continue;
        partners.insert(group_[v.node()->id()]);
        for (const Node* other : uses_.of(v)) {
          if (other->id() < node->id()) partners.insert(group_[other->id()]);
        }
      }
      for (const int g : partners) {
        if (fits(g, group_[node->id()])) join(g, group_[node->id()]);
      }
    }
    for (const auto& node : graph_.impl().nodes) {
      if (node->as<InputOp>()) emit(*node);
    }
    for (const auto& node : graph_.impl().nodes) {
      if (uses_.live(*node)) emit(*node);
    }
    for (const NamedValue& o : graph_.impl().outputs) to_.output(o.name, at(o.value));
    return std::move(to_);
  }

 private:
  using Group = std::vector<const Node*>;  // in order

  bool candidate(const Node& node) const {
    return uses_.live(node) && node.as<MapOp>() && node.types().size() == 1 && element_count(node.types()[0].shape) > 0;
  }
  Value at(Value old) const { return made_[old.node()->id()][old.index()]; }

  bool fits(int a, int b) const {
    if (a == b || groups_[a].empty() || groups_[b].empty()) return false;
    Group all = groups_[a];
    all.insert(all.end(), groups_[b].begin(), groups_[b].end());
    std::ranges::sort(all, {}, &Node::id);
    if (all.back()->id() - all.front()->id() > kFarthest) return false;
    std::size_t operations = 0;
    for (const Node* n : all) {
      if (!candidate(*n) || n->types()[0].shape != all[0]->types()[0].shape) return false;
      operations += n->as<MapOp>()->expression().nodes().size();
    }
    if (operations > kMostOperations) return false;
    if (operands(all).size() + results(all).size() > most_) return false;
    return !path_outside(a, b, all) && !path_outside(b, a, all);
  }

  // No path from beyond this node leads to `last` or before it: groups that reach across are within.
  int horizon(int last) const {
    for (int id = std::max(0, last - kFarthest); id <= last; ++id) {
      const Group& group = groups_[group_[id]];
      if (group.back()->id() <= last) continue;
      last = group.back()->id();
      id = std::max(0, last - kFarthest) - 1;
    }
    return last;
  }

  // True if something else lies on a path from group `a` to group `b`.
  bool path_outside(int a, int b, const Group& all) const {
    const int last = horizon(all.back()->id());
    std::set<int> seen;
    std::vector<int> open{a};
    while (!open.empty()) {
      const int g = open.back();
      open.pop_back();
      for (const Node* n : groups_[g]) {
        for (std::size_t i = 0; i < n->types().size(); ++i) {
          for (const Node* user : uses_.of(const_cast<Node*>(n)->value(static_cast<int>(i)))) {
            const int next = group_[user->id()];
            if (next == b && g != a) return true;
            if (next != a && next != b && user->id() <= last && seen.insert(next).second) open.push_back(next);
          }
        }
      }
    }
    return false;
  }

  void join(int from, int into) {
    for (const Node* n : groups_[from]) group_[n->id()] = into;
    groups_[into].insert(groups_[into].end(), groups_[from].begin(), groups_[from].end());
    std::ranges::sort(groups_[into], {}, &Node::id);
    groups_[from].clear();
  }

  static bool member(const Group& group, const Node& node) {
    return std::ranges::find(group, &node) != group.end();
  }
  // What the group reads from outside, and which members something outside reads.
  static std::vector<Value> operands(const Group& group) {
    std::vector<Value> list;
    for (const Node* n : group) {
      for (const Value& v : n->inputs()) {
        if (!member(group, *v.node()) && std::ranges::find(list, v) == list.end()) list.push_back(v);
      }
    }
    return list;
  }
  Group results(const Group& group) const {
    Group list;
    for (const Node* n : group) {
      const Value v = const_cast<Node*>(n)->value();
      const auto& users = uses_.of(v);
      const bool outside = std::ranges::any_of(users, [&](const Node* u) { return !member(group, *u); });
      if (outside || uses_.is_output(v)) list.push_back(n);
    }
    return list;
  }

  void emit(const Node& node) {
    if (!made_[node.id()].empty()) return;
    const Group& group = groups_[group_[node.id()]];
    for (const Node* n : group) {
      for (const Value& v : n->inputs()) {
        if (!member(group, *v.node())) emit(*v.node());
      }
    }
    if (group.size() > 1) return emit(group);
    if (const auto* input = node.as<InputOp>()) {
      made_[node.id()] = {to_.input(input->input_name(), node.types()[0].dtype, node.types()[0].shape)};
      return;
    }
    std::vector<Value> inputs;
    for (const Value& v : node.inputs()) inputs.push_back(at(v));
    Node& copy = to_.impl().add(node.shared_op(), std::move(inputs));
    copy.store_as(node.stored());
    for (std::size_t i = 0; i < node.types().size(); ++i) made_[node.id()].push_back(copy.value(static_cast<int>(i)));
  }

  void emit(const Group& group) {
    const std::vector<Value> outside = operands(group);
    Expression e;
    std::map<const Node*, int> computed;  // nodes of e
    std::vector<int> read;
    std::vector<Value> inputs;
    for (const Value& v : outside) {
      read.push_back(e.input(v.dtype()));
      inputs.push_back(at(v));
    }
    for (const Node* n : group) {
      std::vector<int> args;
      for (const Value& v : n->inputs()) {
        const auto it = computed.find(v.node());
        args.push_back(it != computed.end() ? it->second
                                            : read[static_cast<std::size_t>(std::ranges::find(outside, v) - outside.begin())]);
      }
      computed[n] = splice(e, n->as<MapOp>()->expression(), args)[0];
    }
    const Group wanted = results(group);
    for (const Node* n : wanted) e.output(computed.at(n));
    Node& made = to_.impl().add(make_op<MapOp>(std::move(e)), std::move(inputs));
    for (const Node* n : group) made_[n->id()] = {Value()};
    for (std::size_t i = 0; i < wanted.size(); ++i) made_[wanted[i]->id()] = {made.value(static_cast<int>(i))};
  }

  const Graph& graph_;
  Uses uses_;
  std::size_t most_;
  std::vector<Group> groups_;
  std::vector<int> group_;               // of each node
  std::vector<std::vector<Value>> made_;  // of each old node
  Graph to_;
};

}  // namespace

Graph merge_maps(const Graph& graph, const PassContext& context) {
  return Merger(graph, static_cast<std::size_t>(context.target.max_operands)).run();
}

}  // namespace weft::compiler
