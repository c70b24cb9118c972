#include "compiler/passes/merge_maps.h"

#include <set>

#include "compiler/expressions.h"
#include "compiler/fused_group.h"
#include "graph/ops/elementwise.h"

namespace weft::compiler {
namespace {

using Group = Grouping::Group;

bool candidate(const Grouping& groups, const Node& node) {
  return groups.uses().live(node) && node.op().elementwise() && node.types().size() == 1 &&
         element_count(node.types()[0].shape) > 0;
}

bool fits(const Grouping& groups, int a, int b, std::size_t most_operands) {
  if (a == b) return false;
  const Group all = groups.joined(a, b);
  for (const Node* n : all) {
    if (!candidate(groups, *n) || n->types()[0].shape != all[0]->types()[0].shape) return false;
  }
  if (operation_count(all) > kMaxOperations) return false;
  return Grouping::operands(all).size() + groups.results(all).size() <= most_operands && groups.may_join(a, b);
}

std::vector<Value> merged(Graph& to, const Group& group, std::span<const Value> results, const Grouping::At& at) {
  Region region;
  region.add(group);
  for (const Value& v : results) region.expression.output(region.at(v));
  std::vector<Value> inputs;
  for (const Value& v : region.inputs) inputs.push_back(at(v));
  const Node& made = to.impl().add(make_op<ElementwiseOp>(std::move(region.expression)), std::move(inputs));
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
    // Candidates: producers of an operand, and earlier readers of one.
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
