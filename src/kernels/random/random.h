// Shared by the forms of random numbers and the CPU's kernel.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "cpu/executor.h"
#include "weft/number.h"
#include "weft/view.h"

namespace weft::kernels {

struct RandomProblem {
  enum class Form : std::uint8_t { bits, uniform, normal, integers, signed_uniform } form;
  View key, y;
  // uniform: offset + u · factor, at most `largest`. normal: offset + z · factor.
  float offset = 0, factor = 1, largest = 0;
  // integers: from `low` on; `range` of them, 0 for 2^64.
  std::uint64_t low = 0, range = 0;
  // More integers than a word counts are made of 128 bits.
  bool is_wide() const { return range - 1 > 0xffffffffu; }
};
// The bit of a counter's upper word that sets the second block of such an element apart from the first one.
constexpr std::uint32_t kSecondBlock = 0x80000000u;
void random_cpu(cpu::Executor& executor, const RandomProblem& problem);

// Throw InvalidArgument unless there are such numbers of the type.
void check_uniform(DType type, double low, double high);
void check_normal(double mean, double deviation);
// The first integer in [low, high) in two's complement, and how many there are, 0 for 2^64. `high` is 2^64 as a
// floating number. Throws InvalidArgument unless there are some and all are of the type.
std::pair<std::uint64_t, std::uint64_t> integers_between(std::string_view kernel, DType type, const Number& low,
                                                         const Number& high);

using Words2 = std::array<std::uint32_t, 2>;

// Threefry-2×32 with 20 rounds.
constexpr Words2 threefry(const Words2& key, const Words2& counter) {
  constexpr int kRotations[] = {13, 15, 26, 6, 17, 29, 16, 24};
  const std::uint32_t keys[] = {key[0], key[1], 0x1bd11bdau ^ key[0] ^ key[1]};
  std::uint32_t a = counter[0] + keys[0], b = counter[1] + keys[1];
  for (std::uint32_t i = 0; i < 5; ++i) {
    for (int k = 0; k < 4; ++k) {
      const int r = kRotations[i % 2 * 4 + k];
      a += b;
      b = (b << r | b >> (32 - r)) ^ a;
    }
    a += keys[(i + 1) % 3];
    b += keys[(i + 2) % 3] + i + 1;
  }
  return {a, b};
}

}  // namespace weft::kernels
