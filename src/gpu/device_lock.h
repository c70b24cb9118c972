// The lock of a device: it covers every call into WebGPU and all that Weft keeps beside it.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>

#include "core/process.h"

namespace weft::gpu {

// A thread may take it again while it has it. Waiting (Context::wait) lets go of it, however often it was taken. When
// the process ends (weft/process.h) other threads than the one that ends it stay here.
class DeviceLock {
 public:
  void lock() {
    const auto self = std::this_thread::get_id();
    if (!held_by_this_thread()) {
      take();
      if (devices_end.load(std::memory_order_relaxed) && !ends_the_process()) {
        mutex_.unlock();
        stay_at_process_end();
        take();
      }
      owner_.store(self, std::memory_order_relaxed);
    }
    ++depth_;
  }
  void unlock() {
    if (--depth_ > 0) return;
    owner_.store({}, std::memory_order_relaxed);
    mutex_.unlock();
  }
  bool held_by_this_thread() const { return owner_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }
  // True if other threads wait for it.
  bool wanted() const { return wanted_.load(std::memory_order_relaxed) > 0; }

  // While it lives, the thread does not have the lock.
  class Released {
   public:
    explicit Released(DeviceLock& lock) : lock_(lock) {
      if (!lock.held_by_this_thread()) return;
      depth_ = std::exchange(lock.depth_, 1);
      lock.unlock();
    }
    ~Released() {
      if (depth_ == 0) return;
      lock_.lock();
      lock_.depth_ = depth_;
    }
    Released(const Released&) = delete;
    Released& operator=(const Released&) = delete;

   private:
    DeviceLock& lock_;
    std::uint32_t depth_ = 0;
  };

 private:
  void take() {
    if (mutex_.try_lock()) return;
    ++wanted_;
    mutex_.lock();
    --wanted_;
  }

  std::mutex mutex_;
  std::atomic<std::thread::id> owner_;
  std::uint32_t depth_ = 0;
  std::atomic<int> wanted_ = 0;
};

}  // namespace weft::gpu
