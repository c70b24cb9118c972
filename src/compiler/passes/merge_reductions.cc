#include "compiler/passes/merge_reductions.h"

#include <map>
#include <set>

#include "compiler/expressions.h"
#include "compiler/grouping.h"
#include "graph/ops/map.h"
#include "graph/ops/reduce.h"
#include "kernels/reduce/reduction.h"

namespace weft::compiler {
namespace {

using Group = Grouping::Group;

const Node& reduction_of(const Group& group) {
  return **std::ranges::find_if(group, [](const Node* n) { return n->as<ReduceOpNode>() != nullptr; });
}

// Of the operands, those that come before the reduction.
std::span<const Value> inputs_of(const Node& reduction) {
  return std::span(reduction.inputs()).first(reduction.as<ReduceOpNode>()->input_count());
}

Shape reduced_shape(const Node& reduction) {
  Shape shape;
  for (const Value& v : inputs_of(reduction)) shape = broadcast(shape, v.shape());
  return shape;
}

bool takes_more_results(const Node& node) {
  const auto* op = node.as<ReduceOpNode>();
  return op && node.types().size() == 1 && !kernels::is_moment(op->reduction()) &&
         element_count(reduced_shape(node)) > 0;
}

// What the group's nodes read from outside before the reduction, each once.
std::vector<Value> operands_before(const Group& group) {
  std::vector<Value> list;
  for (const Node* n : group) {
    const auto inputs = n->as<ReduceOpNode>() ? inputs_of(*n) : std::span<const Value>(n->inputs());
    for (const Value& v : inputs) {
      if (!Grouping::member(group, *v.node()) && std::ranges::find(list, v) == list.end()) list.push_back(v);
    }
  }
  return list;
}

bool fits(const Grouping& groups, const Node& map, const Node& reduction, std::size_t most_operands) {
  const int from = groups.of(map), into = groups.of(reduction);
  if (from == into || groups.at(from).size() != 1) return false;
  const Group all = groups.joined(from, into);
  const auto* op = reduction.as<ReduceOpNode>();
  const Shape shape = reduced_shape(reduction);
  std::size_t operations = op->before() ? op->before()->nodes().size() : 0;
  for (const Node* n : all) {
    if (n == &reduction) continue;
    const auto reads = [&](const Value& v) { return v.node() == &reduction; };
    if (n->types()[0].shape != shape || std::ranges::any_of(n->inputs(), reads)) return false;
    operations += n->as<MapOp>()->expression().nodes().size();
  }
  if (operations > kMostOperations) return false;
  // What is stored beside cannot be read after the reduction.
  const auto after = std::span(reduction.inputs()).subspan(op->input_count());
  for (const Value& v : after) {
    if (Grouping::member(all, *v.node())) return false;
  }
  const std::vector<Value> results = groups.results(all);
  const bool narrow = std::ranges::any_of(results, [&](const Value& v) {
    return v.node() != &reduction && bits(v.dtype()) < 32;
  });
  if (narrow && !kernels::reduces_in_fours(shape, op->axes())) return false;
  const std::size_t bound = operands_before(all).size() + after.size() + results.size();
  return bound <= most_operands && groups.may_join(from, into);
}

std::vector<Value> merged(Graph& to, const Group& group, std::span<const Value> results, const Grouping::At& at) {
  const Node& reduction = reduction_of(group);
  const auto* op = reduction.as<ReduceOpNode>();
  Expression e;
  std::vector<Value> operands;
  std::map<std::pair<const Node*, int>, int> computed;  // nodes of e
  for (const Value& v : operands_before(group)) {
    computed[{v.node(), v.index()}] = e.input(v.dtype());
    operands.push_back(at(v));
  }
  const auto args_of = [&](std::span<const Value> inputs) {
    std::vector<int> args;
    for (const Value& v : inputs) args.push_back(computed.at({v.node(), v.index()}));
    return args;
  };
  for (const Node* n : group) {
    if (n == &reduction) continue;
    const std::vector<int> made = splice(e, n->as<MapOp>()->expression(), args_of(n->inputs()));
    for (std::size_t k = 0; k < made.size(); ++k) computed[{n, static_cast<int>(k)}] = made[k];
  }
  const std::vector<int> args = args_of(inputs_of(reduction));
  e.output(op->before() ? splice(e, *op->before(), args)[0] : args[0]);
  std::vector<Value> stored;
  for (const Value& v : results) {
    if (v.node() == &reduction) continue;
    e.output(computed.at({v.node(), v.index()}));
    stored.push_back(v);
  }
  for (const Value& v : std::span(reduction.inputs()).subspan(op->input_count())) operands.push_back(at(v));
  Node& made = to.impl().add(op->with_work(std::move(e), op->after()), std::move(operands));
  std::vector<Value> values;
  for (const Value& v : results) {
    const auto k = std::ranges::find(stored, v) - stored.begin();
    values.push_back(made.value(v.node() == &reduction ? 0 : static_cast<int>(k) + 1));
  }
  return values;
}

}  // namespace

Graph merge_reductions(const Graph& graph, const PassContext& context) {
  if (!context.target.capabilities()) return without_dead(graph);
  Grouping groups(graph);
  const auto most = static_cast<std::size_t>(context.target.max_operands);
  for (const auto& node : graph.impl().nodes) {
    if (!groups.uses().live(*node) || !takes_more_results(*node)) continue;
    // Partners: makers of what is reduced, and others that read as much of it.
    const auto earlier = [](const Node* a, const Node* b) { return a->id() < b->id(); };
    std::set<const Node*, decltype(earlier)> partners;
    for (const Value& v : inputs_of(*node)) {
      if (v.shape() != reduced_shape(*node)) continue;
      partners.insert(v.node());
      for (const Node* other : groups.uses().of(v)) partners.insert(other);
    }
    for (const Node* other : partners) {
      if (other->as<MapOp>() && fits(groups, *other, *node, most)) groups.join(groups.of(*other), groups.of(*node));
    }
  }
  return groups.build(merged);
}

}  // namespace weft::compiler
