// Numbers that f32 need not hold, as factors that it has.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace weft {

// Whether f32 has the number, neither rounded to infinity nor denormal, and its inverse (GPUs divide by such alone).
inline bool is_ordinary_f32(double value) {
  const double size = std::abs(value);
  return size == 0 || !std::isfinite(value) || (size >= 0x1p-126 && size <= 0x1p126);
}

// Such numbers, of which the product is the value; or one that takes f32's other numbers to the same infinity or to 0,
// as the value does.
inline std::vector<double> f32_factors(double value) {
  if (is_ordinary_f32(value)) return {value};
  const double step = std::abs(value) > 1 ? 0x1p100 : 0x1p-100;
  double rest = std::copysign(std::clamp(std::abs(value), 0x1p-300, 0x1p300), value);
  std::vector<double> factors;
  for (; !is_ordinary_f32(rest); rest /= step) factors.push_back(step);
  factors.push_back(rest);
  return factors;
}

}  // namespace weft
