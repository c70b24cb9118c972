#include "compiler/passes/fuse_reductions.h"

#include "compiler/expressions.h"
#include "compiler/rewrite.h"
#include "graph/ops/map.h"
#include "graph/ops/reduce.h"

namespace weft::compiler {
namespace {

// The work on x goes into the reduction.
Value with_work_before(const Rewriter& r, const Node& node, const ReduceOpNode& op, std::size_t limit) {
  if (op.before() || op.after()) return {};
  const Value x = node.inputs()[0];
  const Value now = r.at(x);
  const auto* map = op_of<MapOp>(now);
  if (!map || now.node()->types().size() != 1 || now.node()->inputs().size() > limit) return {};
  // Somebody else's value is read from memory, unless it costs next to nothing and is read once to be made.
  if (!r.uses().only(x, node)) {
    std::size_t reads = 0;
    for (const Value& v : now.node()->inputs()) reads += v.shape() == x.shape();
    if (reads > 1 || r.uses().is_output(x) || !is_cheap(map->expression())) return {};
  }
  return apply(op.with_work(map->expression(), {}), now.node()->inputs());
}

// The work on the result goes into the reduction that made it.
Value with_work_after(const Rewriter& r, const Node& node, const MapOp& map, std::size_t limit) {
  if (node.types().size() != 1) return {};
  for (const Value& v : node.inputs()) {
    const Value now = r.at(v);
    const auto* op = op_of<ReduceOpNode>(now);
    // `after` takes an f32.
    if (!op || op->after() || !is_floating(v.dtype()) || v.dtype() == DType::f64) continue;
    if (v.shape() != node.types()[0].shape || !r.uses().only(v, node)) continue;

    std::vector<Value> operands = now.node()->inputs();
    Expression after;
    const int result = after.cast(after.input(DType::f32), v.dtype());
    std::vector<Value> others;
    std::vector<int> args;
    for (const Value& other : node.inputs()) {
      if (other == v) {
        args.push_back(result);
        continue;
      }
      const auto at = std::ranges::find(others, other);
      if (at == others.end()) {
        args.push_back(after.input(other.dtype()));
        others.push_back(other);
        operands.push_back(r.at(other));
      } else {
        // Inputs are nodes 0 and, behind the cast if there is one, the others in order.
        const auto& nodes = after.nodes();
        const int wanted = 1 + static_cast<int>(at - others.begin());
        args.push_back(static_cast<int>(std::ranges::find(nodes, wanted, &Expression::Node::input) - nodes.begin()));
      }
    }
    if (operands.size() > limit) continue;
    after.output(splice(after, map.expression(), args)[0]);
    return apply(op->with_work(op->before(), std::move(after)), std::move(operands));
  }
  return {};
}

}  // namespace

Graph fuse_reductions(const Graph& graph, const PassContext& context) {
  Rewriter r(graph);
  const auto limit = static_cast<std::size_t>(context.target.max_operands) - 1;  // and the result
  return r.run([&](const Node& node) -> Value {
    if (const auto* op = node.as<ReduceOpNode>()) return with_work_before(r, node, *op, limit);
    if (const auto* map = node.as<MapOp>()) return with_work_after(r, node, *map, limit);
    return {};
  });
}

}  // namespace weft::compiler
