#include "gpu/buffer_pool.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/bytes_text.h"
#include "core/format.h"
#include "weft/error.h"

namespace weft::gpu {

namespace {

constexpr std::uint64_t kSmallest = 256;
constexpr std::uint64_t kLarge = 1 << 20;  // from here on rounding up would cost real memory
constexpr std::uint64_t kLargeStep = 64 << 10;

std::uint64_t round_up(std::uint64_t n, std::uint64_t step) { return (n + step - 1) / step * step; }

}  // namespace

BufferPool::BufferPool(std::shared_ptr<Context> context, std::optional<std::uint64_t> limit)
    : context_(std::move(context)), limit_(limit) {}

std::uint64_t BufferPool::capacity_for(std::uint64_t bytes) {
  if (bytes <= kSmallest) return kSmallest;
  if (bytes >= kLarge) return round_up(bytes, kLargeStep);
  return round_up(bytes, std::max(kSmallest, std::bit_ceil(bytes) / 8));
}

wgpu::Buffer BufferPool::take_cached(std::uint64_t capacity) {
  auto found = free_.lower_bound(capacity);
  // A much larger buffer would be wasted on this request.
  if (found == free_.end() || found->first > capacity + capacity / 4) return nullptr;
  // The one freed last, so that a loop that allocates and frees gets the same buffers again, and with them their bind
  // groups.
  found = std::prev(free_.upper_bound(found->first));
  wgpu::Buffer buffer = std::move(found->second);
  figures_.cached -= found->first;
  free_.erase(found);
  return buffer;
}

wgpu::Buffer BufferPool::create(std::uint64_t capacity, std::uint64_t requested) {
  wgpu::BufferDescriptor descriptor;
  const std::string label = std::format("weft {} bytes", capacity);
  descriptor.label = std::string_view(label);
  descriptor.size = capacity;
  descriptor.usage = wgpu::BufferUsage::Storage | wgpu::BufferUsage::CopySrc | wgpu::BufferUsage::CopyDst;
  for (bool retried = false;; retried = true) {
    ErrorScope scope(*context_);
    wgpu::Buffer buffer = context_->device.CreateBuffer(&descriptor);
    const auto failure = scope.take(std::format("the GPU has no {} bytes left for the buffer '{}'", requested, label),
                                    [pool = weak_from_this(), buffer, requested] {
                                      if (const auto p = pool.lock()) p->refuse(buffer, requested);
                                    });
    if (!failure && buffer) return buffer;
    if (context_->lost()) context_->raise_lost();
    if (failure && failure->type != wgpu::ErrorType::OutOfMemory) failure->raise("allocating a buffer");
    if (retried) {
      const MemoryFigures f = figures();
      throw OutOfMemory("the GPU has no {} bytes left for the buffer '{}' ({} live, {} cached): {}", requested, label,
                        f.live, f.cached, failure ? failure->message : "no buffer was made");
    }
    trim();
  }
}

Buffer BufferPool::allocate(std::uint64_t bytes) {
  const std::uint64_t largest = context_->capabilities.max_buffer;
  // Rounding up must not push a request over the device's limit.
  const std::uint64_t capacity = bytes <= largest ? std::min(capacity_for(bytes), largest / 4 * 4) : bytes;
  if (bytes > largest || capacity < bytes) {
    throw OutOfMemory("a buffer of {} was asked for; this GPU's largest is {}", bytes_text(bytes), largest);
  }
  return IdleMemories::retry([&] { return try_allocate(bytes, capacity); },
                             [&] {
                               // The thread that uses the memory may be waiting for the device.
                               const DeviceLock::Released released(context_->lock);
                               idle_.give_back();
                             },
                             [&] {
                               const std::lock_guard lock(mutex_);
                               return figures_.live;
                             });
}

Buffer BufferPool::try_allocate(std::uint64_t bytes, std::uint64_t capacity) {
  const std::lock_guard held(context_->lock);
  wgpu::Buffer buffer;
  bool trim_first = false;
  {
    std::lock_guard lock(mutex_);
    if (limit_ && (capacity > *limit_ || figures_.live > *limit_ - capacity)) {
      throw OutOfMemory("{} more bytes would pass the memory limit: {} live of {} allowed", capacity, figures_.live,
                        *limit_);
    }
    buffer = take_cached(capacity);
    trim_first = !buffer && (std::exchange(trims_next_, false) ||
                             (limit_ && figures_.live + figures_.cached + capacity > *limit_));
  }
  if (trim_first) trim();
  if (!buffer) {
    buffer = create(capacity, bytes);
    std::lock_guard lock(mutex_);
    owned_.insert(buffer.Get());
  }
  {
    std::lock_guard lock(mutex_);
    figures_.live += buffer.GetSize();
    figures_.peak = std::max(figures_.peak, figures_.live);
    if (watcher_) watcher_(figures_.live);
  }
  return Buffer(buffer, bytes, [pool = weak_from_this(), buffer] {
    if (auto p = pool.lock()) p->release(buffer);
  });
}

void BufferPool::release(wgpu::Buffer buffer) {
  std::lock_guard lock(mutex_);
  const std::uint64_t capacity = buffer.GetSize();
  figures_.live -= capacity;
  if (watcher_) watcher_(figures_.live);
  if (refused_.erase(buffer.Get()) > 0) {
    owned_.erase(buffer.Get());
    any_refused_ = !refused_.empty();
    return;
  }
  figures_.cached += capacity;
  free_.emplace(capacity, std::move(buffer));
}

void BufferPool::refuse(const wgpu::Buffer& buffer, std::uint64_t requested) {
  const std::lock_guard lock(mutex_);
  trims_next_ = true;
  const auto free = std::ranges::find_if(free_, [&](const auto& entry) { return entry.second.Get() == buffer.Get(); });
  if (free != free_.end()) {
    figures_.cached -= free->first;
    free_.erase(free);
    owned_.erase(buffer.Get());
  } else if (owned_.contains(buffer.Get())) {
    refused_.emplace(buffer.Get(), requested);
    any_refused_ = true;
  }
}

void BufferPool::require_made(const wgpu::Buffer& buffer) const {
  std::uint64_t bytes = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto found = refused_.find(buffer.Get());
    if (found == refused_.end()) return;
    bytes = found->second;
  }
  throw OutOfMemory("the GPU had no {} bytes left for the buffer 'weft {} bytes', which is used here", bytes,
                    buffer.GetSize());
}

void BufferPool::trim() {
  std::multimap<std::uint64_t, wgpu::Buffer> dropped;
  {
    std::lock_guard lock(mutex_);
    dropped.swap(free_);
    figures_.cached = 0;
    for (const auto& [capacity, buffer] : dropped) owned_.erase(buffer.Get());
  }
  for (const auto& [capacity, buffer] : dropped) {
    if (on_destroy) on_destroy(buffer);
    buffer.Destroy();
  }
}

void BufferPool::set_limit(std::optional<std::uint64_t> bytes) {
  std::lock_guard lock(mutex_);
  limit_ = bytes;
}

void BufferPool::reset_peak() {
  std::lock_guard lock(mutex_);
  figures_.peak = figures_.live;
}

MemoryFigures BufferPool::figures() const {
  std::lock_guard lock(mutex_);
  return figures_;
}

void BufferPool::watch(std::function<void(std::uint64_t)> watcher) {
  std::lock_guard lock(mutex_);
  watcher_ = std::move(watcher);
}

bool BufferPool::owns(const wgpu::Buffer& buffer) const {
  std::lock_guard lock(mutex_);
  return owned_.contains(buffer.Get());
}

}  // namespace weft::gpu
