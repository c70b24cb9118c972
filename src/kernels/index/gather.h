#pragma once

#include "kernels/index/selection.h"
#include "weft/cpu.h"
#include "weft/gpu.h"

namespace weft::kernels {

// The whole is read. `unroll`: groups that a thread takes; 0: as the device and sizes say.
void gather_gpu(gpu::Commands& commands, const Selection& selection, int unroll = 0);
void gather_cpu(cpu::Executor& executor, const Selection& selection);

}  // namespace weft::kernels
