// Fuses elementwise work before and after an op into its kernel, as prologue and epilogue, as far as the op supports it
// (graph/fusion.h).
//   %2 = map{mul(x0, x1)} %0, %1
//   %3 = reduce_sum{axes=[1]} %2
//   %4 = map{sqrt(x0)} %3           →   %4 = reduce_sum{x=mul(x0, x1), axes=[1], y=sqrt(x0)} %0, %1
// A prologue whose result other nodes need too is computed again where that is cheap, or becomes an extra output; the
// op decides which:
//   %2 = map{add(x0, x1)} %0, %1
//   %3 = layer_norm{first_axis=1} %2                  %3, %2 = layer_norm{x=add(x0, x1); %2, y=mul(x0, x1)} %0, %1,
//   %4 = map{mul(x0, x1)} %3, gate              →     gate
//   outputs %4, %2                                    outputs %3, %2
// Not fused: work that would take longer to read and compute as often as the op does than to store and read; work on a
// path through another kernel; and work that exceeds the storage buffers that the device can bind. Each stage fuses the
// ops that name it.
#pragma once

#include "compiler/passes/passes.h"
#include "graph/fusion.h"

namespace weft::compiler {

Graph fuse(const Graph& graph, const PassContext& context, FusionStage stage);

template <FusionStage stage>
Graph fuse(const Graph& graph, const PassContext& context) {
  return fuse(graph, context, stage);
}

}  // namespace weft::compiler
