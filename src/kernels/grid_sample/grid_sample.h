// A call of grid_sample whose operands fit each other.
#pragma once

#include "weft/cpu.h"
#include "weft/gpu.h"
#include "weft/kernels/grid_sample.h"

namespace weft::kernels {

struct SampleCall {
  View x, grid, y;
  SampleOptions options;
  int spatial() const { return x.rank() - 2; }
};

void grid_sample_gpu(gpu::Commands& commands, const SampleCall& call);
void grid_sample_cpu(cpu::Executor& executor, const SampleCall& call);

}  // namespace weft::kernels
