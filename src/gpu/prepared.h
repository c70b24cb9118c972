// A dispatch that is recorded again and again with other buffers: what does not depend on them, found and checked once.
#pragma once

#include "gpu/pipeline_cache.h"

namespace weft::gpu {

struct PreparedDispatch {
  Pipeline* pipeline = nullptr;   // perhaps still being compiled
  std::vector<std::byte> params;  // the uniform block
  KernelRun run;                  // its name, grid and work; step and live_bytes are set when it is recorded
};

}  // namespace weft::gpu
