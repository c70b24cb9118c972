// Keeps drivers from talking to the user.
#pragma once

#include <functional>

namespace weft::gpu {

// Runs `look` (the search for adapters, once in a process) with standard error set aside. What Dawn, the Vulkan loader
// and Mesa print there, such as that there is no driver, goes to the debug log; any other line was somebody else's and
// is printed after all. Dawn has no switch for this: its Vulkan messenger writes to stderr directly.
void quiet_stderr(const std::function<void()>& look);

}  // namespace weft::gpu
