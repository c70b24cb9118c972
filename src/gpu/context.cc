#include "gpu/context.h"

#include <chrono>
#include <limits>
#include <thread>

#include "weft/error.h"

namespace weft::gpu {

namespace {

constexpr wgpu::ErrorFilter kFilters[] = {wgpu::ErrorFilter::OutOfMemory, wgpu::ErrorFilter::Internal,
                                          wgpu::ErrorFilter::Validation};

}  // namespace

void Failure::raise(std::string_view what) const {
  switch (type) {
    case wgpu::ErrorType::OutOfMemory: throw OutOfMemory("{}: {}", what, message);
    case wgpu::ErrorType::Validation: throw ValidationError("{}: {}", what, message);
    default: throw InternalError("{}: {}", what, message);
  }
}

void Context::wait(wgpu::Future future) {
  // A sleeping thread wakes about 20 µs late, which is as long as a small kernel; so short waits spin. Not on a
  // software GPU, which needs the core itself.
  constexpr auto kSpin = std::chrono::microseconds(200);
  const auto start = std::chrono::steady_clock::now();
  while (!capabilities.software && std::chrono::steady_clock::now() - start < kSpin) {
    if (done(future)) return;
  }
  if (!timed_wait) {
    while (!done(future)) std::this_thread::sleep_for(std::chrono::microseconds(50));
    return;
  }
  wgpu::FutureWaitInfo info{future};
  if (instance.WaitAny(1, &info, std::numeric_limits<std::uint64_t>::max()) == wgpu::WaitStatus::Error) {
    throw InternalError("WebGPU could not wait for the GPU");
  }
}

bool Context::done(wgpu::Future future) {
  wgpu::FutureWaitInfo info{future};
  if (instance.WaitAny(1, &info, 0) == wgpu::WaitStatus::Error) {
    throw InternalError("WebGPU could not say whether the GPU is done");
  }
  return info.completed;
}

// The instance's events belong to all devices, which other threads may be using. So a device that Weft opened processes
// only its own.
void Context::process_events() {
  if (owned) device.Tick();
  else instance.ProcessEvents();
}

bool Context::lost() {
  if (lost_) return true;
  if (owned) return false;
  wgpu::FutureWaitInfo info{device.GetLostFuture()};
  if (instance.WaitAny(1, &info, 0) == wgpu::WaitStatus::Success && info.completed) {
    set_lost("the caller's device was lost or destroyed");
  }
  return lost_;
}

void Context::set_lost(std::string message) {
  std::lock_guard lock(mutex_);
  if (lost_) return;
  lost_message_ = std::move(message);
  lost_ = true;
}

void Context::set_uncaptured(Failure failure) {
  std::lock_guard lock(mutex_);
  if (uncaptured_) return;
  uncaptured_ = std::move(failure);
  has_uncaptured_ = true;
}

std::shared_ptr<void> Context::on_lost(LostCallback callback) {
  auto kept = std::make_shared<LostCallback>(std::move(callback));
  {
    std::lock_guard lock(mutex_);
    std::erase_if(lost_callbacks_, [](const auto& weak) { return weak.expired(); });
    lost_callbacks_.push_back(kept);
  }
  if (lost()) notify_lost();
  return kept;
}

void Context::notify_lost() {
  std::vector<std::weak_ptr<LostCallback>> callbacks;
  std::string reason;
  {
    std::lock_guard lock(mutex_);
    callbacks.swap(lost_callbacks_);
    reason = lost_message_;
  }
  for (const auto& weak : callbacks) {
    if (const auto callback = weak.lock()) (*callback)(reason);
  }
}

void Context::raise_lost() {
  notify_lost();
  std::lock_guard lock(mutex_);
  throw DeviceLost("the GPU was lost: {}; open the device again and load the weights again", lost_message_);
}

std::string Context::failure_text(std::string_view otherwise) {
  std::lock_guard lock(mutex_);
  return uncaptured_ ? uncaptured_->message : lost_message_.empty() ? std::string(otherwise) : lost_message_;
}

void Context::check() {
  if (lost()) raise_lost();
  if (!has_uncaptured_) return;
  Failure failure;
  {
    std::lock_guard lock(mutex_);
    failure = std::move(*uncaptured_);
    uncaptured_.reset();
    has_uncaptured_ = false;
  }
  failure.raise("earlier GPU work");
}

ErrorScope::ErrorScope(Context& context) : context_(context) {
  for (wgpu::ErrorFilter filter : kFilters) context_.device.PushErrorScope(filter);
}

ErrorScope::~ErrorScope() {
  if (open_) take();
}

std::optional<Failure> ErrorScope::take() {
  open_ = false;
  std::optional<Failure> found;
  for (std::size_t i = 0; i < std::size(kFilters); ++i) {
    struct Result {
      Failure failure;
      bool called = false;
    } result;
    const wgpu::Future future = context_.device.PopErrorScope(
        wgpu::CallbackMode::AllowSpontaneous,
        [](wgpu::PopErrorScopeStatus, wgpu::ErrorType type, wgpu::StringView message, Result* r) {
          r->failure = {type, to_string(message)};
          r->called = true;
        },
        &result);
    if (!result.called) context_.wait(future);
    if (!found && result.failure.type != wgpu::ErrorType::NoError) found = std::move(result.failure);
  }
  return found;
}

void ErrorScope::check(std::string_view what) {
  if (auto failure = take()) {
    if (context_.lost()) context_.raise_lost();
    failure->raise(what);
  }
}

}  // namespace weft::gpu
