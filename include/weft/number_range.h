// Which numbers an element of a type can be.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "weft/dtype.h"
#include "weft/number.h"

namespace weft {

// Whether an element of this type can be the number: integers that are whole numbers in the type's range, booleans that
// are 0 and 1; others take any number, to which they are the nearest.
inline bool can_hold(DType type, const Number& number) {
  if (type != DType::boolean && !is_integer(type)) return true;
  const int digits = type == DType::boolean ? 1 : bits(type) - (is_signed(type) ? 1 : 0);
  if (!number.integral()) {
    const double value = number.value(), end = std::ldexp(1.0, digits);
    return value == std::trunc(value) && value < end && value >= (is_signed(type) ? -end : 0);
  }
  const auto value = number.as_int64();
  if (!value) return digits == 64;
  if (*value < 0) return is_signed(type) && (digits == 63 || *value >= -(std::int64_t{1} << digits));
  return digits >= 63 || *value < std::int64_t{1} << digits;
}

// "whole numbers from 0 to 255", of an integer type; "0 and 1" of booleans.
inline std::string range_text(DType type) {
  if (type == DType::boolean) return "0 and 1";
  const int digits = bits(type) - (is_signed(type) ? 1 : 0);
  const std::uint64_t most = digits == 64 ? UINT64_MAX : (std::uint64_t{1} << digits) - 1;
  const std::string least = is_signed(type) ? "-" + std::to_string(most + 1) : "0";
  return "whole numbers from " + least + " to " + std::to_string(most);
}

}  // namespace weft
