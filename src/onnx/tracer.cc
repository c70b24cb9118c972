#include "onnx/tracer.h"

#include <algorithm>

#include "core/error_context.h"
#include "core/format.h"
#include "graph/node.h"
#include "onnx/external.h"
#include "onnx/write.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/label.h"
#include "weft/random.h"

namespace weft::onnx {
namespace {

// What is computed while the graph is made: operands and results of no more elements than this, as shapes have.
constexpr std::int64_t kKnownElements = 4096;

// Whose results depend on no element of their operands.
constexpr std::string_view kOfShapes[] = {"Shape", "Size"};

// As many calls, branches and turns within each other as the host's stack surely holds.
constexpr std::size_t kDeepest = 64;

// As many elements of sequences are copied, which an insertion of one does with all.
constexpr std::size_t kMostCopies = std::size_t{1} << 24;

// What tells a node from the others of its graph (several may have one name): its first result.
std::string own_name(const NodeProto& node) {
  for (const std::string& output : node.outputs) {
    if (!output.empty()) return output;
  }
  return node.name.empty() ? node.op_type : node.name;
}
std::string place_of(const NodeProto& node) { return node.name.empty() ? own_name(node) : node.name; }

// FNV-1a.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
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

TensorData read_now(const Tensor& tensor) {
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

// What a function of the program's own makes of a node.
Tensors call_operator(const Operator& own, const Node& node) {
  using Type = AttributeProto::Type;
  OperatorCall call{.inputs = {}, .outputs = node.results(), .version = node.version()};
  for (std::size_t i = 0; i < node.size(); ++i) call.inputs.push_back(node.maybe(i));
  for (const AttributeProto& a : node.proto().attributes) {
    switch (a.type) {
      case Type::i:
        call.attributes.emplace(a.name, a.i);
        break;
      case Type::f:
        call.attributes.emplace(a.name, static_cast<double>(a.f));
        break;
      case Type::s:
        call.attributes.emplace(a.name, a.s);
        break;
      case Type::ints:
        call.attributes.emplace(a.name, a.ints);
        break;
      case Type::floats:
        call.attributes.emplace(a.name, std::vector<double>(a.floats.begin(), a.floats.end()));
        break;
      case Type::strings:
        call.attributes.emplace(a.name, a.strings);
        break;
      case Type::t:
        call.attributes.emplace(a.name, node.tensor(a.name));
        break;
      default:
        break;
    }
  }
  Tensors results = own.make(call);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (node.wants(i) && !results[i].defined())
      node.fail("result {} of the program's operator is an undefined Tensor", i);
  }
  return results;
}

template <class T>
T attribute_of(const OperatorCall& call, std::string_view name, const std::optional<T>& otherwise,
               std::string_view kind) {
  const auto it = call.attributes.find(name);
  if (it == call.attributes.end()) {
    if (otherwise) return *otherwise;
    throw FormatError("the attribute {} is missing", name);
  }
  if (const T* value = std::get_if<T>(&it->second)) return *value;
  throw FormatError("the attribute {} is not {}", name, kind);
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

const Tensor& OperatorCall::input(std::size_t i) const {
  if (i >= inputs.size() || !inputs[i].defined()) throw FormatError("operand {} is missing", i);
  return inputs[i];
}
std::int64_t OperatorCall::integer(std::string_view name, std::optional<std::int64_t> otherwise) const {
  return attribute_of(*this, name, otherwise, "an integer");
}
double OperatorCall::number(std::string_view name, std::optional<double> otherwise) const {
  return attribute_of(*this, name, otherwise, "a number");
}
std::string OperatorCall::text(std::string_view name, std::optional<std::string> otherwise) const {
  return attribute_of(*this, name, otherwise, "a text");
}
std::vector<std::int64_t> OperatorCall::integers(std::string_view name,
                                                 std::optional<std::vector<std::int64_t>> otherwise) const {
  return attribute_of(*this, name, otherwise, "integers");
}
std::vector<double> OperatorCall::numbers(std::string_view name, std::optional<std::vector<double>> otherwise) const {
  return attribute_of(*this, name, otherwise, "numbers");
}

const FunctionProto* Source::find_function(const NodeProto& node) const {
  const auto it = functions.find({node.domain, node.op_type, node.overload});
  return it == functions.end() ? nullptr : it->second;
}

void Source::index(std::span<const Operator> own) {
  functions.clear();
  operators.clear();
  for (const FunctionProto& f : model.functions) functions.try_emplace({f.domain, f.name, f.overload}, &f);
  for (const Operator& o : own) {
    if (!o.make) throw InvalidArgument("onnx: operator {}.{} without a function", o.domain, o.name);
    const std::string_view domain = o.domain == "ai.onnx" ? std::string_view() : std::string_view(o.domain);
    if (!operators.try_emplace({domain, o.name}, &o).second) {
      throw InvalidArgument("onnx: operator {}.{} is given twice", o.domain, o.name);
    }
  }
}

const Operator* Source::find_operator(const NodeProto& node) const {
  const auto it = operators.find({node.domain, node.op_type});
  return it == operators.end() ? nullptr : it->second;
}

Value Tracer::constant(TensorData data, std::string id) {
  Tensor tensor = Graph::constant(data, id);
  return {std::move(id), std::move(tensor), std::move(data)};
}

Tensor Tracer::input(const std::string& id, const TensorType& type) {
  Tensor& tensor = inputs_[id];
  if (!tensor.defined() && graph_) tensor = graph_->input(id, type.dtype, type.shape);
  if (!tensor.defined()) throw InternalError("onnx: '{}' is not given", id);
  return tensor;
}

Value Tracer::named(std::string id, Value value) {
  if (const auto it = known_.sequences.find(id); it != known_.sequences.end() && !value.sequence) value = it->second;
  if (value.sequence) {
    for (std::size_t i = 0; i < value.sequence->size(); ++i) {
      Value& element = (*value.sequence)[i];
      // An element that has a place keeps it.
      if (element.id.empty())
        element = named(std::format("{}[{}]", id, i), std::move(element));
      else if (element.is_none())
        element = named(element.id, element);
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
  for (const Value& held : held_) add_tensors(held, known_, live_);
  if (!options_.observed || options_.recompute) return;
  for (const Observed& seen : *options_.observed) add_tensors(seen.value, known_, live_);
}

const TensorData& Tracer::require(const Value& needed) const {
  if (in_graph_) throw NotOfGraph{};
  if (!graph_) return read_.emplace_back(read_now(needed.tensor));
  find_live();
  add_tensors(needed, known_, live_);
  throw NeedsElements{needed.id, running_.empty() ? nullptr : running_.back()};
}

const TensorData& Tracer::elements(const Value& value) const { return value.data ? *value.data : require(value); }

void Tracer::charge(std::size_t elements) {
  copied_ += elements;
  if (copied_ > kMostCopies) throw Unsupported("sequences of too many elements");
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
  } catch (const InvalidArgument&) {
    // Carries or results whose types differ (ShapeError, TypeError), or a branch that does not fit the shapes, since it
    // is for others, nor to what is there (Unsupported, FormatError): if it is taken, the error comes again. What the
    // machine lacks, memory or the device, is an error at once.
  } catch (const Unsupported&) {
  } catch (const FormatError&) {
  } catch (...) {
    restore();
    throw;
  }
  restore();
  return std::nullopt;
}

TensorData Tracer::read(const Node& node, std::string_view name, const Tensor& tensor, std::span<Tensor* const> kept) {
  const bool is_known = std::ranges::all_of(node.operands(), [](const Value* v) { return !v || v->data; });
  if (is_known) return read_now(tensor);
  const std::string path = scopes_.back()->prefix + own_name(node.proto()) + "/";
  const Holds holds(*this);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const Value value = named(std::format("{}{} {}", path, name, i), {.tensor = *kept[i]});
    *kept[i] = value.tensor;
    hold(value);
  }
  return elements(named(std::format("{}{}", path, name), {.tensor = tensor}));
}

Tensor Tracer::random_key(const Node& node, std::optional<std::uint64_t> seed) {
  const std::string& prefix = scopes_.back()->prefix;
  // Nodes of one seed draw the same numbers, unless they are in other turns or calls.
  const std::uint64_t salt = !seed ? hash_of(prefix + own_name(node.proto())) : prefix.empty() ? 0 : hash_of(prefix);
  const std::string id(seed ? kRunNumber : kRandomKey);
  if (!graph_ && !seed && !inputs_.contains(id)) inputs_.emplace(id, random::next_key());
  const Tensor given = input(id, {DType::u32, {2}});
  Tensor key = given + random::key(salt + (seed ? *seed : 0));
  for (const Tensor& turn : turns_) key = key * Number(0x9e3779b9u) + cast(turn, DType::u32);
  return key;
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
  for (const auto& [name, tensor] : source_.resident) scope.values.emplace(name, named(name, {}));
  const auto is_given = [&](const std::string& id) {
    return known_.tensors.contains(id) || known_.elements.contains(id);
  };
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
  if (scopes_.size() > kDeepest)
    throw FormatError("onnx: more than {} graphs and functions within each other", kDeepest);
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
    if (is_main && options_.each_alone)
      run_alone(scope, i, node);
    else
      run_in_context(scope, node);
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
  running_.push_back(&node);
  const struct Leaves {
    std::vector<const NodeProto*>& running;
    ~Leaves() { running.pop_back(); }
  } leaves{running_};
  try {
    run_node(scope, node);
  } catch (const Error& e) {
    throw_in_context(
        e, std::format("node '{}' ({}{}{}, opset {})", place_of(node), node.domain, node.domain.empty() ? "" : ".",
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
  if (++made_ > kMostNodes + source_.model.graph.nodes.size()) {
    throw Unsupported("loops and functions make more than {} nodes", kMostNodes);
  }
  if (!options_.recompute && is_known(scope, given)) {
    for (const std::string& name : given.outputs) {
      define(scope, name, {});
      if (!name.empty() && options_.observed && !in_graph_)
        options_.observed->push_back({&given, scope.values.at(name)});
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
  const std::string path = scope.prefix + own_name(*node) + "/";
  // What the node makes is called so in schedules, profiles and drawings.
  std::optional<LabelScope> label;
  if (std::string text = label_of(node->name); !text.empty()) label.emplace(text);
  const FunctionProto* function = source_.find_function(*node);
  const std::int64_t version = version_of(*scope.opsets, node->domain);
  if (version == 0) throw FormatError("the model imports no opset of ai.onnx");
  Values values;
  const Operator* const own = source_.find_operator(*node);
  const ControlRow* control = find_control_row(node->domain, node->op_type, version);
  const OperatorRow* row = control ? nullptr : find_row(node->domain, node->op_type, version);
  // Whether all operands are known, and few.
  const auto all_known = [&] {
    std::int64_t count = 0;
    for (const Value* v : operands) {
      if (v && !v->data) return false;
      if (v) count += element_count(v->data->shape);
    }
    return count <= kKnownElements;
  };
  if (own) {
    values = compute(Node(*this, *node, version, operands), all_known(),
                     [&](const Node& n) { return call_operator(*own, n); });
  } else if (function && !(row && node->domain.empty())) {
    values = call_written(*function, operands);
    if (values.empty()) values = call_function(*function, *node, path, operands);
  } else if (control) {
    values = control->make(*this, Node(*this, *node, version, operands), path);
  } else if (row) {
    const bool known = (!row->draws && all_known()) || std::ranges::count(kOfShapes, row->name);
    values = compute(Node(*this, *node, version, operands), known, row->make);
  } else {
    throw Unsupported("no such operator here");
  }
  if (values.size() < node->outputs.size() && std::ranges::any_of(std::span(node->outputs).subspan(values.size()),
                                                                  [](const auto& name) { return !name.empty(); })) {
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

Values Tracer::compute(const Node& node, bool known, const std::function<Tensors(const Node&)>& make) {
  std::optional<DefaultDeviceScope> there;
  if (known) there.emplace(Device::cpu());
  Values values;
  for (Tensor& tensor : make(node)) {
    Value value{.tensor = std::move(tensor)};
    if (known && value.tensor.defined() && value.tensor.size() <= kKnownElements)
      value = constant(read_now(value.tensor));
    values.push_back(std::move(value));
  }
  return values;
}

Values Tracer::call_written(const FunctionProto& function, std::span<const Value* const> operands) const {
  if (function.domain != kWeftDomain) return {};
  std::vector<Tensor> inputs;
  std::vector<TensorType> types;
  for (const Value* v : operands) {
    if (!v || !v->is_tensor()) return {};
    inputs.push_back(v->tensor);
    types.push_back(v->tensor.type());
  }
  const OpPtr op = op_of_function(function, types);
  if (!op) return {};
  Values values;
  try {
    for (Tensor& tensor : results_of(apply(op, std::span<const Tensor>(inputs))))
      values.push_back({.tensor = std::move(tensor)});
  } catch (const Error&) {
    return {};  // it is not what its metadata say: its nodes count
  }
  return values.size() == function.outputs.size() ? values : Values();
}

Values Tracer::call_function(const FunctionProto& function, const NodeProto& node, const std::string& path,
                             std::span<const Value* const> operands) {
  Scope scope{.prefix = path, .opsets = &function.opsets, .function = &function, .call = &node};
  if (operands.size() > function.inputs.size()) {
    throw FormatError("function {} has {} inputs, and is given {}", function.name, function.inputs.size(),
                      operands.size());
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
              .prefix = std::format("{}{}/{}/", outer.prefix, own_name(node.proto()), part),
              .opsets = outer.opsets,
              .function = outer.function,
              .call = outer.call};
  if (inputs.size() != graph.inputs.size()) {
    throw FormatError("graph '{}' has {} inputs, and is given {}", graph.name, graph.inputs.size(), inputs.size());
  }
  add_initializers(scope, graph);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = graph.inputs[i].name;
    if (inputs[i].id.empty())
      define(scope, name, std::move(inputs[i]));
    else
      scope.values.insert_or_assign(name, std::move(inputs[i]));
  }
  return run(scope, graph);
}

}  // namespace weft::onnx
