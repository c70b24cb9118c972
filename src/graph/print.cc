#include "core/in_quotes.h"
#include "graph/graph.h"

namespace weft {
namespace {

// "%3", or "%3.1" for a second result.
std::string reference(Value v) {
  return v.index() ? std::format("%{}.{}", v.node()->id(), v.index()) : std::format("%{}", v.node()->id());
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

// A label of Graphviz's.
std::string escaped(std::string_view text) {
  std::string s;
  for (const char c : text) {
    if (c == '"' || c == '\\') s += '\\';
    s += c;
  }
  return s;
}

// Colours by what a node costs: nothing, memory, arithmetic.
std::string_view colour(const Node& node) {
  if (node.op().input()) return "#cfe2f3";
  if (node.op().constant()) return "#eeeeee";
  if (node.op().is_view()) return "#ffffff";
  const std::string_view name = node.op().name();
  return name == "matmul" || name == "attention" ? "#f9cb9c" : "#d9ead3";
}

}  // namespace

std::string to_string(const Node& node) {
  std::string s = std::format("%{} = {}", node.id(), node.op().to_string());
  for (std::size_t i = 0; i < node.inputs().size(); ++i) s += (i ? ", " : " ") + reference(node.inputs()[i]);
  for (std::size_t i = 0; i < node.types().size(); ++i) s += (i ? ", " : " : ") + to_string(node.types()[i]);
  if (!node.stored().empty()) s += " " + Attributes().add("stored", node.stored()).shown();
  return s;
}

std::string Graph::to_string() const {
  std::string s;
  for (const auto& node : impl().nodes) {
    s += weft::to_string(*node) + "\n";
    for (const auto& graph : node->op().subgraphs()) s += "  {\n" + indented(graph->to_string()) + "  }\n";
  }
  for (const NamedValue& o : impl().outputs) {
    s += std::format("output {} = {}\n", in_quotes(o.name), reference(o.value));
  }
  return s;
}

std::string Graph::to_dot() const {
  std::string s =
      "digraph weft {\n  rankdir=TB;\n  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\", "
      "fontsize=10];\n  edge [fontname=\"sans-serif\", fontsize=9];\n";
  for (const auto& node : impl().nodes) {
    std::string types;
    for (const TensorType& t : node->types()) types += "\\n" + weft::to_string(t);
    s += std::format("  n{} [label=\"{}{}\", fillcolor=\"{}\"];\n", node->id(), escaped(node->op().to_string()), types,
                     colour(*node));
    for (const Value& v : node->inputs()) s += std::format("  n{} -> n{};\n", v.node()->id(), node->id());
  }
  for (std::size_t i = 0; i < impl().outputs.size(); ++i) {
    const NamedValue& o = impl().outputs[i];
    s += std::format("  out{0} [label=\"output {1}\", fillcolor=\"#cfe2f3\"];\n  n{2} -> out{0};\n", i,
                     escaped(in_quotes(o.name)), o.value.node()->id());
  }
  return s + "}\n";
}

}  // namespace weft
