// All code that blocks, except that of programs in a browser that may wait for its adapters and devices, as tests do
// (instance_web.cc, open_web.cc).
#include "gpu/wait.h"

#include <chrono>
#include <thread>
#include <utility>

#include "core/format.h"
#include "core/interruption.h"
#include "gpu/context.h"
#include "gpu/instance.h"
#include "weft/error.h"

namespace weft::gpu {
namespace {

thread_local NoWaiting* innermost = nullptr;
thread_local int avoided = 0;

// A sleeping thread wakes about 20 µs late, which is as long as a small kernel; so short waits spin. Not on a software
// GPU, which needs the core itself.
constexpr auto kSpin = std::chrono::microseconds(200);
// How long the lock is held while WebGPU blocks, where no other thread wants it.
constexpr auto kSlice = std::chrono::microseconds(100);
// How long a thread sleeps if another one wants the device, or if WebGPU cannot block.
constexpr auto kNap = std::chrono::microseconds(30);

}  // namespace

NoWaiting::NoWaiting() : outer_(std::exchange(innermost, this)) {}
NoWaiting::~NoWaiting() { innermost = outer_; }

AvoidWaiting::AvoidWaiting() { ++avoided; }
AvoidWaiting::~AvoidWaiting() { --avoided; }

bool may_wait() { return !innermost && avoided == 0 && can_wait(); }

void refuse_to_wait(std::string_view place) {
  if (!innermost && can_wait()) return;
  if (innermost) innermost->places_.emplace_back(place);
  throw Unsupported(
      "{}: this would wait for the GPU, and nothing may wait here; then() of a future tells when it is done", place);
}

void Context::wait(const Event& event, std::string_view place, bool interruptible) {
  if (!can_wait() && event.is_done()) return;
  refuse_to_wait(place);
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    const bool spins = !capabilities.software && std::chrono::steady_clock::now() - start < kSpin;
    bool blocks = false;
    {
      const std::lock_guard held(lock);
      blocks = !spins && timed_wait && !lock.wanted();
      wgpu::FutureWaitInfo info{event.future};
      const auto most = blocks ? std::chrono::nanoseconds(kSlice).count() : 0;
      if (instance.WaitAny(1, &info, static_cast<std::uint64_t>(most)) == wgpu::WaitStatus::Error) {
        throw InternalError("WebGPU could not wait for the GPU");
      }
      if (event.is_done()) return;
    }
    const DeviceLock::Released released(lock);
    if (interruptible) check_interruption();
    if (spins)
      std::this_thread::yield();
    else if (!blocks || lock.wanted())
      std::this_thread::sleep_for(kNap);
  }
}

void Context::hold_back(const Event& event, bool interruptible) {
  if (may_wait() && !event.is_done()) wait(event, "holding back", interruptible);
}

void DeviceCompletion::wait() {
  while (!settled()) context_->wait(event(), "get", true);
  context_->deliver();
}

}  // namespace weft::gpu
