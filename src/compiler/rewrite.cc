#include "compiler/rewrite.h"

#include <algorithm>
#include <unordered_map>

#include "core/format.h"
#include "core/visits.h"
#include "graph/clone.h"
#include "weft/error.h"

namespace weft::compiler {
bool contains(std::span<const Tensor> list, const Tensor& v) {
  return std::ranges::any_of(list, [&](const Tensor& o) { return same(o, v); });
}

void add_once(std::vector<Tensor>& list, const Tensor& v) {
  if (!contains(list, v)) list.push_back(v);
}

Uses::Uses(const Graph& graph) : index_in_(graph.impl().node_indices()), uses_(index_in_.results()) {
  for (const GraphPort& o : graph.impl().outputs) {
    uses_[index_in_.result(o.value)].is_output = true;
  }
  for (const NodePtr& node : graph.impl().nodes()) {
    count_visits(node->inputs().size());
    for (const Tensor& v : node->inputs()) {
      auto& users = uses_[index_in_.result(v)].users;
      if (users.empty() || users.back() != node.get()) users.push_back(node.get());
    }
  }
}

Tensor root_of(Tensor v) {
  const Tensor* root = &v;
  for (; root->node()->op().is_view(); root = &input_of(*root)) count_visits();
  return *root;
}

Rewriter::Rewriter(const Graph& from) : from_(from), index_in_(from.impl().node_indices()), map_(index_in_.results()) {}

std::vector<Tensor> Rewriter::at(std::span<const Tensor> old) const {
  std::vector<Tensor> values;
  values.reserve(old.size());
  for (const Tensor& v : old) values.push_back(at(v));
  return values;
}

Tensor Rewriter::constant_at(const Tensor& old) {
  std::vector<const Node*> chain;
  for (Tensor v = old; !has(v); v = input_of(v)) {
    chain.push_back(v.node());
    if (v.node()->inputs().empty()) break;
  }
  for (; !chain.empty(); chain.pop_back()) copy(*chain.back());
  return at(old);
}

void Rewriter::set(const Tensor& old, Tensor now) {
  changed_ |= !same(old, now);
  map_[index_in_.result(old)] = std::move(now);
}

Tensor Rewriter::copy(const Node& old) {
  bool shared = old.inputs().empty();
  if (!shared && !changed_) {
    shared = std::ranges::all_of(old.inputs(), [&](const Tensor& v) { return same(at(v), v); });
  }
  if (!shared) return copy(old, old.shared_op(), at(old.inputs()));
  for (std::size_t i = 0; i < old.types().size(); ++i)
    map_[index_in_.result(old.value()) + i] = old.value(static_cast<int>(i));
  if (const auto& order = from_.impl().stored_order(old); !order.empty()) stored_[old.sequence()] = order;
  return old.value();
}

Tensor Rewriter::copy(const Node& old, OpPtr op, std::vector<Tensor> inputs) {
  changed_ = true;
  const Tensor made = clone(old, std::move(op), std::move(inputs));
  add_labels(*made.node(), old);
  for (std::size_t i = 0; i < old.types().size(); ++i)
    map_[index_in_.result(old.value()) + i] = result(made, static_cast<int>(i));
  if (const auto& order = from_.impl().stored_order(old); !order.empty()) stored_[made.node()->sequence()] = order;
  return made;
}

const std::vector<const std::string*>* Rewriter::labels_of(const Node& node) const {
  for (const Graph::Impl::Labels* all : {&labels_, static_cast<const Graph::Impl::Labels*>(&from_.impl().labels)}) {
    if (const auto it = all->find(node.sequence()); it != all->end()) return &it->second;
  }
  return nullptr;
}

void Rewriter::add_labels(const Node& to, const Node& part) {
  if (&to == &part) return;
  if (!to.line().file) to.set_line(part.line());
  std::vector<const std::string*> added;
  if (part.label()) added.push_back(part.label());
  if (const auto* more = labels_of(part)) added.insert(added.end(), more->begin(), more->end());
  std::erase(added, to.label());
  if (added.empty()) return;
  const auto* before = labels_of(to);
  std::vector<const std::string*>& list =
      labels_.try_emplace(to.sequence(), before ? *before : std::vector<const std::string*>()).first->second;
  for (const std::string* label : added) {
    if (std::ranges::find(list, label) == list.end()) list.push_back(label);
  }
}

void Rewriter::store(const Tensor& now, std::vector<int> order) { stored_[now.node()->sequence()] = std::move(order); }

Graph Rewriter::run(const Rule& rule) {
  for (const NodePtr& node : from_.impl().nodes()) {
    if (has(node->value())) continue;
    count_visits();
    const std::uint64_t before = Node::next_sequence();
    const Tensor v = rule(*node);
    if (!v.defined()) {
      copy(*node);
      continue;
    }
    // What stood there before is no part of it.
    if (v.node()->sequence() >= before) add_labels(*v.node(), *node);
    for (std::size_t i = 0; i < node->types().size(); ++i) {
      const std::size_t index = static_cast<std::size_t>(v.index()) + i;
      if (index >= v.node()->types().size() || v.node()->types()[index] != node->types()[i]) {
        throw InternalError("rewriting {} changes the type of result {}", weft::to_string(*node), i);
      }
      set(node->value(static_cast<int>(i)), result(v, static_cast<int>(index)));
    }
  }
  return finish();
}

Graph Rewriter::finish() {
  if (!changed_) return from_;
  return finish([&](const GraphPort& o) { return at(o.value); });
}

Graph Rewriter::finish(const std::function<Tensor(const GraphPort&)>& output) {
  Graph to;
  for (const GraphPort& i : from_.impl().inputs) to.impl().add_input(i.name, i.value);
  for (const GraphPort& n : from_.impl().numbers) to.impl().add_number(n.name, n.value);
  for (const GraphPort& o : from_.impl().outputs) to.impl().add_output(o.name, output(o));
  to.impl().stored = std::move(stored_);
  if (!labels_.empty() || !from_.impl().labels.empty()) {
    for (const NodePtr& node : to.impl().nodes()) {
      if (const auto* list = labels_of(*node)) to.impl().labels.emplace(node->sequence(), *list);
    }
  }
  to.impl().name = from_.name();
  return to;
}

Graph rewrite_subgraphs(Graph graph, const std::function<Graph(const Graph&)>& f) {
  const auto owns = [](const NodePtr& node) { return !node->op().subgraphs().empty(); };
  if (std::ranges::none_of(graph.impl().nodes(), owns)) return graph;
  const auto is_same = [](const Graph& a, const Graph& b) {
    return a.impl().stored == b.impl().stored &&
           std::ranges::equal(a.impl().outputs, b.impl().outputs,
                              [](const GraphPort& x, const GraphPort& y) { return same(x.value, y.value); });
  };
  // Of the nodes where something changed.
  std::unordered_map<const Node*, std::vector<std::shared_ptr<const Graph>>> changed;
  for (const NodePtr& node : graph.impl().nodes()) {
    std::vector<std::shared_ptr<const Graph>> graphs;
    bool changes = false;
    for (const auto& g : node->op().subgraphs()) {
      graphs.push_back(std::make_shared<const Graph>(f(*g)));
      changes |= !is_same(*g, *graphs.back());
    }
    if (changes) changed.emplace(node.get(), std::move(graphs));
  }
  if (changed.empty()) return graph;
  Rewriter r(graph);
  return r.run([&](const Node& node) -> Tensor {
    const auto it = changed.find(&node);
    if (it == changed.end()) return {};
    return r.copy(node, node.op().control_flow()->with_subgraphs(std::move(it->second)), r.at(node.inputs()));
  });
}

}  // namespace weft::compiler
