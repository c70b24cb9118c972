// Computes elementwise work and a reduction of the same elements by one kernel, where others need that work too.
//   %2 = map{mul(x0, 2)} %0                  %3, %2 = reduce_sum{x=mul(x0, 2); %2, axes=[1]} %0
//   %3 = reduce_sum{axes=[1]} %2         →   outputs %2, %3
//   outputs %2, %3
// As merge_maps does for elementwise work alone; what the reduction makes of its own result stays with it. Left apart:
// - variance and deviation, whose rows may be read twice;
// - types narrower than a word where rows do not divide into fours: such elements are stored one by one;
// - on the CPU, all: blocks of elements go through work and sum in turn there, at half the speed of both apart (4096 x
//   1024 along rows, two cores).
#pragma once

#include "compiler/passes/passes.h"

namespace weft::compiler {

Graph merge_reductions(const Graph& graph, const PassContext& context);

}  // namespace weft::compiler
