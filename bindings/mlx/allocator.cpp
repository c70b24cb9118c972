#include "mlx/allocator.h"

#include <algorithm>
#include <mutex>

#include "allocator.h"
#include "mlx/backend/common/buffer_cache.h"
#include "mlx/memory.h"

#if defined(__APPLE__)
#include "mlx/backend/no_gpu/apple_memory.h"
#elif defined(__linux__)
#include "mlx/backend/no_gpu/linux_memory.h"
#else
namespace {
size_t get_memory_size() { return 0; }
}  // namespace
#endif

namespace mlx::core {
namespace allocator {
namespace {

using webgpu::MirroredBuffer;

constexpr size_t kPageSize = 4096;

MirroredBuffer* mirrored(Buffer buffer) { return static_cast<MirroredBuffer*>(buffer.ptr()); }

// Counts each buffer once, whichever of its halves exist.
class MirroredAllocator final : public Allocator {
 public:
  Buffer malloc(size_t size) override {
    if (size == 0) return Buffer(nullptr);
    std::unique_lock lock(mutex_);
    MirroredBuffer* buffer = cache_.reuse_from_cache(size);
    if (!buffer) {
      const size_t needed = active_ + cache_.cache_size() + size;
      if (needed > memory_limit_) cache_.release_cached_buffers(needed - memory_limit_);
      buffer = new MirroredBuffer(size);
    }
    count(buffer->size());
    return Buffer(buffer);
  }

  void free(Buffer buffer) override {
    MirroredBuffer* freed = mirrored(buffer);
    if (!freed) return;
    freed->recycle();
    std::unique_lock lock(mutex_);
    active_ -= freed->size();
    if (cache_.cache_size() + freed->size() <= cache_limit_) {
      cache_.recycle_to_cache(freed);
    } else {
      lock.unlock();
      delete freed;
    }
  }

  size_t size(Buffer buffer) const override { return buffer.ptr() ? mirrored(buffer)->held_size() : 0; }

  Buffer make_buffer(void* pointer, size_t size) override {
    std::unique_lock lock(mutex_);
    count(size);
    return Buffer(new MirroredBuffer(pointer, size));
  }

  void release(Buffer buffer) override {
    MirroredBuffer* released = mirrored(buffer);
    if (!released) return;
    {
      std::unique_lock lock(mutex_);
      active_ -= released->size();
    }
    delete released;
  }

  size_t active() const {
    std::unique_lock lock(mutex_);
    return active_;
  }
  size_t peak() const {
    std::unique_lock lock(mutex_);
    return peak_;
  }
  void reset_peak() {
    std::unique_lock lock(mutex_);
    peak_ = 0;
  }
  size_t cached() const {
    std::unique_lock lock(mutex_);
    return cache_.cache_size();
  }
  size_t memory_limit() const {
    std::unique_lock lock(mutex_);
    return memory_limit_;
  }
  size_t set_memory_limit(size_t limit) {
    std::unique_lock lock(mutex_);
    return std::exchange(memory_limit_, limit);
  }
  size_t set_cache_limit(size_t limit) {
    std::unique_lock lock(mutex_);
    if (cache_.cache_size() > limit) cache_.release_cached_buffers(cache_.cache_size() - limit);
    return std::exchange(cache_limit_, limit);
  }
  void clear_cache() {
    std::unique_lock lock(mutex_);
    cache_.clear();
  }
  // So much more or less is in use.
  void change(size_t before, size_t after) {
    std::unique_lock lock(mutex_);
    active_ -= before;
    count(after);
  }

 private:
  void count(size_t size) {
    active_ += size;
    peak_ = std::max(peak_, active_);
  }

  mutable std::mutex mutex_;
  BufferCache<MirroredBuffer> cache_{kPageSize, [](MirroredBuffer* b) { return b->size(); },
                                     [](MirroredBuffer* b) { delete b; }};
  size_t memory_limit_ = std::max<size_t>(get_memory_size() / 5 * 4, size_t{1} << 33);
  // Of a GPU that shares the host's memory, what is kept for later is missed by other programs.
  size_t cache_limit_ = memory_limit_ / 4;
  size_t active_ = 0, peak_ = 0;
};

MirroredAllocator& mirrored_allocator() {
  // Never destroyed: arrays with static storage free their memory later.
  static auto* allocator = new MirroredAllocator;
  return *allocator;
}

}  // namespace

Allocator& allocator() { return mirrored_allocator(); }

void* Buffer::raw_ptr() { return ptr_ ? static_cast<MirroredBuffer*>(ptr_)->host() : nullptr; }

bool can_reuse_alien_buffer(void*) { return true; }

}  // namespace allocator

void webgpu::CountedBytes::set(size_t bytes) {
  if (bytes != bytes_) allocator::mirrored_allocator().change(std::exchange(bytes_, bytes), bytes);
}

size_t get_active_memory() { return allocator::mirrored_allocator().active(); }
size_t get_peak_memory() { return allocator::mirrored_allocator().peak(); }
void reset_peak_memory() { allocator::mirrored_allocator().reset_peak(); }
size_t get_cache_memory() { return allocator::mirrored_allocator().cached(); }
size_t set_memory_limit(size_t limit) { return allocator::mirrored_allocator().set_memory_limit(limit); }
size_t get_memory_limit() { return allocator::mirrored_allocator().memory_limit(); }
size_t set_cache_limit(size_t limit) { return allocator::mirrored_allocator().set_cache_limit(limit); }
void clear_cache() { allocator::mirrored_allocator().clear_cache(); }
// Memory that is kept resident is a matter of Metal's.
size_t set_wired_limit(size_t) { return 0; }

}  // namespace mlx::core
