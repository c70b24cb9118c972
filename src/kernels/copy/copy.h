#pragma once

#include "weft/cpu.h"
#include "weft/gpu.h"
#include "weft/view.h"

namespace weft::kernels {

// Same types and shapes; x may have strides of zero.
void copy_bits_gpu(gpu::Commands& commands, const View& x, const View& y);
void copy_bits_cpu(cpu::Executor& executor, const View& x, const View& y);
void fill_cpu(cpu::Executor& executor, std::uint64_t bits, const View& y);

}  // namespace weft::kernels
