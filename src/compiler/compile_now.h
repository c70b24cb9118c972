// Compiling a graph as part of an evaluation.
#pragma once

#include "weft/compile.h"

namespace weft::compiler {

// compile() without waiting for the compiler: kernels that are not compiled yet are waited for, or made, when the
// executable runs.
Executable compile_now(const Graph& graph, const Device& device, const CompileOptions& options);

}  // namespace weft::compiler
