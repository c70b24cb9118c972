#include <format>

#include "core/in_quotes.h"
#include "graph/graph.h"

namespace weft {
namespace {

// "%3", or "%3.1" for a second result.
std::string reference(const Tensor& v, const Graph& graph) {
  const int id = graph.impl().id(*v.node());
  return v.index() ? std::format("%{}.{}", id, v.index()) : std::format("%{}", id);
}

std::string types_text(const Node& node) {
  std::string s;
  for (std::size_t i = 0; i < node.types().size(); ++i) s += (i ? ", " : " : ") + to_string(node.types()[i]);
  return s;
}

std::string indented(std::string_view lines) {
  std::string s;
  while (!lines.empty()) {
    const auto end = lines.find('\n') + 1;
    s += std::format("    {}", lines.substr(0, end));
    lines.remove_prefix(end);
  }
  return s;
}

}  // namespace

std::string to_string(const Node& node) { return node.op().to_string() + types_text(node); }

std::string to_string(const Node& node, const Graph& graph) {
  std::string s = std::format("%{} = {}", graph.impl().id(node), node.op().to_string());
  for (std::size_t i = 0; i < node.inputs().size(); ++i) s += (i ? ", " : " ") + reference(node.inputs()[i], graph);
  s += types_text(node);
  s += graph.impl().stored_text(node);
  if (const std::string labels = graph.impl().label_text(node); !labels.empty()) s += " " + labels;
  return s;
}

std::string Graph::to_string() const {
  std::string s;
  for (const NodePtr& node : impl().nodes()) {
    s += weft::to_string(*node, *this) + "\n";
    for (const auto& graph : node->op().subgraphs()) s += "  {\n" + indented(graph->to_string()) + "  }\n";
  }
  for (const GraphPort& o : impl().outputs) {
    s += std::format("output {} = {}\n", in_quotes(o.name), reference(o.value, *this));
  }
  return s;
}

}  // namespace weft
