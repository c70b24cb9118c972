// How much memory a device's pool holds.
#pragma once

#include <cstdint>

namespace weft {

struct MemoryFigures {
  std::uint64_t live = 0, peak = 0, cached = 0;  // bytes
};

}  // namespace weft
