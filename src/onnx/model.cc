#include <algorithm>
#include <atomic>
#include <list>
#include <mutex>
#include <set>
#include <tuple>
#include <unordered_map>

#include "compiler/device_data.h"
#include "core/error_context.h"
#include "core/format.h"
#include "core/mapped_file.h"
#include "onnx/external.h"
#include "onnx/load.h"
#include "onnx/node.h"
#include "onnx/placement.h"
#include "onnx/tracer.h"
#include "onnx/value.h"
#include "onnx/wire.h"
#include "weft/compile.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/onnx.h"
#include "weft/random.h"
#include "weft/traced.h"

namespace weft::onnx {
namespace {

constexpr std::int64_t kOldestOpset = 1, kNewestOpset = 26;

std::string type_text(const TypeProto& type) {
  using enum TypeProto::Kind;
  switch (type.kind) {
    case tensor: return std::format("tensor({})", name(type.element));
    case sparse_tensor: return std::format("sparse_tensor({})", name(type.element));
    case sequence: return std::format("seq({})", type.inner ? type_text(*type.inner) : "?");
    case optional: return std::format("optional({})", type.inner ? type_text(*type.inner) : "?");
    case map: return "map";
    case none: break;
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
void each_node(std::span<const NodeProto> nodes, const std::map<std::string, std::int64_t, std::less<>>& opsets, const F& f) {
  for (const NodeProto& node : nodes) {
    f(node, version_of(opsets, node.domain));
    for (const AttributeProto& a : node.attributes) {
      for (const auto& graph : a.graphs) each_node(graph->nodes, opsets, f);
    }
  }
}

// Why there is no row.
std::string why_not(const std::string& domain, const std::string& name, std::int64_t version) {
  if (domain.ends_with("training")) return "it is for training";
  if (!domain.empty() && domain != "com.microsoft") {
    return std::format("Weft has no operators of {}, and the model no function of this name", domain);
  }
  std::int64_t since = 0;
  const auto offer = [&](std::int64_t version_of_row) { since = since ? std::min(since, version_of_row) : version_of_row; };
  for (const OperatorRows& rows : all_rows()) {
    for (const OperatorRow& row : rows.rows) {
      if (rows.domain == domain && row.name == name) offer(row.since);
    }
  }
  for (const ControlRow& row : control_rows()) {
    if (domain.empty() && row.name == name) offer(row.since);
  }
  if (since) return std::format("Weft has it from version {} of the domain on, and the model is of version {}", since, version);
  if (name.starts_with("String") || name == "RegexFullMatch" || name == "TfIdfVectorizer") return "it is of texts, and Weft has tensors of numbers";
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
    d.problems.push_back(std::format("it is of opset {}; Weft has {} to {}", opset->second, kOldestOpset, kNewestOpset));
  }
  std::size_t lacks = 0;
  bool has_f64 = false;
  std::set<std::string_view> initialized;
  for (const TensorProto& t : model.graph.initializers) {
    initialized.insert(t.name);
    double count = 1;
    for (const std::int64_t size : t.dims) count *= static_cast<double>(size);
    if (!(count >= 0 && count < 0x1p56)) continue;  // refused where it is read
    d.parameters += static_cast<std::uint64_t>(count);
    const auto type = find_dtype(t.type);
    if (!type) {
      if (lacks++ == 0) d.problems.push_back(std::format("initializer '{}' is of {}, a type that Weft lacks", t.name, onnx::name(t.type)));
      continue;
    }
    has_f64 |= *type == DType::f64;
    const std::uint64_t bytes = byte_size(*type, static_cast<std::uint64_t>(count));
    d.weight_bytes += bytes;
    if (t.external) d.external_bytes += bytes;
  }
  if (lacks > 1) d.problems.push_back(std::format("{} more initializers are of types that Weft lacks", lacks - 1));
  for (const SparseTensorProto& t : model.graph.sparse_initializers) initialized.insert(t.values.name);
  for (const ValueInfoProto& info : model.graph.inputs) {
    if (!initialized.contains(info.name)) d.inputs.push_back(port_of(info));
  }
  for (const ValueInfoProto& info : model.graph.outputs) d.outputs.push_back(port_of(info));
  for (const auto* ports : {&d.inputs, &d.outputs}) {
    for (const Port& port : *ports) {
      has_f64 |= port.dtype == DType::f64;
      if (port.dtype || !port.type.starts_with("tensor")) continue;
      d.problems.push_back(std::format("{} '{}' is a {}, a type that Weft lacks", ports == &d.inputs ? "input" : "output", port.name, port.type));
    }
  }
  for (const ValueInfoProto& value : model.graph.values) {
    has_f64 |= value.type.kind == TypeProto::Kind::tensor && value.type.element == ElementType::f64;
  }
  if (has_f64) {
    d.remarks.push_back("it has values of float64, which GPUs only move: what computes with them is refused there, or runs on the "
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
    if (is_new) use->second.reason = supported ? note_of(source, node, version) : why_not(node.domain, node.op_type, version);
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
    missing += std::format("{}'{}' ({}{}{})", missing.empty() ? "" : ", ",
                           node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name, node.domain,
                           node.domain.empty() ? "" : ".", node.op_type);
  };
  each_node(source.model.graph.nodes, source.model.opsets, add);
  for (const FunctionProto& f : source.model.functions) each_node(f.nodes, f.opsets, add);
  if (count > kMost) missing += std::format(" and {} more", count - kMost);
  throw Unsupported("onnx: operators that Weft does not have, by nodes: {}", missing);
}

namespace {

// What an input of a run is.
struct Given {
  std::vector<std::pair<std::string, Tensor>> tensors;  // by id
  std::map<std::string, std::size_t, std::less<>> sequences;
};

}  // namespace

// A graph compiled for what is known: one stage of a run. It ends with the model's outputs, or with a value that is read, by
// whose elements the next stage is found.
struct Form {
  Known known;
  std::map<std::string, std::size_t, std::less<>> sequences;
  std::mutex making;
  bool is_made = false;
  bool on_fallback = false;          // runs on Options::fallback
  bool is_placed = false;            // what the device refuses was looked for
  bool ends = false;                 // the last stage
  int idle = 0;                      // stages before it that computed nothing
  Refused refused;                   // nodes that run on Options::fallback
  bool observes = false, recomputes = false;  // as TraceOptions
  Executable executable;             // empty: nothing is to be computed
  std::vector<std::string> inputs;   // ids
  std::vector<std::pair<std::string, TensorType>> made;  // ids that the executable gives, in order
  std::string read;                  // the id; empty in the last stage, and where the other device goes on
  std::map<std::string, Value> made_sequences;
  std::vector<Observed> observed;    // of the last stage
  // In the last stage, for each output of the model the ids of its tensors; and whether it is a sequence.
  struct Output {
    std::vector<std::string> ids;
    bool is_sequence = false;
  };
  std::vector<Output> outputs;
  std::unordered_map<std::string, std::shared_ptr<Form>> next;  // by the bytes that were read
};

struct Model::Impl {
  Source source;
  Options options;
  Device device;
  CompileOptions compile_options, fallback_options;
  Description description;

  std::mutex mutex;
  std::list<std::pair<std::string, std::shared_ptr<Form>>> forms;  // the last used first
  std::map<std::size_t, std::string> placed;  // nodes that ran on the fallback, and why
  std::atomic<std::size_t> compilations = 0, reads = 0;
  std::atomic<std::uint64_t> runs = 0;

  Impl(Source given, const Options& o)
      : source(std::move(given)), options(o), device(o.device ? *o.device : default_device()) {
    source.index(options.operators);
    const GraphProto& graph = source.model.graph;
    description = describe(source);
    check_operators(source, description);
    std::set<std::string, std::less<>> there;
    for (const auto& [name, value] : source.initializers) there.insert(name);
    for (const auto& [name, tensor] : source.resident) there.insert(name);
    for (const TensorProto& t : graph.initializers) {
      if (there.erase(t.name)) continue;
      add_initializer(t.name, [&] { return data_of(t, source.owner, *source.files); });
    }
    for (const SparseTensorProto& t : graph.sparse_initializers) {
      add_initializer(t.values.name, [&] { return data_of(t, source.owner, *source.files); });
    }
    compile_options.constants = make_constant_store(device);
    compile_options.precision = options.precision;
    fallback_options = compile_options;
    if (options.fallback) fallback_options.constants = make_constant_store(*options.fallback);
  }

  template <class F>
  void add_initializer(const std::string& name, const F& data) {
    if (source.resident.contains(name) || !source.initializers.emplace(name, Tracer::constant(data(), name)).second) {
      throw FormatError("onnx: two initializers are called '{}'", name);
    }
  }

  // Throws unless the tensor fits the port.
  void check(const Port& port, const Tensor& x, std::map<std::string, std::pair<std::int64_t, std::string>>& names) const {
    if (!x.defined()) throw InvalidArgument("onnx: input '{}' is an undefined Tensor", port.name);
    if (!port.dtype) return;
    if (x.dtype() != *port.dtype) {
      throw TypeError("onnx: input '{}' is {}, expected {}", port.name, weft::name(x.dtype()), weft::name(*port.dtype));
    }
    if (!port.shape) return;
    const auto refuse = [&](const std::string& why) {
      std::string sizes;
      for (const Dimension& d : *port.shape) {
        sizes += std::format("{}{}", sizes.empty() ? "" : ", ", d.size ? std::to_string(*d.size) : d.name.empty() ? "?" : d.name);
      }
      throw ShapeError("onnx: input '{}' is {}, expected [{}]{}", port.name, to_string(x.shape()), sizes, why);
    };
    if (x.rank() != static_cast<int>(port.shape->size())) refuse("");
    for (int d = 0; d < x.rank(); ++d) {
      const Dimension& expected = (*port.shape)[static_cast<std::size_t>(d)];
      const std::int64_t size = x.shape()[d];
      if (expected.size && *expected.size != size) refuse("");
      if (expected.name.empty()) continue;
      const auto [it, is_new] = names.try_emplace(expected.name, size, port.name);
      if (!is_new && it->second.first != size) {
        refuse(std::format("; {} is {} in '{}'", expected.name, it->second.first, it->second.second));
      }
    }
  }

  Given given(std::span<const NamedValue> values) const {
    Given all;
    std::map<std::string, std::pair<std::int64_t, std::string>> names;
    std::unordered_map<std::string_view, const NamedValue*> by_name;
    for (const NamedValue& v : values) {
      if (!by_name.emplace(v.name, &v).second) throw InvalidArgument("onnx: input '{}' is given twice", v.name);
    }
    for (const Port& port : description.inputs) {
      const auto found = by_name.find(port.name);
      if (found == by_name.end()) {
        if (port.type.starts_with("optional")) continue;
        throw InvalidArgument("onnx: input '{}' is missing", port.name);
      }
      const NamedValue* const it = found->second;
      by_name.erase(found);
      if (it->value.sequence) {
        all.sequences[port.name] = it->value.sequence->size();
        for (std::size_t i = 0; i < it->value.sequence->size(); ++i) {
          all.tensors.emplace_back(std::format("{}[{}]", port.name, i), (*it->value.sequence)[i]);
        }
      } else if (it->value.tensor.defined()) {
        check(port, it->value.tensor, names);
        all.tensors.emplace_back(port.name, it->value.tensor);
      } else if (!port.type.starts_with("optional")) {
        throw InvalidArgument("onnx: input '{}' is an undefined Tensor", port.name);
      }
    }
    for (const auto& [name, value] : by_name) {
      std::string known;
      for (const Port& port : description.inputs) known += std::format("{}'{}'", known.empty() ? "" : ", ", port.name);
      throw InvalidArgument("onnx: no input is called '{}'; there are {}", name, known.empty() ? "none" : known);
    }
    return all;
  }

  // `may_wait` as in Known.
  std::shared_ptr<Form> first_form(const Given& inputs_given, bool may_wait) {
    std::string key(may_wait ? "" : "steps\n");
    for (const auto& [id, tensor] : inputs_given.tensors) key += std::format("{}\n{}\n", id, to_string(tensor.type()));
    for (const auto& [id, length] : inputs_given.sequences) key += std::format("{}\n{}\n", id, length);
    const std::lock_guard lock(mutex);
    const auto it = std::ranges::find(forms, key, &std::pair<std::string, std::shared_ptr<Form>>::first);
    if (it != forms.end()) {
      forms.splice(forms.begin(), forms, it);
      return it->second;
    }
    const auto form = std::make_shared<Form>();
    form->known.may_wait = may_wait;
    for (const auto& [id, tensor] : inputs_given.tensors) form->known.tensors.emplace(id, tensor.type());
    for (const auto& [name, tensor] : source.resident) form->known.tensors.emplace(name, tensor.type());
    form->sequences = inputs_given.sequences;
    forms.emplace_front(key, form);
    if (forms.size() > std::max<std::size_t>(options.forms, 1)) forms.pop_back();
    return form;
  }

  const Device& device_of(const Form& form) const { return form.on_fallback ? *options.fallback : device; }

  void make(Form& form) {
    const std::lock_guard lock(form.making);
    if (form.is_made) return;
    try {
      build(form);
    } catch (const Unsupported&) {
      if (form.on_fallback || form.is_placed) throw;
      if (!place(form)) throw;
      build(form);
    }
    form.is_made = true;
  }

  // Finds the nodes that the device cannot compute. Throws Unsupported that names them, unless another device may have
  // them; false if there are none.
  bool place(Form& form) {
    const Placement found = find_refused(source, form.known, form.sequences, device, compile_options);
    form.is_placed = true;
    if (found.refused.empty() && found.lacking.empty()) return false;
    const std::vector<NodeProto>& nodes = source.model.graph.nodes;
    const auto list = [&](const Refused& refused) {
      constexpr std::size_t kMost = 100;
      std::string text;
      std::size_t count = 0;
      for (const auto& [index, why] : refused) {
        if (++count > kMost) return text + std::format("\n  and {} more", refused.size() - kMost);
        text += std::format("\n  node {}: {}", in_words(nodes[index]), why);
      }
      return text;
    };
    if (!found.lacking.empty()) {
      throw Unsupported("onnx: {} of {} nodes of '{}' need what Weft does not have:{}", found.lacking.size(), nodes.size(),
                        description.name, list(found.lacking));
    }
    if (!options.fallback) {
      throw Unsupported("onnx: {} cannot compute {} of {} nodes of '{}', which a fallback to the cpu would:{}", device.name(),
                        found.refused.size(), nodes.size(), description.name, list(found.refused));
    }
    form.refused.insert(found.refused.begin(), found.refused.end());
    const std::lock_guard lock(mutex);
    placed.insert(found.refused.begin(), found.refused.end());
    return true;
  }

  // The form's graph, and what is known of its results; without one, nothing is to be computed.
  std::optional<Graph> trace(Form& form) {
    const DefaultDeviceScope here(device_of(form));
    Graph graph(source.model.graph.name);
    form.made.clear();
    form.made_sequences.clear();
    form.outputs.clear();
    form.observed.clear();
    form.read.clear();
    form.ends = false;
    Tracer tracer(source, graph, form.known,
                  {.refused = form.refused.empty() ? nullptr : &form.refused,
                   .only_refused = form.on_fallback,
                   .observed = form.observes ? &form.observed : nullptr,
                   .recompute = form.recomputes});
    std::vector<std::pair<std::string, Tensor>> results;
    try {
      const Values values = tracer.trace(form.sequences);
      form.ends = true;
      for (std::size_t i = 0; i < values.size(); ++i) {
        Form::Output& output = form.outputs.emplace_back();
        const auto add = [&](const Value& v) {
          // Ids may be the same twice; places are not.
          output.ids.push_back(std::format("output {} {}", i, output.ids.size()));
          results.emplace_back(output.ids.back(), v.tensor);
        };
        output.is_sequence = values[i].sequence.has_value();
        if (output.is_sequence) std::ranges::for_each(*values[i].sequence, add);
        else if (values[i].is_tensor()) add(values[i]);
      }
      for (Observed& o : form.observed) {
        // What a node computes is not what is known of it, where it is computed again.
        if (form.recomputes) o.value.id = "computed " + o.value.id;
        const bool is_new = o.value.is_tensor() && !o.value.data && !form.known.tensors.contains(o.value.id);
        if (is_new) results.emplace_back(o.value.id, o.value.tensor);
        if (!o.value.data) o.value.tensor = {};
      }
    } catch (const NeedsElements& needed) {
      form.read = needed.id;
      if (form.read.empty()) throw InternalError("onnx: a value without a place is needed");
    } catch (const OtherDevice&) {
    }
    if (!form.ends) {
      for (const auto& [id, tensor] : tracer.live()) results.emplace_back(id, tensor);
      form.made_sequences = tracer.live_sequences();
      form.observed.clear();
    }
    for (const auto& [id, tensor] : results) {
      graph.output(id, tensor);
      form.made.emplace_back(id, tensor.type());
    }
    form.inputs.clear();
    for (const Graph::Port& port : graph.inputs()) form.inputs.push_back(port.name);
    return results.empty() ? std::nullopt : std::optional(std::move(graph));
  }

  void build(Form& form) {
    const std::optional<Graph> graph = trace(form);
    if (!graph) return;
    form.executable = compile(*graph, device_of(form), form.on_fallback ? fallback_options : compile_options);
    ++compilations;
  }

  Graph graph(std::span<const NamedShape> shapes, std::span<const NamedTensor> constants) const {
    Graph made(source.model.graph.name);
    Known known;
    std::map<std::string, std::pair<std::int64_t, std::string>> names;
    std::set<std::string_view> used;
    std::vector<std::pair<std::string, Tensor>> inputs;
    for (const Port& port : description.inputs) {
      const auto constant = std::ranges::find(constants, port.name, &NamedTensor::name);
      if (constant != constants.end()) {
        used.insert(port.name);
        check(port, constant->tensor, names);
        const auto bytes = std::make_shared<std::vector<std::byte>>(byte_size(constant->tensor.type()));
        constant->tensor.read_bytes(*bytes);
        known.elements.emplace(port.name,
                               TensorData{constant->tensor.dtype(), constant->tensor.shape(), *bytes, bytes});
        continue;
      }
      if (!port.type.starts_with("tensor(") || !port.dtype) {
        throw Unsupported("onnx: input '{}' is a {}, and a graph takes tensors", port.name, port.type);
      }
      Shape shape;
      if (const auto given = std::ranges::find(shapes, port.name, &NamedShape::name); given != shapes.end()) {
        used.insert(port.name);
        shape = given->shape;
      } else {
        if (!port.shape) throw InvalidArgument("onnx: the shape of input '{}' is missing", port.name);
        for (const Dimension& d : *port.shape) {
          if (!d.size)
            throw InvalidArgument("onnx: the shape of input '{}' is missing: the model leaves sizes open", port.name);
          shape.push_back(*d.size);
        }
      }
      inputs.emplace_back(port.name, made.input(port.name, *port.dtype, shape));
      check(port, inputs.back().second, names);
      known.tensors.emplace(port.name, TensorType{*port.dtype, shape});
    }
    const auto refuse_unknown = [&](std::string_view name) {
      if (!used.contains(name)) throw InvalidArgument("onnx: no input is called '{}'", name);
    };
    for (const NamedShape& s : shapes) refuse_unknown(s.name);
    for (const NamedTensor& c : constants) refuse_unknown(c.name);
    for (const auto& [name, tensor] : source.resident) known.tensors.emplace(name, tensor.type());
    Tracer tracer(source, made, known);
    for (const auto& [name, tensor] : source.resident) tracer.add_input(name, tensor);
    for (auto& [name, tensor] : inputs) tracer.add_input(name, std::move(tensor));
    const DefaultDeviceScope here(device);
    try {
      const Values values = tracer.trace({});
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::string& name = description.outputs[i].name;
        if (!values[i].is_tensor())
          throw Unsupported("onnx: output '{}' is no tensor, and a graph gives tensors", name);
        made.output(name, values[i].tensor);
      }
    } catch (const NeedsElements& needed) {
      throw Unsupported("onnx: what the graph is like depends on the elements of '{}', which a run reads", needed.id);
    }
    return made;
  }

  // make() without waiting, for runs that have no fallback. Two runs that need a form at once may both compile it; the first to be done makes it.
  Future<void> async_make(const std::shared_ptr<Form>& form) {
    std::optional<Graph> graph;
    {
      const std::lock_guard lock(form->making);
      if (!form->is_made) graph = trace(*form);
      if (!graph) {
        form->is_made = true;
        return Future<void>({}, [] {});
      }
    }
    return compile_async(*graph, device, compile_options).map([this, form](Executable executable) {
      const std::lock_guard lock(form->making);
      if (form->is_made) return;
      form->executable = std::move(executable);
      ++compilations;
      form->is_made = true;
    });
  }

  // What a run has made, by id.
  using Made = std::unordered_map<std::string, Tensor>;

  // Puts an input there, which is on the device.
  static void put(Made& made, const std::string& id, const Tensor& tensor) {
    Tensor here = contiguous(tensor);
    eval(here);
    made.insert_or_assign(id, std::move(here));
  }

  // Puts a key of random numbers there, of the run of this number, if it is one and is not there.
  void put_key(Made& made, const std::string& id, std::uint64_t number) const {
    if (made.contains(id)) return;
    const DefaultDeviceScope here(device);  // so that no copy waits
    if (id == kRandomKey) return put(made, id, to(random::next_key(), device));
    if (id == kRunNumber) put(made, id, to(random::key(number), device));
  }

  // Computes what a form makes, in the run of this number.
  void submit(Form& form, Made& made, std::uint64_t number) {
    if (!form.executable) return;
    const Device& here = device_of(form);
    std::vector<Tensor> in, out;
    for (const std::string& id : form.inputs) {
      put_key(made, id, number);
      in.push_back(contiguous(to(made.at(id), here)));
    }
    eval(in);
    for (const auto& [id, type] : form.made) {
      out.emplace_back(here, type.dtype, type.shape);
      made.insert_or_assign(id, out.back());
    }
    form.executable.run(in, out);
  }

  // The form behind one, whose value has these elements if it ended for them.
  std::shared_ptr<Form> next_form(const std::shared_ptr<Form>& form, std::optional<TensorData> elements) {
    std::string key;
    if (elements) {
      ++reads;
      key.assign(reinterpret_cast<const char*>(elements->bytes.data()), elements->bytes.size());
    }
    const std::lock_guard lock(form->making);
    if (form->next.size() >= std::max<std::size_t>(options.forms, 1) && !form->next.contains(key)) form->next.clear();
    std::shared_ptr<Form>& next = form->next[key];
    if (next) return next;
    const int idle = !elements && form->made.empty() ? form->idle + 1 : 0;
    if (idle > 1) throw Unsupported("onnx: nodes of '{}' cannot be parted between two devices", description.name);
    next = std::make_shared<Form>();
    next->idle = idle;
    next->known = form->known;
    if (elements) next->known.elements.emplace(form->read, std::move(*elements));
    for (const auto& [id, type] : form->made) next->known.tensors.emplace(id, type);
    for (const auto& [id, value] : form->made_sequences) next->known.sequences.emplace(id, value);
    next->sequences = form->sequences;
    next->refused = form->refused;
    next->observes = form->observes;
    next->recomputes = form->recomputes;
    next->on_fallback = elements ? form->on_fallback : !form->on_fallback;
    return next;
  }

  static TensorData data_of_read(const TensorType& type, std::vector<std::byte> elements) {
    const auto bytes = std::make_shared<const std::vector<std::byte>>(std::move(elements));
    return {type.dtype, type.shape, *bytes, bytes};
  }

  // Runs the stages from this one on, and returns the last. `made` has what is known at the beginning, and gets what the
  // stages make.
  std::shared_ptr<Form> run_stages(std::shared_ptr<Form> form, Made& made) {
    const std::uint64_t number = runs++;
    for (;;) {
      make(*form);
      submit(*form, made, number);
      if (form->ends) return form;
      std::optional<TensorData> elements;
      if (!form->read.empty()) {
        const Tensor& read = made.at(form->read);
        std::vector<std::byte> bytes(byte_size(read.type()));
        read.read_bytes(bytes);
        elements = data_of_read(read.type(), std::move(bytes));
      }
      form = next_form(form, std::move(elements));
    }
  }

  std::vector<PortValue> results(const Form& form, const Made& made) const {
    std::vector<PortValue> all;
    for (const Form::Output& output : form.outputs) {
      PortValue& value = all.emplace_back();
      if (!output.is_sequence) {
        if (!output.ids.empty()) value.tensor = to(made.at(output.ids[0]), device);
        continue;
      }
      value.sequence.emplace();
      for (const std::string& id : output.ids) value.sequence->push_back(to(made.at(id), device));
    }
    return all;
  }

  // The outputs as tensors that depend on the inputs, which a derivative or the trace of a compiled function goes
  // through.
  std::vector<PortValue> run_inline(const Given& all) {
    const DefaultDeviceScope here(device);
    std::map<std::string, Tensor> inputs;
    Known known;
    const auto add = [&](const std::string& id, const Tensor& tensor) {
      inputs.insert_or_assign(id, tensor);
      known.tensors.insert_or_assign(id, tensor.type());
    };
    for (const auto& [name, tensor] : source.resident) add(name, tensor);
    // A copy from another device would end what a derivative goes through: of what may have one it is an error.
    for (const auto& [id, tensor] : all.tensors) {
      const bool moves = find_data(tensor) && !is_floating(tensor.dtype()) && tensor.dtype() != DType::c64 &&
                         tensor.device() != device;
      add(id, moves ? to(tensor, device) : tensor);
    }
    add(std::string(kRunNumber), random::key(runs++));
    std::vector<PortValue> results;
    for (Value& value : Tracer(source, inputs, known).trace(all.sequences)) {
      PortValue& result = results.emplace_back(PortValue{.tensor = value.tensor});
      if (!value.sequence) continue;
      result.sequence.emplace();
      for (const Value& element : *value.sequence) result.sequence->push_back(element.tensor);
    }
    return results;
  }

  std::vector<PortValue> run(std::span<const NamedValue> values) {
    const Given all = given(values);
    std::vector<Tensor> operands;
    for (const auto& [id, tensor] : all.tensors) operands.push_back(tensor);
    if (detail::TracedCalls::inlines(operands)) return run_inline(all);
    Made made(source.resident.begin(), source.resident.end());
    for (const auto& [id, tensor] : all.tensors) put(made, id, to(tensor, device));
    const std::shared_ptr<Form> last = run_stages(first_form(all, true), made);
    return results(*last, made);
  }

  std::vector<NodeValue> node_values(std::span<const NamedValue> values, std::span<const NodeValue> instead) {
    const Given all = given(values);
    Made made(source.resident.begin(), source.resident.end());
    const auto form = std::make_shared<Form>();  // none of those that are kept
    form->observes = true;
    form->recomputes = !instead.empty();
    form->sequences = all.sequences;
    for (const auto& [name, tensor] : source.resident) form->known.tensors.emplace(name, tensor.type());
    const auto add = [&](const std::string& id, const Tensor& tensor) {
      Tensor here = contiguous(to(tensor, device));
      eval(here);
      form->known.tensors.insert_or_assign(id, here.type());
      made.insert_or_assign(id, std::move(here));
    };
    for (const NodeValue& v : instead) add(v.name, v.value);
    for (const auto& [id, tensor] : all.tensors) add(id, tensor);
    const std::shared_ptr<Form> last = run_stages(form, made);
    std::vector<NodeValue> results;
    for (const Observed& o : last->observed) {
      std::string id = o.value.id;
      Tensor value = o.value.data ? Graph::constant(*o.value.data) : Tensor();
      if (const auto it = made.find(id); it != made.end()) value = it->second;
      if (!value.defined()) continue;  // a sequence, or an optional without a value
      if (form->recomputes) id.erase(0, std::string_view("computed ").size());
      const NodeProto& node = *o.node;
      const bool is_inside = std::ranges::find(node.outputs, id) == node.outputs.end();
      results.push_back({.node = node.name,
                         .op = node.domain.empty() ? node.op_type : node.domain + "." + node.op_type,
                         .name = std::move(id),
                         .value = to(value, device),
                         .is_inside = is_inside});
    }
    return results;
  }

  std::vector<FallbackNode> on_fallback() {
    const std::lock_guard lock(mutex);
    std::vector<FallbackNode> nodes;
    for (const auto& [index, why] : placed) {
      const NodeProto& node = source.model.graph.nodes[index];
      nodes.push_back({node.name, node.domain.empty() ? node.op_type : node.domain + "." + node.op_type, why});
    }
    return nodes;
  }
};

struct RunSteps::Impl : std::enable_shared_from_this<RunSteps::Impl> {
  std::shared_ptr<Model::Impl> model;
  Given given;
  std::shared_ptr<Form> form;
  Model::Impl::Made made;
  std::uint64_t number = 0;  // of the run
  std::vector<PortValue> results;
  bool has_inputs = false, is_done = false;

  Future<void> next() {
    if (is_done) throw InvalidArgument("onnx: the run is done");
    if (has_inputs) return stage();
    std::vector<Future<Tensor>> here;
    for (const auto& [id, tensor] : given.tensors) here.push_back(async_to(tensor, model->device));
    return when_all(std::move(here)).and_then([self = shared_from_this()](const std::vector<Tensor>& tensors) {
      for (std::size_t i = 0; i < tensors.size(); ++i)
        Model::Impl::put(self->made, self->given.tensors[i].first, tensors[i]);
      self->has_inputs = true;
      return self->stage();
    });
  }

  Future<void> stage() {
    return model->async_make(form).and_then([self = shared_from_this()] {
      self->model->submit(*self->form, self->made, self->number);
      if (self->form->ends) {
        self->results = self->model->results(*self->form, self->made);
        self->is_done = true;
        self->made.clear();
        return Future<void>({}, [] {});
      }
      const Tensor read = self->made.at(self->form->read);
      return read.async_read_bytes().map([self, type = read.type()](std::vector<std::byte> bytes) {
        self->form = self->model->next_form(self->form, Model::Impl::data_of_read(type, std::move(bytes)));
      });
    });
  }
};

bool RunSteps::done() const { return impl_->is_done; }
Future<void> RunSteps::next() { return impl_->next(); }
const std::vector<PortValue>& RunSteps::results() const {
  if (!impl_->is_done) throw InvalidArgument("onnx: the run is not done");
  return impl_->results;
}

std::shared_ptr<Model::Impl> make_model(Source source, const Options& options) {
  return std::make_shared<Model::Impl>(std::move(source), options);
}

namespace {

Source source_of(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                 const std::filesystem::path& folder) {
  return {.model = parse_model(bytes),
          .initializers = {},
          .resident = {},
          .owner = std::move(owner),
          .files = std::make_shared<ExternalFiles>(folder)};
}

}  // namespace

Model Model::load(const std::filesystem::path& path, const Options& options) {
  const MappedFile file = MappedFile::open(path);
  return in_context([&] { return std::format("'{}'", path.string()); }, [&] {
    const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    return Model(make_model(source_of(file.bytes, file.owner, folder), options));
  });
}

Model Model::from_bytes(std::span<const std::byte> bytes, const Options& options, const std::filesystem::path& folder) {
  const auto copy = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
  return Model(make_model(source_of(*copy, copy, folder), options));
}

Description describe(const std::filesystem::path& path) {
  const MappedFile file = MappedFile::open(path);
  return in_context([&] { return std::format("'{}'", path.string()); }, [&] {
    Source source = source_of(file.bytes, file.owner, {});
    source.index();
    return describe(source);
  });
}

Graph Model::graph(std::span<const NamedShape> shapes, std::span<const NamedTensor> constants) const {
  return impl_->graph(shapes, constants);
}

Graph to_graph(const std::filesystem::path& path, std::span<const NamedShape> shapes,
               std::span<const NamedTensor> constants, const Options& options) {
  return Model::load(path, options).graph(shapes, constants);
}

const Description& Model::description() const { return impl_->description; }
const Device& Model::device() const { return impl_->device; }
std::size_t Model::compilations() const { return impl_->compilations; }
std::size_t Model::reads() const { return impl_->reads; }

std::vector<PortValue> Model::run_values(std::span<const NamedValue> inputs) const { return impl_->run(inputs); }
std::vector<NodeValue> Model::node_values(std::span<const NamedValue> inputs, std::span<const NodeValue> instead) const {
  return impl_->node_values(inputs, instead);
}
std::vector<FallbackNode> Model::on_fallback() const { return impl_->on_fallback(); }

RunSteps Model::run_steps(std::span<const NamedValue> inputs) const {
  if (impl_->options.fallback) throw Unsupported("onnx: a run in steps has one device, and no fallback");
  const auto steps = std::make_shared<RunSteps::Impl>();
  steps->model = impl_;
  steps->given = impl_->given(inputs);
  steps->form = impl_->first_form(steps->given, !impl_->device.is_gpu());
  steps->number = impl_->runs++;
  steps->made = {impl_->source.resident.begin(), impl_->source.resident.end()};
  return RunSteps(steps);
}

std::vector<Tensor> Model::run(std::span<const NamedTensor> inputs) const {
  std::vector<NamedValue> values;
  for (const NamedTensor& input : inputs) values.push_back({std::string(input.name), {.tensor = input.tensor}});
  std::vector<Tensor> tensors;
  for (PortValue& value : impl_->run(values)) {
    if (value.sequence) throw InvalidArgument("onnx: output '{}' is a sequence, which run_values() gives", impl_->description.outputs[tensors.size()].name);
    tensors.push_back(std::move(value.tensor));
  }
  return tensors;
}

PortValue load_value(const std::filesystem::path& path, std::string_view type) {
  const MappedFile file = MappedFile::open(path);
  return in_context([&] { return std::format("'{}'", path.string()); }, [&] {
    ExternalFiles files(path.parent_path());
    const auto tensor = [&](std::span<const std::byte> bytes) {
      return Graph::constant(data_of(parse_tensor(bytes), file.owner, files));
    };
    const auto sequence = [&](std::span<const std::byte> bytes) {
      std::vector<Tensor> tensors;
      for (WireReader r(bytes, "SequenceProto"); r.next();) {
        if (r.field() == 3) tensors.push_back(tensor(r.bytes()));
      }
      return tensors;
    };
    PortValue value;
    if (type.starts_with("optional(")) {
      for (WireReader r(file.bytes, "OptionalProto"); r.next();) {
        if (r.field() == 3) value.tensor = tensor(r.bytes());
        if (r.field() == 5) value.sequence = sequence(r.bytes());
      }
    } else if (type.starts_with("seq(")) {
      value.sequence = sequence(file.bytes);
    } else {
      value.tensor = tensor(file.bytes);
    }
    return value;
  });
}

}  // namespace weft::onnx
