#include "compiler/passes/merge_maps.h"

#include <set>

#include "compiler/expressions.h"
#include "compiler/fused_group.h"
#include "ops/elementwise.h"

namespace weft::compiler {
namespace {

using Group = Grouping::Group;

bool candidate(const Node& node) {
  return node.op().elementwise() && node.types().size() == 1 && element_count(node.types()[0].shape) > 0;
}

bool fits(const Grouping& groups, int a, int b, std::size_t most_operands) {
  if (a == b) return false;
  const Group all = groups.joined(a, b);
  for (const Node* n : all) {
    if (!candidate(*n) || n->types()[0].shape != all[0]->types()[0].shape) return false;
  }
  if (operation_count(all) > kMaxOperations) return false;
  return Grouping::operands(all).size() + groups.results(all).size() <= most_operands && groups.may_join(a, b);
}

std::vector<Tensor> merged(const Group& group, std::span<const Tensor> results, const Grouping::At& at) {
  Region region;
  region.add(group);
  for (const Tensor& v : results) region.expression.output(region.at(v));
  std::vector<Tensor> inputs;
  for (const Tensor& v : region.inputs) inputs.push_back(at(v));
  const Tensor made = apply(make_op<ElementwiseOp>(std::move(region.expression)), std::move(inputs));
  std::vector<Tensor> values;
  for (std::size_t i = 0; i < results.size(); ++i) values.push_back(result(made, static_cast<int>(i)));
  return values;
}

}  // namespace

Graph merge_maps(const Graph& graph, const PassContext& context) {
  Grouping groups(graph);
  const auto most = static_cast<std::size_t>(context.target.max_operands);
  for (const NodePtr& node : graph.impl().nodes()) {
    if (!candidate(*node)) continue;
    // Candidates: producers of an operand, and earlier readers of one.
    std::set<int> partners;
    for (const Tensor& v : node->inputs()) {
      if (v.shape() != node->types()[0].shape) continue;
      partners.insert(groups.of(*v.node()));
      for (const Node* other : groups.users_near(v, *node)) {
        if (groups.id(*other) < groups.id(*node)) partners.insert(groups.of(*other));
      }
    }
    for (const int g : partners) {
      if (fits(groups, g, groups.of(*node), most)) groups.join(g, groups.of(*node));
    }
  }
  return groups.build(merged);
}

}  // namespace weft::compiler
