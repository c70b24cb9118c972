#pragma once

#include <string>
#include <string_view>

#include "cpu/executor.h"
#include "kernels/index/selection.h"
#include "weft/gpu.h"
#include "weft/kernels/index.h"

namespace weft::kernels {

// The tensor that is written is `whole`. `unroll`: groups that a thread takes; 0: chosen by device and sizes.
void scatter_gpu(gpu::Commands& commands, ScatterKind op, const Selection& selection, int unroll = 0);
void scatter_cpu(cpu::Executor& executor, ScatterKind op, const Selection& selection);

// Scatters by chaining each element's updates and then folding the chain: for 64-bit types, and for long rows, which
// are then read and written in groups of four. Needs chain_words() u32 of scratch.
bool has_long_rows(const gpu::Capabilities& capabilities, const Selection& selection);
std::uint64_t chain_words(const Selection& selection);
void scatter_chained_gpu(gpu::Commands& commands, ScatterKind op, const Selection& selection);

std::string_view op_name(ScatterKind op);
// The WGSL expression that combines `a` and `b` of that type.
std::string scatter_formula(ScatterKind op, DType type);

}  // namespace weft::kernels
