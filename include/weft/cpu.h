// The CPU as a device: kernel calls run at once, on all cores.
#pragma once

#include "weft/stream.h"

namespace weft::cpu {

class Executor final : public Stream {
 public:
  // `threads`: 0 takes all cores that the process may use.
  explicit Executor(int threads = 0);
  Executor* cpu() override { return this; }
  int threads() const { return threads_; }

 private:
  int threads_;
};

}  // namespace weft::cpu
