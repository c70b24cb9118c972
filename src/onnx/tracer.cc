#include "onnx/tracer.h"

#include <algorithm>

#include "core/error_context.h"
#include "core/format.h"
#include "onnx/external.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/label.h"

namespace weft::onnx {
namespace {

// What is computed while the graph is made: operands and results of no more elements than this, as shapes have.
constexpr std::int64_t kKnownElements = 4096;

// Whose results depend on no element of their operands.
constexpr std::string_view kOfShapes[] = {"Shape", "Size"};

// As many calls, branches and turns within each other as the host's stack surely holds.
constexpr std::size_t kDeepest = 64;

std::string place_of(const NodeProto& node) {
  if (!node.name.empty()) return node.name;
  for (const std::string& output : node.outputs) {
    if (!output.empty()) return output;
  }
  return node.op_type;
}

// Folders of names are layers.
std::string label_of(std::string_view name) {
  while (name.starts_with('/')) name.remove_prefix(1);
  std::string label(name);
  std::ranges::replace(label, '/', '.');
  return label;
}

// Calls f with each name that the nodes take from around them, those of graphs inside too, once a use.
template <class F>
void each_use(std::span<const NodeProto> nodes, const F& f) {
  for (const NodeProto& node : nodes) {
    for (const std::string& name : node.inputs) {
      if (!name.empty()) f(name);
    }
    for (const AttributeProto& a : node.attributes) {
      for (const auto& graph : a.graphs) {
        each_use(graph->nodes, f);
        for (const ValueInfoProto& output : graph->outputs) f(output.name);
      }
    }
  }
}

TensorData read(const Tensor& tensor) {
  const auto bytes = std::make_shared<std::vector<std::byte>>(byte_size(tensor.type()));
  tensor.read_bytes(*bytes);
  return {tensor.dtype(), tensor.shape(), *bytes, bytes};
}

void add_tensors(const Value& value, const Known& known, std::map<std::string, Tensor>& to) {
  if (value.sequence) {
    for (const Value& element : *value.sequence) add_tensors(element, known, to);
  }
  if (value.tensor.defined() && !value.data && !known.tensors.contains(value.id)) to.emplace(value.id, value.tensor);
}

// The value without its tensors, but for those that are known.
Value ids_of(Value value) {
  if (value.sequence) {
    for (Value& element : *value.sequence) element = ids_of(std::move(element));
  }
  if (!value.data) value.tensor = {};
  return value;
}

}  // namespace

const FunctionProto* Source::find_function(const NodeProto& node) const {
  for (const FunctionProto& f : model.functions) {
    if (f.domain == node.domain && f.name == node.op_type && f.overload == node.overload) return &f;
  }
  return nullptr;
}

Value Tracer::constant(TensorData data, std::string id) {
  Tensor tensor = Graph::constant(data, id);
  return {std::move(id), std::move(tensor), std::move(data)};
}

Tensor Tracer::input(const std::string& id, const TensorType& type) {
  Tensor& tensor = inputs_[id];
  if (!tensor.defined()) tensor = graph_->input(id, type.dtype, type.shape);
  return tensor;
}

Value Tracer::named(std::string id, Value value) {
  if (const auto it = known_.sequences.find(id); it != known_.sequences.end() && !value.sequence) value = it->second;
  if (value.sequence) {
    for (std::size_t i = 0; i < value.sequence->size(); ++i) {
      Value& element = (*value.sequence)[i];
      // An element that has a place keeps it.
      if (element.id.empty()) element = named(std::format("{}[{}]", id, i), std::move(element));
      else if (element.is_none()) element = named(element.id, element);
    }
    value.id = std::move(id);
    return value;
  }
  if (value.data) {
    value.id = std::move(id);
    return value;
  }
  if (const auto it = known_.elements.find(id); it != known_.elements.end()) return constant(it->second, std::move(id));
  if (const auto it = known_.tensors.find(id); it != known_.tensors.end()) value.tensor = input(id, it->second);
  value.id = std::move(id);
  return value;
}

void Tracer::define(Scope& scope, const std::string& name, Value value) {
  if (name.empty()) return;
  scope.values.insert_or_assign(name, named(scope.prefix + name, std::move(value)));
}

const Value* Tracer::look_up(const Scope& scope, const std::string& name) const {
  for (const Scope* s = &scope; s; s = s->outer) {
    if (const auto it = s->values.find(name); it != s->values.end()) return &it->second;
  }
  return nullptr;
}

void Tracer::find_live() const {
  live_.clear();
  live_sequences_.clear();
  for (const Scope* scope : scopes_) {
    for (const auto& [name, value] : scope->values) {
      const auto it = scope->uses.find(name);
      if (it == scope->uses.end() || it->second <= 0) continue;
      add_tensors(value, known_, live_);
      if (value.sequence) live_sequences_.insert_or_assign(value.id, ids_of(value));
    }
  }
  for (const Value& value : held_) add_tensors(value, known_, live_);
  if (!options_.observed || options_.recompute) return;
  for (const Observed& o : *options_.observed) add_tensors(o.value, known_, live_);
}

void Tracer::require(const std::string& id) const {
  if (in_graph_) throw NotOfGraph{};
  find_live();
  throw NeedsElements{id};
}

const TensorData& Tracer::elements(const Value& value) const {
  if (!value.data) require(value.id);
  return *value.data;
}

std::optional<Values> Tracer::in_graph(const std::function<Values()>& f) {
  const std::size_t scopes = scopes_.size(), held = held_.size();
  const auto restore = [&] {
    --in_graph_;
    scopes_.resize(scopes);
    held_.resize(held);
  };
  ++in_graph_;
  try {
    Values values = f();
    restore();
    return values;
  } catch (const NotOfGraph&) {
  } catch (const Error&) {
    // Carries or results whose types differ, or a branch that does not fit the shapes, since it is for others: if it is
    // taken, the error comes again.
  } catch (...) {
    restore();
    throw;
  }
  restore();
  return std::nullopt;
}

void Tracer::add_initializers(Scope& scope, const GraphProto& graph) {
  for (const TensorProto& t : graph.initializers) {
    scope.values.insert_or_assign(t.name, constant(data_of(t, source_.owner, *source_.files), scope.prefix + t.name));
  }
  for (const SparseTensorProto& t : graph.sparse_initializers) {
    scope.values.insert_or_assign(t.values.name,
                                  constant(data_of(t, source_.owner, *source_.files), scope.prefix + t.values.name));
  }
}

Values Tracer::trace(const std::map<std::string, std::size_t, std::less<>>& sequences) {
  const GraphProto& graph = source_.model.graph;
  Scope scope{.opsets = &source_.model.opsets};
  for (const auto& [name, value] : source_.initializers) scope.values.emplace(name, value);
  const auto is_given = [&](const std::string& id) { return known_.tensors.contains(id) || known_.elements.contains(id); };
  for (const ValueInfoProto& port : graph.inputs) {
    if (const auto it = sequences.find(port.name); it != sequences.end()) {
      Value list{.id = port.name, .sequence = Values(it->second)};
      scope.values.insert_or_assign(port.name, named(port.name, std::move(list)));
    } else if (is_given(port.name)) {
      scope.values.insert_or_assign(port.name, named(port.name, {}));
    } else if (port.type.kind == TypeProto::Kind::optional) {
      scope.values.insert_or_assign(port.name, Value{.id = port.name});
    }
  }
  return run(scope, graph);
}

Values Tracer::run(Scope& scope, const GraphProto& graph) {
  std::vector<std::string> outputs;
  for (const ValueInfoProto& output : graph.outputs) outputs.push_back(output.name);
  return run(scope, graph.nodes, outputs, std::format("graph '{}'", graph.name));
}

Values Tracer::run(Scope& scope, std::span<const NodeProto> nodes, std::span<const std::string> outputs,
                   std::string_view what) {
  // (Not taken off where an error or a stage ends it: require() and in_graph() see to that.)
  scopes_.push_back(&scope);
  if (scopes_.size() > kDeepest) throw FormatError("onnx: more than {} graphs and functions within each other", kDeepest);
  each_use(nodes, [&](const std::string& name) { ++scope.uses[name]; });
  for (const std::string& name : outputs) ++scope.uses[name];
  const bool is_main = scopes_.size() == 1;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeProto& node = nodes[i];
    if (is_main && waits(scope, i, node)) {
      for (const std::string& name : node.outputs) {
        if (!name.empty()) waiting_.insert(name);
      }
      continue;
    }
    if (is_main && options_.each_alone) run_alone(scope, i, node);
    else run_in_context(scope, node);
    each_use(std::span(&node, 1), [&](const std::string& name) { --scope.uses[name]; });
  }
  if (is_main && options_.each_alone) return {};
  // (What was computed by an earlier stage for others of that stage alone waits, too, and nothing waits for it.)
  if (is_main && std::ranges::any_of(outputs, [&](const std::string& name) { return waiting_.contains(name); })) {
    find_live();
    throw OtherDevice{};
  }
  scopes_.pop_back();
  Values values;
  for (const std::string& name : outputs) {
    const Value* value = look_up(scope, name);
    if (!value) throw FormatError("onnx: output '{}' of {} has no value", name, what);
    values.push_back(*value);
  }
  return values;
}

bool Tracer::is_known(const Scope& scope, const NodeProto& node) const {
  return std::ranges::all_of(node.outputs, [&](const std::string& name) {
    const std::string id = scope.prefix + name;
    return name.empty() || known_.tensors.contains(id) || known_.elements.contains(id) || known_.sequences.contains(id);
  });
}

bool Tracer::waits(const Scope& scope, std::size_t index, const NodeProto& node) const {
  if ((!options_.refused && waiting_.empty()) || is_known(scope, node)) return false;
  bool needs = false, is_folded = true;
  each_use(std::span(&node, 1), [&](const std::string& name) {
    needs |= waiting_.contains(name);
    const Value* value = look_up(scope, name);
    is_folded &= value && value->data;
  });
  if (needs) return true;
  if (!options_.refused) return false;
  if (!options_.only_refused) return options_.refused->contains(index);
  // What is computed while the graph is made is no work of the device.
  return !options_.refused->contains(index) && !is_folded && !std::ranges::count(kOfShapes, node.op_type);
}

void Tracer::run_in_context(Scope& scope, const NodeProto& node) {
  try {
    run_node(scope, node);
  } catch (const Error& e) {
    throw_in_context(e, std::format("node '{}' ({}{}{}, opset {})", place_of(node), node.domain, node.domain.empty() ? "" : ".",
                                    node.op_type, version_of(*scope.opsets, node.domain)));
  }
}

void Tracer::run_alone(Scope& scope, std::size_t index, const NodeProto& node) {
  Graph alone(place_of(node));
  graph_ = &alone;
  inputs_.clear();
  std::set<std::string> used;
  each_use(std::span(&node, 1), [&](const std::string& name) { used.insert(name); });
  const auto as_inputs = [&](const auto& self, Value& value) -> void {
    if (value.sequence) {
      for (Value& element : *value.sequence) self(self, element);
    }
    if (value.tensor.defined() && !value.data) value.tensor = input(value.id, value.tensor.type());
  };
  for (const std::string& name : used) {
    if (const auto it = scope.values.find(name); it != scope.values.end()) as_inputs(as_inputs, it->second);
  }
  const std::size_t held = held_.size();
  try {
    run_node(scope, node);
  } catch (const Unsupported& e) {
    scopes_.resize(1);
    held_.resize(held);
    for (const std::string& name : node.outputs) {
      if (!name.empty()) waiting_.insert(name);
    }
    options_.each_alone(index, node, alone, &e);
    return;
  }
  std::map<std::string, Tensor> results;
  for (const std::string& name : node.outputs) {
    if (const auto it = scope.values.find(name); it != scope.values.end()) add_tensors(it->second, {}, results);
  }
  for (const auto& [id, tensor] : results) alone.output(id, tensor);
  options_.each_alone(index, node, alone, nullptr);
}

void Tracer::run_node(Scope& scope, const NodeProto& given) {
  if (!options_.recompute && is_known(scope, given)) {
    for (const std::string& name : given.outputs) {
      define(scope, name, {});
      if (!name.empty() && options_.observed && !in_graph_) options_.observed->push_back({&given, scope.values.at(name)});
    }
    return;
  }
  // In a function, attributes that are those of the call.
  NodeProto resolved;
  const NodeProto* node = &given;
  const auto refers = [](const AttributeProto& a) { return !a.reference.empty(); };
  if (scope.function && std::ranges::any_of(given.attributes, refers)) {
    resolved = given;
    std::erase_if(resolved.attributes, [&](AttributeProto& a) {
      if (a.reference.empty()) return false;
      const AttributeProto* value = scope.call->attribute(a.reference);
      const auto otherwise = std::ranges::find(scope.function->defaults, a.reference, &AttributeProto::name);
      if (!value && otherwise != scope.function->defaults.end()) value = &*otherwise;
      if (!value) return true;
      const std::string name = a.name;
      a = *value;
      a.name = name;
      a.reference.clear();
      return false;
    });
    node = &resolved;
  }
  std::vector<const Value*> operands;
  for (const std::string& name : node->inputs) {
    const Value* value = name.empty() ? nullptr : look_up(scope, name);
    if (!value && !name.empty()) throw FormatError("'{}' has no value: no node before this one makes it", name);
    operands.push_back(value);
  }
  const std::string path = scope.prefix + place_of(*node) + "/";
  // What the node makes is called so in schedules, profiles and drawings.
  std::optional<LabelScope> label;
  if (std::string text = label_of(node->name); !text.empty()) label.emplace(text);
  const FunctionProto* function = source_.find_function(*node);
  const std::int64_t version = version_of(*scope.opsets, node->domain);
  if (version == 0) throw FormatError("the model imports no opset of ai.onnx");
  Values values;
  const ControlRow* control = find_control_row(node->domain, node->op_type, version);
  const OperatorRow* row = control ? nullptr : find_row(node->domain, node->op_type, version);
  if (function && !(row && node->domain.empty())) {
    values = call_function(*function, *node, path, operands);
  } else if (control) {
    values = control->make(*this, Node(*this, *node, version, operands), path);
  } else if (row) {
    std::int64_t count = 0;
    bool known = !row->draws;
    for (const Value* v : operands) {
      known &= !v || v->data.has_value();
      if (v && v->data) count += element_count(v->data->shape);
    }
    known &= count <= kKnownElements;
    values = compute(*row, Node(*this, *node, version, operands), known || std::ranges::count(kOfShapes, row->name));
  } else {
    throw Unsupported("no such operator here");
  }
  if (values.size() < node->outputs.size() &&
      std::ranges::any_of(std::span(node->outputs).subspan(values.size()), [](const auto& name) { return !name.empty(); })) {
    throw Unsupported("it has {} results here, and the model wants {}", values.size(), node->outputs.size());
  }
  for (std::size_t i = 0; i < node->outputs.size() && i < values.size(); ++i) {
    const std::string& name = node->outputs[i];
    if (options_.observed && !in_graph_ && !name.empty()) {
      // Under the value's own id, also where another one is known that those behind it take.
      Value value = values[i];
      value.id = scope.prefix + name;
      options_.observed->push_back({&given, std::move(value)});
    }
    define(scope, name, std::move(values[i]));
  }
}

Values Tracer::compute(const OperatorRow& row, const Node& node, bool known) {
  std::optional<DefaultDeviceScope> there;
  if (known) there.emplace(Device::cpu());
  Values values;
  for (Tensor& tensor : row.make(node)) {
    Value value{.tensor = std::move(tensor)};
    if (known && value.tensor.defined() && value.tensor.size() <= kKnownElements) value = constant(read(value.tensor));
    values.push_back(std::move(value));
  }
  return values;
}

Values Tracer::call_function(const FunctionProto& function, const NodeProto& node, const std::string& path,
                             std::span<const Value* const> operands) {
  Scope scope{.prefix = path, .opsets = &function.opsets, .function = &function, .call = &node};
  if (operands.size() > function.inputs.size()) {
    throw FormatError("function {} has {} inputs, and is given {}", function.name, function.inputs.size(), operands.size());
  }
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    // What is left out is an optional without a value.
    scope.values[function.inputs[i]] = i < operands.size() && operands[i] ? *operands[i] : Value{};
  }
  return run(scope, function.nodes, function.outputs, std::format("function {}", function.name));
}

Values Tracer::call_graph(const GraphProto& graph, const Node& node, std::string_view part, Values inputs) {
  const Scope& outer = *scopes_.back();
  Scope scope{.outer = &outer,
              .prefix = std::format("{}{}/{}/", outer.prefix, place_of(node.proto()), part),
              .opsets = outer.opsets,
              .function = outer.function,
              .call = outer.call};
  if (inputs.size() != graph.inputs.size()) {
    throw FormatError("graph '{}' has {} inputs, and is given {}", graph.name, graph.inputs.size(), inputs.size());
  }
  add_initializers(scope, graph);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = graph.inputs[i].name;
    if (inputs[i].id.empty()) define(scope, name, std::move(inputs[i]));
    else scope.values.insert_or_assign(name, std::move(inputs[i]));
  }
  return run(scope, graph);
}

}  // namespace weft::onnx
