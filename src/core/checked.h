// Integer arithmetic that notices overflow, and products of 128 bits.
#pragma once

#include <cstdint>
#include <limits>

#include "core/compiler.h"

namespace weft {

// In standard C++; what these compute, add_overflows and the others below compute.
namespace standard {

constexpr bool add_overflows(std::int64_t a, std::int64_t b, std::int64_t& sum) {
  sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  return (b < 0) != (sum < a);
}

constexpr bool multiply_overflows(std::int64_t a, std::int64_t b, std::int64_t& product) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  const std::int64_t wrapped = static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  product = wrapped;
  if (a == 0 || b == 0) return false;
  if ((a == -1 && b == kLeast) || (b == -1 && a == kLeast)) return true;
  return b == -1 ? false : wrapped / b != a;
}

constexpr std::uint64_t fold_product(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kLow = 0xffffffffu;
  const std::uint64_t low = (a & kLow) * (b & kLow), left = (a >> 32) * (b & kLow), right = (a & kLow) * (b >> 32);
  const std::uint64_t middle = (low >> 32) + (left & kLow) + (right & kLow);
  const std::uint64_t high = (a >> 32) * (b >> 32) + (left >> 32) + (right >> 32) + (middle >> 32);
  return (middle << 32 | (low & kLow)) ^ high;
}

}  // namespace standard

// The sum or product modulo 2^64, and whether it differs from the true one. The result may be one of the operands.
constexpr bool add_overflows(std::int64_t a, std::int64_t b, std::int64_t& sum) {
#if WEFT_GNU
  return __builtin_add_overflow(a, b, &sum);
#else
  return standard::add_overflows(a, b, sum);
#endif
}
constexpr bool multiply_overflows(std::int64_t a, std::int64_t b, std::int64_t& product) {
#if WEFT_GNU
  return __builtin_mul_overflow(a, b, &product);
#else
  return standard::multiply_overflows(a, b, product);
#endif
}

// The low and the high half of a product of 128 bits, combined by exclusive or.
constexpr std::uint64_t fold_product(std::uint64_t a, std::uint64_t b) {
#if WEFT_GNU && defined(__SIZEOF_INT128__)
  __extension__ using Wide = unsigned __int128;
  const Wide p = Wide{a} * b;
  return static_cast<std::uint64_t>(p) ^ static_cast<std::uint64_t>(p >> 64);
#else
  return standard::fold_product(a, b);
#endif
}

}  // namespace weft
