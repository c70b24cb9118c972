// Constants whose elements the host computes in f64 and rounds once: windows, geometric sequences.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/format.h"
#include "core/host_memory.h"
#include "weft/error.h"
#include "weft/graph.h"

namespace weft {

// [n] of a type of floats: element(k) for each k. Throws InvalidArgument, TypeError and OutOfMemory in the function's
// name.
template <class F>
Tensor host_sequence(std::string_view function, std::string_view count_name, std::int64_t n, DType dtype,
                     const F& element) {
  if (n < 0) throw InvalidArgument("{}: {} is {}; expected at least 0", function, count_name, n);
  if (!is_floating(dtype)) throw TypeError("{}: dtype is {}; expected a floating type", function, name(dtype));
  const auto size = static_cast<std::size_t>(bits(dtype)) / 8;
  std::vector<std::byte> bytes = host_bytes(function, {dtype, {n}});
  for (std::int64_t k = 0; k < n; ++k) {
    const std::uint64_t element_bits = Number(static_cast<double>(element(k))).bits(dtype);
    std::memcpy(&bytes[static_cast<std::size_t>(k) * size], &element_bits, size);
  }
  return Graph::constant(TensorData::copy_of(dtype, {n}, bytes));
}

}  // namespace weft
