#pragma once

#include "kernels/index/selection.h"
#include "weft/cpu.h"
#include "weft/gpu.h"

namespace weft::kernels {

// The whole is read.
void gather_gpu(gpu::Commands& commands, const Selection& selection);
void gather_cpu(cpu::Executor& executor, const Selection& selection);

}  // namespace weft::kernels
