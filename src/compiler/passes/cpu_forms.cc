#include "compiler/passes/cpu_forms.h"

#include "compiler/rewrite.h"

namespace weft::compiler {

Graph cpu_forms(const Graph& graph, const PassContext& context) {
  if (context.target.capabilities()) return graph;
  Rewriter r(graph);
  return r.run([&](const Node& node) -> Tensor {
    OpPtr form = node.op().cpu_form();
    if (!form) return {};
    return r.copy(node, std::move(form), r.at(node.inputs()));
  });
}

}  // namespace weft::compiler
