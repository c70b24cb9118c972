// Transfers between tensors and blocks of registers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/dtype.h"

namespace weft::kernels {

// Transfer `n` elements, `stride` apart, from element `first` of `data` on, to or from registers. Types and registers
// as in scalar_ops_cpu.h; stores keep the low bits of integers and round floats.
using LoadBlock = void (*)(const std::byte* data, std::int64_t first, std::int64_t stride, int n, void* registers);
using StoreBlock = void (*)(std::byte* data, std::int64_t first, std::int64_t stride, int n, const void* registers);

// (Booleans as numbers of 64 bits.)
LoadBlock load_block(DType type);
StoreBlock store_block(DType type);

// The same for elements first + offsets[0], first + offsets[1], …
using GatherBlock = void (*)(const std::byte* data, std::int64_t first, const std::int64_t* offsets, int n,
                             void* registers);
using ScatterBlock = void (*)(std::byte* data, std::int64_t first, const std::int64_t* offsets, int n,
                              const void* registers);

GatherBlock gather_block(DType type);

// The four for a type. `as_f32`, for integers of 8, 16 or 32 bits: to and from f32 registers; what is stored is rounded
// towards zero and saturates, NaN becomes 0.
struct BlockMemory {
  LoadBlock load;
  StoreBlock store;
  GatherBlock gather;
  ScatterBlock scatter;
};
BlockMemory block_memory(DType type, bool as_f32 = false);

// True for the types whose registers are f32.
inline bool widens_to_f32(DType type) { return is_floating(type) && bits(type) <= 32; }

// Rounds f32 registers to the values of a narrower float, in place.
void round_block(DType type, float* registers, int n);

}  // namespace weft::kernels
