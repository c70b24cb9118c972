#include <cmath>
#include <numbers>

#include "kernels/common/rows_cpu.h"
#include "kernels/elementwise/angle_math_cpu.h"
#include "kernels/random/portable_math_cpu.h"
#include "kernels/random/random.h"

namespace weft::kernels {
namespace {

using Form = RandomProblem::Form;
constexpr std::int64_t kChunk = 256;  // elements generated together

// Words 2·first … 2·(first + count) - 1 of the key's stream.
WEFT_VECTOR_CLONES
void words_of(const Words2& key, std::uint64_t first, std::int64_t count, std::uint32_t* words) {
  for (std::int64_t k = 0; k < count; ++k) {
    const std::uint64_t block = first + static_cast<std::uint64_t>(k);
    const Words2 pair = threefry(key, {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32)});
    words[2 * k] = pair[0];
    words[2 * k + 1] = pair[1];
  }
}

float uniform_of(const RandomProblem& p, std::uint32_t word) {
  const float product = static_cast<float>(word >> 8) * 0x1p-24f * p.factor;
  const float sum = product + p.offset;
  return std::min(sum, p.largest);
}

// Two numbers for each pair of words, in double by functions that become vector code.
WEFT_VECTOR_CLONES
void normals_of(const std::uint32_t* words, std::int64_t pairs, double offset, double factor, float* values) {
  for (std::int64_t k = 0; k < pairs; ++k) {
    const std::uint32_t u = words[2 * k], v = words[2 * k + 1];
    // 24 significant bits, like f32.
    const double cut = std::bit_cast<double>(std::bit_cast<std::uint64_t>(static_cast<double>(u)) & ~0x1fffffffull);
    const double fraction = (u == 0 ? 0.5 : cut) * 0x1p-32;
    const double radius = std::sqrt(-2 * wide::log_positive(fraction)) * factor;
    const double angle = static_cast<double>(static_cast<std::int32_t>(v & ~63u)) * 0x1p-31 * std::numbers::pi;
    values[2 * k] = static_cast<float>(offset + radius * wide::cos(angle));
    values[2 * k + 1] = static_cast<float>(offset + radius * wide::sin(angle));
  }
}

// The upper half of v · range + rest.
std::uint64_t scaled(std::uint64_t v, std::uint64_t range, std::uint64_t rest) {
  const auto low = [](std::uint64_t x) { return x & 0xffffffffu; };
  const std::uint64_t a = low(v) * low(range), b = low(v) * (range >> 32), c = (v >> 32) * low(range);
  const std::uint64_t first = (a >> 32) + (rest >> 32) + ((low(a) + low(rest)) >> 32);
  const std::uint64_t middle = low(b) + low(c) + first;
  return (v >> 32) * (range >> 32) + (b >> 32) + (c >> 32) + (middle >> 32);
}

// Of 64 bits of the stream, their low word first.
std::uint64_t integer_of(const RandomProblem& p, std::uint32_t low, std::uint32_t high) {
  const auto range = static_cast<std::uint32_t>(p.range);
  if (range == 0) return p.low + high;
  const std::uint64_t carried = std::uint64_t{high} * range + (std::uint64_t{low} * range >> 32);
  return p.low + (carried >> 32);
}
// The same, where there are more integers than 2^32, of 128 bits.
std::uint64_t wide_integer_of(const RandomProblem& p, std::uint64_t upper, std::uint64_t lower) {
  return p.low + (p.range == 0 ? upper : scaled(upper, p.range, scaled(lower, p.range, 0)));
}

// Elements [first, first + count) as type T; `first` must be a multiple of kChunk.
template <class T>
void make(const RandomProblem& p, const Words2& key, std::int64_t first, std::int64_t count, T* values) {
  std::uint32_t words[2 * kChunk];
  if (p.form == Form::bits) {
    const std::int64_t bytes = count * static_cast<std::int64_t>(sizeof(T));
    words_of(key, static_cast<std::uint64_t>(first) * sizeof(T) / 8, ceil_div(bytes, 8), words);
    std::memcpy(values, words, static_cast<std::size_t>(bytes));
    return;
  }
  if constexpr (std::is_integral_v<T>) {
    words_of(key, static_cast<std::uint64_t>(first), count, words);
    if (!p.is_wide()) {
      for (std::int64_t i = 0; i < count; ++i) {
        values[i] = static_cast<T>(integer_of(p, words[2 * i], words[2 * i + 1]));
      }
      return;
    }
    std::uint32_t more[2 * kChunk];
    words_of(key, static_cast<std::uint64_t>(first) | std::uint64_t{kSecondBlock} << 32, count, more);
    const auto pair = [](const std::uint32_t* w, std::int64_t i) {
      return w[2 * i] | std::uint64_t{w[2 * i + 1]} << 32;
    };
    for (std::int64_t i = 0; i < count; ++i) {
      values[i] = static_cast<T>(wide_integer_of(p, pair(words, i), pair(more, i)));
    }
  } else {
    const std::int64_t pairs = ceil_div(count, 2);
    words_of(key, static_cast<std::uint64_t>(first / 2), pairs, words);
    if (p.form == Form::uniform) {
      for (std::int64_t i = 0; i < count; ++i) values[i] = T(uniform_of(p, words[i]));
      return;
    }
    if (p.form == Form::signed_uniform) {
      for (std::int64_t i = 0; i < count; ++i) {
        const float u = portable::fraction(words[i] << 1);
        values[i] = T(words[i] >> 31 ? -u : u);
      }
      return;
    }
    float normals[kChunk];
    normals_of(words, pairs, p.offset, p.factor, normals);
    for (std::int64_t i = 0; i < count; ++i) values[i] = T(normals[i]);
  }
}

template <class T>
void run(cpu::Executor& executor, const RandomProblem& p) {
  const Words2 key{data<std::uint32_t>(p.key)[0], data<std::uint32_t>(p.key)[p.key.strides()[0]]};
  const std::int64_t count = p.y.count();
  const bool dense = p.y.is_dense();
  parallel(executor, ceil_div(count, kChunk), 16, [&](std::int64_t begin, std::int64_t end) {
    T values[kChunk];
    for (std::int64_t chunk = begin; chunk < end; ++chunk) {
      const std::int64_t first = chunk * kChunk, n = std::min(kChunk, count - first);
      if (dense) {
        make(p, key, first, n, data<T>(p.y) + first);
        continue;
      }
      make(p, key, first, n, values);
      for (std::int64_t i = 0; i < n; ++i) data<T>(p.y)[offset_of(p.y.layout, first + i)] = values[i];
    }
  });
}

}  // namespace

void random_cpu(cpu::Executor& executor, const RandomProblem& problem) {
  with_type(problem.y.dtype, [&]<class T>() {
    constexpr bool number = std::is_integral_v<T> && !std::is_same_v<T, bool>;
    if constexpr (number || std::is_same_v<T, float> || std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
      run<T>(executor, problem);
    }
  });
}

}  // namespace weft::kernels
