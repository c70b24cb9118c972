#include "graph/fusion.h"

#include <algorithm>


namespace weft {
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
    const auto same = std::ranges::find(to.nodes(), node);
    made.push_back(same != to.nodes().end() ? static_cast<int>(same - to.nodes().begin()) : to.append(node));
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
