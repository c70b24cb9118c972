#include "compiler/passes/common_subexpressions.h"

#include <algorithm>
#include <format>
#include <unordered_map>
#include <vector>

#include "compiler/rewrite.h"

namespace weft::compiler {
namespace {

// True if the node is one operation on two operands that commutes.
bool commutes(const Node& node) {
  using enum ScalarOp;
  constexpr ScalarOp kOps[] = {add, mul, ScalarOp::min, ScalarOp::max, ScalarOp::gcd,
                               ScalarOp::lcm, equal, not_equal, logical_and, logical_or,
                               logical_xor, bitwise_and, bitwise_or, bitwise_xor};
  const Expression* e = node.op().elementwise();
  if (!e || e->input_count() != 2 || e->nodes().size() != 3) return false;
  const Expression::Node& last = e->nodes()[2];
  return last.args[0] != last.args[1] && e->outputs() == std::vector{2} &&
         std::ranges::find(kOps, last.op) != std::end(kOps);
}

}  // namespace

Graph common_subexpressions(const Graph& graph, const PassContext&) {
  Rewriter r(graph);
  std::unordered_map<std::string, Tensor> known;
  NodeIds ids;  // of the new graph's nodes, in the order in which they were seen
  int count = 0;
  return r.run([&](const Node& node) -> Tensor {
    if (node.op().input()) return {};
    const std::vector<Tensor> inputs = r.at(node.inputs());
    std::vector<std::pair<int, int>> places;
    for (const Tensor& v : inputs) {
      if (ids.insert(*v.node(), count)) ++count;
      places.emplace_back(ids.find(*v.node()), v.index());
    }
    if (commutes(node)) std::ranges::sort(places);
    std::string key = node.op().identity();
    for (const auto& [id, index] : places) key += std::format(" %{}.{}", id, index);
    Tensor& value = known[key];
    if (!value.defined()) value = r.copy(node);
    return value;
  });
}

}  // namespace weft::compiler
