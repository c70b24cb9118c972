#include "compiler/passes/fuse_softmax.h"

#include "compiler/rewrite.h"
#include "compiler/terms.h"
#include "graph/ops/map.h"
#include "graph/ops/reduce.h"

namespace weft::compiler {
namespace {

const ReduceOpNode* reduction(const Node* node, ReduceOp wanted) {
  const auto* op = node ? node->as<ReduceOpNode>() : nullptr;
  return op && op->reduction() == wanted && op->axes().size() == 1 ? op : nullptr;
}

struct Softmax {
  Value x;
  int axis = 0;
};

// numerator / denominator
std::optional<Softmax> match(const Term& numerator, const Term& denominator, const Shape& shape) {
  if (!numerator.is(ScalarOp::exp) || !numerator.arg(0).is(ScalarOp::sub) || !denominator.value()) return std::nullopt;
  const Value x = numerator.arg(0).arg(0).value();
  const Value top = numerator.arg(0).arg(1).value();
  if (!x || !top || x.shape() != shape) return std::nullopt;
  const Node* sum = spread_reduction(denominator.value(), shape);
  const Node* max = spread_reduction(top, shape);
  const auto* sum_op = reduction(sum, ReduceOp::sum);
  const auto* max_op = reduction(max, ReduceOp::max);
  if (!sum_op || !max_op || sum_op->axes() != max_op->axes() || max->inputs()[0] != x) return std::nullopt;
  if (!(Term(sum->inputs()[0]) == numerator)) return std::nullopt;
  return Softmax{x, sum_op->axes()[0]};
}

}  // namespace

Graph fuse_softmax(const Graph& graph, const PassContext&) {
  Rewriter r(graph);
  return r.run([&](const Node& node) -> Value {
    if (!node.as<MapOp>() || node.types().size() != 1 || !is_floating(node.types()[0].dtype)) return {};
    const Term y(const_cast<Node&>(node).value());
    const Shape& shape = node.types()[0].shape;
    std::optional<Softmax> found;
    if (y.is(ScalarOp::div)) {
      found = match(y.arg(0), y.arg(1), shape);
    } else if (y.is(ScalarOp::mul)) {
      for (const int i : {0, 1}) {
        if (!found && y.arg(i).is(ScalarOp::reciprocal)) found = match(y.arg(1 - i), y.arg(i).arg(0), shape);
      }
    }
    if (!found || found->x.dtype() != node.types()[0].dtype) return {};
    return softmax(r.at(found->x), found->axis);
  });
}

}  // namespace weft::compiler
