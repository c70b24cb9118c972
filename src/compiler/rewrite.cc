#include "compiler/rewrite.h"

#include "weft/error.h"

namespace weft::compiler {

Uses::Uses(const Graph& graph)
    : graph_(graph), live_(graph.impl().nodes.size(), 0), users_(graph.impl().nodes.size()) {
  const auto& nodes = graph.impl().nodes;
  for (const NamedValue& o : graph.impl().outputs) live_[o.value.node()->id()] = 1;
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const Node& node = **it;
    users_[node.id()].resize(node.types().size());
    if (node.op().input()) live_[node.id()] = 1;
    if (!live_[node.id()]) continue;
    for (const Value& v : node.inputs()) live_[v.node()->id()] = 1;
  }
  for (const auto& node : nodes) {
    if (!live_[node->id()]) continue;
    for (const Value& v : node->inputs()) {
      auto& list = users_[v.node()->id()][v.index()];
      if (list.empty() || list.back() != node.get()) list.push_back(node.get());
    }
  }
}

bool Uses::is_output(Value v) const {
  return std::ranges::any_of(graph_.impl().outputs, [&](const NamedValue& o) { return o.value == v; });
}

namespace {

Graph live_part(const Graph& graph) {
  return Rewriter(graph).run([](const Node&) { return Value(); });
}

}  // namespace

Value root_of(Value v) {
  while (v.node()->op().is_view()) v = input_of(v);
  return v;
}

Rewriter::Rewriter(const Graph& from) : from_(from), uses_(from), map_(from.impl().nodes.size()) {}

std::vector<Value> Rewriter::at(std::span<const Value> old) const {
  std::vector<Value> values;
  for (const Value& v : old) values.push_back(at(v));
  return values;
}

Value Rewriter::constant_at(Value old) {
  std::vector<Value>& values = map_[old.node()->id()];
  if (values.empty()) {
    for (const Value& v : old.node()->inputs()) constant_at(v);
    values.push_back(to_.impl().copy(*old.node(), at(old.node()->inputs())).value());
    ++copies_;
  }
  return values[old.index()];
}

Graph Rewriter::run(const Rule& rule) {
  bool replaced = false;
  for (const auto& node : from_.impl().nodes) {
    if (!uses_.live(*node) || !map_[node->id()].empty()) continue;
    std::vector<Value>& values = map_[node->id()];
    if (const Value v = rule(*node)) {
      for (std::size_t i = 0; i < node->types().size(); ++i) {
        const std::size_t index = static_cast<std::size_t>(v.index()) + i;
        if (index >= v.node()->types().size() || v.node()->types()[index] != node->types()[i]) {
          throw InternalError("rewriting {} changes the type of result {}", weft::to_string(*node), i);
        }
        values.push_back(v.node()->value(static_cast<int>(index)));
      }
      replaced = true;
      continue;
    }
    const Node& made = to_.impl().copy(*node, at(node->inputs()));
    ++copies_;
    for (std::size_t i = 0; i < node->types().size(); ++i) values.push_back(made.value(static_cast<int>(i)));
  }
  for (const NamedValue& o : from_.impl().outputs) to_.output(o.name, at(o.value));
  // A rule that returned no value may have added nodes too.
  const bool clean = !replaced && to_.impl().nodes.size() == copies_;
  return clean ? std::move(to_) : live_part(to_);
}

Graph rewrite_subgraphs(Graph graph, const std::function<Graph(const Graph&)>& f) {
  const auto owns = [](const auto& node) { return !node->op().subgraphs().empty(); };
  if (std::ranges::none_of(graph.impl().nodes, owns)) return graph;
  Rewriter r(graph);
  return r.run([&](const Node& node) -> Value {
    if (node.op().subgraphs().empty()) return {};
    std::vector<std::shared_ptr<const Graph>> graphs;
    for (const auto& g : node.op().subgraphs()) graphs.push_back(std::make_shared<const Graph>(f(*g)));
    return r.to().impl().copy(node, node.op().with_subgraphs(std::move(graphs)), r.at(node.inputs())).value();
  });
}

Graph without_dead(const Graph& graph) {
  return rewrite_subgraphs(live_part(graph), without_dead);
}

}  // namespace weft::compiler
