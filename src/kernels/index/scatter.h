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

// The scatters of weft/kernels/index.h. `ordered`: the updates of an element are combined in row-major order on every
// device, so that results repeat to the bit, and `assign` stores the last of them.
void scatter(Stream& stream, ScatterKind op, const View& indices, const View& updates, const View& y, int axis,
             bool ordered);
void scatter_elements(Stream& stream, ScatterKind op, const View& indices, const View& updates, const View& y, int axis,
                      bool ordered);
void scatter_nd(Stream& stream, ScatterKind op, const View& indices, const View& updates, const View& y, int batch,
                bool ordered);

// Scatters by chaining each element's updates and then folding the chain: for 64-bit types, and for long rows, which
// are then read and written in groups of four. Needs chain_words() u32 of scratch. `ordered`: the updates are sorted by
// element, which keeps their order; `assign` stores the last one in any case.
bool has_long_rows(const gpu::Capabilities& capabilities, const Selection& selection);
std::uint64_t chain_words(const Selection& selection);
void scatter_chained_gpu(gpu::Commands& commands, ScatterKind op, const Selection& selection, bool ordered = false);
// True if several updates may have the same element.
bool may_repeat(const Selection& selection);

std::string_view op_name(ScatterKind op);
// The WGSL expression that combines `a` and `b` of that type.
std::string scatter_formula(ScatterKind op, DType type);

}  // namespace weft::kernels
