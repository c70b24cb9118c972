#include "compiler/passes/common_subexpressions.h"

#include <map>

#include "compiler/rewrite.h"
#include "graph/ops/leaf.h"

namespace weft::compiler {

Graph common_subexpressions(const Graph& graph, const PassContext&) {
  Rewriter r(graph);
  std::map<std::string, Value> known;
  return r.run([&](const Node& node) -> Value {
    if (node.as<InputOp>() || node.types().size() != 1) return {};
    std::string key = node.op().identity();
    const std::vector<Value> inputs = r.at(node.inputs());
    for (const Value& v : inputs) key += std::format(" %{}.{}", v.node()->id(), v.index());
    Value& value = known[key];
    if (!value) value = r.to().impl().add(node.shared_op(), inputs).value();
    return value;
  });
}

}  // namespace weft::compiler
