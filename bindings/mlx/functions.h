#pragma once

#include <weft/expression.h>

#include <vector>

#include "mlx/primitives.h"

namespace mlx::core::webgpu {

// Adds what a primitive computes of single elements to an expression: `args` are nodes, the results have type `out`.
// False if it is no such primitive.
bool append(weft::Expression& e, const Primitive& primitive, const std::vector<int>& args, weft::DType out,
            std::vector<int>& results);

// Adds a function of nodes to an expression.
using Build = int (*)(weft::Expression& e, const std::vector<int>& args);

// What a scan of complex numbers combines two of them by: maximum, minimum, or the logarithm of the sum of
// exponentials.
Build scan_function(Scan::ReduceType type);

}  // namespace mlx::core::webgpu
