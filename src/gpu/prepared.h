// A dispatch that is recorded repeatedly with different buffers: everything that does not depend on them, computed and
// checked once.
#pragma once

#include "gpu/pipeline_cache.h"

namespace weft::gpu {

struct PreparedDispatch {
  std::shared_ptr<Pipeline> pipeline;  // may still be compiling
  std::vector<std::byte> params;       // the uniform block
  KernelRun run;                       // its name, grid and work; step and live_bytes are set when it is recorded
};

}  // namespace weft::gpu
