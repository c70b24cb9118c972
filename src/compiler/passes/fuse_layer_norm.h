// Recognises layer norm written as separate operations: the deviation and the mean of its square, divided by the root
// or multiplied by its inverse.
//   m = reduce_mean{axes=[1], keep_dims=true} x
//   d = map{sub(x0, x1)} x, m
//   v = reduce_mean{axes=[1], keep_dims=true} map{mul(x0, x0)} d
//   n = map{div(x0, sqrt(add(x1, 1e-5)))} d, v                     →   n = layer_norm{epsilon=1e-5} x
//   y = map{add(mul(x0, x1), x2)} n, scale, bias                   →   y = layer_norm{epsilon=1e-5} x, scale, bias
// The variance may also be a reduction of its own. RMS norm, which has no mean, is recognised as well: x · 1 /
// sqrt(mean of x² + epsilon) · scale.
#pragma once

#include "compiler/passes/passes.h"

namespace weft::compiler {

Graph fuse_layer_norm(const Graph& graph, const PassContext& context);

}  // namespace weft::compiler
