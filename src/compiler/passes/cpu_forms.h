// On the CPU, replaces ops by their forms for it (Op::cpu_form): a quotient that GPUs divide in two steps, to round it
// as IEEE 754 says, is one division there:
//   %1 = map{select(…, add(…, div(sub(x0, …), x1)), …)} %0, %s   →   %1 = map{div(x0, x1)} %0, %s
#pragma once

#include "compiler/passes/passes.h"

namespace weft::compiler {

Graph cpu_forms(const Graph& graph, const PassContext& context);

}  // namespace weft::compiler
