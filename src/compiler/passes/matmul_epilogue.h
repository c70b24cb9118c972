// Puts the elementwise work on a matrix product's result into the product's kernel.
//   %2 = matmul %0, %1
//   %4 = map{gelu_erf(add(x0, x1))} %2, %3   →   %4 = matmul{epilogue=gelu_erf(add(x0, x1))} %0, %1, %3
// The product must have no other use and the result's shape; what else the expression reads broadcasts to it.
#pragma once

#include "compiler/passes/passes.h"

namespace weft::compiler {

Graph matmul_epilogue(const Graph& graph, const PassContext& context);

}  // namespace weft::compiler
