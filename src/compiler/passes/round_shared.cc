#include "compiler/passes/round_shared.h"

#include <algorithm>

#include "compiler/rewrite.h"
#include "kernels/elementwise/scalar_ops.h"
#include "ops/elementwise.h"

namespace weft::compiler {
namespace {

// True if the value is that of a function which has a shorter form for narrow floats. Its error is small beside theirs,
// but not beside the distance from a pole of another function: cos(0) must be 1 for atanh.
bool is_of_short_form(const Tensor& v) {
  const Expression* e = v.node()->op().elementwise();
  if (!e) return false;
  return !kernels::info(e->nodes()[e->outputs()[static_cast<std::size_t>(v.index())]].op).narrow.empty();
}

// True if a small change of an operand may change the result a lot, or if the result has digits that the operand's type
// has not.
bool is_discontinuous(const Expression::Node& node, DType operand, bool of_short_form) {
  const kernels::ScalarOpInfo& row = kernels::info(node.op);
  if (of_short_form && row.computes() && row.function()) return true;
  return row.facts.discontinuous || (node.type == DType::boolean && operand != DType::boolean);
}

// True if `reader` computes a discontinuous function of `v`.
bool jumps_at(const Node& reader, const Tensor& v) {
  const Expression* e = reader.op().elementwise();
  if (!e) return std::ranges::any_of(reader.types(), [](const TensorType& t) { return is_integer(t.dtype); });
  const bool of_short_form = is_of_short_form(v);
  for (const Expression::Node& node : e->nodes()) {
    for (const int a : node.args) {
      if (a < 0 || e->nodes()[a].op != ScalarOp::input) continue;
      const bool is_v = same(reader.inputs()[static_cast<std::size_t>(e->nodes()[a].input)], v);
      if (is_v && is_discontinuous(node, e->nodes()[a].type, of_short_form)) return true;
    }
  }
  return false;
}

bool is_rounded_for_readers(const Uses& uses, Tensor v) {
  while (true) {
    const auto& readers = uses.of(v);
    if (uses.is_output(v) || readers.size() != 1) return uses.is_output(v) ? !readers.empty() : readers.size() > 1;
    const Node& reader = *readers[0];
    if (!reader.op().is_view()) return jumps_at(reader, v);
    if (reader.types().size() != 1) return true;
    v = reader.value();
  }
}

}  // namespace

Graph round_shared(const Graph& graph, const PassContext&) {
  Rewriter r(graph);
  return r.run([&](const Node& node) -> Tensor {
    const Expression* own = node.op().elementwise();
    if (!own || node.types().size() != 1) return {};
    const DType type = node.types()[0].dtype;
    if (!is_floating(type) || bits(type) >= 32 || !is_rounded_for_readers(r.uses(), node.value())) return {};
    Expression rounded;
    std::vector<int> operands;
    for (const Tensor& v : node.inputs()) operands.push_back(rounded.input(v.dtype()));
    const int result = splice(rounded, *own, operands)[0];
    if (rounded.round(result) == result) return {};
    rounded.output(static_cast<int>(rounded.nodes().size()) - 1);
    return apply(make_op<ElementwiseOp>(std::move(rounded)), r.at(node.inputs()));
  });
}

}  // namespace weft::compiler
