// Moving elements between tensors and blocks of registers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/dtype.h"

namespace weft::kernels {

// `n` elements from element `first` of `data` on, `stride` apart, to registers and back. Types and registers as in
// scalar_ops_cpu.h; stores keep the low bits of integers and round floats.
using LoadBlock = void (*)(const std::byte* data, std::int64_t first, std::int64_t stride, int n, void* registers);
using StoreBlock = void (*)(std::byte* data, std::int64_t first, std::int64_t stride, int n, const void* registers);

LoadBlock load_block(DType type);
StoreBlock store_block(DType type);

// True of the types whose registers are f32.
inline bool widens_to_f32(DType type) { return is_floating(type) && bits(type) <= 32; }

// Rounds f32 registers to a narrower float's values, in place.
void round_block(DType type, float* registers, int n);

}  // namespace weft::kernels
