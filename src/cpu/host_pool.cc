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
                             [&] {
                               const std::lock_guard lock(mutex_);
                               return figures_.live;
                             });
}

Buffer HostPool::try_allocate(std::uint64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (limit_ && (bytes > *limit_ || figures_.live > *limit_ - bytes)) {
      throw OutOfMemory("{} more would pass the cpu's memory limit: {} live of {} allowed", bytes_text(bytes),
                        figures_.live, *limit_);
    }
    // A system that overcommits memory would end the process when the bytes are touched.
    if (bytes > machine_ || figures_.live > machine_ - bytes) {
      throw OutOfMemory("{} more are beyond this machine's memory: {} live of {}", bytes_text(bytes), figures_.live,
                        machine_);
    }
    figures_.live += bytes;
  }
  // Gives the bytes back when the last handle is gone, or when there is no memory.
  struct Counted {
    std::uint64_t bytes;
    Buffer memory;
    ~Counted() { instance().release(bytes); }
  };
  const auto counted = std::make_shared<Counted>(bytes);
  counted->memory = Buffer::host(bytes);
  {
    const std::lock_guard lock(mutex_);
    figures_.peak = std::max(figures_.peak, figures_.live);
  }
  if (bytes == 0) return counted->memory;
  return Buffer::borrow({counted->memory.data(), static_cast<std::size_t>(bytes)}, counted);
}

void HostPool::release(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  figures_.live -= bytes;
}

MemoryFigures HostPool::figures() const {
  const std::lock_guard lock(mutex_);
  return figures_;
}

void HostPool::set_limit(std::optional<std::uint64_t> bytes) {
  const std::lock_guard lock(mutex_);
  limit_ = bytes;
}

void HostPool::reset_peak() {
  const std::lock_guard lock(mutex_);
  figures_.peak = figures_.live;
}

}  // namespace weft::cpu
