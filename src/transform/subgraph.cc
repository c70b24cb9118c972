#include "transform/subgraph.h"

#include <mutex>

#include "core/format.h"
#include "graph/leaf.h"
#include "graph/walk.h"
#include "weft/error.h"

namespace weft {
namespace {

std::vector<Tensor> values_of(std::span<const GraphPort> ports) {
  std::vector<Tensor> values;
  for (const GraphPort& p : ports) values.push_back(p.value);
  return values;
}

std::vector<Tensor> add_inputs(Graph& graph, std::span<const TensorType> types) {
  std::vector<Tensor> values;
  for (const TensorType& t : types) {
    values.push_back(graph.input(std::format("x{}", graph.impl().inputs.size()), t.dtype, t.shape));
  }
  return values;
}
std::vector<Tensor> add_numbers(Graph& graph, const Graph* like) {
  std::vector<Tensor> values;
  if (!like) return values;
  for (const GraphPort& n : like->impl().numbers) values.push_back(graph.number(n.name, n.value.dtype()));
  return values;
}
void add_outputs(Graph& graph, std::span<const Tensor> values) {
  for (std::size_t i = 0; i < values.size(); ++i) graph.output(std::format("y{}", i), values[i]);
}

// A constant, or views of one. (A result with a derivative of its own shows one, but has further operands.)
bool shows_constant(const Node& node) {
  const Node* shown = &node;
  while (shown->op().is_view() && shown->inputs().size() == 1) shown = shown->inputs()[0].node();
  return shown->op().constant() != nullptr;
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
  const std::vector<Tensor> values = add_inputs(*graph, inputs), numbers = add_numbers(*graph, like);
  add_outputs(*graph, function(values, numbers));
  return graph;
}

void collect_outside(std::span<const Tensor> results, const std::function<bool(const Node&)>& is_before,
                     std::vector<Tensor>& outside, ResultMap& known) {
  const auto is_outside = [&](const Node& node) { return at_data(node) || is_before(node); };
  const auto stop = [&](const Node& node) { return is_outside(node) || at_leaves(node); };
  Walk inside;
  RetainedInputs retained;
  {
    const std::unique_lock lock(Node::graph_mutex());
    inside = walk(results, stop);
    retained.retain(inside.nodes);
  }
  const auto take = [&](const Tensor& v) {
    if (!v.defined()) return;
    const Node& node = *v.node();
    // Constants and views of them can be part of any graph, unless a derivative for them is asked for.
    if (!is_outside(node) || (shows_constant(node) && !node.differentiation()) || known.find(v).defined()) return;
    known.set(v, v);
    outside.push_back(v);
  };
  for (const Node* node : inside.nodes) {
    if (stop(*node)) continue;
    for (const Tensor& v : node->inputs()) take(v);
  }
  for (const Tensor& y : results) take(y);
}

std::vector<GraphPtr> transformed_subgraphs(std::span<const GraphPtr> graphs, std::span<const TensorType> inputs,
                                            std::vector<Tensor>& operands,
                                            std::span<const SubgraphFunction> functions) {
  // What of the op's graphs does not depend on their inputs is shared.
  NodeIds own;
  for (const GraphPtr& g : graphs) {
    for (const NodePtr& node : g->impl().nodes()) own.insert(*node, 0);
  }
  const std::uint64_t since = Node::next_sequence();
  const auto is_before = [&](const Node& node) { return node.sequence() < since && !own.contains(node); };
  std::vector<std::shared_ptr<Graph>> made;
  std::vector<std::vector<Tensor>> results;
  std::vector<Tensor> outside;
  ResultMap known;
  for (const SubgraphFunction& function : functions) {
    made.push_back(std::make_shared<Graph>());
    const std::vector<Tensor> values = add_inputs(*made.back(), inputs);
    results.push_back(function(values, add_numbers(*made.back(), graphs.back().get())));
    collect_outside(results.back(), is_before, outside, known);
  }
  operands.insert(operands.end(), outside.begin(), outside.end());
  for (std::size_t g = 0; g < made.size(); ++g) {
    if (!outside.empty()) {
      const std::vector<Tensor> more = add_inputs(*made[g], types_of(outside));
      ResultMap now;
      for (std::size_t i = 0; i < outside.size(); ++i) now.set(outside[i], more[i]);
      results[g] = clone(results[g], now);
    }
    add_outputs(*made[g], results[g]);
  }
  return {made.begin(), made.end()};
}

}  // namespace weft
