// Integer arithmetic that notices overflow.
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

}  // namespace weft
