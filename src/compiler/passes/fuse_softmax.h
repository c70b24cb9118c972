// Recognises softmax written as separate operations, in the form that does not overflow.
//   %1 = reduce_max{axes=[1], keep_dims=true} %0
//   %2 = map{exp(sub(x0, x1))} %0, %1
//   %3 = reduce_sum{axes=[1], keep_dims=true} %2
//   %4 = map{div(x0, x1)} %2, %3                    →   %4 = softmax{axis=1} %0
// And its logarithm: x minus the maximum, minus the logarithm of the sum, or x minus its log-sum-exp, unless
// that is used elsewhere too.
//   %2 = map{sub(x0, x1)} %0, %1
//   %4 = reduce_sum{axes=[1], keep_dims=true} exp of %2
//   %5 = map{sub(x0, log(x1))} %2, %4               →   %5 = log_softmax{axis=1} %0
#pragma once

#include "compiler/passes/passes.h"

namespace weft::compiler {

Graph fuse_softmax(const Graph& graph, const PassContext& context);

}  // namespace weft::compiler
