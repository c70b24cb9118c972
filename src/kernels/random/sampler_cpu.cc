// The CPU's samplers, by the arithmetic of sampler.wgsl and categorical.wgsl.
#include <algorithm>
#include <limits>

#include "kernels/cpu_loops.h"
#include "kernels/random/portable_math_cpu.h"
#include "kernels/random/sampler.h"

namespace weft::kernels {
namespace {

using namespace portable;
using Form = SamplerProblem::Form;

constexpr float kInf = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
constexpr float kTwoPi = 6.28318531F;

// The words of an element, two for each attempt.
struct Words {
  Words2 key;
  std::uint64_t element;
  Words2 operator()(std::uint32_t attempt) const {
    return threefry(key,
                    {static_cast<std::uint32_t>(element), attempt | static_cast<std::uint32_t>(element >> 32) << 8});
  }
};

// -0 counts as 0; NaN and negative numbers are above infinity.
std::uint32_t parameter_bits(float x) { return x == 0 ? 0 : bits_of(x); }
constexpr std::uint32_t kInfBits = 0x7f800000, kOneBits = 0x3f800000, kLeastNormal = 0x00800000;

// By Marsaglia and Tsang; below 1 from the distribution of one more.
float gamma(const Words& words, float given, bool logarithm) {
  const std::uint32_t bits = parameter_bits(given);
  if (bits > kInfBits) return kNaN;
  if (bits == kInfBits) return kInf;
  if (bits < kLeastNormal) return logarithm ? -kInf : 0;
  const bool boosted = given < 1;
  const float d = (boosted ? given + 1 : given) - 0.333333343F;
  const float c = inverse_sqrt(d) * 0.333333343F;
  float t = 0;
  for (std::uint32_t attempt = 0; attempt < kAttempts; ++attempt) {
    const Words2 w = words(attempt);
    const float x = normal(w[0]);
    t = c * x;
    if (t <= -1) {
      t = 0;
      continue;
    }
    const float u = fraction(w[1]), square = x * x;
    if (u < 1 - 0.0331F * (square * square)) break;
    if (log_of(u) < 3 * d * log1p_rest(t)) break;
  }
  if (logarithm) {
    const float y = log_of(d) + 3 * log1p_of(t);
    return boosted ? y - exponential(words(255)[0]) * reciprocal(given) : y;
  }
  const float v = 1 + t, y = d * (v * v * v);
  return boosted ? y * exp_of(-(exponential(words(255)[0]) * reciprocal(given))) : y;
}

std::int32_t geometric(const Words& words, float given) {
  const std::uint32_t bits = parameter_bits(given);
  if (bits > kOneBits) return -1;
  if (bits == kOneBits) return 1;
  if (bits < kLeastNormal) return kMost;
  const float y = std::floor(exponential(words(0)[0]) * reciprocal(-log1p_of(-given)));
  return y >= 0x1p31F ? kMost : static_cast<std::int32_t>(std::min(y, 2147483520.0F)) + 1;
}

// A Poisson or binomial distribution.
struct Counts {
  float mean = 0;
  std::int32_t n = 0;  // trials; 0: Poisson
  float q = 0;         // the probability of the rarer outcome
  float trials = float_of(n), whole_mean = std::floor(mean);
  std::int32_t whole = static_cast<std::int32_t>(whole_mean);
  float rest = mean - whole_mean;

  // The probability of k is that of k - 1 times above / k.
  float above(float k) const { return n ? ((trials - k) + 1) * (q * reciprocal(1 - q)) : mean; }
  float log_of_none() const { return n ? trials * log1p_of(-q) : -mean; }

  // The logarithm of the probability of whole + off. Source: Loader, "Fast and accurate computation of binomial
  // probabilities", 2000.
  float log_probability(std::int32_t off) const {
    const std::int32_t k = whole + off;
    if (k == 0) return log_of_none();
    const float from_mean = static_cast<float>(off) - rest, many = float_of(k);
    const float first = mean * deviance(from_mean * reciprocal(mean));
    if (n == 0) return (-first - 0.5F * log_of(kTwoPi * many)) - stirling_error(many);
    const std::int32_t others = n - k;
    if (others == 0) return trials * log_of(q);
    const float other_mean = trials - mean, other = float_of(others);
    const float second = other_mean * deviance(-from_mean * reciprocal(other_mean));
    const float width = trials * reciprocal(kTwoPi * (many * other));
    return ((0.5F * log_of(width) - first) - second) +
           ((stirling_error(trials) - stirling_error(many)) - stirling_error(other));
  }
};

// For means below 10: the count beyond which there is the probability u. Sums of probabilities from the least on lose
// the digits of a small u, for which they are added from the far end.
std::int32_t by_inversion(const Counts& d, float u) {
  const float none = d.log_of_none();
  float beyond = -expm1_of(none);
  if (u >= beyond) return 0;
  float term = exp_of(none);
  const std::int32_t most = d.n ? std::min(d.n, 64) : 64;
  const bool rare = u < 0x1p-10F;
  std::int32_t k = 0;
  while (k < most) {
    ++k;
    const auto count = static_cast<float>(k);
    term = term * d.above(count) * reciprocal(count);
    beyond = beyond - term;
    if (rare) {
      if (term < 0x1p-40F && count > d.mean) break;
    } else if (u >= beyond) {
      return k;
    }
  }
  if (!rare) return k;
  float sum = 0;
  for (; k > 0; --k) {
    const auto count = static_cast<float>(k);
    sum = sum + term;
    if (u < sum) return k;
    term = term * count * reciprocal(d.above(count));
  }
  return 0;
}

// For means of 10 and more, by Hörmann's transformed rejection (PTRS, BTRS).
std::int32_t by_rejection(const Counts& d, const Words& words) {
  float a, b, inner, centre, height, level = 0;
  if (d.n) {
    const float variance = d.mean * (1 - d.q), deviation = variance * inverse_sqrt(variance);
    b = 1.15F + 2.53F * deviation;
    a = (-0.0873F + 0.0248F * b) + 0.01F * d.q;
    const float inverse = reciprocal(b);
    inner = 0.92F - 4.2F * inverse;
    centre = d.rest + 0.5F;
    height = (2.83F + 5.1F * inverse) * deviation;
    level = d.log_probability(static_cast<std::int32_t>(std::floor(d.rest + d.q)));  // of the mode
  } else {
    const float deviation = d.mean * inverse_sqrt(d.mean);
    b = 0.931F + 2.53F * deviation;
    a = -0.059F + 0.02483F * b;
    inner = 0.9277F - 3.6224F * reciprocal(b - 2);
    centre = d.rest + 0.43F;
    height = 1.1239F + 1.1328F * reciprocal(b - 3.4F);
  }
  const std::int32_t last = (d.n ? d.n : kMost) - d.whole;
  for (std::uint32_t attempt = 0; attempt < kAttempts; ++attempt) {
    const Words2 w = words(attempt);
    const float edge = 0.5F * fraction(w[0] << 1), distance = 0.5F - edge, u = w[0] >> 31 ? -distance : distance;
    const float v = fraction(w[1]);
    const float inverse_edge = reciprocal(edge), slope = a * inverse_edge;
    const float at = std::floor((2 * slope + b) * u + centre);
    const auto off = static_cast<std::int32_t>(std::clamp(at, -0x1p31F, 2147483520.0F));
    if (edge >= 0.07F && v <= inner) return d.whole + std::min(off, last);
    if (off < -d.whole || off > last || (edge < 0.013F && v > edge)) continue;
    const float drawn = v * height * reciprocal(slope * inverse_edge + b);
    if (log_of(drawn) + level <= d.log_probability(off)) return d.whole + off;
  }
  return d.whole;
}

std::int32_t count_of(const Counts& d, const Words& words) {
  return d.mean < 10 ? by_inversion(d, fraction(words(0)[0])) : by_rejection(d, words);
}

std::int32_t poisson(const Words& words, float given) {
  const std::uint32_t bits = parameter_bits(given);
  if (bits > kInfBits) return -1;
  if (bits < kLeastNormal) return 0;
  if (given >= 0x1p31F) return kMost;
  return count_of({.mean = given}, words);
}

std::int32_t binomial(const Words& words, float given, std::int32_t n) {
  const std::uint32_t bits = parameter_bits(given);
  if (bits > kOneBits || n < 0) return -1;
  const bool swapped = given > 0.5F;
  const float q = swapped ? 1 - given : given;
  std::int32_t k = 0;
  if (bits >= kLeastNormal && bits_of(q) >= kLeastNormal && n > 0) {
    k = count_of({.mean = float_of(n) * q, .n = n, .q = q}, words);
  }
  return swapped ? n - k : k;
}

// Parameters are floats of any width.
float parameter(const View& v, std::int64_t offset) {
  switch (v.dtype) {
    case DType::f16:
      return data<float16>(v)[offset];
    case DType::bf16:
      return data<bfloat16>(v)[offset];
    default:
      return data<float>(v)[offset];
  }
}

Words2 key_of(const View& key) { return {data<std::uint32_t>(key)[0], data<std::uint32_t>(key)[key.strides()[0]]}; }

template <class T>
void run(cpu::Executor& executor, const SamplerProblem& p) {
  const Words2 key = key_of(p.key);
  parallel(executor, p.y.count(), 256, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const Words words{key, static_cast<std::uint64_t>(i)};
      const float a = parameter(p.a, offset_of(p.a.layout, i));
      T& y = data<T>(p.y)[offset_of(p.y.layout, i)];
      if constexpr (std::is_same_v<T, std::int32_t>) {
        switch (p.form) {
          case Form::poisson:
            y = poisson(words, a);
            break;
          case Form::binomial:
            y = binomial(words, a, data<std::int32_t>(p.n)[offset_of(p.n.layout, i)]);
            break;
          default:
            y = geometric(words, a);
        }
      } else {
        y = T(gamma(words, a, p.form == Form::log_gamma));
      }
    }
  });
}

}  // namespace

void sampler_cpu(cpu::Executor& executor, const SamplerProblem& problem) {
  switch (problem.y.dtype) {
    case DType::f32:
      return run<float>(executor, problem);
    case DType::f16:
      return run<float16>(executor, problem);
    case DType::bf16:
      return run<bfloat16>(executor, problem);
    default:
      return run<std::int32_t>(executor, problem);
  }
}

void categorical_cpu(cpu::Executor& executor, const CategoricalProblem& p) {
  const Words2 key = key_of(p.key);
  Layout rows = p.x.layout;
  const std::int64_t length = rows.shape.back(), step = rows.strides.back();
  rows.shape.pop_back();
  rows.strides.pop_back();
  parallel(executor, p.y.count(), std::max<std::int64_t>(256 / length, 1), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t start = offset_of(rows, row);
      float best = -kInf;
      std::int32_t at = -1;
      Words2 w{};
      for (std::int64_t i = 0; i < length; ++i) {
        if (i % 2 == 0) w = threefry(key, {static_cast<std::uint32_t>(i / 2), static_cast<std::uint32_t>(row)});
        const float x = parameter(p.x, start + i * step);
        const float score = x - log_of(-log1p_of(-fraction(w[static_cast<std::size_t>(i % 2)])));
        if (std::isnan(x)) {
          at = -1;
          break;
        }
        if (score > best) {
          best = score;
          at = static_cast<std::int32_t>(i);
        }
      }
      data<std::int32_t>(p.y)[offset_of(p.y.layout, row)] = at;
    }
  });
}

}  // namespace weft::kernels
