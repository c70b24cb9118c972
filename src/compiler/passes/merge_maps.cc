#include "compiler/passes/merge_maps.h"

#include <map>
#include <set>

#include "compiler/expressions.h"
#include "compiler/grouping.h"
#include "graph/ops/map.h"

namespace weft::compiler {
namespace {

using Group = Grouping::Group;

bool candidate(const Grouping& groups, const Node& node) {
  return groups.uses().live(node) && node.as<MapOp>() && node.types().size() == 1 &&
         element_count(node.types()[0].shape) > 0;
}

bool fits(const Grouping& groups, int a, int b, std::size_t most_operands) {
  if (a == b) return false;
  const Group all = groups.joined(a, b);
  std::size_t operations = 0;
  for (const Node* n : all) {
    if (!candidate(groups, *n) || n->types()[0].shape != all[0]->types()[0].shape) return false;
    operations += n->as<MapOp>()->expression().nodes().size();
  }
  if (operations > kMostOperations) return false;
  return Grouping::operands(all).size() + groups.results(all).size() <= most_operands && groups.may_join(a, b);
}

std::vector<Value> merged(Graph& to, const Group& group, std::span<const Value> results, const Grouping::At& at) {
  const std::vector<Value> outside = Grouping::operands(group);
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
      args.push_back(it != computed.end()
                         ? it->second
                         : read[static_cast<std::size_t>(std::ranges::find(outside, v) - outside.begin())]);
    }
    computed[n] = splice(e, n->as<MapOp>()->expression(), args)[0];
  }
  for (const Value& v : results) e.output(computed.at(v.node()));
  Node& made = to.impl().add(make_op<MapOp>(std::move(e)), std::move(inputs));
  std::vector<Value> values;
  for (std::size_t i = 0; i < results.size(); ++i) values.push_back(made.value(static_cast<int>(i)));
  return values;
}

}  // namespace

Graph merge_maps(const Graph& graph, const PassContext& context) {
  Grouping groups(graph);
  const auto most = static_cast<std::size_t>(context.target.max_operands);
  for (const auto& node : graph.impl().nodes) {
    if (!candidate(groups, *node)) continue;
    // Partners: makers of an operand, and earlier readers of one.
    std::set<int> partners;
    for (const Value& v : node->inputs()) {
      if (v.shape() != node->types()[0].shape) continue;
      partners.insert(groups.of(*v.node()));
      for (const Node* other : groups.uses().of(v)) {
        if (other->id() < node->id()) partners.insert(groups.of(*other));
      }
    }
    for (const int g : partners) {
      if (fits(groups, g, groups.of(*node), most)) groups.join(g, groups.of(*node));
    }
  }
  return groups.build(merged);
}

}  // namespace weft::compiler
