// The narrow floating types as C++ values: float16, bfloat16 and the two OCP 8-bit floats. Conversions are exact or
// round to nearest, ties to even; NaN stays NaN; denormals are kept.
// Source: IEEE 754-2019; OCP 8-bit Floating Point Specification (OFP8), revision 1.0.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace weft {

enum class Specials : std::uint8_t {
  ieee,         // infinities and NaNs in the highest exponent; overflow becomes infinity
  finite_only,  // only the all-ones pattern is NaN, no infinities (E4M3); overflow and infinity become NaN
};

template <int exponent_bits, int mantissa_bits, Specials specials = Specials::ieee>
struct SmallFloat {
  static constexpr int kBits = 1 + exponent_bits + mantissa_bits;
  static constexpr int kBias = (1 << (exponent_bits - 1)) - 1;
  using Bits = std::conditional_t<(kBits > 8), std::uint16_t, std::uint8_t>;

  Bits bits = 0;

  SmallFloat() = default;
  constexpr explicit SmallFloat(float value) : bits(from_float(value)) {}
  static constexpr SmallFloat from_bits(Bits bits) {
    SmallFloat f;
    f.bits = bits;
    return f;
  }
  constexpr operator float() const { return to_float(bits); }  // NOLINT: exact, so implicit

 private:
  static constexpr std::uint32_t kMaxExponent = (1u << exponent_bits) - 1;
  static constexpr std::uint32_t kMantissaMask = (1u << mantissa_bits) - 1;
  static constexpr std::uint32_t kMagnitudeMask = (1u << (kBits - 1)) - 1;
  static constexpr std::uint32_t kInfinity = kMaxExponent << mantissa_bits;
  static constexpr std::uint32_t kNaN =
      specials == Specials::ieee ? kInfinity | (1u << (mantissa_bits - 1)) : kMagnitudeMask;
  // Largest finite pattern plus one: rounding that reaches it has overflowed.
  static constexpr std::uint32_t kOverflow = specials == Specials::ieee ? kInfinity : kMagnitudeMask;

  static constexpr Bits from_float(float value) {
    const auto f = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (f >> 31) << (kBits - 1);
    const std::uint32_t magnitude = f & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
      // Keep the payload's upper bits, and quiet it so that it cannot turn into infinity.
      if constexpr (specials == Specials::ieee) {
        return static_cast<Bits>(sign | kNaN | ((magnitude >> (23 - mantissa_bits)) & kMantissaMask));
      }
      return static_cast<Bits>(sign | kNaN);
    }
    if (magnitude == 0x7f800000u) return static_cast<Bits>(sign | (specials == Specials::ieee ? kInfinity : kNaN));

    const int exponent = static_cast<int>(magnitude >> 23) - 127;
    std::uint64_t mantissa = magnitude & 0x7fffffu;
    if (exponent > -127) mantissa |= 0x800000u;
    // The value is mantissa · 2^(e-23), e at least -126. A result exponent below 1 - bias is denormal.
    const int e = exponent > -127 ? exponent : -126;
    const int biased = e + kBias;
    int shift = 23 - mantissa_bits;
    std::uint64_t pattern = 0;
    if (biased < 1) {
      shift += 1 - biased;
      if (shift > 40) return static_cast<Bits>(sign);
    } else {
      pattern = static_cast<std::uint64_t>(biased - 1) << mantissa_bits;  // the hidden bit adds the missing one
    }
    std::uint64_t kept = mantissa;
    if (shift > 0) {
      kept = mantissa >> shift;
      const std::uint64_t rest = mantissa & ((std::uint64_t{1} << shift) - 1);
      const std::uint64_t half = std::uint64_t{1} << (shift - 1);
      if (rest > half || (rest == half && (kept & 1))) ++kept;
    }
    pattern += kept;
    if (pattern >= kOverflow) pattern = specials == Specials::ieee ? kInfinity : kNaN;
    return static_cast<Bits>(sign | pattern);
  }

  static constexpr float to_float(Bits b) {
    const std::uint32_t sign = (static_cast<std::uint32_t>(b) >> (kBits - 1)) << 31;
    const std::uint32_t magnitude = b & kMagnitudeMask;
    std::uint32_t exponent = magnitude >> mantissa_bits;
    std::uint32_t mantissa = magnitude & kMantissaMask;
    if constexpr (specials == Specials::ieee) {
      if (exponent == kMaxExponent) {
        return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << (23 - mantissa_bits)));
      }
    } else if (magnitude == kMagnitudeMask) {
      return std::bit_cast<float>(sign | 0x7fc00000u);
    }
    if (exponent == 0) {
      if constexpr (exponent_bits == 8) return std::bit_cast<float>(sign | (mantissa << (23 - mantissa_bits)));
      if (mantissa == 0) return std::bit_cast<float>(sign);
      const int lead = std::bit_width(mantissa) - 1;
      mantissa = (mantissa << (mantissa_bits - lead)) & kMantissaMask;
      const auto e = static_cast<std::uint32_t>(127 - kBias + 1 - (mantissa_bits - lead));
      return std::bit_cast<float>(sign | (e << 23) | (mantissa << (23 - mantissa_bits)));
    }
    exponent += 127 - kBias;
    return std::bit_cast<float>(sign | (exponent << 23) | (mantissa << (23 - mantissa_bits)));
  }
};

using float16 = SmallFloat<5, 10>;
using bfloat16 = SmallFloat<8, 7>;
using float8_e5m2 = SmallFloat<5, 2>;
using float8_e4m3 = SmallFloat<4, 3, Specials::finite_only>;

}  // namespace weft
