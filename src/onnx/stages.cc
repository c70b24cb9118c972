#include "onnx/stages.h"

#include <algorithm>

#include "compiler/device_data.h"
#include "core/format.h"
#include "onnx/placement.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/random.h"

namespace weft::onnx {

std::string operator_name(const NodeProto& node) {
  return node.domain.empty() ? node.op_type : node.domain + "." + node.op_type;
}

Stages::Stages(const Source& source, const Options& options, const Device& device)
    : source_(source), options_(options), device_(device), forms_(options.forms) {
  compile_options_.constants = make_constant_store(device);
  compile_options_.precision = options.precision;
  fallback_options_ = compile_options_;
  if (options.fallback) fallback_options_.constants = make_constant_store(*options.fallback);
}

// ---- Forms

std::shared_ptr<Form> Stages::first(const Given& given, bool may_wait) {
  std::string key(may_wait ? "" : "steps\n");
  for (const auto& [id, tensor] : given.tensors) key += std::format("{}\n{}\n", id, to_string(tensor.type()));
  for (const auto& [id, length] : given.sequences) key += std::format("{}\n{}\n", id, length);
  for (const auto& [id, output] : given.donated) key += std::format("{}\nfor output {}\n", id, output);
  return forms_.find(std::move(key), [&] {
    auto form = std::make_shared<Form>(options_.forms);
    form->known.may_wait = may_wait;
    for (const auto& [id, tensor] : given.tensors) form->known.tensors.emplace(id, tensor.type());
    for (const auto& [name, tensor] : source_.resident) form->known.tensors.emplace(name, tensor.type());
    form->sequences = given.sequences;
    form->donated = given.donated;
    return form;
  });
}

std::shared_ptr<Form> Stages::next(const std::shared_ptr<Form>& form, std::optional<TensorData> elements) {
  std::string key;
  if (elements) {
    key.assign(reinterpret_cast<const char*>(elements->bytes.data()), elements->bytes.size());
    const std::lock_guard lock(mutex_);
    Readback& read = readbacks_[{form->read, form->reader}];
    read.bytes = key.size();
    ++read.count;
  }
  return form->next.find(std::move(key), [&] {
    const int idle = !elements && form->made.empty() ? form->idle + 1 : 0;
    if (idle > 1) {
      throw Unsupported("onnx: nodes of '{}' cannot be parted between two devices", source_.model.graph.name);
    }
    auto next = std::make_shared<Form>(options_.forms);
    next->idle = idle;
    next->known = form->known;
    if (elements) next->known.elements.emplace(form->read, std::move(*elements));
    for (const auto& [id, type] : form->made) next->known.tensors.emplace(id, type);
    for (const auto& [id, value] : form->made_sequences) next->known.sequences.emplace(id, value);
    next->sequences = form->sequences;
    next->donated = form->donated;
    next->refused = form->refused;
    next->observes = form->observes;
    next->recomputes = form->recomputes;
    next->on_fallback = elements ? form->on_fallback : !form->on_fallback;
    return next;
  });
}

// Finds the nodes that the device cannot compute. Throws Unsupported that names them, unless another device may have
// them; false if there are none.
bool Stages::place(Form& form) {
  const Placement found = find_refused(source_, form.known, form.sequences, device_, compile_options_);
  form.is_placed = true;
  if (found.refused.empty() && found.lacking.empty()) return false;
  const std::string& model = source_.model.graph.name;
  const std::vector<NodeProto>& nodes = source_.model.graph.nodes;
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
    throw Unsupported("onnx: {} of {} nodes of '{}' need what Weft does not have:{}", found.lacking.size(),
                      nodes.size(), model, list(found.lacking));
  }
  if (!options_.fallback) {
    throw Unsupported("onnx: {} cannot compute {} of {} nodes of '{}', which a fallback to the cpu would:{}",
                      device_.name(), found.refused.size(), nodes.size(), model, list(found.refused));
  }
  form.refused.insert(found.refused.begin(), found.refused.end());
  const std::lock_guard lock(mutex_);
  placed_.insert(found.refused.begin(), found.refused.end());
  return true;
}

// The form's graph, and what is known of its results; without one, nothing is to be computed.
std::optional<Graph> Stages::trace(Form& form) {
  const DefaultDeviceScope here(device_of(form));
  Graph graph(source_.model.graph.name);
  form.made.clear();
  form.made_sequences.clear();
  form.outputs.clear();
  form.observed.clear();
  form.read.clear();
  form.reader = nullptr;
  form.ends = false;
  Tracer tracer(source_, graph, form.known,
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
      if (output.is_sequence)
        std::ranges::for_each(*values[i].sequence, add);
      else if (values[i].is_tensor())
        add(values[i]);
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
    form.reader = needed.node;
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

// ---- Compiling

CompileOptions Stages::compile_options(const Form& form) const {
  if (form.on_fallback) return fallback_options_;
  CompileOptions options = compile_options_;
  if (!form.ends) return options;
  for (const auto& [input, output] : form.donated) {
    if (std::ranges::find(form.inputs, input) == form.inputs.end() || form.outputs[output].ids.empty()) continue;
    const std::string& id = form.outputs[output].ids[0];
    const auto result = std::ranges::find(form.made, id, &std::pair<std::string, TensorType>::first);
    // (Of another type the tensor cannot be the output's, which submit() tells.)
    if (result->second == form.known.tensors.at(input)) options.donate.emplace_back(input, id);
  }
  return options;
}

void Stages::build(Form& form) {
  const std::optional<Graph> graph = trace(form);
  if (!graph) return;
  form.executable = compile(*graph, device_of(form), compile_options(form));
  ++compilations_;
}

void Stages::make(Form& form) {
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

Future<void> Stages::async_make(const std::shared_ptr<Form>& form) {
  std::optional<Graph> graph;
  bool was_placed = false;
  {
    const std::lock_guard lock(form->making);
    if (!form->is_made) graph = trace(*form);
    was_placed = form->on_fallback || form->is_placed;
    if (!graph) {
      form->is_made = true;
      return Future<void>({}, [] {});
    }
  }
  try {
    return compile_async(*graph, device_of(*form), compile_options(*form)).map([this, form](Executable executable) {
      const std::lock_guard lock(form->making);
      if (form->is_made) return;
      form->executable = std::move(executable);
      ++compilations_;
      form->is_made = true;
    });
  } catch (const Unsupported&) {
    // (It is thrown at once: what a device can run is known before kernels are compiled.)
    if (was_placed) throw;
    const std::lock_guard lock(form->making);
    if (!form->is_placed && !place(*form)) throw;
  }
  return async_make(form);
}

// ---- Running

void Stages::put(Made& made, const std::string& id, const Tensor& tensor) {
  Tensor here = contiguous(tensor);
  eval(here);
  made.insert_or_assign(id, std::move(here));
}

// Puts a key of random numbers there, of the run of this number, if it is one and is not there.
void Stages::put_key(Made& made, const std::string& id, std::uint64_t number) const {
  if (made.contains(id)) return;
  const DefaultDeviceScope here(device_);  // so that no copy waits
  if (id == kRandomKey) return put(made, id, to(random::next_key(), device_));
  if (id == kRunNumber) put(made, id, to(random::key(number), device_));
}

// Copies the elements into the memory of a tensor of the same type on the model's device.
void Stages::copy_into(const Tensor& from, const Tensor& to) {
  Executable copy;
  {
    const std::lock_guard lock(mutex_);
    Executable& kept = copies_[to_string(to.type())];
    if (!kept) {
      Graph graph("copy");
      graph.output("y", graph.input("x", to.dtype(), to.shape()));
      kept = compile(graph, device_, {.constants = compile_options_.constants});
    }
    copy = kept;
  }
  copy.run({{"x", weft::to(from, device_)}}, {{"y", to}});
}

void Stages::submit(Form& form, Made& made, std::uint64_t number, std::span<const Tensor> outputs) {
  if (!form.ends) outputs = {};
  std::unordered_map<std::string_view, const Tensor*> given;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].defined()) continue;
    const Form::Output& output = form.outputs[i];
    const auto name = [&]() -> const std::string& { return source_.model.graph.outputs[i].name; };
    if (output.is_sequence || output.ids.empty()) {
      throw InvalidArgument("onnx: output '{}' is {}, for which no tensor can be given", name(),
                            output.is_sequence ? "a sequence" : "an optional without a value");
    }
    const TensorType& type =
        std::ranges::find(form.made, output.ids[0], &std::pair<std::string, TensorType>::first)->second;
    if (type.dtype != outputs[i].dtype()) {
      throw TypeError("onnx: output '{}' is {}, and the tensor that is given for it {}", name(), to_string(type),
                      to_string(outputs[i].type()));
    }
    if (type.shape != outputs[i].shape()) {
      throw ShapeError("onnx: output '{}' is {}, and the tensor that is given for it {}", name(), to_string(type),
                       to_string(outputs[i].type()));
    }
    given.emplace(output.ids[0], &outputs[i]);
  }
  if (!form.executable) return;
  const Device& here = device_of(form);
  std::vector<Tensor> in, out;
  for (const std::string& id : form.inputs) {
    put_key(made, id, number);
    in.push_back(contiguous(to(made.at(id), here)));
  }
  eval(in);
  for (const auto& [id, type] : form.made) {
    const auto it = form.on_fallback ? given.end() : given.find(id);
    out.push_back(it == given.end() ? Tensor(here, type.dtype, type.shape) : *it->second);
    made.insert_or_assign(id, out.back());
  }
  run_ahead_.submitted(form.executable.run(in, out));
  if (!form.on_fallback) return;
  for (const auto& [id, tensor] : given) copy_into(made.at(std::string(id)), *tensor);
}

TensorData Stages::data_of_read(const TensorType& type, std::vector<std::byte> elements) {
  const auto bytes = std::make_shared<const std::vector<std::byte>>(std::move(elements));
  return {type.dtype, type.shape, *bytes, bytes};
}

std::shared_ptr<Form> Stages::run(std::shared_ptr<Form> form, Made& made, std::uint64_t number,
                                  std::span<const Tensor> outputs) {
  for (;;) {
    make(*form);
    submit(*form, made, number, outputs);
    if (form->ends) return form;
    std::optional<TensorData> elements;
    if (!form->read.empty()) {
      const Tensor& read = made.at(form->read);
      std::vector<std::byte> bytes(byte_size(read.type()));
      read.read_bytes(bytes);
      elements = data_of_read(read.type(), std::move(bytes));
    }
    form = next(form, std::move(elements));
  }
}

std::vector<PortValue> Stages::results(const Form& form, const Made& made) const {
  std::vector<PortValue> all;
  for (const Form::Output& output : form.outputs) {
    PortValue& value = all.emplace_back();
    if (!output.is_sequence) {
      if (!output.ids.empty()) value.tensor = to(made.at(output.ids[0]), device_);
      continue;
    }
    value.sequence.emplace();
    for (const std::string& id : output.ids) value.sequence->push_back(to(made.at(id), device_));
  }
  return all;
}

// ---- What was noted

std::vector<Readback> Stages::readbacks() const {
  const std::lock_guard lock(mutex_);
  std::vector<Readback> all;
  for (const auto& [key, noted] : readbacks_) {
    Readback& read = all.emplace_back(noted);
    read.value = key.first;
    if (!key.second) continue;
    read.node = key.second->name;
    read.op = operator_name(*key.second);
  }
  return all;
}

std::vector<FallbackNode> Stages::on_fallback() const {
  const std::lock_guard lock(mutex_);
  std::vector<FallbackNode> nodes;
  for (const auto& [index, why] : placed_) {
    const NodeProto& node = source_.model.graph.nodes[index];
    nodes.push_back({node.name, operator_name(node), why});
  }
  return nodes;
}

}  // namespace weft::onnx
