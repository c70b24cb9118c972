#include "graph/fusion.h"

#include <algorithm>

#include "weft/error.h"

namespace weft {
namespace {

int add(Expression& to, const Expression::Node& node) {
  const auto& nodes = to.nodes();
  if (const auto it = std::ranges::find(nodes, node); it != nodes.end()) return static_cast<int>(it - nodes.begin());
  const auto& a = node.args;
  if (node.op == ScalarOp::constant) return to.constant_bits(node.bits, node.type);
  if (node.op == ScalarOp::cast) return to.cast(a[0], node.type);
  switch (arity(node.op)) {
    case 1:
      return to.apply(node.op, {a[0]});
    case 2:
      return to.apply(node.op, {a[0], a[1]});
    case 3:
      return to.apply(node.op, {a[0], a[1], a[2]});
    default:
      throw InternalError("splice: {} has no operands", name(node.op));
  }
}

}  // namespace

std::vector<int> splice(Expression& to, const Expression& from, std::span<const int> args) {
  std::vector<int> made;
  for (Expression::Node node : from.nodes()) {
    if (node.op == ScalarOp::input) {
      made.push_back(args[node.input]);
      continue;
    }
    for (int& a : node.args) {
      if (a >= 0) a = made[a];
    }
    made.push_back(add(to, node));
  }
  std::vector<int> outputs;
  for (const int o : from.outputs()) outputs.push_back(made[o]);
  return outputs;
}

std::vector<int> converted_inputs(Expression& e, std::span<const TensorType> to, std::span<const TensorType> from) {
  std::vector<int> nodes;
  for (const TensorType& t : to) nodes.push_back(e.input(t.dtype));
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i] = e.cast(nodes[i], from[i].dtype);
  return nodes;
}

}  // namespace weft
