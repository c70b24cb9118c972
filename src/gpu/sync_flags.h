// Words that all are ones, 0xffffffff, whenever no dispatch is at work on them: each that uses them leaves them so. What
// workgroups of a dispatch count or look for in them thus needs no dispatch before it that clears them.
#pragma once

#include "weft/gpu.h"

namespace weft::gpu {

// At least so many, from the start of a buffer of the device's own, which all who ask share and which grows as asked
// for. Throws OutOfMemory.
View sync_flags(const Device& device, std::uint64_t count);

}  // namespace weft::gpu
