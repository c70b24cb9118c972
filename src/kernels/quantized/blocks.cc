#include "kernels/quantized/blocks.h"

#include <bit>
#include <cstdint>
#include <cstring>

#include "core/format.h"
#include "kernels/quantized/codes_cpu.h"
#include "weft/error.h"
#include "weft/small_float.h"

namespace weft::kernels {
namespace {

using Bytes = const std::uint8_t*;

float half(Bytes at) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  return float16::from_bits(static_cast<float16::Bits>(bits));
}

// Thirty-two elements of 4 bits: element j is the low half of byte j, element j + 16 its high half.
int nibble(Bytes q, int j) { return q[j % 16] >> (j / 16 * 4) & 15; }
// Their fifth bits.
int fifth(Bytes high, int j) { return (high[j / 8] >> (j % 8) & 1) << 4; }

void q4_0(const std::byte* block, float* to) {
  const auto b = reinterpret_cast<Bytes>(block);
  const float d = half(b);
  for (int j = 0; j < 32; ++j) to[j] = static_cast<float>(nibble(b + 2, j) - 8) * d;
}
void q4_1(const std::byte* block, float* to) {
  const auto b = reinterpret_cast<Bytes>(block);
  const float d = half(b), least = half(b + 2);
  for (int j = 0; j < 32; ++j) to[j] = static_cast<float>(nibble(b + 4, j)) * d + least;
}
void q5_0(const std::byte* block, float* to) {
  const auto b = reinterpret_cast<Bytes>(block);
  const float d = half(b);
  for (int j = 0; j < 32; ++j) to[j] = static_cast<float>((nibble(b + 6, j) | fifth(b + 2, j)) - 16) * d;
}
void q5_1(const std::byte* block, float* to) {
  const auto b = reinterpret_cast<Bytes>(block);
  const float d = half(b), least = half(b + 2);
  for (int j = 0; j < 32; ++j) to[j] = static_cast<float>(nibble(b + 8, j) | fifth(b + 4, j)) * d + least;
}
void q8_0(const std::byte* block, float* to) {
  const auto b = reinterpret_cast<Bytes>(block);
  const float d = half(b);
  for (int j = 0; j < 32; ++j) to[j] = static_cast<float>(static_cast<std::int8_t>(b[2 + j])) * d;
}

// Blocks of 256 have two halves; of each, 32 bytes hold four runs of 32 elements, two bits each.
int two_bits(Bytes q, int e) { return q[e / 128 * 32 + e % 32] >> (e % 128 / 32 * 2) & 3; }

void q2_k(const std::byte* block, float* to) {
  const auto b = reinterpret_cast<Bytes>(block);
  const float d = half(b + 80), least = half(b + 82);
  for (int e = 0; e < 256; ++e) {
    const int s = b[e / 16];
    to[e] =
        d * static_cast<float>(s & 15) * static_cast<float>(two_bits(b + 16, e)) - least * static_cast<float>(s >> 4);
  }
}
void q3_k(const std::byte* block, float* to) {
  const auto b = reinterpret_cast<Bytes>(block);
  const Bytes scales = b + 96;
  const float d = half(b + 108);
  for (int e = 0; e < 256; ++e) {
    const int s = e / 16;
    // Six bits of each scale: four in a half byte, two in another.
    const int scale = (scales[s % 8] >> (s / 8 * 4) & 15) | (scales[8 + s % 4] >> (s / 4 * 2) & 3) << 4;
    const int code = two_bits(b + 32, e) - ((b[e % 32] >> (e / 32) & 1) ? 0 : 4);
    to[e] = d * static_cast<float>(scale - 32) * static_cast<float>(code);
  }
}

// The scale and the least number of run s of q4_k and q5_k: six bits each, the last four runs' split over two bytes.
struct ScaleAndLeast {
  float scale, least;
};
ScaleAndLeast scale_and_least(Bytes b, int s) {
  const float d = half(b), least = half(b + 2);
  const Bytes q = b + 4;
  const int scale = s < 4 ? q[s] & 63 : (q[s + 4] & 15) | q[s - 4] >> 6 << 4;
  const int of_least = s < 4 ? q[s + 4] & 63 : q[s + 4] >> 4 | q[s] >> 6 << 4;
  return {d * static_cast<float>(scale), least * static_cast<float>(of_least)};
}
// Sixty-four elements lie in 32 bytes, the first 32 in their low halves.
int k_nibble(Bytes q, int e) { return q[e / 64 * 32 + e % 32] >> (e / 32 % 2 * 4) & 15; }

void q4_k(const std::byte* block, float* to) {
  const auto b = reinterpret_cast<Bytes>(block);
  for (int e = 0; e < 256; ++e) {
    const auto [scale, least] = scale_and_least(b, e / 32);
    to[e] = scale * static_cast<float>(k_nibble(b + 16, e)) - least;
  }
}
void q5_k(const std::byte* block, float* to) {
  const auto b = reinterpret_cast<Bytes>(block);
  for (int e = 0; e < 256; ++e) {
    const auto [scale, least] = scale_and_least(b, e / 32);
    const int high = (b[16 + e % 32] >> (e / 32) & 1) << 4;
    to[e] = scale * static_cast<float>(k_nibble(b + 48, e) | high) - least;
  }
}
void q6_k(const std::byte* block, float* to) {
  const auto b = reinterpret_cast<Bytes>(block);
  const float d = half(b + 208);
  for (int e = 0; e < 256; ++e) {
    const int run = e % 128 / 32;
    const int low = b[e / 128 * 64 + run % 2 * 32 + e % 32] >> (run / 2 * 4) & 15;
    const int code = (low | two_bits(b + 128, e) << 4) - 32;
    to[e] = d * static_cast<float>(static_cast<std::int8_t>(b[192 + e / 16])) * static_cast<float>(code);
  }
}

constexpr std::int8_t kNonlinear[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

void iq4_nl(const std::byte* block, float* to) {
  const auto b = reinterpret_cast<Bytes>(block);
  const float d = half(b);
  for (int j = 0; j < 32; ++j) to[j] = static_cast<float>(kNonlinear[nibble(b + 2, j)]) * d;
}
void mxfp4(const std::byte* block, float* to) {
  const auto b = reinterpret_cast<Bytes>(block);
  // Half of 2^(e - 127), because the codes are doubled so that they are integers, and 0 for -0.
  const float d = std::bit_cast<float>(b[0] < 2 ? 0x00200000u << b[0] : (b[0] - 1u) << 23);
  for (int j = 0; j < 32; ++j) to[j] = (2 * e2m1_to_f32(static_cast<std::uint32_t>(nibble(b + 1, j))) + 0.0f) * d;
}

constexpr BlockFormat kBlocks[] = {
    {QuantizedScheme::q4_0, 32, 18, 32, false, "block_q4_0", q4_0},
    {QuantizedScheme::q4_1, 32, 20, 32, true, "block_q4_1", q4_1},
    {QuantizedScheme::q5_0, 32, 22, 32, false, "block_q5_0", q5_0},
    {QuantizedScheme::q5_1, 32, 24, 32, true, "block_q5_1", q5_1},
    {QuantizedScheme::q8_0, 32, 34, 32, false, "block_q8_0", q8_0},
    {QuantizedScheme::q2_k, 256, 84, 16, true, "block_q2_k", q2_k},
    {QuantizedScheme::q3_k, 256, 110, 16, false, "block_q3_k", q3_k},
    {QuantizedScheme::q4_k, 256, 144, 32, true, "block_q4_k", q4_k},
    {QuantizedScheme::q5_k, 256, 176, 32, true, "block_q5_k", q5_k},
    {QuantizedScheme::q6_k, 256, 210, 16, false, "block_q6_k", q6_k},
    {QuantizedScheme::iq4_nl, 32, 18, 32, false, "block_iq4_nl", iq4_nl},
    {QuantizedScheme::ggml_mxfp4, 32, 17, 32, false, "block_mxfp4", mxfp4},
};

}  // namespace

const BlockFormat& block_format(QuantizedScheme scheme) {
  for (const BlockFormat& format : kBlocks) {
    if (format.scheme == scheme) return format;
  }
  throw InternalError("{} is no format of blocks", kQuantizedSchemes[static_cast<std::size_t>(scheme)]);
}

}  // namespace weft::kernels
