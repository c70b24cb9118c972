// All code that blocks. In a browser, where nothing may block, this file alone would differ: events are delivered after
// the program returns to the browser.
#include <chrono>
#include <limits>
#include <thread>

#include "gpu/context.h"
#include "gpu/instance.h"
#include "weft/error.h"

namespace weft::gpu {
namespace {

// A sleeping thread wakes about 20 µs late, which is as long as a small kernel; so short waits spin. Not on a software
// GPU, which needs the core itself.
constexpr auto kSpin = std::chrono::microseconds(200);
// How long the lock is held while WebGPU blocks, where no other thread wants it.
constexpr auto kSlice = std::chrono::microseconds(100);
// How long a thread sleeps if another one wants the device, or if WebGPU cannot block.
constexpr auto kNap = std::chrono::microseconds(30);

}  // namespace

void Context::wait(const Event& event) {
  if (!event.is_done() && !can_wait()) throw Unsupported("this would wait for the GPU, which nothing can in a browser");
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
    if (spins) std::this_thread::yield();
    else if (!blocks || lock.wanted()) std::this_thread::sleep_for(kNap);
  }
}

void Context::wait_for_queue() { wait(*mark()); }

void DeviceCompletion::wait() {
  if (!settled()) context_->wait(event());
  context_->deliver();
}

std::optional<Failure> ErrorScope::take() {
  open_ = false;
  std::optional<Failure> found;
  // Popped innermost first.
  for (int i = 0; i < 3; ++i) {
    struct Answer : Event {
      Failure failure;
    };
    const auto answer = std::make_shared<Answer>();
    const wgpu::Future future = context_.device.PopErrorScope(
        wgpu::CallbackMode::AllowSpontaneous,
        [](wgpu::PopErrorScopeStatus, wgpu::ErrorType type, wgpu::StringView message, std::shared_ptr<Answer>* held) {
          const auto answer = from_callback(held);
          answer->failure = {type, to_string(message)};
          answer->finish();
        },
        held_by_callback(answer));
    answer->future = future;
    if (!answer->is_done()) context_.wait(*answer);
    if (!found && answer->failure.type != wgpu::ErrorType::NoError) found = std::move(answer->failure);
  }
  return found;
}

}  // namespace weft::gpu
