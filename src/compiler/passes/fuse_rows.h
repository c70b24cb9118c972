// Puts the elementwise work before and after softmax and norms into their kernels.
//   %2 = map{add(x0, x1)} %0, %1
//   %3 = layer_norm{first_axis=1} %2                  %3, %2 = layer_norm{x=add(x0, x1); %2, y=mul(x0, x1)} %0, %1,
//   gate %4 = map{mul(x0, x1)} %3, gate              →     outputs %3, %2 outputs %4, %2
// What others need of it is a further result: it is stored as it was, and not read again. Left apart:
// - before rows whose parts wait for each other (kernels/common/row_parts.h), what others need too: it would be held
//   in registers all the while;
// - on the CPU, all but little;
// - before rows that are read twice, what would take longer to read and compute twice than to store and read;
// - what lies on a path through another kernel; and what is past the storage buffers that the device binds.
#pragma once

#include "compiler/passes/passes.h"

namespace weft::compiler {

Graph fuse_rows(const Graph& graph, const PassContext& context);

}  // namespace weft::compiler
