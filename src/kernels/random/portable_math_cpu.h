// Functions of f32 whose results are the same bits on every device, since products and sums are rounded one by one:
// what samplers decide by. portable_math.wgsl has the same in the same order. Errors are a few ULP. This file is
// compiled without contraction of products and sums (CMakeLists.txt). Source of the polynomials of log_core and exp_of:
// Moshier, "Methods and programs for mathematical functions", 1989.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace weft::kernels::portable {

inline std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }

// A word as a fraction in (0, 1), of 24 significant bits, down to 2^-33.
inline float fraction(std::uint32_t w) {
  const std::uint32_t cut = w & (0xffffff00u >> (std::countl_zero(w) & 31));
  return (cut == 0 ? 0.5F : static_cast<float>(cut)) * 0x1p-32F;
}

// An integer of 0 or more as f32: below 2^48 rounded to the nearest, above it of its upper bits.
inline float float_of(std::int64_t n) {
  if (n >= std::int64_t{1} << 48) return float_of(n >> 16) * 0x1p16F;
  return static_cast<float>(n >> 24) * 0x1p24F + static_cast<float>(n & 0xffffff);
}

// 1 / x of a normal number whose reciprocal is one.
inline float reciprocal(float x) {
  float r = std::bit_cast<float>(0x7ef311c7u - bits_of(x));
  for (int i = 0; i < 3; ++i) r = r * (2 - x * r);
  return r;
}

inline float inverse_sqrt(float x) {
  float r = std::bit_cast<float>(0x5f3759dfu - (bits_of(x) >> 1));
  for (int i = 0; i < 3; ++i) r = r * (1.5F - 0.5F * x * r * r);
  return r;
}

// k ln 2 + ln(1 + f), f from √½ - 1 to √2 - 1.
inline float log_core(float k, float f) {
  const float z = f * f;
  float y = 7.0376836292e-2F;
  y = y * f - 1.1514610310e-1F;
  y = y * f + 1.1676998740e-1F;
  y = y * f - 1.2420140846e-1F;
  y = y * f + 1.4249322787e-1F;
  y = y * f - 1.6668057665e-1F;
  y = y * f + 2.0000714765e-1F;
  y = y * f - 2.4999993993e-1F;
  y = y * f + 3.3333331174e-1F;
  y = y * f * z;
  y = y + k * -2.12194440e-4F;
  y = y - 0.5F * z;
  return (f + y) + k * 0.693359375F;
}

// x as 2^k · (1 + f).
struct LogParts {
  float k, f;
};
inline LogParts log_parts(float x) {
  const std::int32_t b = std::bit_cast<std::int32_t>(x) - 0x3f3504f3;
  return {static_cast<float>(b >> 23), std::bit_cast<float>(0x3f3504f3 + (b & 0x7fffff)) - 1};
}
inline LogParts log1p_parts(float x) {
  if (x > -0.29F && x < 0.41F) return {0, x};
  return log_parts(1 + x);
}
inline float log_of(float x) {
  const LogParts parts = log_parts(x);
  return log_core(parts.k, parts.f);
}
inline float log1p_of(float x) {
  const LogParts parts = log1p_parts(x);
  return log_core(parts.k, parts.f);
}

// Of x from -inf to 80; 0 below -87.
inline float exp_of(float x) {
  if (x < -87) return 0;
  const float n = std::floor(x * 1.44269504F + 0.5F);
  float r = x - n * 0.693359375F;
  r = r - n * -2.12194440e-4F;
  float y = 1.9875691500e-4F;
  y = y * r + 1.3981999507e-3F;
  y = y * r + 8.3334519073e-3F;
  y = y * r + 4.1665795894e-2F;
  y = y * r + 1.6666665459e-1F;
  y = y * r + 5.0000001201e-1F;
  y = y * (r * r) + r + 1;
  return y * std::bit_cast<float>((static_cast<std::int32_t>(n) + 127) << 23);
}

// Of x <= 0.
inline float expm1_of(float x) {
  if (x <= -0.35F) return exp_of(x) - 1;
  float y = 1.9841270e-4F;
  y = y * x + 1.3888889e-3F;
  y = y * x + 8.3333333e-3F;
  y = y * x + 4.1666667e-2F;
  y = y * x + 1.6666667e-1F;
  y = y * x + 0.5F;
  y = y * x + 1;
  return y * x;
}

// Exponentially distributed, of a word: from 2^-34 to 23.6.
inline float exponential(std::uint32_t w) {
  const float half = 0.5F * fraction(w << 1);
  const LogParts parts = w >> 31 ? log_parts(half) : log1p_parts(-half);
  return -log_core(parts.k, parts.f);
}

// Normally distributed, of a word: the inverse of the distribution function by polynomials in w = -ln(a (2 - a)), a
// being the probability beyond |x|, with an error of 4e-7 of x. Up to 6.5 deviations.
inline float normal(std::uint32_t word) {
  const float a = fraction(word << 1);
  const float w = -log_of(a * (2 - a));
  float y;
  if (w < 5) {
    const float t = w - 2.5F;
    y = 4.46400207e-07F;
    y = y * t - 4.50548396e-06F;
    y = y * t - 5.79034759e-06F;
    y = y * t + 0.000307359238F;
    y = y * t - 0.00177431607F;
    y = y * t - 0.00590612134F;
    y = y * t + 0.348803639F;
    y = y * t + 2.12331319F;
  } else {
    const float t = w * inverse_sqrt(w) - 3.5F;
    y = -0.000236691616F;
    y = y * t + 0.000799088797F;
    y = y * t - 0.00110394007F;
    y = y * t + 0.00141015858F;
    y = y * t - 0.00284474622F;
    y = y * t + 0.00467032148F;
    y = y * t + 1.42462552F;
    y = y * t + 4.71708727F;
  }
  const float x = (1 - a) * y;
  return word >> 31 ? -x : x;
}

// (1 + x) ln(1 + x) - x, x >= -1.
inline float deviance(float x) {
  if (std::abs(x) >= 0.1F) return (1 + x) * log_of(1 + x) - x;
  float y = 1.0F / 56;
  y = y * x - 1.0F / 42;
  y = y * x + 1.0F / 30;
  y = y * x - 1.0F / 20;
  y = y * x + 1.0F / 12;
  y = y * x - 1.0F / 6;
  y = y * x + 0.5F;
  return y * (x * x);
}

// ln k! less Stirling's approximation, k >= 1.
inline float stirling_error(float k) {
  const float r = reciprocal(k), z = r * r;
  return r * (8.3333333e-2F - z * (2.7777778e-3F - z * 7.9365079e-4F));
}

// log1p(t) - t + t² / 2 - t³ / 3, t > -1.
inline float log1p_rest(float t) {
  const float z = t * t;
  if (std::abs(t) >= 0.1F) return ((log1p_of(t) - t) + 0.5F * z) - t * z * 0.33333333F;
  float y = -1.0F / 10;
  y = y * t + 1.0F / 9;
  y = y * t - 1.0F / 8;
  y = y * t + 1.0F / 7;
  y = y * t - 1.0F / 6;
  y = y * t + 1.0F / 5;
  y = y * t - 1.0F / 4;
  return y * (z * z);
}

}  // namespace weft::kernels::portable
