#include "kernels/quantized/cpu/code_loops.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/common/rows_cpu.h"
#include "kernels/quantized/codes_cpu.h"
#include "weft/error.h"

namespace weft::kernels::code_loops {
namespace {

// Reads eight bytes for the last group.
template <int bits>
WEFT_VECTOR_CLONES void unpack_groups(const std::byte* from, std::int64_t groups, std::uint8_t* to) {
  if constexpr (bits == 4) {
    const auto* const b = reinterpret_cast<const std::uint8_t*>(from);
    for (std::int64_t i = 0; i < 4 * groups; ++i) to[2 * i] = b[i] & 15, to[2 * i + 1] = b[i] >> 4;
  } else {
    for (std::int64_t i = 0; i < groups; ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, from + i * bits, 8);
      word = spread<bits>(word);
      std::memcpy(to + 8 * i, &word, 8);
    }
  }
}

void unpack_full(const std::byte* from, int bits, std::int64_t groups, std::uint8_t* to) {
  switch (bits) {
    case 1:
      return unpack_groups<1>(from, groups, to);
    case 2:
      return unpack_groups<2>(from, groups, to);
    case 3:
      return unpack_groups<3>(from, groups, to);
    case 4:
      return unpack_groups<4>(from, groups, to);
    case 5:
      return unpack_groups<5>(from, groups, to);
    case 6:
      return unpack_groups<6>(from, groups, to);
    case 7:
      return unpack_groups<7>(from, groups, to);
    default:
      std::memcpy(to, from, static_cast<std::size_t>(8 * groups));
  }
}

// The number of a code.
struct Unsigned {
  WEFT_INLINE float operator()(std::uint8_t code) const { return static_cast<float>(std::int32_t{code}); }
};
struct Signed {
  std::int32_t sign;
  WEFT_INLINE float operator()(std::uint8_t code) const { return static_cast<float>((code ^ sign) - sign); }
};
// Moved to where f32 has exponent and mantissa, a number's exponent is too small by a constant; magnitudes from
// `special` on are no finite numbers.
struct Float {
  int sign_bit, mantissa_bits, special;
  float scale;
  WEFT_INLINE float operator()(std::uint8_t code) const {
    const std::uint32_t magnitude = code & ((1u << sign_bit) - 1), sign = std::uint32_t{code} >> sign_bit << 31;
    const float finite = std::bit_cast<float>(magnitude << (23 - mantissa_bits)) * scale;
    const std::uint32_t ones = magnitude >= static_cast<std::uint32_t>(special) ? 0x7f800000u : 0u;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(finite) | ones | sign);
  }
};
constexpr Float kE2M1{3, 1, 8, 0x1p126f}, kE4M3{7, 3, 127, 0x1p120f}, kE5M2{7, 2, 124, 0x1p112f};

template <ZeroForm form>
WEFT_INLINE float weight(float number, float scale, float zero) {
  if constexpr (form == ZeroForm::none) return number * scale;
  if constexpr (form == ZeroForm::bias) return number * scale + zero;
  return (number - zero) * scale;
}

template <ZeroForm form, class Number>
WEFT_VECTOR_CLONES void widen_as(const std::uint8_t* codes, std::int64_t count, const Number& given, const Factors& f,
                                 float* WEFT_RESTRICT to) {
  const Number number = given;
  const float *scale = f.scale, *zero = f.zero;
  // Numbers first: compilers vectorise loops over bytes for more elements than a run has.
  WEFT_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) to[i] = number(codes[i]);
  if (f.run == 1) {
    WEFT_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) to[i] = weight<form>(to[i], scale[i], zero[i]);
    return;
  }
  const int shift = f.run == 16 ? 4 : 5;
  for (std::int64_t i = 0; i < count; i += 16) {
    const float s = scale[i >> shift], z = zero[i >> shift];
    for (int e = 0; e < 16; ++e) to[i + e] = weight<form>(to[i + e], s, z);
  }
}

template <class Number>
void widen_by(const std::uint8_t* codes, std::int64_t count, const Number& number, const Factors& f, float* to) {
  switch (f.form) {
    case ZeroForm::none: {
      Factors g = f;
      g.zero = f.scale;  // not used
      return widen_as<ZeroForm::none>(codes, count, number, g, to);
    }
    case ZeroForm::bias:
      return widen_as<ZeroForm::bias>(codes, count, number, f, to);
    default:
      return widen_as<ZeroForm::numbers>(codes, count, number, f, to);
  }
}

}  // namespace

void unpack(const std::byte* from, std::int64_t bytes, int bits, std::int64_t groups, std::uint8_t* to) {
  const std::int64_t full = bytes < 8 ? 0 : std::min(groups, (bytes - 8) / bits + 1), rest = groups - full;
  unpack_full(from, bits, full, to);
  if (rest == 0) return;
  std::byte last[16] = {};
  std::memcpy(last, from + full * bits, static_cast<std::size_t>(std::min(bytes - full * bits, rest * bits)));
  for (std::int64_t i = 0; i < rest; ++i) {
    std::byte one[8] = {};
    std::memcpy(one, last + i * bits, static_cast<std::size_t>(bits));
    unpack_full(one, bits, 1, to + 8 * (full + i));
  }
}

void unpack_awq(const std::byte* from, std::int64_t words, std::uint8_t* to) {
  // Four elements, each to the lower byte of a quarter.
  const auto fours = [](std::uint64_t x) {
    x = (x & 0xff) | x >> 8 << 32;
    return (x & 0xf'0000'000f) | (x >> 4 & 0xf'0000'000f) << 16;
  };
  for (std::int64_t i = 0; i < words; ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, from + 4 * i, 4);
    const std::uint64_t codes = fours(word & 0xffff) | fours(word >> 16) << 8;
    std::memcpy(to + 8 * i, &codes, 8);
  }
}

WEFT_VECTOR_CLONES
void unpack_words(const std::byte* from, const std::byte* next, int shift, int bits, std::int64_t count,
                  std::uint8_t* to) {
  const std::uint32_t mask = (1u << bits) - 1;
  const int rest = 32 - shift;
  if (bits <= rest) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::uint32_t word = 0;
      std::memcpy(&word, from + 4 * i, 4);
      to[i] = static_cast<std::uint8_t>(word >> shift & mask);
    }
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint32_t low = 0, high = 0;
    std::memcpy(&low, from + 4 * i, 4);
    std::memcpy(&high, next + 4 * i, 4);
    to[i] = static_cast<std::uint8_t>((low >> shift | high << rest) & mask);
  }
}

void widen(const std::uint8_t* codes, std::int64_t count, CodeType type, int bits, const Factors& factors, float* to) {
  switch (type) {
    case CodeType::unsigned_integer:
      return widen_by(codes, count, Unsigned{}, factors, to);
    case CodeType::signed_integer:
      return widen_by(codes, count, Signed{1 << (bits - 1)}, factors, to);
    case CodeType::e2m1:
      return widen_by(codes, count, kE2M1, factors, to);
    case CodeType::e4m3:
      return widen_by(codes, count, kE4M3, factors, to);
    case CodeType::e5m2:
      return widen_by(codes, count, kE5M2, factors, to);
  }
  throw InternalError("quantised weights: no such code");
}

}  // namespace weft::kernels::code_loops
