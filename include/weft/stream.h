// A stream takes kernel calls: on a GPU an Encoder batches them or a Recording stores them for replay, on the CPU an
// Executor runs them at once. A kernel is called the same way on all of them.
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
