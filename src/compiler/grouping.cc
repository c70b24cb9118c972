#include "compiler/grouping.h"

#include <algorithm>

#include "core/visits.h"

namespace weft::compiler {
namespace {

// Groups that a search for paths looks at.
constexpr std::size_t kMostSearched = 1024;

}  // namespace

Grouping::Grouping(const Graph& graph) : rewriter_(graph) {
  for (const NodePtr& node : graph.impl().nodes()) {
    group_.push_back(static_cast<int>(groups_.size()));
    groups_.push_back({node.get()});
    reach_.push_back(static_cast<int>(reach_.size()));
  }
  emitted_.resize(groups_.size());
}

Grouping::Group Grouping::joined(int a, int b) const {
  Group all = groups_[a];
  all.insert(all.end(), groups_[b].begin(), groups_[b].end());
  std::ranges::sort(all, {}, [&](const Node* n) { return id(*n); });
  return all;
}

bool Grouping::may_join(int a, int b) const {
  if (a == b || groups_[a].empty() || groups_[b].empty()) return false;
  const Group all = joined(a, b);
  if (last_id(all) - first_id(all) > kFarthest) return false;
  const int last = horizon(last_id(all));
  return !path_outside(a, b, last) && !path_outside(b, a, last);
}

std::span<const Node* const> Grouping::users_near(const Tensor& v, const Node& node) const {
  const auto& users = uses().of(v);
  const auto index = [&](const Node* n) { return id(*n); };
  const auto begin = std::ranges::lower_bound(users, id(node) - kFarthest, {}, index);
  const auto end = std::ranges::upper_bound(begin, users.end(), id(node) + kFarthest, {}, index);
  count_visits(static_cast<std::uint64_t>(end - begin));
  return {begin, end};
}

// The last node that needs to be searched: no path from a later node leads back to `last` or before it, because groups
// that span this node are included.
int Grouping::horizon(int last) const {
  while (reach_[last] > last) last = reach_[last];
  return last;
}

// True if a path from group `a` to group `b` goes through another group, or if there is too much between them to tell.
bool Grouping::path_outside(int a, int b, int last) const {
  std::set<int> seen;
  std::vector<int> open{a};
  while (!open.empty()) {
    const int g = open.back();
    open.pop_back();
    count_visits();
    for (const Node* n : groups_[g]) {
      for (std::size_t i = 0; i < n->types().size(); ++i) {
        for (const Node* user : uses().of(n->value(static_cast<int>(i)))) {
          if (id(*user) > last) break;  // they are in order
          const int next = of(*user);
          if (next == b && g != a) return true;
          if (next == a || next == b || !seen.insert(next).second) continue;
          if (seen.size() > kMostSearched) return true;
          open.push_back(next);
        }
      }
    }
  }
  return false;
}

void Grouping::join(int from, int into) {
  Group all = joined(from, into);
  for (const Node* n : groups_[from]) group_[id(*n)] = into;
  groups_[into] = std::move(all);
  groups_[from].clear();
  const int last = last_id(groups_[into]);
  for (int i = first_id(groups_[into]); reach_[i] < last; ++i) reach_[i] = last;
}

std::vector<Tensor> Grouping::operands(const Group& group) {
  std::vector<Tensor> list;
  for (const Node* n : group) {
    for (const Tensor& v : n->inputs()) {
      if (!member(group, *v.node())) add_once(list, v);
    }
  }
  return list;
}

std::vector<Tensor> Grouping::results(const Group& group) const {
  std::vector<Tensor> list;
  for (const Node* n : group) {
    for (std::size_t i = 0; i < n->types().size(); ++i) {
      const Tensor v = n->value(static_cast<int>(i));
      const bool outside = std::ranges::any_of(uses().of(v), [&](const Node* u) { return !member(group, *u); });
      if (outside || uses().is_output(v)) list.push_back(v);
    }
  }
  return list;
}

Graph Grouping::build(const Make& make) {
  for (const NodePtr& node : graph().impl().nodes()) emit(*node, make);
  return rewriter_.finish();
}

// Makes the node's group, and before it the groups that it needs.
void Grouping::emit(const Node& node, const Make& make) {
  std::vector<int> open{of(node)};
  while (!open.empty()) {
    const int g = open.back();
    const Group& group = groups_[g];
    const std::size_t before = open.size();
    if (!emitted_[g]) {
      for (const Node* n : group) {
        for (const Tensor& v : n->inputs()) {
          if (const int needed = of(*v.node()); needed != g && !emitted_[needed]) open.push_back(needed);
        }
      }
      std::reverse(open.begin() + static_cast<std::ptrdiff_t>(before), open.end());
    }
    if (open.size() > before) continue;
    open.pop_back();
    if (emitted_[g]) continue;
    emitted_[g] = 1;
    if (group.size() == 1 && !remade_.contains(g)) {
      rewriter_.copy(*group[0]);
      continue;
    }
    const std::vector<Tensor> wanted = results(group);
    const std::vector<Tensor> values = make(group, wanted, [&](const Tensor& old) { return rewriter_.at(old); });
    for (std::size_t i = 0; i < wanted.size(); ++i) rewriter_.set(wanted[i], values[i]);
    for (const Node* part : group) rewriter_.add_labels(*values[0].node(), *part);
  }
}

}  // namespace weft::compiler
