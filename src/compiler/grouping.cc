#include "compiler/grouping.h"


namespace weft::compiler {

Grouping::Grouping(const Graph& graph)
    : graph_(graph), uses_(graph), group_(graph.impl().nodes.size()), made_(graph.impl().nodes.size()) {
  for (const auto& node : graph.impl().nodes) {
    group_[node->id()] = static_cast<int>(groups_.size());
    groups_.push_back({node.get()});
  }
}

Grouping::Group Grouping::joined(int a, int b) const {
  Group all = groups_[a];
  all.insert(all.end(), groups_[b].begin(), groups_[b].end());
  std::ranges::sort(all, {}, &Node::id);
  return all;
}

bool Grouping::may_join(int a, int b) const {
  if (a == b || groups_[a].empty() || groups_[b].empty()) return false;
  const Group all = joined(a, b);
  if (all.back()->id() - all.front()->id() > kFarthest) return false;
  const int last = horizon(all.back()->id());
  return !path_outside(a, b, last) && !path_outside(b, a, last);
}

// The last node that needs to be searched: no path from a later node leads back to `last` or before it, because groups
// that span this node are included.
int Grouping::horizon(int last) const {
  for (int id = std::max(0, last - widest_); id <= last; ++id) {
    const Group& group = groups_[group_[id]];
    if (group.back()->id() <= last) continue;
    last = group.back()->id();
    id = std::max(0, last - widest_) - 1;
  }
  return last;
}

// True if a path from group `a` to group `b` goes through another group.
bool Grouping::path_outside(int a, int b, int last) const {
  std::set<int> seen;
  std::vector<int> open{a};
  while (!open.empty()) {
    const int g = open.back();
    open.pop_back();
    for (const Node* n : groups_[g]) {
      for (std::size_t i = 0; i < n->types().size(); ++i) {
        for (const Node* user : uses_.of(n->value(static_cast<int>(i)))) {
          const int next = group_[user->id()];
          if (next == b && g != a) return true;
          if (next != a && next != b && user->id() <= last && seen.insert(next).second) open.push_back(next);
        }
      }
    }
  }
  return false;
}

void Grouping::join(int from, int into) {
  for (const Node* n : groups_[from]) group_[n->id()] = into;
  groups_[into] = joined(from, into);
  groups_[from].clear();
  widest_ = std::max(widest_, groups_[into].back()->id() - groups_[into].front()->id());
}

std::vector<Value> Grouping::operands(const Group& group) {
  std::vector<Value> list;
  for (const Node* n : group) {
    for (const Value& v : n->inputs()) {
      if (!member(group, *v.node()) && std::ranges::find(list, v) == list.end()) list.push_back(v);
    }
  }
  return list;
}

std::vector<Value> Grouping::results(const Group& group) const {
  std::vector<Value> list;
  for (const Node* n : group) {
    for (std::size_t i = 0; i < n->types().size(); ++i) {
      const Value v = n->value(static_cast<int>(i));
      const bool outside = std::ranges::any_of(uses_.of(v), [&](const Node* u) { return !member(group, *u); });
      if (outside || uses_.is_output(v)) list.push_back(v);
    }
  }
  return list;
}

Graph Grouping::build(const Make& make) {
  for (const auto& node : graph_.impl().nodes) {
    if (node->op().input()) emit(*node, make);
  }
  for (const auto& node : graph_.impl().nodes) {
    if (uses_.live(*node)) emit(*node, make);
  }
  for (const NamedValue& o : graph_.impl().outputs) to_.output(o.name, made_[o.value.node()->id()][o.value.index()]);
  return std::move(to_);
}

void Grouping::emit(const Node& node, const Make& make) {
  if (!made_[node.id()].empty()) return;
  const Group& group = groups_[group_[node.id()]];
  for (const Node* n : group) {
    for (const Value& v : n->inputs()) {
      if (!member(group, *v.node())) emit(*v.node(), make);
    }
  }
  const auto at = [&](Value old) { return made_[old.node()->id()][old.index()]; };
  if (group.size() > 1 || remade_.contains(group_[node.id()])) {
    const std::vector<Value> wanted = results(group);
    const std::vector<Value> values = make(to_, group, wanted, at);
    for (const Node* n : group) made_[n->id()].resize(n->types().size());
    for (std::size_t i = 0; i < wanted.size(); ++i) made_[wanted[i].node()->id()][wanted[i].index()] = values[i];
    return;
  }
  std::vector<Value> inputs;
  for (const Value& v : node.inputs()) inputs.push_back(at(v));
  const Node& copy = to_.impl().copy(node, std::move(inputs));
  for (std::size_t i = 0; i < node.types().size(); ++i) made_[node.id()].push_back(copy.value(static_cast<int>(i)));
}

}  // namespace weft::compiler
