#include "weft/graph_file.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "compiler/device_data.h"
#include "core/error_context.h"
#include "core/format.h"
#include "core/host_memory.h"
#include "core/in_quotes.h"
#include "core/json_reader.h"
#include "core/mapped_file.h"
#include "core/nearest.h"
#include "core/output_target.h"
#include "core/suffix.h"
#include "files/safetensors_write.h"
#include "graph/graph.h"
#include "graph/leaf.h"
#include "ops/op_rows.h"
#include "weft/error.h"
#include "weft/safetensors.h"

namespace weft {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;  // members stay in the order in which they are written

constexpr std::string_view kMetadata = "weft.graph", kFormat = "weft graph";
constexpr std::int64_t kVersion = 1;

// ---- Values of attributes

constexpr std::uint64_t kNan = 0x7ff8000000000000;
constexpr std::string_view kOtherNan = "nan:";

Json float_json(double value) {
  if (std::isfinite(value)) return value;
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const auto bits = std::bit_cast<std::uint64_t>(value);
  return bits == kNan ? "nan" : std::format("{}{:016x}", kOtherNan, bits);
}

// An integer has all its digits, a float a fraction or an exponent.
Json number_json(const Number& number) {
  if (!number.integral()) return float_json(number.value());
  if (const auto integer = number.as_int64()) return *integer;
  return *number.integer();
}

Number number_of(const JsonReader& reader) {
  const nlohmann::json& value = reader.value();
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) {
    return value.get<std::uint64_t>();
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number_float()) return value.get<double>();
  if (!reader.is_string()) reader.expected("a number");
  const std::string text = reader.text();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  if (text == "nan") return std::bit_cast<double>(kNan);
  std::uint64_t bits = 0;
  const char* end = text.data() + text.size();
  const bool other = text.starts_with(kOtherNan) && text.size() == kOtherNan.size() + 16;
  if (other && std::from_chars(text.data() + kOtherNan.size(), end, bits, 16).ptr == end) {
    if (const auto value_of = std::bit_cast<double>(bits); std::isnan(value_of)) return value_of;
  }
  reader.expected("a number, \"inf\", \"-inf\" or \"nan\"");
}

Json value_json(const AttributeSchema& schema, const AttributeValue& value) {
  switch (schema.kind) {
    case AttributeKind::boolean:
      return std::get<Number>(value).value() != 0;
    case AttributeKind::integer:
    case AttributeKind::number:
      return number_json(std::get<Number>(value));
    case AttributeKind::text:
      return std::get<std::string>(value);
    case AttributeKind::integers:
      return std::get<std::vector<std::int64_t>>(value);
    case AttributeKind::numbers: {
      Json list = Json::array();
      for (const double v : std::get<std::vector<double>>(value)) list.push_back(float_json(v));
      return list;
    }
  }
  throw InternalError("attribute {} has no kind", schema.name);
}

AttributeValue value_of(const AttributeSchema& schema, const JsonReader& value) {
  switch (schema.kind) {
    case AttributeKind::boolean:
      return Number(value.boolean() ? 1 : 0);
    case AttributeKind::integer:
      return Number(value.integer());
    case AttributeKind::number:
      return number_of(value);
    case AttributeKind::text:
      return value.text();
    case AttributeKind::integers: {
      std::vector<std::int64_t> list;
      for (const JsonReader& v : value.elements()) list.push_back(v.integer());
      return list;
    }
    case AttributeKind::numbers: {
      std::vector<double> list;
      for (const JsonReader& v : value.elements()) list.push_back(number_of(v).value());
      return list;
    }
  }
  throw InternalError("attribute {} has no kind", schema.name);
}

// All of the row's attributes, of those that are written. Throws InvalidArgument, FormatError.
AttributeMap attributes_of(const Schema& schema, const JsonReader& written) {
  AttributeMap given;
  for (const auto& [name, value] : written.members()) {
    const AttributeSchema* a = schema.attribute(name);
    if (!a) {
      const auto near = nearest(name, schema.attributes, [](const auto& s) { return std::string_view(s.name); });
      throw FormatError("{}: {} has no such attribute{}", value.where(), schema.name, nearest_text(near));
    }
    given.emplace(name, value_of(*a, value));
  }
  return complete_attributes(schema, given);
}

// ---- Writing

// A constant in the file.
struct Stored {
  FileEntry entry;
  ConstantPtr constant;
  const DeviceData* captured = nullptr;  // instead

  TensorData data() const {
    if (constant) {
      TensorData all = constant->data();
      return {entry.type.dtype, entry.type.shape, all.bytes, std::move(all.owner)};
    }
    const auto bytes = std::make_shared<gpu::ReadBytes>(captured->async_read().get());
    return {entry.type.dtype, entry.type.shape, bytes->span(), bytes};
  }
};

// How the file's format stores a type: packed ones as bytes.
TensorType stored_type(const TensorType& type) {
  if (bits(type.dtype) >= 8) return type;
  return {DType::u8, {static_cast<std::int64_t>(byte_size(type))}};
}

class Writer {
 public:
  explicit Writer(const Graph& graph) : graph_(&graph), index_in_(graph.impl().node_indices()) {
    Json head{{"format", kFormat}, {"version", kVersion}};
    if (!graph.name().empty()) head["name"] = graph.name();
    text_ = dumped(head, "the graph's name");
    text_.pop_back();
    text_ += ", \"nodes\": [";
    bool first = true;
    each_node([&](const Node& node) {
      text_ += (first ? "\n" : ",\n") + dumped(node_json(node), "a name or label");
      first = false;
    });
    text_ += "\n], \"outputs\": " + dumped(outputs_json(), "an output's name") + "}";
  }

  void write(const fs::path& path) const {
    std::vector<FileEntry> entries;
    for (const Stored& s : stored_) entries.push_back(s.entry);
    const SafeTensorsLayout layout = in_context(
        [&] { return path.string(); }, [&] { return safetensors_layout(entries, {{std::string(kMetadata), text_}}); });
    Replacement file(path);
    file.require_space(data_size(entries));
    write_safetensors(file.temporary(), path.string(), layout, [&](std::size_t i) { return stored_[i].data(); });
    file.commit();
  }

 private:
  static std::string dumped(const Json& json, std::string_view what) {
    try {
      return json.dump();
    } catch (const Json::exception&) {
      throw InvalidArgument("{} is not UTF-8, which a file of a graph requires", what);
    }
  }

  // The n-th input node is the graph's n-th input.
  static void check_port(const Node& node, std::span<const GraphPort> ports, std::size_t& next, bool is_port) {
    if (is_port && (next == ports.size() || ports[next++].value.node() != &node)) {
      throw InternalError("{} is not the graph's next input", to_string(node));
    }
  }

  template <class F>
  void each_node(F&& f) const {
    std::size_t inputs = 0, numbers = 0;
    const Graph::Impl& impl = graph_->impl();
    for (const NodePtr& node : impl.nodes()) {
      check_port(*node, impl.inputs, inputs, node->op().input() != nullptr);
      check_port(*node, impl.numbers, numbers, node->op().number() != nullptr);
      f(*node);
    }
  }
  Json outputs_json() const {
    Json outputs = Json::array();
    for (const GraphPort& o : graph_->impl().outputs)
      outputs.push_back({{"name", o.name}, {"value", reference(o.value)}});
    return outputs;
  }
  // A graph that an op owns.
  Json inner_json(const Graph& inner) {
    const Graph* outer = std::exchange(graph_, &inner);
    Graph::Impl::NodeIndices outer_indices = std::exchange(index_in_, inner.impl().node_indices());
    Json nodes = Json::array();
    each_node([&](const Node& node) { nodes.push_back(node_json(node)); });
    Json json{{"nodes", std::move(nodes)}, {"outputs", outputs_json()}};
    graph_ = outer;
    index_in_ = std::move(outer_indices);
    return json;
  }

  static Json types_json(const Node& node) {
    Json types = Json::array();
    for (const TensorType& t : node.types()) {
      types.push_back({{"dtype", name(t.dtype)}, {"shape", std::vector<std::int64_t>(t.shape.begin(), t.shape.end())}});
    }
    return types;
  }
  Json reference(const Tensor& v) const { return Json::array({index_in_(*v.node()), v.index()}); }

  [[noreturn]] void refuse(const Node& node, std::string_view why) const {
    throw Unsupported("{}: {}", to_string(node, *graph_), why);
  }

  Json node_json(const Node& node) {
    const Op& op = node.op();
    Json json{{"op", op.name()}};
    if (op.input() || op.number()) {
      json["name"] = op.input() ? op.input()->input_name() : op.number()->number_name();
    } else if (const ConstantOp* c = op.constant()) {
      if (!c->constant_name().empty()) json["name"] = c->constant_name();
      if (element_count(c->data()->type().shape) > 0) json["tensor"] = stored_name(c->constant_name(), c->data());
    } else if (op.data_op()) {
      json["op"] = "constant";
      if (element_count(node.types()[0].shape) > 0) json["tensor"] = captured_name(data_of(node.value()), node);
    } else {
      Json inputs = Json::array();
      for (const Tensor& v : node.inputs()) inputs.push_back(reference(v));
      json["inputs"] = std::move(inputs);
      json["attributes"] = attributes_json(node);
      for (const auto& inner : op.subgraphs()) json["graphs"].push_back(inner_json(*inner));
    }
    json["results"] = types_json(node);
    if (node.label()) json["label"] = *node.label();
    const auto& labels = graph_->impl().labels;
    if (const auto fused = labels.find(node.sequence()); fused != labels.end()) {
      for (const std::string* label : fused->second) json["fused_labels"].push_back(*label);
    }
    return json;
  }

  // The attributes by which loading makes the same op.
  Json attributes_json(const Node& node) const {
    const Op& op = node.op();
    const OpRow* row = find_op_row(op.name());
    if (!row || (!row->make && !row->make_of_graphs)) {
      refuse(node, "a file holds ops of docs/ops.md, not the code of kernels, nor what optimized() makes of a graph");
    }
    if (!graph_->impl().stored_order(node).empty()) {
      refuse(node, "its result is stored in an order that the compiler chose; save the graph that was compiled");
    }
    Json json = Json::object();
    AttributeMap values;
    AttributeCollector visitor(values);
    op.visit(visitor);
    bool whole = true;
    for (const auto& [name, value] : values) {
      const AttributeSchema* a = row->schema.attribute(name);
      whole = whole && a;
      if (a) json[name] = value_json(*a, value);
    }
    if (whole) {
      // As loading does it.
      const nlohmann::json written = json;
      const AttributeMap read = attributes_of(row->schema, JsonReader(written, ""));
      const auto graphs = op.subgraphs();
      const OpPtr again =
          row->make ? row->make(read, node.input_types()) : row->make_of_graphs(read, {graphs.begin(), graphs.end()});
      whole = again->identity() == op.identity();
    }
    if (!whole) refuse(node, "work around an op is the compiler's; save the graph that was compiled");
    return json;
  }

  // The name in the file of a constant that is called so; equal constants have one.
  std::string stored_name(const std::string& name, const ConstantPtr& constant) {
    const TensorType& type = constant->type();
    const std::string key = std::format("{} {}", constant->key(), to_string(type));
    if (const auto known = by_key_.find(key); known != by_key_.end()) return stored_[known->second].entry.name;
    std::size_t index = stored_.size();
    Stored fresh{{{}, stored_type(type)}, constant};
    {
      const TensorData data = fresh.data();
      const std::string_view bytes(reinterpret_cast<const char*>(data.bytes.data()), data.bytes.size());
      auto& alike = by_content_[std::hash<std::string_view>()(bytes)];
      for (const std::size_t i : alike) {
        if (stored_[i].entry.type == fresh.entry.type && std::ranges::equal(stored_[i].data().bytes, data.bytes)) {
          index = i;
        }
      }
      if (index == stored_.size()) alike.push_back(index);
    }
    by_key_.emplace(key, index);
    if (index < stored_.size()) return stored_[index].entry.name;
    return add(std::move(fresh), name.empty() ? "constant" : name);
  }

  std::string captured_name(const DeviceData& data, const Node& node) {
    const auto [known, fresh] = by_data_.emplace(&data, stored_.size());
    if (!fresh) return stored_[known->second].entry.name;
    return add({{{}, stored_type(node.types()[0])}, nullptr, &data}, "captured");
  }

  // Names are unique: "w", "w.2", …
  std::string add(Stored stored, const std::string& name) {
    std::string chosen = name;
    for (int& count = named_.try_emplace(name, 1).first->second; !names_.insert(chosen).second;) {
      chosen = std::format("{}.{}", name, ++count);
    }
    stored.entry.name = chosen;
    stored_.push_back(std::move(stored));
    return chosen;
  }

  const Graph* graph_;  // the one that is being written: the caller's, or one that an op owns
  Graph::Impl::NodeIndices index_in_;
  std::string text_;
  std::vector<Stored> stored_;
  std::unordered_map<std::string, std::size_t> by_key_;
  std::unordered_map<std::size_t, std::vector<std::size_t>> by_content_;
  std::unordered_map<const DeviceData*, std::size_t> by_data_;
  std::unordered_map<std::string, int> named_;  // how many wanted the name
  std::unordered_set<std::string> names_{"__metadata__"};
};

// ---- Reading

class Reader {
 public:
  Reader(const SafeTensors& file, const std::string& source) : file_(file), source_(source) {}

  Graph read() {
    const auto text = file_.metadata().find(kMetadata);
    if (text == file_.metadata().end()) {
      throw FormatError("{}: the file holds tensors and no graph: its metadata has no \"{}\"", source_, kMetadata);
    }
    const std::string where = std::format("{}: {}", source_, kMetadata);
    const nlohmann::json json = parse_json(text->second, where, RepeatedKeys::refused);
    const JsonReader all(json, where);
    if (const JsonReader format = all.at("format"); !format.is_string() || format.text() != kFormat) {
      format.expected(in_quotes(kFormat));
    }
    if (const std::int64_t version = all.at("version").integer(1); version > kVersion) {
      throw Unsupported("{}: the graph is of version {} of the format; this version of Weft reads {}", source_, version,
                        kVersion);
    }
    check_members(all, {"format", "version", "name", "nodes", "outputs"});
    const auto name = all.find("name");
    Graph graph(name ? name->text() : std::string());
    // Labels are those of the file.
    const WithoutLabelScope scope;
    read_into(graph, all);
    return graph;
  }

 private:
  static constexpr int kMostDepth = 64;  // of graphs in graphs

  void read_into(Graph& graph, const JsonReader& json) {
    for (const JsonReader& node : json.at("nodes").elements()) {
      const std::string op = node.at("op").text();
      in_file([&] { return std::format("{}: node {} ({})", source_, nodes_.size(), in_quotes(op)); },
              [&] { nodes_.push_back(read_node(graph, node, op)); });
    }
    for (const JsonReader& output : json.at("outputs").elements()) {
      check_members(output, {"name", "value"});
      in_file([&] { return source_; }, [&] { graph.output(output.at("name").text(), tensor(output.at("value"))); });
    }
  }
  // The graphs that a node owns.
  std::vector<std::shared_ptr<const Graph>> inner_graphs(const JsonReader& node) {
    std::vector<std::shared_ptr<const Graph>> graphs;
    const auto list = node.find("graphs");
    if (!list) return graphs;
    if (++depth_ > kMostDepth) list->expected(std::format("at most {} graphs in each other", kMostDepth));
    for (const JsonReader& json : list->elements()) {
      check_members(json, {"nodes", "outputs"});
      std::vector<Tensor> outer = std::exchange(nodes_, {});
      auto graph = std::make_shared<Graph>();
      read_into(*graph, json);
      nodes_ = std::move(outer);
      graphs.push_back(std::move(graph));
    }
    --depth_;
    return graphs;
  }

  // What is wrong with an op is wrong with the file.
  template <class Where, class F>
  static void in_file(const Where& where, F&& f) {
    try {
      f();
    } catch (const InvalidArgument& e) {
      throw FormatError("{}: {}", where(), e.what());
    } catch (const FormatError&) {
      throw;
    } catch (const Error& e) {
      throw_in_context(e, where());
    }
  }

  static void check_members(const JsonReader& object, std::initializer_list<std::string_view> known) {
    for (const auto& [name, value] : object.members()) {
      if (std::ranges::find(known, name) == known.end()) {
        throw FormatError("{}: the format has no such member{}", value.where(), nearest_text(nearest(name, known)));
      }
    }
  }

  static Shape shape_of(const JsonReader& sizes) {
    Shape shape;
    const auto all = sizes.elements();
    if (all.size() > kMaxRank) sizes.expected(std::format("at most {} sizes", kMaxRank));
    for (const JsonReader& size : all) shape.push_back(size.integer(0));
    return shape;
  }

  static std::vector<TensorType> types_of(const JsonReader& list) {
    std::vector<TensorType> types;
    for (const JsonReader& t : list.elements()) {
      check_members(t, {"dtype", "shape"});
      const JsonReader dtype = t.at("dtype");
      const auto type = dtype_from_name(dtype.text());
      if (!type) dtype.expected("a data type");
      types.push_back({*type, shape_of(t.at("shape"))});
      element_count(types.back().shape);
    }
    return types;
  }

  // A result of a node before.
  Tensor tensor(const JsonReader& reference) const {
    const auto parts = reference.elements();
    if (parts.size() != 2) reference.expected("a node and one of its results, [node, result]");
    const std::int64_t node = parts[0].integer(0), result = parts[1].integer(0);
    if (node >= static_cast<std::int64_t>(nodes_.size())) {
      throw FormatError("{}: node {} is not before it; there are {}", parts[0].where(), node, nodes_.size());
    }
    const Tensor& first = nodes_[static_cast<std::size_t>(node)];
    const std::size_t results = first.node()->types().size();
    if (result >= static_cast<std::int64_t>(results)) {
      throw FormatError("{}: node {} has {} result{}, not one of number {}", parts[1].where(), node, results,
                        results == 1 ? "" : "s", result);
    }
    return weft::result(first, static_cast<int>(result));
  }

  static std::string name_of(const JsonReader& node) {
    const auto name = node.find("name");
    return name ? name->text() : std::string();
  }

  static std::string types_text(std::span<const TensorType> types) {
    std::string text;
    for (const TensorType& t : types) text += (text.empty() ? "" : ", ") + to_string(t);
    return types.empty() ? "none" : text;
  }

  // The node's first result.
  Tensor read_node(Graph& graph, const JsonReader& node, const std::string& op) {
    const std::vector<TensorType> types = types_of(node.at("results"));
    const Tensor first = make_node(graph, node, op, types);
    if (!std::ranges::equal(first.node()->types(), types)) {
      throw InvalidArgument("its results are {}, the file says {}", types_text(first.node()->types()),
                            types_text(types));
    }
    if (const auto label = node.find("label")) first.node()->set_label(label_of(*label));
    if (const auto fused = node.find("fused_labels")) {
      auto& labels = graph.impl().labels[first.node()->sequence()];
      for (const JsonReader& label : fused->elements()) labels.push_back(label_of(label));
    }
    return first;
  }

  static const std::string* label_of(const JsonReader& label) {
    const std::string* text = interned_label(label.text());
    if (!text) label.expected("a label");
    return text;
  }

  Tensor make_node(Graph& graph, const JsonReader& node, const std::string& op, std::span<const TensorType> types) {
    if (op == "input" || op == "number" || op == "constant") {
      check_members(node, {"op", "name", "tensor", "results", "label", "fused_labels"});
      if (types.size() != 1) node.at("results").expected("one result");
      if (op == "input") return graph.input(node.at("name").text(), types[0].dtype, types[0].shape);
      if (op == "number") return graph.number(node.at("name").text(), types[0].dtype);
      return apply(make_op<ConstantOp>(constant(node, types[0]), name_of(node)), {});
    }
    check_members(node, {"op", "inputs", "attributes", "graphs", "results", "label", "fused_labels"});
    const auto is_op = [](const OpRow& r) { return r.make || r.make_of_graphs; };
    const OpRow* row = find_op_row(op);
    if (!row || !is_op(*row)) {
      const auto near = nearest(op, op_rows(), [&](const OpRow& r) {
        return is_op(r) ? std::string_view(r.schema.name) : std::string_view();
      });
      throw Unsupported("this version of Weft has no such op in files{}", nearest_text(near));
    }
    std::vector<Tensor> operands;
    std::vector<TensorType> operand_types;
    for (const JsonReader& input : node.at("inputs").elements()) {
      operands.push_back(tensor(input));
      operand_types.push_back(operands.back().type());
    }
    check_count(row->schema, operands.size());
    const AttributeMap attributes = attributes_of(row->schema, node.at("attributes"));
    auto graphs = inner_graphs(node);
    if (row->make_of_graphs) return apply(row->make_of_graphs(attributes, std::move(graphs)), std::move(operands));
    if (!graphs.empty()) node.at("graphs").expected("nothing: the op owns no graphs");
    return apply(row->make(attributes, operand_types), std::move(operands));
  }

  // Which of the optional operands are there the op says itself.
  static void check_count(const Schema& schema, std::size_t given) {
    std::size_t least = 0, most = schema.inputs.size();
    for (const OperandSchema& o : schema.inputs) {
      least += o.arity != Arity::optional;
      if (o.arity == Arity::repeated) most = std::numeric_limits<std::size_t>::max();
    }
    if (given >= least && given <= most) return;
    throw InvalidArgument("it has {} operand{}, expected '{}'", given, given == 1 ? "" : "s", schema.inputs_text());
  }

  // The constant of a node; one for all nodes that share a tensor as the same type.
  ConstantPtr constant(const JsonReader& node, const TensorType& type) {
    if (element_count(type.shape) == 0) return make_constant({type.dtype, type.shape, {}, {}});
    const std::string name = node.at("tensor").text();
    ConstantPtr& known = constants_[std::format("{} {}", to_string(type), name)];
    if (known) return known;
    const TensorType expected = stored_type(type);
    const TensorData& data = file_.at(name);
    if (TensorType{data.dtype, data.shape} != expected) {
      throw InvalidArgument("tensor {} of the file is {}, expected {} for the constant {}", in_quotes(name),
                            to_string(TensorType{data.dtype, data.shape}), to_string(expected), to_string(type));
    }
    known = make_constant({type.dtype, type.shape, data.bytes, data.owner});
    return known;
  }

  const SafeTensors& file_;
  const std::string& source_;
  std::vector<Tensor> nodes_;  // of the graph that is being read
  int depth_ = 0;
  std::unordered_map<std::string, ConstantPtr> constants_;
};

}  // namespace

void save(const fs::path& path, const Graph& graph) {
  if (!has_suffix(path.string(), ".safetensors")) {
    throw InvalidArgument("save: {}: a file of a graph is a .safetensors file; expected a path that ends so",
                          path.string());
  }
  in_host_memory("save", [&] {
    const Writer writer = in_context([&] { return "save: " + path.string(); }, [&] { return Writer(graph); });
    writer.write(path);
  });
}

Graph load_graph(const fs::path& path) {
  const MappedFile file = MappedFile::open(path);
  return load_graph(file.bytes, file.owner, path.string());
}

Graph load_graph(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, const std::string& source) {
  return in_host_memory("load_graph", [&] {
    const SafeTensors file = SafeTensors::parse(bytes, std::move(owner), source);
    return Reader(file, source).read();
  });
}

}  // namespace weft
