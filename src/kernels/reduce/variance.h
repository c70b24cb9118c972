// Variance and deviation on a GPU.
#pragma once

#include "kernels/reduce/reduce_cpu.h"

namespace weft::kernels {

std::uint64_t variance_workspace(Stream& stream, const View& x, const View& y, std::span<const int> axes);
void variance_gpu(gpu::Commands& commands, const ReduceProblem& problem, const std::optional<View>& workspace);

}  // namespace weft::kernels
