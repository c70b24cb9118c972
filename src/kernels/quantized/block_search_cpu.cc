// Compiled without contraction of products and sums (CMakeLists.txt).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>

#include "kernels/quantized/block_search.h"
#include "kernels/quantized/blocks.h"
#include "kernels/quantized/codes_cpu.h"
#include "kernels/quantized/encoding.h"
#include "weft/small_float.h"

namespace weft::kernels {
namespace {

using Byte = std::uint8_t;

std::uint32_t magnitude_bits(float x) { return std::bit_cast<std::uint32_t>(x) & 0x7fffffffu; }
float nearest(float x, float least, float most) { return std::clamp(std::nearbyint(x), least, most); }

// Powers of two by which numbers of such a magnitude come to 1 … 2 (of the largest, 4), and back.
struct Powers {
  float down, up;
};
Powers powers_of(std::uint32_t magnitude) {
  const std::uint32_t exponent = std::min(magnitude >> 23, 253u);
  return {std::bit_cast<float>((254 - exponent) << 23), std::bit_cast<float>(exponent << 23)};
}

// Multiplies numbers so; denormal ones, and those that are then below 2^-30, become 0.
void normalise(float* x, int count, const Powers& p) {
  for (int i = 0; i < count; ++i) {
    const float v = x[i] * p.down;
    x[i] = magnitude_bits(x[i]) < 0x800000 || std::abs(v) < 0x1p-30f ? 0 : v;
  }
}
std::uint32_t largest(const float* x, int count) {
  std::uint32_t magnitude = 0;
  for (int i = 0; i < count; ++i) magnitude = std::max(magnitude, magnitude_bits(x[i]));
  return magnitude;
}
// The first number of the largest magnitude.
float first_largest(const float* x, int count) {
  float most = 0;
  for (int i = 0; i < count; ++i) {
    if (std::abs(x[i]) > std::abs(most)) most = x[i];
  }
  return most;
}

struct Run {
  float scale = 0, least = 0;  // what comes off is -least
  Byte codes[32] = {};
};

// Of codes from a scale and a least number, the scale and the least number that fit them best.
void search_offsets(const BlockSearch& s, const float* x, Run& r) {
  const int n = s.run;
  const auto most = static_cast<float>(2 * s.half - 1);
  float weight[32], mean = 0;
  for (int i = 0; i < n; ++i) mean += x[i] * x[i];
  mean = s.magnitudes ? 0 : std::sqrt(mean / static_cast<float>(n));
  for (int i = 0; i < n; ++i) weight[i] = mean + std::abs(x[i]);
  float low = x[0], high = x[0], sum_w = weight[0], sum_x = weight[0] * x[0];
  for (int i = 1; i < n; ++i) {
    low = std::min(low, x[i]), high = std::max(high, x[i]);
    sum_w += weight[i], sum_x += weight[i] * x[i];
  }
  low = std::min(low, 0.0f);
  r.least = low;
  if (high == low) return;
  float codes[32], error = 0, inverse = most / (high - low);
  const auto codes_by = [&] {
    for (int i = 0; i < n; ++i) codes[i] = nearest(inverse * (x[i] - low), 0, most);
  };
  const auto error_of = [&](float scale, float least) {
    float sum = 0;
    for (int i = 0; i < n; ++i) {
      const float off = scale * codes[i] + least - x[i];
      sum += weight[i] * (s.magnitudes ? std::abs(off) : off * off);
    }
    return sum;
  };
  const auto take = [&](float scale) {
    r.scale = scale;
    for (int i = 0; i < n; ++i) r.codes[i] = static_cast<Byte>(codes[i]);
  };
  codes_by();
  take(1 / inverse);
  error = error_of(r.scale, low);
  for (int t = 0; t < s.tries; ++t) {
    inverse = (s.first + 0.1f * static_cast<float>(t) + most) / (high - low);
    codes_by();
    float sum_l = 0, sum_l2 = 0, sum_xl = 0;
    for (int i = 0; i < n; ++i) {
      const float w = weight[i] * codes[i];
      sum_l += w, sum_l2 += w * codes[i], sum_xl += w * x[i];
    }
    const float determinant = sum_w * sum_l2 - sum_l * sum_l;
    if (!(determinant > 0)) continue;
    float scale = (sum_w * sum_xl - sum_x * sum_l) / determinant;
    float least = (sum_l2 * sum_x - sum_l * sum_xl) / determinant;
    if (least > 0) least = 0, scale = sum_xl / sum_l2;
    const float now = error_of(scale, least);
    if (!(now < error)) continue;
    take(scale);
    error = now, low = least;
  }
  r.least = low;
}

// Of the codes of some scales, those whose sum of squared errors, which weigh as much as the numbers' squares, is
// least.
void search_scales(const BlockSearch& s, const float* x, Run& r) {
  const auto half = static_cast<float>(s.half);
  const float end = first_largest(x, s.run);
  float best = 0;
  for (int t = 0; t <= 18; ++t) {
    // The first one is that of the number of largest magnitude.
    const int step = t == 0 ? 0 : t <= 9 ? t - 10 : t - 9;
    const float inverse = -(half + 0.1f * static_cast<float>(step)) / end;
    float sum_xl = 0, sum_l2 = 0, codes[32];
    for (int i = 0; i < s.run; ++i) {
      const float code = codes[i] = nearest(inverse * x[i], -half, half - 1);
      const float w = x[i] * x[i];
      sum_xl += w * x[i] * code, sum_l2 += w * code * code;
    }
    if (t > 0 && !(sum_l2 > 0 && sum_xl * sum_xl > best * sum_l2)) continue;
    r.scale = sum_l2 == 0 ? 0 : sum_xl / sum_l2;
    best = r.scale * sum_xl;
    for (int i = 0; i < s.run; ++i) r.codes[i] = static_cast<Byte>(codes[i] + half);
  }
}

// One code after the other is set to what fits best with the others, while this gives a better fit.
void search_codes(const BlockSearch& s, const float* x, Run& r) {
  const auto half = static_cast<float>(s.half);
  const float inverse = -half / first_largest(x, s.run);
  float codes[32], sum_xl = 0, sum_l2 = 0;
  for (int i = 0; i < s.run; ++i) {
    codes[i] = nearest(inverse * x[i], -half, half - 1);
    const float w = x[i] * x[i];
    sum_xl += w * x[i] * codes[i], sum_l2 += w * codes[i] * codes[i];
  }
  bool changed = true;
  for (int t = 0; t < 5 && changed; ++t) {
    changed = false;
    for (int i = 0; i < s.run; ++i) {
      const float w = x[i] * x[i];
      float xl = sum_xl - w * x[i] * codes[i];
      if (!(xl > 0)) continue;
      float l2 = sum_l2 - w * codes[i] * codes[i];
      const float code = nearest(x[i] * l2 / xl, -half, half - 1);
      if (code == codes[i]) continue;
      xl += w * x[i] * code, l2 += w * code * code;
      if (!(l2 > 0 && xl * xl * sum_l2 > sum_xl * sum_xl * l2)) continue;
      codes[i] = code, sum_xl = xl, sum_l2 = l2;
      changed = true;
    }
  }
  for (int i = 0; i < s.run; ++i) r.codes[i] = static_cast<Byte>(codes[i] + half);
  r.scale = sum_l2 > 0 ? sum_xl / sum_l2 : 0;
}

int nearest_of_table(float x) {
  int code = 0;
  for (int i = 0; i < 15; ++i) code += x >= 0.5f * static_cast<float>(kNonlinear[i] + kNonlinear[i + 1]);
  return code;
}

void search_nonlinear(const BlockSearch& s, const float* x, Run& r) {
  const float end = first_largest(x, s.run);
  float best = 0;
  for (int t = 0; t <= 15; ++t) {
    const float inverse = t == 0 ? 1 / (end / 127) : static_cast<float>(t - 8 - 127) / end;
    float sum_xq = 0, sum_q2 = 0;
    for (int i = 0; i < s.run; ++i) {
      const auto q = static_cast<float>(kNonlinear[nearest_of_table(inverse * x[i])]);
      const float w = x[i] * x[i] * q;
      sum_xq += w * x[i], sum_q2 += w * q;
    }
    if (t > 0 && !(sum_q2 > 0 && sum_xq * sum_xq > best * sum_q2)) continue;
    r.scale = sum_q2 > 0 ? sum_xq / sum_q2 : 0;
    best = r.scale * sum_xq;
  }
}

void search_run(const BlockSearch& s, const float* block, Run& r) {
  const std::uint32_t magnitude = largest(block, s.run);
  if (magnitude == 0) return;
  const Powers p = powers_of(magnitude);
  float x[32];
  std::copy_n(block, s.run, x);
  normalise(x, s.run, p);
  switch (s.search) {
    case Search::offsets:
      search_offsets(s, x, r);
      break;
    case Search::scales:
      search_scales(s, x, r);
      break;
    case Search::refined:
      search_codes(s, x, r);
      break;
    case Search::nonlinear:
      search_nonlinear(s, x, r);
      break;
    case Search::ternary:
      break;
  }
  r.scale *= p.up, r.least *= p.up;
}

// A block before it is packed.
struct Stored {
  std::uint16_t scale = 0, least = 0;  // of f16
  int scales[16] = {}, leasts[16] = {};
  Byte codes[256] = {};
};

std::uint16_t f16_of(float x) { return float16(x).bits; }
bool is_finite_f16(std::uint16_t bits) { return (bits & 0x7fff) < 0x7c00; }

// The codes of scales, and of what comes off; the codes of numbers then by the scales as they are stored. False where
// f16 does not hold a scale.
bool combine(const BlockSearch& s, const float* x, const Powers& p, std::span<const Run> runs, Stored& to) {
  const int n = static_cast<int>(runs.size());
  const auto of_scale = static_cast<float>(s.of_scale);
  if (s.search == Search::ternary) {
    const float scale = std::bit_cast<float>(largest(x, 256)), inverse = scale == 0 ? 0 : 1 / scale;
    to.scale = f16_of(scale * p.up);
    for (int e = 0; e < 256; ++e) to.codes[e] = static_cast<Byte>(1 + static_cast<int>(std::round(x[e] * inverse)));
    return is_finite_f16(to.scale);
  }
  if (s.search == Search::offsets) {
    float scale = 0, off = 0;
    for (const Run& r : runs) scale = std::max(scale, r.scale), off = std::max(off, -r.least);
    const float by_scale = scale > 0 ? of_scale / scale : 0, by_off = off > 0 ? of_scale / off : 0;
    to.scale = f16_of(scale / of_scale * p.up), to.least = f16_of(off / of_scale * p.up);
    const float d = static_cast<float>(float16::from_bits(to.scale)) * p.down,
                m = static_cast<float>(float16::from_bits(to.least)) * p.down;
    for (int j = 0; j < n; ++j) {
      const float code = nearest(by_scale * runs[j].scale, 0, of_scale),
                  less = nearest(by_off * -runs[j].least, 0, of_scale);
      to.scales[j] = static_cast<int>(code), to.leasts[j] = static_cast<int>(less);
      const float step = d * code, added = m * less;
      for (int i = 0; i < s.run; ++i) {
        const int e = j * s.run + i;
        to.codes[e] = step == 0
                          ? runs[j].codes[i]
                          : static_cast<Byte>(nearest((x[e] + added) / step, 0, static_cast<float>(2 * s.half - 1)));
      }
    }
    return is_finite_f16(to.scale) && is_finite_f16(to.least);
  }
  float end = 0;
  for (const Run& r : runs) {
    if (std::abs(r.scale) > std::abs(end)) end = r.scale;
  }
  if (s.search == Search::nonlinear) {
    const float scale = n == 1 ? end : -end / of_scale, by_scale = scale == 0 ? 0 : 1 / scale;
    to.scale = f16_of(scale * p.up);
    for (int j = 0; j < n; ++j) {
      const float code = n == 1 ? 1 : nearest(by_scale * runs[j].scale, -of_scale, of_scale - 1);
      to.scales[j] = static_cast<int>(code);
      const float step = scale * code, inverse = step == 0 ? 0 : 1 / step;
      for (int i = 0; i < s.run; ++i) {
        const int e = j * s.run + i;
        to.codes[e] = static_cast<Byte>(nearest_of_table(inverse * x[e]));
      }
    }
    return is_finite_f16(to.scale);
  }
  if (end == 0) {
    if (s.search == Search::refined) std::fill_n(to.scales, n, -s.of_scale);
    return true;
  }
  const float by_scale = -of_scale / end, half = static_cast<float>(s.half);
  to.scale = f16_of(1 / by_scale * p.up);
  const float d = static_cast<float>(float16::from_bits(to.scale)) * p.down;
  for (int j = 0; j < n; ++j) {
    const float code = nearest(by_scale * runs[j].scale, -of_scale, of_scale - 1), step = d * code;
    to.scales[j] = static_cast<int>(code);
    for (int i = 0; i < s.run; ++i) {
      const int e = j * s.run + i;
      to.codes[e] = step == 0 ? runs[j].codes[i] : static_cast<Byte>(nearest(x[e] / step, -half, half - 1) + half);
    }
  }
  return is_finite_f16(to.scale);
}

// ---- Packing, as blocks.cc reads it
void put_half(Byte* to, std::uint16_t bits) { to[0] = static_cast<Byte>(bits), to[1] = static_cast<Byte>(bits >> 8); }

// Two bits of each code, of four runs of 32 in a byte.
void put_twos(const Stored& b, int shift, Byte* to) {
  for (int k = 0; k < 64; ++k) {
    int byte = 0;
    for (int r = 0; r < 4; ++r) byte |= (b.codes[k / 32 * 128 + 32 * r + k % 32] >> shift & 3) << 2 * r;
    to[k] = static_cast<Byte>(byte);
  }
}
// One bit of each code, of eight runs of 32.
void put_ones(const Stored& b, int shift, Byte* to) {
  for (int k = 0; k < 32; ++k) {
    int byte = 0;
    for (int r = 0; r < 8; ++r) byte |= (b.codes[32 * r + k] >> shift & 1) << r;
    to[k] = static_cast<Byte>(byte);
  }
}
// The low four bits of elements that are `apart` from each other, in each 2 · apart.
void put_fours(const Stored& b, int count, int apart, Byte* to) {
  for (int k = 0; k < count / 2; ++k) {
    const int e = k / apart * 2 * apart + k % apart;
    to[k] = static_cast<Byte>((b.codes[e] & 15) | (b.codes[e + apart] & 15) << 4);
  }
}
// Six bits of eight scales and of what comes off.
void put_k_scales(const Stored& b, Byte* to) {
  for (int j = 0; j < 4; ++j) {
    to[j] = static_cast<Byte>(b.scales[j] | b.scales[j + 4] >> 4 << 6);
    to[j + 4] = static_cast<Byte>(b.leasts[j] | b.leasts[j + 4] >> 4 << 6);
    to[j + 8] = static_cast<Byte>((b.scales[j + 4] & 15) | (b.leasts[j + 4] & 15) << 4);
  }
}
// Digits of three values, the first one the highest, as 256ths of a byte that is rounded up.
void put_threes(const Stored& b, int first, int count, int digits, Byte* to) {
  for (int k = 0; k < count; ++k) {
    int number = 0;
    for (int n = 0; n < 5; ++n) number = 3 * number + (n < digits ? b.codes[first + n * count + k] : 0);
    to[k] = static_cast<Byte>((number * 256 + 242) / 243);
  }
}

void pack(QuantizedScheme scheme, const Stored& b, Byte* to) {
  switch (scheme) {
    case QuantizedScheme::q2_k:
      for (int j = 0; j < 16; ++j) to[j] = static_cast<Byte>(b.scales[j] | b.leasts[j] << 4);
      put_twos(b, 0, to + 16);
      put_half(to + 80, b.scale), put_half(to + 82, b.least);
      return;
    case QuantizedScheme::q3_k:
      put_ones(b, 2, to);
      put_twos(b, 0, to + 32);
      for (int j = 0; j < 8; ++j)
        to[96 + j] = static_cast<Byte>(((b.scales[j] + 32) & 15) | ((b.scales[j + 8] + 32) & 15) << 4);
      for (int j = 0; j < 4; ++j) {
        int byte = 0;
        for (int r = 0; r < 4; ++r) byte |= (b.scales[4 * r + j] + 32) >> 4 << 2 * r;
        to[104 + j] = static_cast<Byte>(byte);
      }
      put_half(to + 108, b.scale);
      return;
    case QuantizedScheme::q4_k:
      put_half(to, b.scale), put_half(to + 2, b.least);
      put_k_scales(b, to + 4);
      put_fours(b, 256, 32, to + 16);
      return;
    case QuantizedScheme::q5_k:
      put_half(to, b.scale), put_half(to + 2, b.least);
      put_k_scales(b, to + 4);
      put_ones(b, 4, to + 16);
      put_fours(b, 256, 32, to + 48);
      return;
    case QuantizedScheme::q6_k:
      put_fours(b, 256, 64, to);
      put_twos(b, 4, to + 128);
      for (int j = 0; j < 16; ++j) to[192 + j] = static_cast<Byte>(b.scales[j]);
      put_half(to + 208, b.scale);
      return;
    case QuantizedScheme::iq4_nl:
      put_half(to, b.scale);
      put_fours(b, 32, 16, to + 2);
      return;
    case QuantizedScheme::iq4_xs: {
      int high = 0;
      for (int j = 0; j < 8; ++j) high |= (b.scales[j] + 32) >> 4 << 2 * j;
      put_half(to, b.scale), put_half(to + 2, static_cast<std::uint16_t>(high));
      for (int j = 0; j < 4; ++j)
        to[4 + j] = static_cast<Byte>(((b.scales[2 * j] + 32) & 15) | ((b.scales[2 * j + 1] + 32) & 15) << 4);
      put_fours(b, 256, 16, to + 8);
      return;
    }
    case QuantizedScheme::tq1_0:
      put_threes(b, 0, 32, 5, to);
      put_threes(b, 160, 16, 5, to + 32);
      put_threes(b, 240, 4, 4, to + 48);
      put_half(to + 52, b.scale);
      return;
    default:
      put_twos(b, 0, to);
      put_half(to + 64, b.scale);
  }
}

}  // namespace

void encode_block(const BlockSearch& s, const float* given, std::byte* block) {
  const BlockFormat& format = block_format(s.scheme);
  const int elements = format.elements;
  float x[256];
  std::copy_n(given, elements, x);
  const std::uint32_t magnitude = largest(x, elements);
  bool valid = magnitude < 0x7f800000u;
  Stored stored;
  if (valid) {
    Powers p{0, 0};
    if (magnitude >= std::bit_cast<std::uint32_t>(kLeastMagnitude)) p = powers_of(magnitude);
    normalise(x, elements, p);
    Run runs[16];
    const int count = elements / s.run;
    for (int j = 0; j < count && s.search != Search::ternary; ++j) search_run(s, x + j * s.run, runs[j]);
    valid = combine(s, x, p, std::span<const Run>(runs, static_cast<std::size_t>(count)), stored);
  }
  if (!valid) stored = {.scale = 0x7e00};
  pack(s.scheme, stored, reinterpret_cast<Byte*>(block));
}

}  // namespace weft::kernels
