#pragma once

#include <weft/expression.h>

#include <vector>

#include "mlx/array.h"
#include "mlx/primitives.h"

namespace mlx::core::webgpu {

// Adds what a primitive computes of single elements to an expression: `args` are nodes, the results have type `out`.
// False if it is no such primitive.
bool append(weft::Expression& e, const Primitive& primitive, const std::vector<int>& args, weft::DType out,
            std::vector<int>& results);

// Computes an expression of arrays of one shape.
void map(const weft::Expression& e, const std::vector<array>& inputs, array& out);

}  // namespace mlx::core::webgpu
