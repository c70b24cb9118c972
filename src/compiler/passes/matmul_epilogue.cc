#include "compiler/passes/matmul_epilogue.h"

#include "compiler/expressions.h"
#include "compiler/rewrite.h"
#include "graph/ops/map.h"
#include "graph/ops/matmul.h"
#include "weft/kernels/matmul.h"

namespace weft::compiler {
namespace {

std::int64_t work(Value product) { return element_count(product.shape()) * input_of(product).shape()[-1]; }

}  // namespace

Graph matmul_epilogue(const Graph& graph, const PassContext& context) {
  Rewriter r(graph);
  return r.run([&](const Node& node) -> Value {
    const auto* map = node.as<MapOp>();
    if (!map || node.types().size() != 1) return {};
    // Of several products that meet here, the largest takes the work.
    Value best;
    for (const Value& v : node.inputs()) {
      const auto* op = op_of<MatmulOp>(v);
      if (!op || op->epilogue() || v.dtype() == DType::c64 || v.shape() != node.types()[0].shape) continue;
      if (!r.uses().only(v, node)) continue;
      if (!best || work(v) > work(best)) best = v;
    }
    if (!best) return {};

    std::vector<Value> operands{r.at(input_of(best, 0)), r.at(input_of(best, 1))};
    Expression e;
    const int product = e.input(kernels::product_type(operands[0].dtype(), operands[1].dtype()));
    const int value = e.cast(product, best.dtype());
    std::vector<int> args;
    std::map<std::pair<Node*, int>, int> numbers;
    for (const Value& v : node.inputs()) {
      if (v == best) {
        args.push_back(value);
        continue;
      }
      const auto [it, first] = numbers.try_emplace({v.node(), v.index()}, 0);
      if (first) {
        it->second = e.input(v.dtype());
        operands.push_back(r.at(v));
      }
      args.push_back(it->second);
    }
    if (static_cast<int>(operands.size()) + 1 > context.target.max_operands) return {};
    e.output(splice(e, map->expression(), args)[0]);
    return apply(make_op<MatmulOp>(std::move(e)), std::move(operands));
  });
}

}  // namespace weft::compiler
