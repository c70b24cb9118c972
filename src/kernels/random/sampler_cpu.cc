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
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
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

// ---- Counts, which are computed in 64 bits. T: i32, i64 or f32.

// The count in its type, the largest one that it has at most.
template <class T>
T count_of(std::int64_t k) {
  if constexpr (std::is_same_v<T, float>) {
    return float_of(k);
  } else {
    return static_cast<T>(std::min<std::int64_t>(k, std::numeric_limits<T>::max()));
  }
}
// A count of 2^63 or more.
template <class T>
T large_count(float x) {
  return std::is_same_v<T, float> ? static_cast<T>(x) : std::numeric_limits<T>::max();
}
// Without a distribution.
template <class T>
constexpr T kNoCount = std::is_same_v<T, float> ? std::numeric_limits<T>::quiet_NaN() : static_cast<T>(-1);

// The binary digits of an integer of x's size, 0 or more, that come after the first `digits` + 1, as a mask.
std::uint64_t digits_after(int digits, float x) {
  const int exponent = static_cast<int>(bits_of(x) >> 23) - 127;
  return exponent <= digits ? 0 : (std::uint64_t{1} << (exponent - digits)) - 1;
}

template <class T>
T geometric(const Words& words, float given) {
  const std::uint32_t bits = parameter_bits(given);
  if (bits > kOneBits) return kNoCount<T>;
  if (bits == kOneBits) return 1;
  if (bits < kLeastNormal) return large_count<T>(kInf);
  const float y = std::floor(exponential(words(0)[0]) * reciprocal(-log1p_of(-given)));
  if (y >= 0x1p63F) return large_count<T>(y);
  // The digits that f32 does not have are as good as evenly distributed.
  const Words2 fill = words(kFill);
  const std::uint64_t k =
      static_cast<std::uint64_t>(y) + ((fill[0] | std::uint64_t{fill[1]} << 32) & digits_after(22, y));
  return count_of<T>(static_cast<std::int64_t>(std::min<std::uint64_t>(k, kMost - 1)) + 1);
}

// A Poisson or binomial distribution.
struct Counts {
  float mean = 0;
  std::int64_t whole = 0;  // of the mean
  float rest = 0;
  std::int64_t n = 0;  // trials; 0: Poisson
  float q = 0;         // the probability of the rarer outcome
  float trials = float_of(n);

  // The probability of k is that of k - 1 times above / k.
  float above(float k) const { return n ? ((trials - k) + 1) * (q * reciprocal(1 - q)) : mean; }
  float log_of_none() const { return n ? trials * log1p_of(-q) : -mean; }

  // The logarithm of the probability of k = whole + off. Source: Loader, "Fast and accurate computation of binomial
  // probabilities", 2000.
  float log_probability(float off, std::int64_t k) const {
    if (k == 0) return log_of_none();
    const float from_mean = off - rest, many = float_of(k);
    const float first = mean * deviance(from_mean * reciprocal(mean));
    if (n == 0) return (-first - 0.5F * log_of(kTwoPi * many)) - stirling_error(many);
    const std::int64_t others = n - k;
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
std::int64_t by_inversion(const Counts& d, float u) {
  const float none = d.log_of_none();
  float beyond = -expm1_of(none);
  if (u >= beyond) return 0;
  float term = exp_of(none);
  const int most = static_cast<int>(d.n ? std::min<std::int64_t>(d.n, 64) : 64);
  const bool rare = u < 0x1p-10F;
  int k = 0;
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
std::int64_t by_rejection(const Counts& d, const Words& words) {
  float a, b, inner, centre, height, level = 0;
  if (d.n) {
    const float variance = d.mean * (1 - d.q), deviation = variance * inverse_sqrt(variance);
    b = 1.15F + 2.53F * deviation;
    a = (-0.0873F + 0.0248F * b) + 0.01F * d.q;
    const float inverse = reciprocal(b);
    inner = 0.92F - 4.2F * inverse;
    centre = d.rest + 0.5F;
    height = (2.83F + 5.1F * inverse) * deviation;
    const float mode = std::floor(d.rest + d.q);
    level = d.log_probability(mode, d.whole + static_cast<std::int64_t>(mode));
  } else {
    const float deviation = d.mean * inverse_sqrt(d.mean);
    b = 0.931F + 2.53F * deviation;
    a = -0.059F + 0.02483F * b;
    inner = 0.9277F - 3.6224F * reciprocal(b - 2);
    centre = d.rest + 0.43F;
    height = 1.1239F + 1.1328F * reciprocal(b - 3.4F);
  }
  const std::int64_t last = (d.n ? d.n : kMost) - d.whole;
  // Where f32 has no digits for each integer, those that it does not have are filled.
  const auto gap = static_cast<std::int64_t>(digits_after(21, b));
  const auto filled = [&](std::int64_t off) {
    if (gap == 0) return d.whole + off;
    return d.whole + std::clamp(off + (words(kFill)[0] & gap) - gap / 2, -d.whole, last);
  };
  for (std::uint32_t attempt = 0; attempt < kAttempts; ++attempt) {
    const Words2 w = words(attempt);
    const float edge = 0.5F * fraction(w[0] << 1), distance = 0.5F - edge, u = w[0] >> 31 ? -distance : distance;
    const float v = fraction(w[1]);
    const float inverse_edge = reciprocal(edge), slope = a * inverse_edge;
    const float at = std::clamp(std::floor((2 * slope + b) * u + centre), -0x1p62F, 0x1p62F);
    const auto off = static_cast<std::int64_t>(at);
    if (edge >= 0.07F && v <= inner) return filled(std::min(off, last));
    if (off < -d.whole || off > last || (edge < 0.013F && v > edge)) continue;
    const float drawn = v * height * reciprocal(slope * inverse_edge + b);
    if (log_of(drawn) + level <= d.log_probability(at, d.whole + off)) return filled(off);
  }
  return d.whole;
}

std::int64_t draw(const Counts& d, const Words& words) {
  return d.mean < 10 ? by_inversion(d, fraction(words(0)[0])) : by_rejection(d, words);
}

template <class T>
T poisson(const Words& words, float given) {
  const std::uint32_t bits = parameter_bits(given);
  if (bits > kInfBits) return kNoCount<T>;
  if (bits < kLeastNormal) return 0;
  if (given >= 0x1p63F) return large_count<T>(given);
  const float whole = std::floor(given);
  return count_of<T>(draw({.mean = given, .whole = static_cast<std::int64_t>(whole), .rest = given - whole}, words));
}

// n · q, exactly: its integer part, and 24 bits of its fraction. q is normal and at most ½.
std::pair<std::int64_t, float> product_of(std::int64_t n, float q) {
  const auto m = (bits_of(q) & 0x7fffffu) | 0x800000u;
  const std::uint32_t point = 150 - (bits_of(q) >> 23);  // binary digits of the fraction, 24 or more
  const std::uint64_t low = (static_cast<std::uint64_t>(n) & 0xffffffffu) * m;
  const std::uint64_t high = (static_cast<std::uint64_t>(n) >> 32) * m + (low >> 32);
  const std::uint32_t words[6] = {static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(high),
                                  static_cast<std::uint32_t>(high >> 32)};
  const auto word_at = [&](std::uint32_t bit) {  // 32 bits from there on
    if (bit >= 96) return std::uint32_t{0};
    const std::uint64_t pair = words[bit / 32] | std::uint64_t{words[bit / 32 + 1]} << 32;
    return static_cast<std::uint32_t>(pair >> bit % 32);
  };
  const std::uint32_t below = point < 32 ? words[0] << (32 - point) : word_at(point - 32);
  const std::uint64_t whole = word_at(point) | std::uint64_t{word_at(point + 32)} << 32;
  return {static_cast<std::int64_t>(whole), static_cast<float>(below >> 8) * 0x1p-24F};
}

template <class T>
T binomial(const Words& words, float given, std::int64_t n) {
  const std::uint32_t bits = parameter_bits(given);
  if (bits > kOneBits || n < 0) return kNoCount<T>;
  const bool swapped = given > 0.5F;
  const float q = swapped ? 1 - given : given;
  std::int64_t k = 0;
  if (bits >= kLeastNormal && bits_of(q) >= kLeastNormal && n > 0) {
    const auto [whole, rest] = product_of(n, q);
    k = draw({.mean = float_of(n) * q, .whole = whole, .rest = rest, .n = n, .q = q}, words);
  }
  return count_of<T>(swapped ? n - k : k);
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

std::int64_t trials(const View& v, std::int64_t offset) {
  return v.dtype == DType::i64 ? data<std::int64_t>(v)[offset] : data<std::int32_t>(v)[offset];
}

// y = draw(words, i, parameter), of T.
template <class T, class F>
void each(cpu::Executor& executor, const SamplerProblem& p, const F& draw) {
  const Words2 key = key_of(p.key);
  parallel(executor, p.y.count(), 256, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const Words words{key, static_cast<std::uint64_t>(i)};
      data<T>(p.y)[offset_of(p.y.layout, i)] = T(draw(words, i, parameter(p.a, offset_of(p.a.layout, i))));
    }
  });
}

template <class T>
void gammas(cpu::Executor& executor, const SamplerProblem& p) {
  const bool logarithm = p.form == Form::log_gamma;
  each<T>(executor, p, [&](const Words& words, std::int64_t, float a) { return gamma(words, a, logarithm); });
}

template <class T>
void counts(cpu::Executor& executor, const SamplerProblem& p) {
  switch (p.form) {
    case Form::poisson:
      return each<T>(executor, p, [](const Words& words, std::int64_t, float a) { return poisson<T>(words, a); });
    case Form::binomial:
      return each<T>(executor, p, [&](const Words& words, std::int64_t i, float a) {
        return binomial<T>(words, a, trials(p.n, offset_of(p.n.layout, i)));
      });
    default:
      return each<T>(executor, p, [](const Words& words, std::int64_t, float a) { return geometric<T>(words, a); });
  }
}

}  // namespace

void sampler_cpu(cpu::Executor& executor, const SamplerProblem& problem) {
  switch (problem.y.dtype) {
    case DType::f32:
      return problem.is_gamma() ? gammas<float>(executor, problem) : counts<float>(executor, problem);
    case DType::f16:
      return gammas<float16>(executor, problem);
    case DType::bf16:
      return gammas<bfloat16>(executor, problem);
    case DType::i64:
      return counts<std::int64_t>(executor, problem);
    default:
      return counts<std::int32_t>(executor, problem);
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
      // Less the greatest logit, so that logits of any size leave the noise its digits.
      float top = -kInf;
      for (std::int64_t i = 0; i < length; ++i) {
        const float x = parameter(p.x, start + i * step);
        if (x > top) top = x;
      }
      if (top == -kInf) top = 0;
      float best = -kInf;
      std::int32_t at = -1;
      Words2 w{};
      for (std::int64_t i = 0; i < length; ++i) {
        if (i % 2 == 0) w = threefry(key, {static_cast<std::uint32_t>(i / 2), static_cast<std::uint32_t>(row)});
        const float x = parameter(p.x, start + i * step);
        const float noise = -log_of(-log1p_of(-fraction(w[static_cast<std::size_t>(i % 2)])));
        const float score = x == kInf ? x : (x - top) + noise;
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
