// Whether the integers of a result hold the positions or the counts that a kernel stores.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/format.h"
#include "weft/error.h"
#include "weft/view.h"

namespace weft::kernels {

// Throws InvalidArgument unless positions among `count` elements fit the integers of `y`.
inline void check_positions(std::string_view kernel, std::string_view operand, const View& y, std::int64_t count) {
  const int width = bits(y.dtype) - (is_signed(y.dtype) ? 1 : 0);
  if (width >= 63 || count <= std::int64_t{1} << width) return;
  throw InvalidArgument(
      "{}: {} is {}, which holds positions among 2^{} elements, and there are {}; expected i64 or u64", kernel, operand,
      to_string(y), width, count);
}

// Throws InvalidArgument unless a number up to `count` fits the integers of `y`.
inline void check_counts(std::string_view kernel, std::string_view operand, const View& y, std::int64_t count) {
  const int width = bits(y.dtype) - (is_signed(y.dtype) ? 1 : 0);
  if (width >= 63 || count < std::int64_t{1} << width) return;
  throw InvalidArgument("{}: {} is {}, which counts fewer than 2^{} elements, and there are {}; expected i64 or u64",
                        kernel, operand, to_string(y), width, count);
}

}  // namespace weft::kernels
