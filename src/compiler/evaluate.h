// Computes nodes one by one on the CPU: used by the constant folder, and by tests as the reference for everything the
// compiler does.
#pragma once

#include <map>

#include "graph/graph.h"

namespace weft::compiler {

// The op's results on dense operands; views are copied out.
std::vector<TensorData> evaluate(const Op& op, std::span<const TensorData> inputs);

// The graph's outputs by name. Throws InvalidArgument when an input is missing or of another type.
std::map<std::string, TensorData> evaluate(const Graph& graph, const std::map<std::string, TensorData>& inputs);

}  // namespace weft::compiler
