#include "transform/subgraph.h"

#include "core/format.h"
#include "graph/ops/leaf.h"
#include "transform/clone.h"
#include "weft/error.h"

namespace weft {
namespace {

std::vector<Tensor> values_of(std::span<const GraphPort> ports) {
  std::vector<Tensor> values;
  for (const GraphPort& p : ports) values.push_back(p.value);
  return values;
}

}  // namespace

std::vector<TensorType> types_of(std::span<const Tensor> tensors) {
  std::vector<TensorType> types;
  for (const Tensor& t : tensors) types.push_back(t.type());
  return types;
}
std::vector<TensorType> input_types(const Graph& graph) { return types_of(values_of(graph.impl().inputs)); }
std::vector<TensorType> output_types(const Graph& graph) { return types_of(values_of(graph.impl().outputs)); }

std::vector<Tensor> inlined(const Graph& graph, std::span<const Tensor> inputs, std::span<const Tensor> numbers) {
  const Graph::Impl& impl = graph.impl();
  if (inputs.size() != impl.inputs.size() || numbers.size() != impl.numbers.size()) {
    throw InternalError("a graph of {} inputs and {} numbers is given {} and {}", impl.inputs.size(),
                        impl.numbers.size(), inputs.size(), numbers.size());
  }
  ResultMap now;
  for (std::size_t i = 0; i < inputs.size(); ++i) now.set(impl.inputs[i].value, inputs[i]);
  for (std::size_t i = 0; i < numbers.size(); ++i) now.set(impl.numbers[i].value, numbers[i]);
  return clone(values_of(impl.outputs), now);
}

GraphPtr make_subgraph(std::span<const TensorType> inputs, const Graph* like, const SubgraphFunction& function) {
  auto graph = std::make_shared<Graph>();
  std::vector<Tensor> values, numbers;
  for (const TensorType& t : inputs)
    values.push_back(graph->input(std::format("x{}", values.size()), t.dtype, t.shape));
  for (const GraphPort& n : like ? like->impl().numbers : std::vector<GraphPort>()) {
    numbers.push_back(graph->number(n.name, n.value.dtype()));
  }
  const std::vector<Tensor> outputs = function(values, numbers);
  for (std::size_t i = 0; i < outputs.size(); ++i) graph->output(std::format("y{}", i), outputs[i]);
  return graph;
}

}  // namespace weft
