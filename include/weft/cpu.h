// The CPU as a device: kernel calls run at once, on all cores.
#pragma once

#include "weft/stream.h"

namespace weft::cpu {

class Kept;

class Executor final : public Stream {
 public:
  // `threads`: 0 takes all cores that the process may use.
  explicit Executor(int threads = 0);
  Executor* cpu() override { return this; }
  int threads() const { return threads_; }

  // Where kernels keep other forms of operands that are constants (cpu/kept.h); null: nowhere.
  Kept* kept() const { return kept_; }
  void keep(Kept* kept) { kept_ = kept; }

 private:
  int threads_;
  Kept* kept_ = nullptr;
};

}  // namespace weft::cpu
