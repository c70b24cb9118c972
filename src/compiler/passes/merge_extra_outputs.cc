#include "compiler/passes/merge_extra_outputs.h"

#include <set>

#include "compiler/fused_group.h"

namespace weft::compiler {
namespace {

using Group = Grouping::Group;

std::span<const Tensor> inputs_of(const Node& anchor) {
  return split_operands(anchor.op().fusing().fusion(), std::span(anchor.inputs())).prologue;
}

bool fits(const Grouping& groups, const Node& map, const Node& anchor, const FusionSpec& spec, const Shape& shape,
          std::size_t most_operands) {
  const int from = groups.of(map), into = groups.of(anchor);
  if (from == into || groups.at(from).size() != 1) return false;
  const Group all = groups.joined(from, into);
  const FusedGroup fused(all);
  if (!fused.epilogue.empty() || !fused.is_sound(all)) return false;
  if (std::ranges::any_of(fused.prologue, [&](const Node* n) { return n->types()[0].shape != shape; })) return false;
  const Expression* own = anchor.op().fusing().fusion().prologue;
  if (operation_count(fused.prologue) + (own ? own->nodes().size() : 0) > kMaxOperations) return false;
  const std::vector<Tensor> results = groups.results(all);
  const bool narrow =
      std::ranges::any_of(results, [&](const Tensor& v) { return v.node() != &anchor && bits(v.dtype()) < 32; });
  if (narrow && !spec.narrow_extra_outputs) return false;
  const std::size_t bound = fused.prologue_operands().size() + fused.own_operands() + fused.epilogue_operands().size() +
                            results.size() + static_cast<std::size_t>(spec.bindings);
  return bound <= most_operands && groups.may_join(from, into);
}

}  // namespace

Graph merge_extra_outputs(const Graph& graph, const PassContext& context) {
  Grouping groups(graph);
  const auto most = static_cast<std::size_t>(context.target.max_operands);
  for (const NodePtr& node : graph.impl().nodes()) {
    if (node->op().fusing().fusion_stage() == FusionStage::none) continue;
    const FusionSpec spec =
        node->op().fusing().fusion_spec(context.target.capabilities(), node->input_types(), node->types());
    if (!spec.extra_outputs) continue;
    Shape shape;
    for (const Tensor& v : inputs_of(*node)) shape = broadcast(shape, v.shape());
    // Candidates: producers of the op's operands, and other readers of these.
    const auto earlier = [&](const Node* a, const Node* b) { return groups.id(*a) < groups.id(*b); };
    std::set<const Node*, decltype(earlier)> partners(earlier);
    for (const Tensor& v : inputs_of(*node)) {
      if (v.shape() != shape) continue;
      partners.insert(v.node());
      for (const Node* other : groups.users_near(v, *node)) partners.insert(other);
    }
    for (const Node* other : partners) {
      if (!other->op().elementwise() || !fits(groups, *other, *node, spec, shape, most)) continue;
      groups.join(groups.of(*other), groups.of(*node));
    }
  }
  return groups.build([](const Group& group, std::span<const Tensor> results, const Grouping::At& at) {
    return FusedGroup(group).make(DType::f32, results, at);
  });
}

}  // namespace weft::compiler
