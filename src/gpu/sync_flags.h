// Sync flags: 32-bit words through which workgroups of one dispatch exchange partial results and counts. They are all
// ones, 0xffffffff, between dispatches, because each dispatch resets those that it used; so nothing has to be cleared
// before a dispatch.
#pragma once

#include "weft/gpu.h"

namespace weft::gpu {

// At least `count` flags, at the start of a buffer of the device, which all kernels share and which grows as needed.
// Throws OutOfMemory.
View sync_flags(const Device& device, std::uint64_t count);

}  // namespace weft::gpu
