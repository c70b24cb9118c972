// Host memory of tensors, counted and limited as a GPU's buffer pool does it for a GPU's. Nothing is kept for reuse.
#pragma once

#include <atomic>
#include <optional>

#include "core/idle_memory.h"
#include "core/system.h"
#include "weft/memory_figures.h"
#include "weft/view.h"

namespace weft::cpu {

class HostPool {
 public:
  // The process has one.
  static HostPool& instance();

  // Throws OutOfMemory.
  Buffer allocate(std::uint64_t bytes);
  MemoryFigures figures() const;
  void set_limit(std::optional<std::uint64_t> bytes);
  void reset_peak();
  // Given back before an allocation fails.
  IdleMemories& idle() { return idle_; }

 private:
  Buffer try_allocate(std::uint64_t bytes);
  void release(std::uint64_t bytes) { live_.fetch_sub(bytes, std::memory_order_relaxed); }

  static constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};
  std::atomic<std::uint64_t> live_ = 0, peak_ = 0, limit_ = kNoLimit;
  IdleMemories idle_;
  const std::uint64_t machine_ = physical_memory();
};

}  // namespace weft::cpu
