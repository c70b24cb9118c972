// Host memory of tensors, counted and limited as a GPU's buffer pool does it for a GPU's. Nothing is kept for reuse.
#pragma once

#include <mutex>
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
  void release(std::uint64_t bytes);

  mutable std::mutex mutex_;
  MemoryFigures figures_;
  std::optional<std::uint64_t> limit_;
  IdleMemories idle_;
  const std::uint64_t machine_ = physical_memory();
};

}  // namespace weft::cpu
