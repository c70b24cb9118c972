#include "weft/dynamic_executable.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>

#include "compiler/compile_now.h"
#include "compiler/device_data.h"
#include "compiler/forms.h"
#include "core/format.h"
#include "core/in_quotes.h"
#include "graph/graph.h"
#include "tensor/key.h"
#include "tensor/run_ahead.h"
#include "weft/array.h"
#include "weft/error.h"
#include "weft/evaluate.h"

namespace weft {
namespace {

// What the graph is for some shapes.
struct Form {
  Executable executable;
  std::vector<TensorType> outputs;
};

std::size_t index_of(std::span<const GraphPort> ports, std::string_view name, std::string_view what) {
  const auto port = std::ranges::find(ports, name, &GraphPort::name);
  if (port != ports.end()) return static_cast<std::size_t>(port - ports.begin());
  std::string known;
  for (const GraphPort& p : ports) known += (known.empty() ? "" : ", ") + in_quotes(p.name);
  throw InvalidArgument("run: the graph has no {} {}; there are {}", what, in_quotes(std::string(name)),
                        known.empty() ? "none" : known);
}

// What is given by name, in the order of the ports.
template <class T, class Named, class Value>
std::vector<T> in_order(std::span<const GraphPort> ports, std::span<const Named> named, std::string_view what,
                        const Value& value) {
  std::vector<std::optional<T>> found(ports.size());
  for (const Named& n : named) {
    std::optional<T>& place = found[index_of(ports, n.name, what)];
    if (place) throw InvalidArgument("run: {} {} is given twice", what, in_quotes(std::string(n.name)));
    place.emplace(value(n));
  }
  std::vector<T> all;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (!found[i]) throw InvalidArgument("run: {} {} is missing", what, in_quotes(ports[i].name));
    all.push_back(std::move(*found[i]));
  }
  return all;
}

}  // namespace

struct DynamicExecutable::State {
  State(Graph g, Device d, const CompileOptions& o, std::size_t capacity)
      : graph(std::move(g)), device(std::move(d)), options(o), forms(capacity) {
    if (graph.impl().outputs.empty()) {
      throw InvalidArgument("compile: the graph has no output, so nothing would run; name one by Graph::output()");
    }
    for (const auto& [input, output] : options.donate) {
      donations.emplace_back(index_of(graph.impl().outputs, output, "output"),
                             index_of(graph.impl().inputs, input, "input"));
    }
    if (!options.constants) options.constants = make_constant_store(device);
  }

  // For inputs of these shapes, in the graph's order.
  std::shared_ptr<Form> form(std::span<const Shape> shapes) {
    std::string key;
    for (const Shape& shape : shapes) {
      for (const std::int64_t size : shape) put_number(key, static_cast<std::uint64_t>(size));
    }
    return forms.get(std::move(key), [&] {
      std::vector<NamedShape> named;
      for (std::size_t i = 0; i < shapes.size(); ++i) named.push_back({graph.impl().inputs[i].name, shapes[i]});
      const Graph shaped = graph.with_shapes(named);
      auto made = std::make_shared<Form>();
      for (const Graph::Port& o : shaped.outputs()) made->outputs.push_back(o.type);
      made->executable = compiler::compile_now(shaped, device, options);
      ++compilations;
      return made;
    });
  }

  const Graph graph;
  const Device device;
  CompileOptions options;
  std::vector<std::pair<std::size_t, std::size_t>> donations;  // (output, input)
  compiler::Forms<std::string, compiler::MadeOnce<std::shared_ptr<Form>>> forms;
  std::atomic<std::size_t> compilations = 0;
  RunAhead run_ahead;
};

DynamicExecutable::DynamicExecutable(const Graph& graph, Device device, const CompileOptions& options,
                                     std::size_t capacity)
    : state_(std::make_shared<State>(graph, std::move(device), options, capacity)) {}

std::vector<Tensor> DynamicExecutable::run(std::span<const Tensor> inputs, std::span<const Number> numbers) const {
  const std::vector<GraphPort>& ports = state_->graph.impl().inputs;
  if (inputs.size() != ports.size()) {
    throw InvalidArgument("run: {} inputs are given, expected {}", inputs.size(), ports.size());
  }
  std::vector<Tensor> given, missing;
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& x = inputs[i];
    if (!x.defined()) throw InvalidArgument("run: input {} is an undefined Tensor", in_quotes(ports[i].name));
    if (x.dtype() != ports[i].value.dtype()) {
      throw TypeError("run: input {} is {}, expected {}", in_quotes(ports[i].name), to_string(x.type()),
                      name(ports[i].value.dtype()));
    }
    if (x.rank() != ports[i].value.rank()) {
      throw ShapeError("run: input {} is {}, expected {} axes as in {}", in_quotes(ports[i].name), to_string(x.type()),
                       ports[i].value.rank(), to_string(ports[i].value.type()));
    }
    shapes.push_back(x.shape());
    given.push_back(find_data(x) ? x : contiguous(x));
    if (!find_data(given.back())) missing.push_back(given.back());
  }
  if (!missing.empty()) eval(missing);
  const std::shared_ptr<Form> form = state_->form(shapes);
  std::vector<Tensor> outputs;
  for (std::size_t j = 0; j < form->outputs.size(); ++j) {
    const auto donor = std::ranges::find(state_->donations, j, &std::pair<std::size_t, std::size_t>::first);
    if (donor != state_->donations.end())
      outputs.push_back(given[donor->second]);
    else
      outputs.emplace_back(state_->device, form->outputs[j].dtype, form->outputs[j].shape);
  }
  state_->run_ahead.submitted(form->executable.run(given, outputs, numbers));
  return outputs;
}

std::vector<Tensor> DynamicExecutable::run(std::span<const NamedTensor> inputs,
                                           std::span<const NamedNumber> numbers) const {
  const Graph::Impl& graph = state_->graph.impl();
  return run(in_order<Tensor>(graph.inputs, inputs, "input", [](const NamedTensor& n) { return n.tensor; }),
             in_order<Number>(graph.numbers, numbers, "number", [](const NamedNumber& n) { return n.value; }));
}

Executable DynamicExecutable::executable(std::span<const NamedShape> shapes) const {
  std::vector<Shape> all;  // those that are not named have the graph's
  for (const Graph::Port& port : state_->graph.with_shapes(shapes).inputs()) all.push_back(port.type.shape);
  return state_->form(all)->executable;
}

const Graph& DynamicExecutable::graph() const { return state_->graph; }
const Device& DynamicExecutable::device() const { return state_->device; }
std::size_t DynamicExecutable::cached() const { return state_->forms.size(); }
std::size_t DynamicExecutable::compilations() const { return state_->compilations; }

}  // namespace weft
