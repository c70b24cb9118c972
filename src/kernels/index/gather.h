#pragma once

#include "cpu/executor.h"
#include "kernels/index/selection.h"
#include "weft/gpu.h"

namespace weft::kernels {

// The tensor that is read is `whole`. `unroll`: groups that a thread takes; 0: chosen by device and sizes.
void gather_gpu(gpu::Commands& commands, const Selection& selection, int unroll = 0);
void gather_cpu(cpu::Executor& executor, const Selection& selection);

}  // namespace weft::kernels
