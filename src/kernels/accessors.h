// WGSL functions through which kernels read and write an operand, whatever its type: call.h lists them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/dtype.h"

namespace weft::kernels {

struct Accesses {
  bool loads = false, stores = false;
  bool updates = false;  // by the kernel's own compare-exchange: conversions between a word's low bits and a value
};

// Of the operand `name`, whose values lie in the variable `buffer`, an array of `element`. width: neighbours at once, 1,
// 4, or 8 or 16 of narrow types, which come all together; of 16 bits the two words of four may lie `pair_stride`. `offset`: the
// expression of where the view begins there.
std::string accessors(std::string_view name, std::string_view buffer, std::string_view element, DType dtype, int width,
                      const Accesses& accesses, std::uint32_t pair_stride, std::string_view offset);

// The array element that holds `width` elements of `dtype`, and its size in bytes.
std::string element_type(DType dtype, int width, bool stores);
int element_size(DType dtype, int width);

}  // namespace weft::kernels
