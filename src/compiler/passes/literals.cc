#include "compiler/passes/literals.h"

#include "compiler/expressions.h"
#include "compiler/rewrite.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/leaf.h"

namespace weft::compiler {

Graph literals(const Graph& graph, const PassContext&) {
  Rewriter r(graph);
  return r.run([&](const Node& node) -> Value {
    const Expression* own = node.op().elementwise();
    if (!own || node.types().size() != 1) return {};
    // The remaining operands must still broadcast to the result's shape, so at least one is kept.
    std::vector<std::optional<double>> numbers;
    Shape rest;
    bool any = false;
    bool all = true;
    for (const Value& v : node.inputs()) {
      const ConstantOp* constant = constant_op(v);
      numbers.push_back(constant ? constant->scalar() : std::nullopt);
      if (numbers.back()) any = true;
      else all = false, rest = broadcast(rest, v.shape());
    }
    if (!any || all || rest != node.types()[0].shape) return {};
    Expression e;
    std::vector<int> args;
    std::vector<Value> operands;
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      const DType type = node.inputs()[i].dtype();
      args.push_back(numbers[i] ? e.constant(*numbers[i], type) : e.input(type));
      if (!numbers[i]) operands.push_back(r.at(node.inputs()[i]));
    }
    e.output(splice(e, *own, args)[0]);
    return apply(make_op<ElementwiseOp>(std::move(e)), std::move(operands));
  });
}

}  // namespace weft::compiler
