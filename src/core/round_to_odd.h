// Rounds to f32 as an intermediate step to a narrower float. Values that f32 cannot hold are rounded to odd: towards
// zero, and then the last bit is set if anything was lost. A further rounding, to a type of at least two bits less,
// then gives the result of a single rounding. Source: Boldo and Melquiond, "When double rounding is odd", 2005.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>

namespace weft {

inline float round_to_odd(double x) {
  const auto f = static_cast<float>(x);
  const auto b = std::bit_cast<std::uint32_t>(f);
  if (f == x || x != x || (b & 1)) return f;
  return std::bit_cast<float>(std::abs(f) > std::abs(x) ? b - 1 : b + 1);
}

template <std::integral T>
float round_to_odd(T x) {
  const std::uint64_t magnitude =
      x < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
  const int lost = 40 - std::countl_zero(magnitude);  // bits below the 24 of f32
  if (lost <= 0) return static_cast<float>(x);
  const std::uint64_t below = (std::uint64_t{1} << lost) - 1;
  const std::uint64_t odd = (magnitude & ~below) | (magnitude & below ? below + 1 : 0);
  const auto f = static_cast<float>(odd);  // exact
  return x < 0 ? -f : f;
}

}  // namespace weft
