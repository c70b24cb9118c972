// The CPU as a device: kernel calls run at once, on all cores.
#pragma once

#include "weft/stream.h"

namespace weft {

class PackedWeightCache;  // src/cpu

class CpuExecutor final : public Stream {
 public:
  // `threads`: 0 takes all cores that the process may use.
  explicit CpuExecutor(int threads = 0);
  CpuExecutor* cpu() override { return this; }
  int threads() const { return threads_; }

  // Where kernels cache constants in packed form (cpu/packed_weight_cache.h); null: nowhere.
  PackedWeightCache* packed_weights() const { return packed_weights_; }
  // Sets what packed_weights() returns.
  void use_packed_weights(PackedWeightCache* packed_weights) { packed_weights_ = packed_weights; }

 private:
  int threads_;
  PackedWeightCache* packed_weights_ = nullptr;
};

}  // namespace weft
