// The CPU kernels of ranges; all other generators are expressions on both devices.
#pragma once

#include "cpu/executor.h"
#include "weft/view.h"

namespace weft::kernels {

void arange_cpu(cpu::Executor& executor, double start, double step, const View& y);
void arange_cpu(cpu::Executor& executor, std::uint64_t start, std::uint64_t step, const View& y);
void linspace_cpu(cpu::Executor& executor, double start, double stop, const View& y);

}  // namespace weft::kernels
