// Elements of a few bits on the CPU.
#pragma once

#include <bit>
#include <cstdint>

namespace weft::kernels {

// OCP's E2M1: a sign, two bits of exponent, one of mantissa.
inline float e2m1_to_f32(std::uint32_t code) {
  constexpr float kMagnitudes[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  return code & 8 ? -kMagnitudes[code & 7] : kMagnitudes[code & 7];
}

// OCP's E8M0, powers of two: 2^(code - 127), and NaN.
inline float e8m0_to_f32(std::uint32_t code) {
  return std::bit_cast<float>(code == 0 ? 0x00400000u : code == 255 ? 0x7fc00000u : code << 23);
}

}  // namespace weft::kernels
