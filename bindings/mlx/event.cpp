// Events and fences. On the GPU all streams are one queue: what is recorded later waits for what was submitted earlier,
// so only the host and CPU streams ever wait.
#include "mlx/event.h"

#include <condition_variable>
#include <map>
#include <mutex>

#include "allocator.h"
#include "device.h"
#include "mlx/fence.h"
#include "mlx/scheduler.h"

namespace mlx::core {
namespace {

// Counts up as values are signaled: by a CPU stream at once, by a GPU stream when a marker is reached.
class EventCounter {
 public:
  std::atomic<Error*> error = nullptr;

  void signal(uint64_t value, std::shared_ptr<webgpu::Marker> marker) {
    {
      std::lock_guard lock(mutex_);
      signals_.insert_or_assign(value, std::move(marker));
    }
    signaled_.notify_all();
  }

  // Waits until the value is signaled, and unless it is `on_gpu` that waits, until its marker is reached.
  void wait(uint64_t value, bool on_gpu) {
    std::unique_lock lock(mutex_);
    signaled_.wait(lock, [&] { return signals_.lower_bound(value) != signals_.end(); });
    const auto marker = signals_.lower_bound(value)->second;
    lock.unlock();
    if (marker && !on_gpu) marker->wait();
  }

  bool is_signaled(uint64_t value) {
    std::lock_guard lock(mutex_);
    const auto signal = signals_.lower_bound(value);
    return signal != signals_.end() && (!signal->second || signal->second->ready());
  }

 private:
  std::mutex mutex_;
  std::condition_variable signaled_;
  std::map<uint64_t, std::shared_ptr<webgpu::Marker>> signals_;
};

struct FenceCounter {
  explicit FenceCounter(Stream stream) : event(stream) {}

  uint32_t count = 0;
  Event event;
};

}  // namespace

Event::Event(Stream stream) : stream_(stream), event_(std::make_shared<EventCounter>()) {}

void Event::wait() {
  check_error();
  cast<EventCounter>().wait(value(), false);
  check_error();
}

void Event::wait(Stream stream) {
  if (stream.device == Device::gpu) {
    cast<EventCounter>().wait(value(), true);
  } else {
    scheduler::wait_event(stream, *this,
                          [value = value()](Event& self) { self.cast<EventCounter>().wait(value, false); });
  }
}

void Event::signal(Stream stream) {
  if (stream.device == Device::gpu) {
    cast<EventCounter>().signal(value(), webgpu::recorder().submit_soon());
  } else {
    scheduler::signal_event(stream, *this,
                            [value = value()](Event& self) { self.cast<EventCounter>().signal(value, nullptr); });
  }
}

bool Event::is_signaled() const { return cast<EventCounter>().is_signaled(value()); }

std::atomic<Error*>& Event::error() { return cast<EventCounter>().error; }

Fence::Fence(Stream stream) : fence_(std::make_shared<FenceCounter>(stream)) {}

void Fence::wait(Stream stream, const array&, uint32_t value) {
  Event event = cast<FenceCounter>().event;
  event.set_value(value);
  event.wait(stream);
}

uint32_t Fence::update(Stream stream, const array& x, bool cross_device) {
  auto& [count, event] = cast<FenceCounter>();
  event.set_value(++count);
  event.signal(stream);
  if (cross_device && stream.device == Device::gpu && x.data_shared_ptr()) {
    if (webgpu::MirroredBuffer* buffer = webgpu::mirrored(x)) buffer->start_readback();
  }
  return count;
}

}  // namespace mlx::core
