// A stream takes kernel calls: on a GPU an Encoder that batches them or a Recording that keeps them, on the CPU an
// Executor that runs them. A kernel call is the same for all.
#pragma once

namespace weft {

namespace gpu {
class Commands;
}
namespace cpu {
class Executor;
}

class Stream {
 public:
  virtual ~Stream() = default;
  // One of the two is not null.
  virtual gpu::Commands* gpu() { return nullptr; }
  virtual cpu::Executor* cpu() { return nullptr; }
};

}  // namespace weft
