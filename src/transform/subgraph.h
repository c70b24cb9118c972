// Graphs that ops own: made of functions of tensors, and put in place of the op.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "graph/clone.h"
#include "graph/graph.h"

namespace weft {

using GraphPtr = std::shared_ptr<const Graph>;

// Its outputs for other inputs and numbers, which have the types of its own.
std::vector<Tensor> inlined(const Graph& graph, std::span<const Tensor> inputs, std::span<const Tensor> numbers = {});

// A graph with inputs of these types, whose outputs are what the function gives for them. Its numbers are those of
// `like`; null: it has none.
using SubgraphFunction =
    std::function<std::vector<Tensor>(std::span<const Tensor> inputs, std::span<const Tensor> numbers)>;
GraphPtr make_subgraph(std::span<const TensorType> inputs, const Graph* like, const SubgraphFunction& function);

// Appends what the computation of `results` takes from outside and is not `known` yet: tensors with data, and results
// of nodes for which is_before() holds, but for constants.
void collect_outside(std::span<const Tensor> results, const std::function<bool(const Node&)>& is_before,
                     std::vector<Tensor>& outside, ResultMap& known);

// Graphs of what functions make of the graphs of an op, with numbers like theirs. Rules of a program's own may take
// tensors from outside of these: each of the new graphs has these as its last inputs, and they are appended to the
// `operands`, which have types `inputs` in the graphs.
std::vector<GraphPtr> transformed_subgraphs(std::span<const GraphPtr> graphs, std::span<const TensorType> inputs,
                                            std::vector<Tensor>& operands, std::span<const SubgraphFunction> functions);

std::vector<TensorType> types_of(std::span<const Tensor> tensors);
std::vector<TensorType> input_types(const Graph& graph);
std::vector<TensorType> output_types(const Graph& graph);

}  // namespace weft
