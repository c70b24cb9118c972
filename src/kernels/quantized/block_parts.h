// What the decoders of blocks have in common.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "core/compiler.h"
#include "kernels/common/rows_cpu.h"
#include "kernels/quantized/blocks.h"

namespace weft::kernels {

using Bytes = const std::uint8_t*;

// Without branches: the exponent is 112 too small; the multiplication corrects it and normalises denormals.
WEFT_INLINE float half(Bytes at) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  const std::uint32_t magnitude = bits & 0x7fffu;
  const float finite = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  const std::uint32_t ones = magnitude >= 0x7c00 ? 0x7f800000u : 0u, sign = (bits & 0x8000u) << 16;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(finite) | ones | sign);
}

WEFT_INLINE void nibbles(Bytes q, int bytes, std::uint8_t* WEFT_RESTRICT low, std::uint8_t* WEFT_RESTRICT high) {
  WEFT_INDEPENDENT
  for (int i = 0; i < bytes; ++i) low[i] = q[i] & 15, high[i] = q[i] >> 4;
}
template <class Format>
WEFT_VECTOR_CLONES void unpack(const std::byte* blocks, std::int64_t count, std::uint8_t* WEFT_RESTRICT codes,
                               float* WEFT_RESTRICT scale, float* WEFT_RESTRICT added) {
  auto b = reinterpret_cast<Bytes>(blocks);
  for (std::int64_t i = 0; i < count; ++i, b += Format::kBytes) {
    Format::take(b, codes + i * Format::kElements, scale + i * Format::kRuns, added + i * Format::kRuns);
  }
}

// The row with what the format's type says.
template <class Format>
constexpr BlockFormat row(BlockFormat format) {
  format.elements = Format::kElements;
  format.bytes = Format::kBytes;
  format.run = Format::kElements / Format::kRuns;
  format.unpack = unpack<Format>;
  return format;
}

}  // namespace weft::kernels
