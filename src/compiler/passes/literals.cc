#include "compiler/passes/literals.h"

#include "compiler/expressions.h"
#include "compiler/rewrite.h"
#include "graph/leaf.h"

namespace weft::compiler {

Graph literals(const Graph& graph, const PassContext&) {
  Rewriter r(graph);
  return r.run([&](const Node& node) -> Tensor {
    const Expression* own = node.op().elementwise();
    if (!own || node.types().size() != 1) return {};
    // The remaining operands must still broadcast to the result's shape, so at least one is kept.
    std::vector<std::optional<double>> numbers;
    Shape rest;
    bool any = false;
    bool all = true;
    for (const Tensor& v : node.inputs()) {
      const ConstantOp* constant = constant_op(v);
      numbers.push_back(constant ? constant->scalar() : std::nullopt);
      if (numbers.back())
        any = true;
      else
        all = false, rest = broadcast(rest, v.shape());
    }
    if (!any || all || rest != node.types()[0].shape) return {};
    Region region;
    std::vector<int> args;
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      const Tensor& v = node.inputs()[i];
      args.push_back(numbers[i] ? region.expression.constant(*numbers[i], v.dtype()) : region.add_input(r.at(v)));
    }
    return region.node(*own, args);
  });
}

}  // namespace weft::compiler
