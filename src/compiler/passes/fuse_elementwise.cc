#include "compiler/passes/fuse_elementwise.h"

#include "compiler/expressions.h"
#include "compiler/rewrite.h"

namespace weft::compiler {
namespace {

// True if all users of a Map's result should compute it themselves: it is cheap, is then not needed in memory, and
// reading its operands instead costs no more than writing and reading it.
bool worth_repeating(const Rewriter& r, const Tensor& v) {
  const Node& producer = *r.at(v).node();
  if (!is_cheap(*producer.op().elementwise()) || r.uses().is_output(v)) return false;
  const auto& users = r.uses().of(v);
  if (!std::ranges::all_of(users, [](const Node* n) { return n->op().elementwise() != nullptr; })) return false;
  std::size_t reads = 0;
  for (const Tensor& operand : producer.inputs()) reads += operand.shape() == v.shape();
  return users.size() * reads <= reads + 1 + users.size();
}

}  // namespace

Graph fuse_elementwise(const Graph& graph, const PassContext& context) {
  Rewriter r(graph);
  const auto limit = static_cast<std::size_t>(context.target.max_operands) - 1;  // one is for the result
  return r.run([&](const Node& node) -> Tensor {
    const Expression* own = node.op().elementwise();
    if (!own || node.types().size() != 1) return {};
    const Shape& shape = node.types()[0].shape;

    // The producers that are fused into this node. Their operands are final, because producers come first.
    const auto& inputs = node.inputs();
    std::vector<const Expression*> inner(inputs.size(), nullptr);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Tensor now = r.at(inputs[i]);
      const Expression* producer = now.node()->op().elementwise();
      if (!producer || now.node()->types().size() != 1) continue;
      if (now.shape() != shape && !is_cheap(*producer)) continue;
      if (!r.uses().only(inputs[i], node) && !worth_repeating(r, inputs[i])) continue;
      inner[i] = producer;
    }
    const auto all_operands = [&] {
      std::vector<Tensor> all;  // each once
      const auto add = [&](const Tensor& v) { add_once(all, v); };
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const Tensor now = r.at(inputs[i]);
        if (inner[i]) std::ranges::for_each(now.node()->inputs(), add);
        else add(now);
      }
      return all;
    };
    // With too many operands, the producers that bring most of them are not fused.
    while (all_operands().size() > limit) {
      int widest = -1;
      std::size_t most = 1;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (!inner[i] || r.at(inputs[i]).node()->inputs().size() < most) continue;
        most = r.at(inputs[i]).node()->inputs().size();
        widest = static_cast<int>(i);
      }
      if (widest < 0) return {};
      inner[static_cast<std::size_t>(widest)] = nullptr;
    }
    const bool fused = std::ranges::any_of(inner, [](const Expression* e) { return e != nullptr; });
    if (!fused) return {};

    Region region;
    std::vector<int> args;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Tensor now = r.at(inputs[i]);
      args.push_back(inner[i] ? region.add(*inner[i], now.node()->inputs())[0] : region.at(now));
    }
    const Tensor made = region.node(*own, args);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inner[i]) r.add_labels(*made.node(), *r.at(inputs[i]).node());
    }
    return made;
  });
}

}  // namespace weft::compiler
