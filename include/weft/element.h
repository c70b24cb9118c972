// Which data type a C++ type's values are.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "weft/dtype.h"
#include "weft/small_float.h"

namespace weft {
namespace detail {

template <class T>
consteval DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>)
    return DType::boolean;
  else if constexpr (std::is_same_v<T, float>)
    return DType::f32;
  else if constexpr (std::is_same_v<T, double>)
    return DType::f64;
  else if constexpr (std::is_same_v<T, float16>)
    return DType::f16;
  else if constexpr (std::is_same_v<T, bfloat16>)
    return DType::bf16;
  else if constexpr (std::is_same_v<T, float8_e4m3>)
    return DType::f8e4m3;
  else if constexpr (std::is_same_v<T, float8_e5m2>)
    return DType::f8e5m2;
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    return DType::c64;
  else {
    static_assert(std::is_integral_v<T>, "no data type of Weft has values of this C++ type");
    constexpr bool is_signed = std::is_signed_v<T>;
    switch (sizeof(T)) {
      case 1:
        return is_signed ? DType::i8 : DType::u8;
      case 2:
        return is_signed ? DType::i16 : DType::u16;
      case 4:
        return is_signed ? DType::i32 : DType::u32;
      default:
        return is_signed ? DType::i64 : DType::u64;
    }
  }
}

}  // namespace detail

template <class T>
inline constexpr DType dtype_of = detail::dtype_of<T>();

// Whether values of the C++ type T are elements of that data type: of T's own, or as unsigned integers the bytes of a
// bool and the bits of a float of 8 or 16 bits.
template <class T>
constexpr bool holds(DType dtype) {
  if (dtype == dtype_of<T>) return true;
  if (!std::is_unsigned_v<T> || std::is_same_v<T, bool> || bits(dtype) != 8 * static_cast<int>(sizeof(T))) return false;
  return dtype == DType::boolean || (is_floating(dtype) && bits(dtype) <= 16);
}

}  // namespace weft
