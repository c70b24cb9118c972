// Why a machine that has a GPU shows none.
#pragma once

#include <string>
#include <vector>

namespace weft::gpu {

// What keeps drivers from being used, a sentence each, with what to do: no Vulkan loader; a driver whose libraries
// cannot be loaded, and which one is missing; a driver of the kernel without one for Vulkan. It tries to load the
// drivers, so it is for messages alone. Empty where there is nothing to tell, and outside Linux.
std::vector<std::string> driver_problems();

}  // namespace weft::gpu
