// WGSL functions through which kernels read and write an operand, whatever its type: call.h lists them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/dtype.h"

namespace weft::kernels {

struct Accesses {
  bool loads = false, stores = false;
  bool updates = false;  // declares conversions of a word's low bits, for a kernel's own compare-exchange
};

// Returns the functions of the operand `name`, whose values are in the variable `buffer`, an array of `element`.
// `width`: adjacent elements of an access: 1 or 4, or, of narrow types, 8 or 16, which are always accessed together.
// `pair_stride`: as in Call::read(). `offset`: the WGSL expression of the view's first element in `buffer`.
std::string accessors(std::string_view name, std::string_view buffer, std::string_view element, DType dtype, int width,
                      const Accesses& accesses, std::uint32_t pair_stride, std::string_view offset);

// The same for a number, the parameters p.<name>_number and, of 64-bit types, p.<name>_number_high: every element is
// it. Of widths 1 and 4.
std::string number_accessors(std::string_view name, DType dtype);

// As a pair stride: a group is contiguous and begins anywhere.
inline constexpr std::uint32_t kUnalignedPairs = ~0u;

// The type a value of `dtype` computes in, as WGSL writes it.
std::string_view compute_type(DType dtype);

// The array element that holds `width` elements of `dtype`, and its size in bytes.
std::string element_type(DType dtype, int width, bool stores);
int element_size(DType dtype, int width);

}  // namespace weft::kernels
