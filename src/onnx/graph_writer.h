// Writes a graph as a model of ONNX.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/constant.h"
#include "graph/graph.h"
#include "graph/node.h"
#include "onnx/write.h"
#include "weft/onnx.h"

namespace weft::onnx {

struct WrittenNode {
  std::string op, domain, name;
  ValueNames inputs, outputs;
  WrittenAttributes attributes;
};
struct WrittenPort {
  std::string name;
  TensorType type;
};
// The nodes of a graph, of a branch or body inside of a node, or of a function.
struct WrittenGraph {
  std::string name = {};
  std::vector<WrittenNode> nodes = {};
  std::vector<WrittenPort> inputs = {}, outputs = {};
};

class GraphWriter {
 public:
  // Throws Unsupported with all operations that ONNX does not have; InvalidArgument for names that it does not allow.
  GraphWriter(const Graph& graph, const SaveOptions& options);
  void write(const std::filesystem::path& path) const;

  // ---- For rows
  ValueNames add(std::string_view op, std::string_view domain, std::span<const std::string> inputs, std::size_t results,
                 WrittenAttributes attributes);
  std::string constant(const TensorData& data, std::string_view name = "constant");
  const TensorData* find_constant(const std::string& name) const;
  void need(std::int64_t opset) { opset_ = std::max(opset_, opset); }
  // The nodes of a graph, whose inputs and numbers have these names: the names of its outputs.
  ValueNames inlined(const Graph& graph, std::span<const std::string> inputs,
                     std::span<const std::string> numbers = {});
  // A graph of an attribute: `make` adds its nodes, and gives the names of its outputs. It sees all names around it.
  template <class F>
  std::shared_ptr<const WrittenGraph> inner(std::string name, std::vector<WrittenPort> inputs,
                                            const std::vector<TensorType>& outputs, const F& make) {
    const auto graph = std::make_shared<WrittenGraph>();
    graph->name = std::move(name);
    graph->inputs = std::move(inputs);
    WrittenGraph* const outer = std::exchange(section_, graph.get());
    // Constants of a function are nodes of the graph in which they are made, and seen in that and inside of it.
    auto constants = function_constants_;
    const ValueNames names = own_outputs(make());
    function_constants_ = std::move(constants);
    section_ = outer;
    for (std::size_t i = 0; i < outputs.size(); ++i) graph->outputs.push_back({names[i], outputs[i]});
    return graph;
  }
  std::string fresh_name(std::string_view wanted = {});
  ValueNames write_function(const Written& w, ValueNames (*write)(const Written& w));
  // An operation of single elements.
  std::string scalar(ScalarOp op, std::span<const TensorType> types, const TensorType& result, const ValueNames& names);

 private:
  struct Function {
    std::string name;
    ValueNames inputs, outputs;
    std::vector<std::pair<std::string, std::string>> metadata;
    WrittenGraph body;
  };
  struct Initializer {
    std::string name;
    TensorType type;
    ConstantPtr constant;
    TensorData data = {};  // instead
    TensorData elements() const;
  };
  using Values = std::unordered_map<const weft::Node*, ValueNames>;

  void write_nodes(const Graph& graph, Values& values);
  ValueNames write_node(const weft::Node& node, const ValueNames& inputs);
  ValueNames write_leaf(const weft::Node& node);
  ValueNames write_row(const WriteRow& row, const Written& w);
  ValueNames write_map(const weft::Node& node, const ValueNames& inputs);
  ValueNames write_decomposed(const weft::Node& node, const ValueNames& inputs);
  // A function whose body `make` writes for operands of these names.
  template <class F>
  ValueNames call(std::string_view op, std::vector<std::pair<std::string, std::string>> metadata, std::size_t inputs,
                  std::span<const std::string> given, const F& make);
  // Names that belong to nodes of the section, each once.
  ValueNames own_outputs(const ValueNames& names);
  void claim(const std::string& name, std::string_view what);
  const std::string& final_name(const std::string& name) const;

  std::string node_bytes(const WrittenNode& node, bool renames) const;
  std::string graph_bytes(const WrittenGraph& graph, bool renames) const;
  std::string attribute_bytes(const WrittenAttribute& attribute, bool renames) const;
  std::string function_bytes(const Function& function) const;

  SaveOptions options_;
  std::int64_t opset_ = 0;
  WrittenGraph main_;
  WrittenGraph* section_ = &main_;
  std::vector<Initializer> initializers_;
  std::map<std::string, std::string> constants_;  // names, by content
  std::map<std::string, TensorData> small_;       // constants of few elements, by name
  std::set<std::string> names_;
  std::map<std::string, int> counts_;  // how many wanted a name
  std::map<std::string, std::string> renamed_;
  std::vector<Function> functions_;
  std::map<std::string, std::size_t> by_body_;
  int in_function_ = 0, depth_ = 0, next_ = 0;
  std::map<std::string, std::string> function_constants_;
  const std::string* label_ = nullptr;
  std::vector<std::string> lacking_;
};

}  // namespace weft::onnx
