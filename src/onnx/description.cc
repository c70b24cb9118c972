// What is in a model's file, and which of its operators are there.
#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>
#include <unordered_set>

#include "core/error_context.h"
#include "core/format.h"
#include "core/mapped_file.h"
#include "onnx/external.h"
#include "onnx/load.h"
#include "onnx/node.h"
#include "onnx/tracer.h"
#include "onnx/value.h"
#include "weft/error.h"
#include "weft/onnx.h"

namespace weft::onnx {
namespace {

constexpr std::int64_t kOldestOpset = 1, kNewestOpset = 26;

std::string type_text(const TypeProto& type) {
  using enum TypeProto::Kind;
  switch (type.kind) {
    case tensor:
      return std::format("tensor({})", name(type.element));
    case sparse_tensor:
      return std::format("sparse_tensor({})", name(type.element));
    case sequence:
      return std::format("seq({})", type.inner ? type_text(*type.inner) : "?");
    case optional:
      return std::format("optional({})", type.inner ? type_text(*type.inner) : "?");
    case map:
      return "map";
    case none:
      break;
  }
  return "unknown";
}

Port port_of(const ValueInfoProto& info) {
  Port port{.name = info.name, .type = type_text(info.type)};
  const TypeProto* type = &info.type;
  if (type->kind == TypeProto::Kind::optional && type->inner) type = type->inner.get();
  if (type->kind != TypeProto::Kind::tensor) return port;
  port.dtype = find_dtype(type->element);
  if (type->shape) {
    port.shape.emplace();
    for (const DimensionProto& d : *type->shape) {
      // Some exporters write -1 or "?" for a size that is open.
      port.shape->push_back({d.size && *d.size >= 0 ? d.size : std::nullopt, d.name == "?" ? "" : d.name});
    }
  }
  return port;
}

// Every node, those of graphs inside and of functions too, with the opsets that count for it.
template <class F>
void each_node(std::span<const NodeProto> nodes, const std::map<std::string, std::int64_t, std::less<>>& opsets,
               const F& f) {
  for (const NodeProto& node : nodes) {
    f(node, version_of(opsets, node.domain));
    for (const AttributeProto& a : node.attributes) {
      for (const auto& graph : a.graphs) each_node(graph->nodes, opsets, f);
    }
  }
}

// A run gives inputs by their names.
void refuse_twice(std::span<const Port> inputs) {
  std::set<std::string_view> names;
  for (const Port& port : inputs) {
    if (!names.insert(port.name).second) throw FormatError("onnx: two inputs are called '{}'", port.name);
  }
}

std::string name_of(const NodeProto& node) {
  return node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name;
}

// Nodes stand behind those whose results they take.
class Order {
 public:
  explicit Order(std::vector<std::string>& problems) : problems_(problems) {}

  void check(const GraphProto& graph) {
    std::unordered_set<std::string_view>& names = scopes_.emplace_back();
    for (const TensorProto& t : graph.initializers) names.insert(t.name);
    for (const SparseTensorProto& t : graph.sparse_initializers) names.insert(t.values.name);
    for (const ValueInfoProto& port : graph.inputs) names.insert(port.name);
    check(graph.nodes);
    for (const ValueInfoProto& port : graph.outputs) {
      if (!is_there(port.name)) add(std::format("output '{}' of graph '{}' has no value", port.name, graph.name));
    }
    scopes_.pop_back();
  }
  void check(const FunctionProto& f) {
    scopes_.emplace_back(f.inputs.begin(), f.inputs.end());
    check(f.nodes);
    scopes_.pop_back();
  }
  void finish() {
    if (found_ > 1) problems_.push_back(std::format("{} more values are missing", found_ - 1));
  }

 private:
  // Graphs inside of nodes have the names around them, too.
  bool is_there(std::string_view name) const {
    return std::ranges::any_of(scopes_, [&](const auto& names) { return names.contains(name); });
  }
  void check(std::span<const NodeProto> nodes) {
    for (const NodeProto& node : nodes) {
      for (const std::string& name : node.inputs) {
        if (!name.empty() && !is_there(name))
          add(std::format("node '{}' ({}) takes '{}', which nothing before it gives", name_of(node), node.op_type,
                          name));
      }
      for (const AttributeProto& a : node.attributes) {
        for (const auto& graph : a.graphs) check(*graph);
      }
      scopes_.back().insert(node.outputs.begin(), node.outputs.end());
    }
  }
  void add(std::string text) {
    if (found_++ == 0) problems_.push_back(std::move(text));
  }

  std::vector<std::string>& problems_;
  std::deque<std::unordered_set<std::string_view>> scopes_;  // from the outermost to the innermost
  std::size_t found_ = 0;
};

std::string full_name(const FunctionProto& f) {
  return std::format("{}{}{}", f.domain, f.domain.empty() ? "" : ".", f.name);
}

// The functions that call each other in a circle: the first one of them, and those on the way back to it. Of what the
// nodes call, none where there is no circle.
class Circle {
 public:
  explicit Circle(const Source& source) : source_(source) {}
  std::vector<const FunctionProto*> find() {
    visit(source_.model.graph.nodes);
    return circle_;
  }

 private:
  void visit(std::span<const NodeProto> nodes) {
    for (const NodeProto& node : nodes) {
      if (!circle_.empty()) return;
      if (const FunctionProto* f = source_.find_operator(node) ? nullptr : source_.find_function(node)) visit(*f);
      for (const AttributeProto& a : node.attributes) {
        for (const auto& graph : a.graphs) visit(graph->nodes);
      }
    }
  }
  void visit(const FunctionProto& f) {
    if (const auto it = std::ranges::find(calls_, &f); it != calls_.end()) {
      circle_.assign(it, calls_.end());
      return;
    }
    // (Calls that are deeper than any run goes are refused there.)
    if (!seen_.insert(&f).second || calls_.size() > kDeepest) return;
    calls_.push_back(&f);
    visit(f.nodes);
    calls_.pop_back();
  }

  static constexpr std::size_t kDeepest = 64;
  const Source& source_;
  std::set<const FunctionProto*> seen_;
  std::vector<const FunctionProto*> calls_, circle_;
};

// What is wrong with the functions; empty if they end.
std::string circle_text(const Source& source) {
  const std::vector<const FunctionProto*> circle = Circle(source).find();
  if (circle.empty()) return "";
  std::string way;
  for (std::size_t i = 1; i < circle.size(); ++i)
    way += std::format("{}'{}'", i > 1 ? ", " : "", full_name(*circle[i]));
  return std::format("function '{}' calls itself{}{}, which ONNX does not allow", full_name(*circle[0]),
                     way.empty() ? "" : " through ", way);
}

// Whether nodes are of ai.onnx, whose opset the model does not name.
bool lacks_opset(const Source& source) {
  if (source.model.opsets.contains("")) return false;
  bool lacks = false;
  each_node(source.model.graph.nodes, source.model.opsets, [&](const NodeProto& node, std::int64_t) {
    lacks |= node.domain.empty() && !source.find_operator(node) && !source.find_function(node);
  });
  return lacks;
}
constexpr std::string_view kNoOpset = "it names no opset of ai.onnx (opset_import), which says what its operators do";

// Why there is no row.
std::string why_not(const std::string& domain, const std::string& name, std::int64_t version) {
  if (domain.empty() && version == 0) return "no opset of ai.onnx is named, which says what it does";
  if (domain.ends_with("training")) return "it is for training";
  if (!domain.empty() && domain != "com.microsoft") {
    return std::format("Weft has no operators of {}, and the model no function of this name", domain);
  }
  std::int64_t since = 0;
  const auto offer = [&](std::int64_t version_of_row) {
    since = since ? std::min(since, version_of_row) : version_of_row;
  };
  for (const OperatorRows& rows : all_rows()) {
    for (const OperatorRow& row : rows.rows) {
      if (rows.domain == domain && row.name == name) offer(row.since);
    }
  }
  for (const ControlRow& row : control_rows()) {
    if (domain.empty() && row.name == name) offer(row.since);
  }
  if (since)
    return std::format("Weft has it from version {} of the domain on, and the model is of version {}", since, version);
  if (name.starts_with("String") || name == "RegexFullMatch" || name == "TfIdfVectorizer")
    return "it is of texts, and Weft has tensors of numbers";
  if (name == "ImageDecoder") return "Weft's models take pictures that are decoded";
  return "Weft has no such operator";
}

// What of an operator is not there.
std::string note_of(const Source& source, const NodeProto& node, std::int64_t version) {
  if (source.find_function(node)) return "";
  if (const ControlRow* row = find_control_row(node.domain, node.op_type, version)) return std::string(row->note);
  const OperatorRow* row = find_row(node.domain, node.op_type, version);
  return row ? std::string(row->note) : "";
}

template <class F>
void each_external(std::span<const TensorProto> tensors, bool main, const F& f) {
  for (const TensorProto& t : tensors) {
    if (t.external) f(t, main);
  }
}
template <class F>
void each_external(std::span<const SparseTensorProto> tensors, const F& f) {
  for (const SparseTensorProto& t : tensors) {
    for (const TensorProto* part : {&t.values, &t.indices}) {
      if (part->external) f(*part, false);
    }
  }
}
// Of graphs inside of nodes, and of attributes.
template <class F>
void each_external(std::span<const NodeProto> nodes, const F& f) {
  for (const NodeProto& node : nodes) {
    for (const AttributeProto& a : node.attributes) {
      each_external(a.tensors, false, f);
      each_external(std::span<const SparseTensorProto>(a.sparse_tensors), f);
      for (const auto& graph : a.graphs) {
        each_external(graph->initializers, false, f);
        each_external(std::span<const SparseTensorProto>(graph->sparse_initializers), f);
        each_external(std::span<const NodeProto>(graph->nodes), f);
      }
    }
  }
}

}  // namespace

void each_external(const ModelProto& model, const std::function<void(const TensorProto&, bool)>& f) {
  each_external(model.graph.initializers, true, f);
  each_external(std::span<const SparseTensorProto>(model.graph.sparse_initializers), f);
  each_external(std::span<const NodeProto>(model.graph.nodes), f);
  for (const FunctionProto& function : model.functions) each_external(std::span<const NodeProto>(function.nodes), f);
}

Description describe(const Source& source) {
  const ModelProto& model = source.model;
  Description d{.name = model.graph.name,
                .producer = model.producer + (model.producer_version.empty() ? "" : " " + model.producer_version),
                .ir_version = model.ir_version,
                .opsets = model.opsets,
                .metadata = model.metadata};
  if (const auto opset = model.opsets.find(""); opset != model.opsets.end() && opset->second > kNewestOpset) {
    d.problems.push_back(
        std::format("it is of opset {}; Weft has {} to {}", opset->second, kOldestOpset, kNewestOpset));
  }
  if (lacks_opset(source)) d.problems.emplace_back(kNoOpset);
  if (std::string circle = circle_text(source); !circle.empty()) d.problems.push_back(std::move(circle));
  std::size_t lacks = 0;
  bool has_f64 = false;
  const auto check_rank = [&](std::string_view what, std::string_view name, std::size_t rank) {
    if (rank > kMaxRank)
      d.problems.push_back(
          std::format("{} '{}' has {} axes, and Weft's tensors have up to {}", what, name, rank, kMaxRank));
  };
  const auto add_weights = [&](std::string_view what, std::string_view name, const TensorProto& t) {
    check_rank(what, name, t.dims.size());
    double count = 1;
    for (const std::int64_t size : t.dims) count *= static_cast<double>(size);
    if (!(count >= 0 && count < 0x1p56)) return;  // refused where it is read
    d.parameters += static_cast<std::uint64_t>(count);
    const auto type = find_dtype(t.type);
    if (!type) {
      if (lacks++ == 0)
        d.problems.push_back(std::format("{} '{}' is of {}, a type that Weft lacks", what, name, onnx::name(t.type)));
      return;
    }
    has_f64 |= *type == DType::f64;
    const std::uint64_t bytes = byte_size(*type, static_cast<std::uint64_t>(count));
    d.weight_bytes += bytes;
    if (t.external) d.external_bytes += bytes;
  };
  std::set<std::string_view> initialized;
  for (const TensorProto& t : model.graph.initializers) {
    initialized.insert(t.name);
    add_weights("initializer", t.name, t);
  }
  // Some exporters write weights as nodes, and those of branches and loops are theirs.
  const auto add_constants = [&](const NodeProto& node, std::int64_t) {
    for (const AttributeProto& a : node.attributes) {
      if (node.op_type == "Constant" && node.domain.empty()) {
        for (const TensorProto& t : a.tensors) add_weights("constant", name_of(node), t);
      }
      for (const auto& graph : a.graphs) {
        for (const TensorProto& t : graph->initializers) add_weights("initializer", t.name, t);
      }
    }
  };
  each_node(model.graph.nodes, model.opsets, add_constants);
  for (const FunctionProto& f : model.functions) each_node(f.nodes, f.opsets, add_constants);
  if (lacks > 1) d.problems.push_back(std::format("{} more weights are of types that Weft lacks", lacks - 1));
  for (const SparseTensorProto& t : model.graph.sparse_initializers) initialized.insert(t.values.name);
  for (const ValueInfoProto& info : model.graph.inputs) {
    if (!initialized.contains(info.name)) d.inputs.push_back(port_of(info));
  }
  for (const ValueInfoProto& info : model.graph.outputs) d.outputs.push_back(port_of(info));
  refuse_twice(d.inputs);
  Order order(d.problems);
  order.check(model.graph);
  for (const FunctionProto& f : model.functions) order.check(f);
  order.finish();
  for (const auto* ports : {&d.inputs, &d.outputs}) {
    for (const Port& port : *ports) {
      has_f64 |= port.dtype == DType::f64;
      if (port.shape) check_rank(ports == &d.inputs ? "input" : "output", port.name, port.shape->size());
      if (port.dtype || !port.type.starts_with("tensor")) continue;
      d.problems.push_back(std::format("{} '{}' is a {}, a type that Weft lacks",
                                       ports == &d.inputs ? "input" : "output", port.name, port.type));
    }
  }
  for (const ValueInfoProto& value : model.graph.values) {
    has_f64 |= value.type.kind == TypeProto::Kind::tensor && value.type.element == ElementType::f64;
  }
  if (has_f64) {
    d.remarks.push_back(
        "it has values of float64, which GPUs only move: what computes with them is refused there, or runs on the "
        "cpu as a fallback");
  }
  std::map<std::tuple<std::string, std::string, std::int64_t>, OperatorUse> uses;
  const auto add = [&](const NodeProto& node, std::int64_t version) {
    const bool supported = source.find_operator(node) || source.find_function(node) ||
                           find_control_row(node.domain, node.op_type, version) ||
                           find_row(node.domain, node.op_type, version);
    const auto [use, is_new] = uses.try_emplace({node.domain, node.op_type, version},
                                                OperatorUse{node.domain, node.op_type, version, 0, supported});
    ++use->second.count;
    if (is_new)
      use->second.reason = supported ? note_of(source, node, version) : why_not(node.domain, node.op_type, version);
  };
  each_node(model.graph.nodes, model.opsets, add);
  for (const FunctionProto& f : model.functions) each_node(f.nodes, f.opsets, add);
  for (auto& [key, use] : uses) d.operators.push_back(std::move(use));
  each_external(model, [&](const TensorProto& t, bool) {
    if (std::ranges::find(d.files, t.external->location) == d.files.end()) d.files.push_back(t.external->location);
  });
  return d;
}

void check_operators(const Source& source, const Description& description) {
  const auto opset = source.model.opsets.find("");
  if (opset != source.model.opsets.end() && (opset->second < kOldestOpset || opset->second > kNewestOpset)) {
    throw Unsupported("onnx: the model is of opset {}; Weft has {} to {}", opset->second, kOldestOpset, kNewestOpset);
  }
  if (lacks_opset(source)) throw FormatError("onnx: the model is no whole one: {}", kNoOpset);
  if (const std::string circle = circle_text(source); !circle.empty()) throw FormatError("onnx: {}", circle);
  if (std::ranges::all_of(description.operators, &OperatorUse::supported)) return;
  constexpr std::size_t kMost = 100;
  std::string missing;
  std::size_t count = 0;
  std::set<std::tuple<std::string_view, std::string_view, std::int64_t>> unsupported;
  for (const OperatorUse& use : description.operators) {
    if (!use.supported) unsupported.emplace(use.domain, use.name, use.version);
  }
  const auto add = [&](const NodeProto& node, std::int64_t version) {
    if (!unsupported.contains({node.domain, node.op_type, version}) || ++count > kMost) return;
    missing += std::format("{}'{}' ({}{}{})", missing.empty() ? "" : ", ", name_of(node), node.domain,
                           node.domain.empty() ? "" : ".", node.op_type);
  };
  each_node(source.model.graph.nodes, source.model.opsets, add);
  for (const FunctionProto& f : source.model.functions) each_node(f.nodes, f.opsets, add);
  if (count > kMost) missing += std::format(" and {} more", count - kMost);
  throw Unsupported("onnx: operators that Weft does not have, by nodes: {}", missing);
}

Source source_of(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                 const std::filesystem::path& folder) {
  return {.model = parse_model(bytes),
          .initializers = {},
          .resident = {},
          .owner = std::move(owner),
          .files = std::make_shared<ExternalFiles>(folder)};
}

Description describe(const std::filesystem::path& path) {
  const MappedFile file = MappedFile::open(path);
  return in_context([&] { return std::format("'{}'", path.string()); },
                    [&] {
                      Source source = source_of(file.bytes, file.owner, {});
                      source.index();
                      return describe(source);
                    });
}

}  // namespace weft::onnx
