#pragma once

#include <string>
#include <string_view>

#include "kernels/index/selection.h"
#include "weft/cpu.h"
#include "weft/gpu.h"
#include "weft/kernels/index.h"

namespace weft::kernels {

// The whole is written. `unroll`: groups that a thread takes; 0: as the device and sizes say.
void scatter_gpu(gpu::Commands& commands, ScatterKind op, const Selection& selection, int unroll = 0);
void scatter_cpu(cpu::Executor& executor, ScatterKind op, const Selection& selection);

// Each element's updates chained, then folded: for types of 64 bits, and for long rows, which are then read and written
// in fours. Takes chain_words() u32 of scratch.
bool has_long_rows(const gpu::Capabilities& capabilities, const Selection& selection);
std::uint64_t chain_words(const Selection& selection);
void scatter_chained_gpu(gpu::Commands& commands, ScatterKind op, const Selection& selection);

std::string_view op_name(ScatterKind op);
// `a` and `b` combined, as WGSL writes it for values of that type.
std::string scatter_formula(ScatterKind op, DType type);

}  // namespace weft::kernels
