#include "cpu/host_pool.h"

#include "core/bytes_text.h"
#include "core/format.h"
#include "weft/error.h"

namespace weft::cpu {

HostPool& HostPool::instance() {
  static auto& pool = *new HostPool;  // tensors may outlive static objects
  return pool;
}

Buffer HostPool::allocate(std::uint64_t bytes) {
  return IdleMemories::retry([&] { return try_allocate(bytes); }, [&] { idle_.give_back(); },
                             [&] { return live_.load(std::memory_order_relaxed); });
}

Buffer HostPool::try_allocate(std::uint64_t bytes) {
  std::uint64_t live = live_.load(std::memory_order_relaxed);
  do {
    const std::uint64_t limit = limit_.load(std::memory_order_relaxed);
    if (limit != kNoLimit && (bytes > limit || live > limit - bytes)) {
      throw OutOfMemory("{} more would pass the cpu's memory limit: {} live of {} allowed", bytes_text(bytes), live,
                        limit);
    }
    // A system that overcommits memory would end the process when the bytes are touched.
    if (bytes > machine_ || live > machine_ - bytes) {
      throw OutOfMemory("{} more are beyond this machine's memory: {} live of {}", bytes_text(bytes), live, machine_);
    }
  } while (!live_.compare_exchange_weak(live, live + bytes, std::memory_order_relaxed));
  Buffer memory;
  try {
    memory = Buffer::host(bytes, [bytes] { instance().release(bytes); });
  } catch (...) {
    release(bytes);
    throw;
  }
  live += bytes;
  std::uint64_t peak = peak_.load(std::memory_order_relaxed);
  while (peak < live && !peak_.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
  }
  return memory;
}

MemoryFigures HostPool::figures() const {
  MemoryFigures figures;
  figures.live = live_.load(std::memory_order_relaxed);
  figures.peak = peak_.load(std::memory_order_relaxed);
  return figures;
}

void HostPool::set_limit(std::optional<std::uint64_t> bytes) { limit_ = bytes.value_or(kNoLimit); }

void HostPool::reset_peak() { peak_ = live_.load(); }

}  // namespace weft::cpu
