// Words that all are ones, 0xffffffff, whenever no dispatch is at work on them: each that uses them leaves them so, or
// the next does, in the same submit (Dispatch::goes_on), since other encoders' submits may come between two. What
// workgroups of a dispatch count or look for in them thus needs no dispatch before it that clears them.
#pragma once

#include "weft/gpu.h"

namespace weft::gpu {

// At least so many, from the start of a buffer of the device's own, which all who ask share and which grows as asked
// for. Throws OutOfMemory.
View resting_words(const Device& device, std::uint64_t count);

// Says that those in use may be left as they are, since what would lay them to rest could not be recorded.
void abandon_resting_words(const Device& device);

}  // namespace weft::gpu
