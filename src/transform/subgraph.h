// Graphs that ops own: made of functions of tensors, and put in place of the op.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

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

std::vector<TensorType> types_of(std::span<const Tensor> tensors);
std::vector<TensorType> input_types(const Graph& graph);
std::vector<TensorType> output_types(const Graph& graph);

}  // namespace weft
