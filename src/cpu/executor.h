// The cpu's stream by the name that it has within the library. (Public headers have no namespace cpu, which a program's
// own cpu() would clash with after `using namespace weft`.)
#pragma once

#include "weft/cpu.h"

namespace weft::cpu {

using Executor = CpuExecutor;

}  // namespace weft::cpu
