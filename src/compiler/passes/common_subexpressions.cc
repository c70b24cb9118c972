#include "compiler/passes/common_subexpressions.h"

#include <algorithm>
#include <format>
#include <map>
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
  std::map<std::string, Value> known;
  return r.run([&](const Node& node) -> Value {
    if (node.op().input()) return {};
    const std::vector<Value> inputs = r.at(node.inputs());
    std::vector<std::pair<int, int>> places;
    for (const Value& v : inputs) places.emplace_back(v.node()->id(), v.index());
    if (commutes(node)) std::ranges::sort(places);
    std::string key = node.op().identity();
    for (const auto& [id, index] : places) key += std::format(" %{}.{}", id, index);
    Value& value = known[key];
    if (!value) value = r.to().impl().add(node.shared_op(), inputs).value(0);
    return value;
  });
}

}  // namespace weft::compiler
