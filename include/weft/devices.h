// The devices of this machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/device.h"

namespace weft {

struct DeviceDescription {
  std::string open_as;      // what Device::open() takes for exactly this one: "0", "1", "cpu"
  std::string name;         // "NVIDIA H200", "llvmpipe (LLVM 21, 256 bits)", "cpu"
  std::string backend;      // "vulkan", "metal", "d3d12", "opengles", "opengl"; "cpu"
  std::string type;         // "discrete", "integrated", "software", "unknown"; "processor"
  std::string description;  // all of it in a line: "NVIDIA H200 (vulkan, discrete, 140.4 GiB)"
  // Bytes of memory next to it, of an integrated GPU and of the cpu the machine's; none where the driver does not tell.
  std::optional<std::uint64_t> memory;
};

// Best first, as gpu::adapters() orders them, and last the cpu. Opens none of them.
std::vector<DeviceDescription> available_devices();

}  // namespace weft
