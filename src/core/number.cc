#include "weft/number.h"

#include <bit>
#include <cmath>
#include <format>

#include "core/round_to_odd.h"
#include "weft/small_float.h"

namespace weft {

double Number::value() const {
  return std::visit([](auto v) { return static_cast<double>(v); }, value_);
}

std::optional<std::uint64_t> Number::integer() const {
  if (const auto* i = std::get_if<std::int64_t>(&value_)) return static_cast<std::uint64_t>(*i);
  if (const auto* u = std::get_if<std::uint64_t>(&value_)) return *u;
  const double v = std::get<double>(value_);
  if (!(v >= -0x1p63 && v < 0x1p64)) return {};
  return v < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(v)) : static_cast<std::uint64_t>(v);
}

std::optional<std::int64_t> Number::as_int64() const {
  if (const auto* i = std::get_if<std::int64_t>(&value_)) return *i;
  const auto* u = std::get_if<std::uint64_t>(&value_);
  if (u && *u <= static_cast<std::uint64_t>(INT64_MAX)) return static_cast<std::int64_t>(*u);
  return {};
}

std::uint64_t Number::bits(DType type) const {
  const double v = value();
  const auto odd = [this] { return std::visit([](auto exact) { return round_to_odd(exact); }, value_); };
  switch (type) {
    case DType::f64:
      return std::bit_cast<std::uint64_t>(v);
    case DType::f32:
    case DType::c64:
      return std::bit_cast<std::uint32_t>(std::visit([](auto exact) { return static_cast<float>(exact); }, value_));
    case DType::f16:
      return float16(odd()).bits;
    case DType::bf16:
      return bfloat16(odd()).bits;
    case DType::f8e4m3:
      return float8_e4m3(odd()).bits;
    case DType::f8e5m2:
      return float8_e5m2(odd()).bits;
    case DType::boolean:
      return v != 0 ? 1 : 0;
    default:
      break;
  }
  if (std::isnan(v)) return 0;
  const int width = weft::bits(type);
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - width);
  const std::uint64_t most = is_signed(type) ? mask >> 1 : mask, least = is_signed(type) ? most + 1 : 0;  // as bits
  const std::optional<std::uint64_t> whole = integer();
  if (!whole) return v < 0 ? least : most;
  // The double gives the sign, and the integer the magnitude.
  if (v < 0) {
    const auto magnitude = ~*whole + 1;
    return magnitude > (is_signed(type) ? most + 1 : 0) ? least : *whole & mask;
  }
  return *whole > most ? most : *whole;
}

std::string to_string(const Number& number) {
  return std::visit([](auto v) { return std::format("{}", v); }, number.value_);
}

}  // namespace weft
