// Elements of a few bits on the CPU.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/compiler.h"

namespace weft::kernels {

// The first element that AWQ has in slot i of a word is element kAwqSlot[i].
inline constexpr int kAwqSlot[] = {0, 4, 1, 5, 2, 6, 3, 7};

// Eight fields of `bits` bits, up to 7, each to a byte: fours to the halves of a word, twos to their halves, ones.
template <int bits>
WEFT_INLINE std::uint64_t spread(std::uint64_t x) {
  constexpr std::uint64_t kOne = (1u << bits) - 1, kTwo = (1u << 2 * bits) - 1,
                          kFour = (std::uint64_t{1} << 4 * bits) - 1;
  constexpr std::uint64_t kTwos = kTwo * 0x0000'0001'0000'0001, kOnes = kOne * 0x0001'0001'0001'0001;
  x = (x & kFour) | x >> 4 * bits << 32;
  x = (x & kTwos) | (x >> 2 * bits & kTwos) << 16;
  return (x & kOnes) | (x >> bits & kOnes) << 8;
}

// OCP's E2M1: a sign, two bits of exponent, one of mantissa.
inline float e2m1_to_f32(std::uint32_t code) {
  constexpr float kMagnitudes[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  return code & 8 ? -kMagnitudes[code & 7] : kMagnitudes[code & 7];
}

// The nearest: of two as near, the even code, or (`down`) the smaller magnitude, where what becomes 0 has no sign.
inline std::uint32_t e2m1_from_f32(float x, bool down) {
  const float a = std::abs(x);
  std::uint32_t code = 0;
  for (const float middle : {0.25f, 1.25f, 2.5f, 5.0f}) code += a > middle;
  for (const float middle : {0.75f, 1.75f, 3.5f}) code += down ? a > middle : a >= middle;
  return std::signbit(x) && !(down && code == 0) ? code | 8 : code;
}

// The numbers of iq4_nl's codes, and those of E2M1 doubled, of which none is -0.
inline constexpr std::int8_t kNonlinear[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
inline constexpr std::int8_t kDoubledE2M1[] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// OCP's E8M0, powers of two: 2^(code - 127), and NaN.
inline float e8m0_to_f32(std::uint32_t code) {
  return std::bit_cast<float>(code == 0 ? 0x00400000u : code == 255 ? 0x7fc00000u : code << 23);
}
// The least that is not below a normal number, which is not the largest.
inline std::uint32_t e8m0_from_f32(float x) { return (std::bit_cast<std::uint32_t>(x) + 0x7fffff) >> 23; }

// Half of 2^(code - 127), and NaN.
inline float half_e8m0_to_f32(std::uint32_t code) {
  return std::bit_cast<float>(code < 2 ? 0x00200000u << code : code == 255 ? 0x7fc00000u : (code - 1) << 23);
}

}  // namespace weft::kernels
