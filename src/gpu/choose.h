// Selects an adapter by name.
#pragma once

#include "gpu/instance.h"

namespace weft::gpu {

struct Choice {
  const FoundAdapter* adapter;
  std::string reason;  // "NVIDIA H200 (vulkan): best of 3 adapters"
};

// `asked` is a name as in DeviceOptions::adapter. Throws NoDevice, InvalidArgument.
Choice choose(const std::string& asked);

// "0: NVIDIA H200 (vulkan), 1: llvmpipe … (vulkan, software)", for messages.
std::string list_adapters();

}  // namespace weft::gpu
