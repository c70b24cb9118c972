// Products with weights that were dequantised before read them as they are stored.
//   w = dequantize_weights values, scales, zeros
//   y = matmul(x, wᵀ)                             →   y = quantized_matmul{transposed=true} x, values, scales, zeros
// and so with weights that are written as integers times scales, for rows, columns or blocks of either:
//   w = map{mul(sub(cast(q), cast(zero)), scale)} q, zero, scale
//   y = matmul(x, w)                              →   y = quantized_matmul{scheme=integers} x, q, scale, zero
// Where x is such a product of integers of 8 bits too, and neither scale changes along the sums, these are exact in
// i32, as long as they fit:
//   y = matmul((q - zero) · scale, (p - zero') · scale')   →   y = matmul_integer(q, p) · scale · scale'
// and the same of convolutions. Quantised weights are not rounded to the type in which they were to be dequantised.
#pragma once

#include "compiler/passes/passes.h"

namespace weft::compiler {

Graph quantized_products(const Graph& graph, const PassContext& context);

}  // namespace weft::compiler
