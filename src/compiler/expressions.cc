#include "compiler/expressions.h"

#include <algorithm>

#include "kernels/elementwise/scalar_ops.h"
#include "ops/elementwise.h"

namespace weft::compiler {
namespace {

constexpr int kCheapOperations = 4;

}  // namespace

bool is_cheap(const Expression& expression) {
  int operations = 0;
  for (const Expression::Node& node : expression.nodes()) {
    if (kernels::info(node.op).function()) return false;
    if (node.op != ScalarOp::input && node.op != ScalarOp::constant) ++operations;
  }
  return operations <= kCheapOperations;
}

int Region::at(const Tensor& v) {
  const auto known = nodes_.find({v.node(), v.index()});
  if (known != nodes_.end()) return known->second;
  const int node = add_input(v);
  set(v, node);
  return node;
}

int Region::add_input(const Tensor& v) {
  inputs.push_back(v);
  return expression.input(v.dtype());
}

std::vector<int> Region::at(std::span<const Tensor> values) {
  std::vector<int> nodes;
  for (const Tensor& v : values) nodes.push_back(at(v));
  return nodes;
}

std::vector<int> Region::add(const Expression& from, std::span<const Tensor> operands) {
  return splice(from, at(operands));
}

Tensor Region::node(const Expression& from, std::span<const int> args) {
  expression.output(splice(from, args)[0]);
  return apply(make_op<ElementwiseOp>(std::move(expression)), std::move(inputs));
}

void Region::add(std::span<const Node* const> nodes) {
  for (const Node* n : nodes) {
    for (const Tensor& v : n->inputs()) {
      if (std::ranges::find(nodes, v.node()) == nodes.end()) at(v);
    }
  }
  for (const Node* n : nodes) {
    const std::vector<int> results = add(*n->op().elementwise(), n->inputs());
    for (std::size_t k = 0; k < results.size(); ++k) set(n->value(static_cast<int>(k)), results[k]);
  }
}

}  // namespace weft::compiler
