#include "kernels/quantized/blocks.h"

#include <bit>
#include <cstdint>
#include <cstring>

#include "core/format.h"
#include "kernels/quantized/block_parts.h"
#include "kernels/quantized/codes_cpu.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

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
// Six bits of each scale: four in a half byte, two in another.
int q3_k_scale(Bytes scales, int s) {
  return (scales[s % 8] >> (s / 8 * 4) & 15) | (scales[8 + s % 4] >> (s / 4 * 2) & 3) << 4;
}
void q3_k(const std::byte* block, float* to) {
  const auto b = reinterpret_cast<Bytes>(block);
  const float d = half(b + 108);
  for (int e = 0; e < 256; ++e) {
    const int scale = q3_k_scale(b + 96, e / 16);
    const int code = two_bits(b + 32, e) - ((b[e % 32] >> (e / 32) & 1) ? 0 : 4);
    to[e] = d * static_cast<float>(scale - 32) * static_cast<float>(code);
  }
}

// The codes of the scale and the least number of run s of q4_k and q5_k: six bits each, the last four runs' split over
// two bytes.
struct ScaleAndLeast {
  int scale, least;
};
WEFT_INLINE ScaleAndLeast scale_and_least(Bytes q, int s) {
  if (s < 4) return {q[s] & 63, q[s + 4] & 63};
  return {(q[s + 4] & 15) | q[s - 4] >> 6 << 4, q[s + 4] >> 4 | q[s] >> 6 << 4};
}
// Sixty-four elements lie in 32 bytes, the first 32 in their low halves.
int k_nibble(Bytes q, int e) { return q[e / 64 * 32 + e % 32] >> (e / 32 % 2 * 4) & 15; }

void q4_k(const std::byte* block, float* to) {
  const auto b = reinterpret_cast<Bytes>(block);
  const float d = half(b), d_least = half(b + 2);
  for (int e = 0; e < 256; ++e) {
    const auto [scale, least] = scale_and_least(b + 4, e / 32);
    to[e] =
        d * static_cast<float>(scale) * static_cast<float>(k_nibble(b + 16, e)) - d_least * static_cast<float>(least);
  }
}
void q5_k(const std::byte* block, float* to) {
  const auto b = reinterpret_cast<Bytes>(block);
  const float d = half(b), d_least = half(b + 2);
  for (int e = 0; e < 256; ++e) {
    const auto [scale, least] = scale_and_least(b + 4, e / 32);
    const int high = (b[16 + e % 32] >> (e / 32) & 1) << 4;
    to[e] = d * static_cast<float>(scale) * static_cast<float>(k_nibble(b + 48, e) | high) -
            d_least * static_cast<float>(least);
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

void iq4_nl(const std::byte* block, float* to) {
  const auto b = reinterpret_cast<Bytes>(block);
  const float d = half(b);
  for (int j = 0; j < 32; ++j) to[j] = static_cast<float>(kNonlinear[nibble(b + 2, j)]) * d;
}
void mxfp4(const std::byte* block, float* to) {
  const auto b = reinterpret_cast<Bytes>(block);
  // The codes are doubled so that they are integers, and 0 for -0.
  const float d = half_e8m0_to_f32(b[0]);
  for (int j = 0; j < 32; ++j) to[j] = (2 * e2m1_to_f32(static_cast<std::uint32_t>(nibble(b + 1, j))) + 0.0f) * d;
}

// The scale of eight bits: E4M3 without a sign, of which no code is NaN, halved since the codes are doubled.
WEFT_INLINE float half_ue4m3(std::uint8_t code) {
  if (code == 0x7f) return 0;
  const int exponent = code >> 3 & 15, mantissa = code & 7;
  return exponent == 0 ? static_cast<float>(mantissa) * 0x1p-10f
                       : std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 119) << 23 |
                                              static_cast<std::uint32_t>(mantissa) << 20);
}
void ggml_nvfp4(const std::byte* block, float* to) {
  const auto b = reinterpret_cast<Bytes>(block);
  for (int e = 0; e < 64; ++e) {
    const int code = b[4 + e / 16 * 8 + e % 8] >> (e % 16 / 8 * 4) & 15;
    to[e] = (2 * e2m1_to_f32(static_cast<std::uint32_t>(code)) + 0.0f) * half_ue4m3(b[e / 16]);
  }
}

// Five numbers of three values are the digits of a byte's 256ths: multiplied by 3, the next one comes before the point.
void tq1_0(const std::byte* block, float* to) {
  const auto b = reinterpret_cast<Bytes>(block);
  const float d = half(b + 52);
  constexpr int kPowers[] = {1, 3, 9, 27, 81};
  for (int e = 0; e < 256; ++e) {
    const int at = e < 160 ? e % 32 : e < 240 ? 32 + e % 16 : 48 + e % 4;
    const int digit = e < 160 ? e / 32 : e < 240 ? (e - 160) / 16 : (e - 240) / 4;
    to[e] = d * static_cast<float>((b[at] * kPowers[digit] % 256 * 3 >> 8) - 1);
  }
}
void tq2_0(const std::byte* block, float* to) {
  const auto b = reinterpret_cast<Bytes>(block);
  const float d = half(b + 64);
  for (int e = 0; e < 256; ++e) to[e] = d * static_cast<float>(two_bits(b, e) - 1);
}
// Six bits of each scale: four in a half byte, two in another word.
int iq4_xs_scale(Bytes b, int s) { return (b[4 + s / 2] >> (s % 2 * 4) & 15) | (b[2 + s / 4] >> (s % 4 * 2) & 3) << 4; }
void iq4_xs(const std::byte* block, float* to) {
  const auto b = reinterpret_cast<Bytes>(block);
  const float d = half(b);
  for (int e = 0; e < 256; ++e) {
    const int code = nibble(b + 8 + e / 32 * 16, e % 32);
    to[e] = d * static_cast<float>(iq4_xs_scale(b, e / 32) - 32) * static_cast<float>(kNonlinear[code]);
  }
}

// The same blocks taken apart, as BlockFormat::unpack does: loops over bytes that are not dependent on each other.

WEFT_INLINE void fifths(Bytes high, std::uint8_t* to) {
  for (int i = 0; i < 4; ++i) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, to + 8 * i, 8);
    eight |= spread<1>(high[i]) << 4;
    std::memcpy(to + 8 * i, &eight, 8);
  }
}
// Bit fields of runs of 32 elements: those of run r begin at bit `step` · r of the same 32 bytes.
WEFT_INLINE void add_fields(Bytes q, int step, int runs, int mask, int up, std::uint8_t* WEFT_RESTRICT to) {
  for (int r = 0; r < runs; ++r, to += 32) {
    WEFT_INDEPENDENT
    for (int i = 0; i < 32; ++i) to[i] |= static_cast<std::uint8_t>((q[i] >> (step * r) & mask) << up);
  }
}

struct Q4_0 {
  static constexpr int kElements = 32, kBytes = 18, kRuns = 1;
  WEFT_INLINE static void take(Bytes b, std::uint8_t* codes, float* scale, float*) {
    *scale = half(b);
    nibbles(b + 2, 16, codes, codes + 16);
  }
};
struct Q4_1 {
  static constexpr int kElements = 32, kBytes = 20, kRuns = 1;
  WEFT_INLINE static void take(Bytes b, std::uint8_t* codes, float* scale, float* added) {
    *scale = half(b), *added = half(b + 2);
    nibbles(b + 4, 16, codes, codes + 16);
  }
};
struct Q5_0 {
  static constexpr int kElements = 32, kBytes = 22, kRuns = 1;
  WEFT_INLINE static void take(Bytes b, std::uint8_t* codes, float* scale, float*) {
    *scale = half(b);
    nibbles(b + 6, 16, codes, codes + 16);
    fifths(b + 2, codes);
  }
};
struct Q5_1 {
  static constexpr int kElements = 32, kBytes = 24, kRuns = 1;
  WEFT_INLINE static void take(Bytes b, std::uint8_t* codes, float* scale, float* added) {
    *scale = half(b), *added = half(b + 2);
    nibbles(b + 8, 16, codes, codes + 16);
    fifths(b + 4, codes);
  }
};
struct Q8_0 {
  static constexpr int kElements = 32, kBytes = 34, kRuns = 1;
  WEFT_INLINE static void take(Bytes b, std::uint8_t* codes, float* scale, float*) {
    *scale = half(b);
    WEFT_INDEPENDENT
    for (int i = 0; i < 32; ++i) codes[i] = b[2 + i] ^ 128;
  }
};
struct Q2_K {
  static constexpr int kElements = 256, kBytes = 84, kRuns = 16;
  WEFT_INLINE static void take(Bytes b, std::uint8_t* codes, float* scale, float* added) {
    const float d = half(b + 80), least = half(b + 82);
    for (int s = 0; s < 16; ++s) {
      scale[s] = d * static_cast<float>(b[s] & 15), added[s] = -(least * static_cast<float>(b[s] >> 4));
    }
    std::memset(codes, 0, 256);
    for (int h = 0; h < 2; ++h) add_fields(b + 16 + 32 * h, 2, 4, 3, 0, codes + 128 * h);
  }
};
struct Q3_K {
  static constexpr int kElements = 256, kBytes = 110, kRuns = 16;
  WEFT_INLINE static void take(Bytes b, std::uint8_t* codes, float* scale, float*) {
    const float d = half(b + 108);
    for (int s = 0; s < 16; ++s) scale[s] = d * static_cast<float>(q3_k_scale(b + 96, s) - 32);
    std::memset(codes, 0, 256);
    for (int h = 0; h < 2; ++h) add_fields(b + 32 + 32 * h, 2, 4, 3, 0, codes + 128 * h);
    add_fields(b, 1, 8, 1, 2, codes);
  }
};
template <int codes_at>
WEFT_INLINE void take_k_nibbles(Bytes b, std::uint8_t* codes, float* scale, float* added) {
  const float d = half(b), least = half(b + 2);
  for (int s = 0; s < 8; ++s) {
    const ScaleAndLeast of = scale_and_least(b + 4, s);
    scale[s] = d * static_cast<float>(of.scale), added[s] = -(least * static_cast<float>(of.least));
  }
  for (int p = 0; p < 4; ++p) nibbles(b + codes_at + 32 * p, 32, codes + 64 * p, codes + 64 * p + 32);
}
struct Q4_K {
  static constexpr int kElements = 256, kBytes = 144, kRuns = 8;
  WEFT_INLINE static void take(Bytes b, std::uint8_t* codes, float* scale, float* added) {
    take_k_nibbles<16>(b, codes, scale, added);
  }
};
struct Q5_K {
  static constexpr int kElements = 256, kBytes = 176, kRuns = 8;
  WEFT_INLINE static void take(Bytes b, std::uint8_t* codes, float* scale, float* added) {
    take_k_nibbles<48>(b, codes, scale, added);
    add_fields(b + 16, 1, 8, 1, 4, codes);
  }
};
struct Q6_K {
  static constexpr int kElements = 256, kBytes = 210, kRuns = 16;
  WEFT_INLINE static void take(Bytes b, std::uint8_t* codes, float* scale, float*) {
    const float d = half(b + 208);
    for (int s = 0; s < 16; ++s) scale[s] = d * static_cast<float>(static_cast<std::int8_t>(b[192 + s]));
    for (int h = 0; h < 2; ++h) {
      nibbles(b + 64 * h, 64, codes + 128 * h, codes + 128 * h + 64);
      add_fields(b + 128 + 32 * h, 2, 4, 3, 4, codes + 128 * h);
    }
  }
};
// Numbers of a table, 128 larger so that they are codes.
WEFT_INLINE void look_up(const std::int8_t* table, Bytes q, std::uint8_t* codes) {
  nibbles(q, 16, codes, codes + 16);
  for (int i = 0; i < 32; ++i) codes[i] = static_cast<std::uint8_t>(table[codes[i]] + 128);
}
struct Iq4Nl {
  static constexpr int kElements = 32, kBytes = 18, kRuns = 1;
  WEFT_INLINE static void take(Bytes b, std::uint8_t* codes, float* scale, float*) {
    *scale = half(b);
    look_up(kNonlinear, b + 2, codes);
  }
};
struct Mxfp4 {
  static constexpr int kElements = 32, kBytes = 17, kRuns = 1;
  WEFT_INLINE static void take(Bytes b, std::uint8_t* codes, float* scale, float*) {
    *scale = half_e8m0_to_f32(b[0]);
    look_up(kDoubledE2M1, b + 1, codes);
  }
};

struct Tq1_0 {
  static constexpr int kElements = 256, kBytes = 54, kRuns = 8;
  // Digits of `count` bytes, which lie `count` elements apart.
  WEFT_INLINE static void digits(Bytes q, int count, int each, std::uint8_t* WEFT_RESTRICT codes) {
    std::uint8_t power = 1;
    for (int n = 0; n < each; ++n, power = static_cast<std::uint8_t>(3 * power)) {
      WEFT_INDEPENDENT
      for (int i = 0; i < count; ++i) {
        const auto fraction = static_cast<std::uint8_t>(q[i] * power);
        codes[n * count + i] = static_cast<std::uint8_t>(fraction * 3 >> 8);
      }
    }
  }
  WEFT_INLINE static void take(Bytes b, std::uint8_t* codes, float* scale, float*) {
    for (int s = 0; s < kRuns; ++s) scale[s] = half(b + 52);
    digits(b, 32, 5, codes);
    digits(b + 32, 16, 5, codes + 160);
    digits(b + 48, 4, 4, codes + 240);
  }
};
struct Tq2_0 {
  static constexpr int kElements = 256, kBytes = 66, kRuns = 8;
  WEFT_INLINE static void take(Bytes b, std::uint8_t* codes, float* scale, float*) {
    for (int s = 0; s < kRuns; ++s) scale[s] = half(b + 64);
    std::memset(codes, 0, 256);
    for (int h = 0; h < 2; ++h) add_fields(b + 32 * h, 2, 4, 3, 0, codes + 128 * h);
  }
};
struct Iq4Xs {
  static constexpr int kElements = 256, kBytes = 136, kRuns = 8;
  WEFT_INLINE static void take(Bytes b, std::uint8_t* codes, float* scale, float*) {
    const float d = half(b);
    for (int s = 0; s < kRuns; ++s) {
      scale[s] = d * static_cast<float>(iq4_xs_scale(b, s) - 32);
      look_up(kNonlinear, b + 8 + 16 * s, codes + 32 * s);
    }
  }
};
struct Nvfp4 {
  static constexpr int kElements = 64, kBytes = 36, kRuns = 4;
  WEFT_INLINE static void take(Bytes b, std::uint8_t* codes, float* scale, float*) {
    for (int s = 0; s < kRuns; ++s, codes += 16) {
      scale[s] = half_ue4m3(b[s]);
      nibbles(b + 4 + 8 * s, 8, codes, codes + 8);
      for (int i = 0; i < 16; ++i) codes[i] = static_cast<std::uint8_t>(kDoubledE2M1[codes[i]] + 128);
    }
  }
};

using S = QuantizedScheme;
constexpr BlockFormat kBlocks[] = {
    row<Q4_0>({.scheme = S::q4_0, .zero = 8, .piece = "block_q4_0", .decode = q4_0, .run_bits = 4}),
    row<Q4_1>({.scheme = S::q4_1, .adds = true, .piece = "block_q4_1", .decode = q4_1}),
    row<Q5_0>({.scheme = S::q5_0, .zero = 16, .piece = "block_q5_0", .decode = q5_0}),
    row<Q5_1>({.scheme = S::q5_1, .adds = true, .piece = "block_q5_1", .decode = q5_1}),
    row<Q8_0>({.scheme = S::q8_0, .zero = 128, .piece = "block_q8_0", .decode = q8_0, .run_bits = 8}),
    row<Q2_K>({.scheme = S::q2_k, .adds = true, .piece = "block_q2_k", .decode = q2_k}),
    row<Q3_K>({.scheme = S::q3_k, .zero = 4, .piece = "block_q3_k", .decode = q3_k}),
    row<Q4_K>({.scheme = S::q4_k,
               .adds = true,
               .piece = "block_q4_k",
               .decode = q4_k,
               .shared_piece = "block_k_scales",
               .run_span = 2,
               .run_bits = 4}),
    row<Q5_K>(
        {.scheme = S::q5_k, .adds = true, .piece = "block_q5_k", .decode = q5_k, .shared_piece = "block_k_scales"}),
    row<Q6_K>({.scheme = S::q6_k, .zero = 32, .piece = "block_q6_k", .decode = q6_k, .run_span = 4, .run_bits = 6}),
    row<Iq4Nl>({.scheme = S::iq4_nl,
                .zero = 128,
                .piece = "block_iq4_nl",
                .decode = iq4_nl,
                .shared_piece = "block_nonlinear"}),
    row<Mxfp4>({.scheme = S::ggml_mxfp4, .zero = 128, .piece = "block_mxfp4", .decode = mxfp4, .e8m0 = true}),
    row<Tq1_0>({.scheme = S::tq1_0, .zero = 1, .piece = "block_tq1_0", .decode = tq1_0}),
    row<Tq2_0>({.scheme = S::tq2_0, .zero = 1, .piece = "block_tq2_0", .decode = tq2_0}),
    row<Iq4Xs>({.scheme = S::iq4_xs,
                .zero = 128,
                .piece = "block_iq4_xs",
                .decode = iq4_xs,
                .shared_piece = "block_nonlinear"}),
    row<Nvfp4>({.scheme = S::ggml_nvfp4, .zero = 128, .piece = "block_nvfp4", .decode = ggml_nvfp4}),
};

}  // namespace

const BlockFormat& block_format(QuantizedScheme scheme) {
  for (const std::span<const BlockFormat> formats : {std::span<const BlockFormat>(kBlocks), grid_block_formats()}) {
    for (const BlockFormat& format : formats) {
      if (format.scheme == scheme) return format;
    }
  }
  throw InternalError("{} is no format of blocks", kQuantizedSchemes[static_cast<std::size_t>(scheme)]);
}

}  // namespace weft::kernels
