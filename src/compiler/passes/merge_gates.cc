#include "compiler/passes/merge_gates.h"

#include "compiler/rewrite.h"
#include "transform/clone.h"

namespace weft::compiler {
namespace {

// The products of one left operand among a node's operands, each once; empty unless there are at least two.
std::vector<Tensor> gates(const Node& node, const Uses& uses) {
  std::vector<Tensor> found;
  for (const Tensor& v : node.inputs()) {
    const Op& op = v.node()->op();
    if (!op.joins_columns() || op.fusion() || !uses.only(v, node) || contains(found, v)) continue;
    const Tensor b = input_of(v, 1);
    if (b.rank() != 2 || !constant_op(root_of(b))) continue;
    const auto alike = [&](const Tensor& other) {
      return same(input_of(v), input_of(other)) && b.dtype() == input_of(other, 1).dtype() &&
             v.dtype() == other.dtype();
    };
    if (!found.empty() && !alike(found[0])) continue;
    found.push_back(v);
  }
  if (found.size() < 2) found.clear();
  return found;
}

}  // namespace

Graph merge_gates(const Graph& graph, const PassContext& context) {
  // Weights are not joined if that would happen in each run.
  if (!context.options.constant_folding) return graph;
  Rewriter r(graph);
  return r.run([&](const Node& node) -> Tensor {
    if (!node.op().elementwise() || node.types().size() != 1) return {};
    const std::vector<Tensor> found = gates(node, r.uses());
    if (found.empty()) return {};
    std::vector<Tensor> weights;
    for (const Tensor& v : found) weights.push_back(r.constant_at(input_of(v, 1)).T());
    const Tensor all = clone(*found[0].node(), {r.at(input_of(found[0])), concat(weights, 0).T()});
    for (const Tensor& v : found) r.add_labels(*all.node(), *v.node());
    std::vector<Tensor> operands = r.at(node.inputs());
    std::int64_t at = 0;
    for (const Tensor& v : found) {
      const std::int64_t n = v.shape()[-1];
      const Tensor part = slice(all, -1, at, at + n);
      for (std::size_t i = 0; i < operands.size(); ++i) {
        if (same(node.inputs()[i], v)) operands[i] = part;
      }
      at += n;
    }
    return clone(node, std::move(operands));
  });
}

}  // namespace weft::compiler
