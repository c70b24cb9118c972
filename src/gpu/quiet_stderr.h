// Keeps messages of drivers off standard error.
#pragma once

#include <functional>

namespace weft::gpu {

// Runs `look` (the search for adapters, once in a process) with standard error redirected. What Dawn, the Vulkan loader
// and Mesa print there, such as that there is no driver, goes to the debug log; all other lines are printed afterwards.
// Dawn has no switch for this: its Vulkan messenger writes to stderr directly.
void quiet_stderr(const std::function<void()>& look);

}  // namespace weft::gpu
