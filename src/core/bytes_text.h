// Sizes in messages.
#pragma once

#include <cstdint>
#include <string>

namespace weft {

// "12 bytes". Sizes that were too large to be counted are 2^64 - 1 (Storage::bytes, Plan::scratch), so from 2^63 on no
// number is said.
inline std::string bytes_text(std::uint64_t bytes) {
  return bytes < std::uint64_t{1} << 63 ? std::to_string(bytes) + " bytes" : "more than 2^63 bytes";
}

}  // namespace weft
