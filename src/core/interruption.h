// The places at which what takes long asks whether to go on (weft/interruption.h).
#pragma once

namespace weft {

// Calls the check of this thread's innermost scope if that is 50 ms ago or more, and throws what it throws. Without a
// scope it costs a load.
void check_interruption();

}  // namespace weft
