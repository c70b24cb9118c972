// A number that becomes an element of some type.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "weft/dtype.h"

namespace weft {

// A double, or an integer of up to 64 bits without rounding: a parameter of type Number accepts either.
class Number {
 public:
  Number() : value_(std::int64_t{0}) {}
  template <std::floating_point T>
  Number(T value) : value_(static_cast<double>(value)) {}  // NOLINT: implicit, as numbers are
  template <std::signed_integral T>
  Number(T value) : value_(static_cast<std::int64_t>(value)) {}  // NOLINT
  template <std::unsigned_integral T>
  Number(T value) : value_(static_cast<std::uint64_t>(value)) {}  // NOLINT

  // The nearest double.
  double value() const;
  // Its integer part modulo 2^64, in two's complement; none if it does not fit 64 bits, signed or unsigned.
  std::optional<std::uint64_t> integer() const;
  // Whether it was made of an integer.
  bool integral() const { return !std::holds_alternative<double>(value_); }
  // The integer that it was made of; none if it was made of a floating number, or one past the range.
  std::optional<std::int64_t> as_int64() const;
  // The bits of the element of `type` nearest to it, in the low end of the result: floats round to even; for integers
  // fractions are cut off, values out of range saturate and NaN becomes 0; boolean: whether it is not 0.
  std::uint64_t bits(DType type) const;

  friend std::string to_string(const Number& number);  // all its digits

 private:
  std::variant<double, std::int64_t, std::uint64_t> value_;
};

}  // namespace weft
