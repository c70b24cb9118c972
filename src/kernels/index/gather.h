#pragma once

#include "weft/cpu.h"
#include "weft/gpu.h"
#include "weft/view.h"

namespace weft::kernels {

// A checked gather over the axes of y: x and indices as y's axes walk them (stride 0 where they have no part).
struct GatherProblem {
  View x, indices, y;       // all of y's shape
  std::int64_t axis_size;   // of x
  std::int64_t axis_stride;
};

void gather_gpu(gpu::Commands& commands, const GatherProblem& problem);
void gather_cpu(cpu::Executor& executor, const GatherProblem& problem);

}  // namespace weft::kernels
