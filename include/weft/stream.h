// A stream takes kernel calls: on a GPU an Encoder batches them or a Recording stores them for replay, on the CPU a
// CpuExecutor runs them at once. A kernel is called the same way on all of them.
#pragma once

namespace weft {

namespace gpu {
class Commands;
}
class CpuExecutor;

class Stream {
 public:
  virtual ~Stream() = default;
  // One of the two is not null.
  virtual gpu::Commands* gpu() { return nullptr; }
  virtual CpuExecutor* cpu() { return nullptr; }  // null: it is a GPU's
};

}  // namespace weft
