#include "compiler/passes/merge_gates.h"

#include "compiler/joined_products.h"
#include "graph/clone.h"

namespace weft::compiler {
namespace {

// The products of one left operand among a node's operands, each once; empty unless there are at least two.
std::vector<Tensor> gates(const Node& node, const Uses& uses) {
  std::vector<Tensor> found;
  for (const Tensor& v : node.inputs()) {
    const Node& product = *v.node();
    if (product.op().fusing().fusion() || !uses.only(v, node) || contains(found, v)) continue;
    const std::size_t own = joinable_operands(product);
    if (own == 0 || own != product.inputs().size()) continue;
    const auto alike = [&](const Tensor& other) {
      const Node& p = *other.node();
      if (!same(input_of(v), input_of(other)) || v.dtype() != other.dtype()) return false;
      if (product.op().identity() != p.op().identity() || product.inputs().size() != p.inputs().size()) return false;
      for (std::size_t i = 1; i < p.inputs().size(); ++i) {
        if (product.inputs()[i].dtype() != p.inputs()[i].dtype()) return false;
      }
      return true;
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
    std::vector<const Node*> members;
    for (const Tensor& v : found) members.push_back(v.node());
    const Tensor all = joined(r, members);
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
