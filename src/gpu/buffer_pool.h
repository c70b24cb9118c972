// Storage buffers by size, returned to the pool when their last handle is destroyed. The queue runs in order, so a
// buffer that is free on the CPU can be reused at once.
#pragma once

#include <webgpu/webgpu_cpp.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "core/idle_memory.h"
#include "gpu/context.h"

namespace weft::gpu {

class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  BufferPool(std::shared_ptr<Context> context, std::optional<std::uint64_t> limit);

  // Throws OutOfMemory. Where WebGPU tells later that it has no memory (a browser), that is a late failure of the
  // device, and the buffer is refused: it is not used again, and the cache is given back before the next is made.
  Buffer allocate(std::uint64_t bytes);
  // Throws OutOfMemory if it was refused.
  void require(const wgpu::Buffer& buffer) const {
    if (any_refused_.load(std::memory_order_acquire)) require_made(buffer);
  }
  MemoryFigures figures() const;
  void set_limit(std::optional<std::uint64_t> bytes);
  void trim();
  // Makes what is live now the peak.
  void reset_peak();
  // Called with each buffer that is given back to the driver.
  std::function<void(const wgpu::Buffer&)> on_destroy;
  // Called with the bytes in use after each change, on the thread that made it; null stops the calls.
  void watch(std::function<void(std::uint64_t live)> watcher);
  bool owns(const wgpu::Buffer& buffer) const;
  // Given back before an allocation fails.
  IdleMemories& idle() { return idle_; }

  // Bytes taken for a request: small ones in four steps between powers of two, large ones almost exactly.
  static std::uint64_t capacity_for(std::uint64_t bytes);

 private:
  Buffer try_allocate(std::uint64_t bytes, std::uint64_t capacity);
  wgpu::Buffer take_cached(std::uint64_t capacity);
  wgpu::Buffer create(std::uint64_t capacity, std::uint64_t requested);
  void release(wgpu::Buffer buffer);
  void refuse(const wgpu::Buffer& buffer, std::uint64_t requested);
  void require_made(const wgpu::Buffer& buffer) const;

  std::shared_ptr<Context> context_;
  std::optional<std::uint64_t> limit_;
  mutable std::mutex mutex_;
  std::multimap<std::uint64_t, wgpu::Buffer> free_;  // by capacity
  std::unordered_set<WGPUBuffer> owned_;
  std::unordered_map<WGPUBuffer, std::uint64_t> refused_;  // those that are still held, and what was asked for
  std::atomic<bool> any_refused_ = false;
  bool trims_next_ = false;  // before a buffer is made
  MemoryFigures figures_;
  std::function<void(std::uint64_t)> watcher_;
  IdleMemories idle_;
};

}  // namespace weft::gpu
