#include <algorithm>
#include <set>
#include <unordered_map>

#include "compiler/device_data.h"
#include "core/error_context.h"
#include "core/format.h"
#include "core/mapped_file.h"
#include "onnx/external.h"
#include "onnx/load.h"
#include "onnx/stages.h"
#include "onnx/tracer.h"
#include "onnx/value.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/onnx.h"
#include "weft/random.h"
#include "weft/traced.h"

namespace weft::onnx {

namespace {

std::string names_of(std::span<const Port> ports) {
  std::string names;
  for (const Port& port : ports) names += std::format("{}'{}'", names.empty() ? "" : ", ", port.name);
  return names.empty() ? "none" : names;
}

// The inputs of a graph that a value of it follows from; of one that is none of its own, all of them.
std::vector<std::string_view> inputs_behind(const GraphProto& graph, std::span<const Port> inputs,
                                            std::string_view id) {
  std::set<std::string_view> needed{id};
  const auto need = [&](const auto& self, std::span<const NodeProto> nodes) -> void {
    for (const NodeProto& node : nodes) {
      needed.insert(node.inputs.begin(), node.inputs.end());
      for (const AttributeProto& a : node.attributes) {
        for (const auto& inside : a.graphs) self(self, inside->nodes);
      }
    }
  };
  bool is_own = false;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const NodeProto& node = graph.nodes[i];
    if (std::ranges::none_of(node.outputs, [&](const std::string& name) { return needed.contains(name); })) continue;
    is_own = true;
    need(need, std::span(&node, 1));
  }
  std::vector<std::string_view> names;
  for (const Port& port : inputs) {
    if (!is_own || needed.contains(port.name)) names.push_back(port.name);
  }
  return names;
}

}  // namespace

struct Model::Impl {
  Source source;
  Options options;
  Device device;
  Description description;
  Stages stages;

  Impl(Source given, const Options& o)
      : source(std::move(given)),
        options(o),
        device(o.device ? *o.device : default_device()),
        stages(source, options, device) {
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
  }

  template <class F>
  void add_initializer(const std::string& name, const F& data) {
    if (source.resident.contains(name) || !source.initializers.emplace(name, Tracer::constant(data(), name)).second) {
      throw FormatError("onnx: two initializers are called '{}'", name);
    }
  }

  // Throws unless the tensor fits the port.
  void check(const Port& port, const Tensor& x,
             std::map<std::string, std::pair<std::int64_t, std::string>>& names) const {
    if (!x.defined()) throw InvalidArgument("onnx: input '{}' is an undefined Tensor", port.name);
    if (!port.dtype) return;
    if (x.dtype() != *port.dtype) {
      throw TypeError("onnx: input '{}' is {}, expected {}", port.name, weft::name(x.dtype()), weft::name(*port.dtype));
    }
    if (!port.shape) return;
    const auto refuse = [&](const std::string& why) {
      std::string sizes;
      for (const Dimension& d : *port.shape) {
        sizes += std::format("{}{}", sizes.empty() ? "" : ", ",
                             d.size           ? std::to_string(*d.size)
                             : d.name.empty() ? "?"
                                              : d.name);
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
      throw InvalidArgument("onnx: no input is called '{}'; there are {}", name, names_of(description.inputs));
    }
    return all;
  }

  Graph graph(std::span<const NamedShape> shapes, std::span<const NamedTensor> constants) const {
    Graph made(source.model.graph.name);
    Known known;
    std::map<std::string, std::pair<std::int64_t, std::string>> names;
    std::vector<std::pair<std::string, Tensor>> inputs;
    const auto refuse_unknown = [&](std::string_view name) {
      if (std::ranges::find(description.inputs, name, &Port::name) == description.inputs.end())
        throw InvalidArgument("onnx: no input is called '{}'; there are {}", name, names_of(description.inputs));
    };
    for (const NamedShape& s : shapes) refuse_unknown(s.name);
    for (const NamedTensor& c : constants) refuse_unknown(c.name);
    for (const Port& port : description.inputs) {
      const auto constant = std::ranges::find(constants, port.name, &NamedTensor::name);
      if (constant != constants.end()) {
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
      std::string names;
      for (const std::string_view name : inputs_behind(source.model.graph, description.inputs, needed.id))
        names += std::format("{}'{}'", names.empty() ? "" : ", ", name);
      throw Unsupported("onnx: what the graph is like depends on the elements of '{}', which a run reads{}", needed.id,
                        names.empty() ? ""
                                      : std::format("; give the inputs that these follow from ({}) as constants: -i "
                                                    "NAME=VALUE of weft graph, constants of graph()",
                                                    names));
    }
    return made;
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
    add(std::string(kRunNumber), random::key(stages.next_run()));
    std::vector<PortValue> results;
    for (Value& value : Tracer(source, inputs, known).trace(all.sequences)) {
      PortValue& result = results.emplace_back(PortValue{.tensor = value.tensor});
      if (!value.sequence) continue;
      result.sequence.emplace();
      for (const Value& element : *value.sequence) result.sequence->push_back(element.tensor);
    }
    return results;
  }

  // Adds tensors of the program's own that outputs are written to.
  void add_outputs(Given& all, std::span<const NamedTensor> outputs) const {
    all.outputs.resize(outputs.empty() ? 0 : description.outputs.size());
    for (const NamedTensor& output : outputs) {
      const auto port = std::ranges::find(description.outputs, output.name, &Port::name);
      if (port == description.outputs.end()) {
        throw InvalidArgument("onnx: no output is called '{}'; there are {}", output.name,
                              names_of(description.outputs));
      }
      Tensor& tensor = all.outputs[static_cast<std::size_t>(port - description.outputs.begin())];
      if (tensor.defined()) throw InvalidArgument("onnx: output '{}' is given twice", output.name);
      tensor = output.tensor;
      const DeviceData* const data = tensor.defined() ? find_data(tensor) : nullptr;
      if (!data) {
        throw InvalidArgument("onnx: output '{}' is given {}; expected a tensor with memory of its own", output.name,
                              !tensor.defined()   ? "an undefined Tensor"
                              : tensor.has_data() ? "a view or a constant"
                                                  : "a tensor that is not evaluated");
      }
      if (data->device() != device) {
        throw InvalidArgument("onnx: output '{}' is given a tensor on {}; expected one on {}", output.name,
                              data->device().name(), device.name());
      }
      for (std::size_t other = 0; other < all.outputs.size(); ++other) {
        if (&all.outputs[other] == &tensor || !all.outputs[other].defined()) continue;
        if (find_data(all.outputs[other]) != data) continue;
        throw InvalidArgument("onnx: outputs '{}' and '{}' are given one tensor", description.outputs[other].name,
                              output.name);
      }
      const std::string* donor = nullptr;
      for (const auto& [id, input] : all.tensors) {
        if (find_data(input) != data) continue;
        if (donor) {
          throw InvalidArgument("onnx: output '{}' is given the tensor of inputs '{}' and '{}'; expected that of one",
                                output.name, *donor, id);
        }
        donor = &id;
        all.donated.emplace_back(id, static_cast<std::size_t>(port - description.outputs.begin()));
      }
    }
  }

  std::vector<PortValue> run(std::span<const NamedValue> values, std::span<const NamedTensor> outputs = {}) {
    Given all = given(values);
    std::vector<Tensor> operands;
    for (const auto& [id, tensor] : all.tensors) operands.push_back(tensor);
    if (detail::TracedCalls::inlines(operands)) {
      if (!outputs.empty()) throw InvalidArgument("onnx: a run that is part of a function has results, and no outputs");
      return run_inline(all);
    }
    add_outputs(all, outputs);
    Stages::Made made(source.resident.begin(), source.resident.end());
    for (const auto& [id, tensor] : all.tensors) Stages::put(made, id, to(tensor, device));
    const std::shared_ptr<Form> last = stages.run(stages.first(all, true), made, stages.next_run(), all.outputs);
    std::vector<PortValue> results = stages.results(*last, made);
    for (std::size_t i = 0; i < all.outputs.size(); ++i) {
      if (all.outputs[i].defined()) results[i].tensor = all.outputs[i];
    }
    return results;
  }

  std::vector<NodeValue> node_values(std::span<const NamedValue> values, std::span<const NodeValue> instead) {
    const Given all = given(values);
    Stages::Made made(source.resident.begin(), source.resident.end());
    const auto form = std::make_shared<Form>(1);  // none of those that are kept
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
    const std::shared_ptr<Form> last = stages.run(form, made, stages.next_run());
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
                         .op = operator_name(node),
                         .name = std::move(id),
                         .value = to(value, device),
                         .is_inside = is_inside});
    }
    return results;
  }
};

struct RunSteps::Impl : std::enable_shared_from_this<RunSteps::Impl> {
  std::shared_ptr<Model::Impl> model;
  Given given;
  std::shared_ptr<Form> form;
  Stages::Made made;
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
        Stages::put(self->made, self->given.tensors[i].first, tensors[i]);
      self->has_inputs = true;
      return self->stage();
    });
  }

  Future<void> stage() {
    return model->stages.async_make(form)
        .and_then([self = shared_from_this()] { return self->bring(); })
        .and_then([self = shared_from_this()] { return self->submit(); });
  }

  // What the stage takes from the other device.
  Future<void> bring() {
    const Device& here = model->stages.device_of(*form);
    std::vector<std::string> ids;
    std::vector<Future<Tensor>> moved;
    for (const std::string& id : form->inputs) {
      const auto it = made.find(id);
      if (it == made.end() || it->second.device() == here) continue;
      ids.push_back(id);
      moved.push_back(async_to(it->second, here));
    }
    if (ids.empty()) return Future<void>({}, [] {});
    return when_all(std::move(moved)).map([self = shared_from_this(), ids](const std::vector<Tensor>& tensors) {
      for (std::size_t i = 0; i < ids.size(); ++i) self->made.insert_or_assign(ids[i], tensors[i]);
    });
  }

  Future<void> submit() {
    Stages& stages = model->stages;
    stages.submit(*form, made, number);
    if (form->ends) return bring_results();
    if (form->read.empty()) {
      form = stages.next(form, std::nullopt);
      return Future<void>({}, [] {});
    }
    const Tensor read = made.at(form->read);
    return read.async_read_bytes().map([self = shared_from_this(), type = read.type()](std::vector<std::byte> bytes) {
      self->form = self->model->stages.next(self->form, Stages::data_of_read(type, std::move(bytes)));
    });
  }

  Future<void> bring_results() {
    results = model->stages.results(*form, made);
    is_done = true;
    made.clear();
    return Future<void>({}, [] {});
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

Model Model::load(const std::filesystem::path& path, const Options& options) {
  const MappedFile file = MappedFile::open(path);
  return in_context([&] { return std::format("'{}'", path.string()); },
                    [&] {
                      const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
                      return Model(make_model(source_of(file.bytes, file.owner, folder), options));
                    });
}

Model Model::from_bytes(std::span<const std::byte> bytes, const Options& options, const std::filesystem::path& folder) {
  const auto copy = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
  return Model(make_model(source_of(*copy, copy, folder), options));
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
std::size_t Model::compilations() const { return impl_->stages.compilations(); }
std::vector<Readback> Model::readbacks() const { return impl_->stages.readbacks(); }
std::size_t Model::reads() const {
  std::size_t count = 0;
  for (const Readback& read : readbacks()) count += read.count;
  return count;
}

std::vector<PortValue> Model::run_values(std::span<const NamedValue> inputs,
                                         std::span<const NamedTensor> outputs) const {
  return impl_->run(inputs, outputs);
}
std::vector<NodeValue> Model::node_values(std::span<const NamedValue> inputs,
                                          std::span<const NodeValue> instead) const {
  return impl_->node_values(inputs, instead);
}
std::vector<FallbackNode> Model::on_fallback() const { return impl_->stages.on_fallback(); }

RunSteps Model::run_steps(std::span<const NamedValue> inputs) const {
  const auto steps = std::make_shared<RunSteps::Impl>();
  steps->model = impl_;
  steps->given = impl_->given(inputs);
  steps->form = impl_->stages.first(steps->given, !impl_->device.is_gpu());
  steps->number = impl_->stages.next_run();
  steps->made = {impl_->source.resident.begin(), impl_->source.resident.end()};
  return RunSteps(steps);
}

namespace {

std::vector<NamedValue> values_of(std::span<const NamedTensor> inputs) {
  std::vector<NamedValue> values;
  for (const NamedTensor& input : inputs) values.push_back({std::string(input.name), {.tensor = input.tensor}});
  return values;
}

}  // namespace

std::vector<Tensor> Model::run(std::span<const NamedTensor> inputs) const { return run(inputs, {}); }

std::vector<Tensor> Model::run(std::span<const NamedTensor> inputs, std::span<const NamedTensor> outputs) const {
  std::vector<Tensor> tensors;
  for (PortValue& value : impl_->run(values_of(inputs), outputs)) {
    if (value.sequence)
      throw InvalidArgument("onnx: output '{}' is a sequence, which run_values() gives",
                            impl_->description.outputs[tensors.size()].name);
    tensors.push_back(std::move(value.tensor));
  }
  return tensors;
}

}  // namespace weft::onnx
