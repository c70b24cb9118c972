// Properties of a device that the compiler depends on.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "weft/device.h"

namespace weft::compiler {

struct Target {
  int max_operands = 64;                                                 // storage buffers that one dispatch can bind
  std::uint64_t max_buffer = std::numeric_limits<std::uint64_t>::max();  // bytes
  std::optional<gpu::Capabilities> able;                                 // none on the cpu

  const gpu::Capabilities* capabilities() const { return able ? &*able : nullptr; }

  static Target of(const Device& device) {
    if (!device.is_gpu()) return {};
    const gpu::Capabilities& c = device.gpu().capabilities();
    return {static_cast<int>(c.max_storage_buffers), c.max_buffer, c};
  }
};

}  // namespace weft::compiler
