// Bytes of the keys by which executables are found: what is written one after the other can be read back, so that
// different things have different keys.
#pragma once

#include <cstdint>
#include <string>

#include "weft/tensor_type.h"

namespace weft {

// Seven bits to a byte, the lowest first; the highest bit says that more follow.
inline void put_number(std::string& key, std::uint64_t v) {
  do key += static_cast<char>((v & 127) | (v > 127 ? 128 : 0));
  while (v >>= 7);
}

inline void put_type(std::string& key, const TensorType& type) {
  put_number(key, static_cast<std::uint64_t>(type.dtype));
  put_number(key, static_cast<std::uint64_t>(type.shape.rank()));
  for (const std::int64_t n : type.shape) put_number(key, static_cast<std::uint64_t>(n));
}

}  // namespace weft
