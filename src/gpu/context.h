// State shared by all parts of a GPU device: the WebGPU device, its lock, waiting for it, and its errors.
#pragma once

#include <webgpu/webgpu_cpp.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <string>

#include "core/format.h"
#include "gpu/device_lock.h"
#include "gpu/instance.h"
#include "weft/error.h"
#include "weft/future.h"
#include "weft/gpu.h"

namespace weft::gpu {

class Context;

// Called when WebGPU has called back. Where that comes without anybody driving a device (callbacks_come_alone) the
// callbacks of futures are called then; elsewhere it does nothing.
void callback_came();

// What Dawn reported, not yet turned into an exception.
struct Failure {
  wgpu::ErrorType type = wgpu::ErrorType::NoError;
  std::string message;
  std::string what = {};  // the operation that failed, if it is known
  // Throws ValidationError, OutOfMemory or InternalError. `what` names the operation that failed.
  [[noreturn]] void raise(std::string_view what) const;
};

// Something that WebGPU reports by a callback: a mapped buffer, a compiled pipeline, finished work. The callback owns
// it, so that it may be abandoned without waiting for the callback.
struct Event {
  wgpu::Future future;
  std::exception_ptr error;  // set before `done`
  std::atomic<bool> done = false;

  void finish(std::exception_ptr why = nullptr) {
    error = std::move(why);
    done.store(true, std::memory_order_release);
    callback_came();
  }
  bool is_done() const { return done.load(std::memory_order_acquire); }
};
// For the `userdata` of a WebGPU callback: it owns the event until then.
template <class E>
std::shared_ptr<E>* held_by_callback(std::shared_ptr<E> event) {
  return new std::shared_ptr<E>(std::move(event));
}
template <class E>
std::shared_ptr<E> from_callback(std::shared_ptr<E>* held) {
  const std::unique_ptr<std::shared_ptr<E>> owner(held);
  return std::move(*owner);
}

// What futures of a device wait for.
class DeviceCompletion : public Completion, public std::enable_shared_from_this<DeviceCompletion> {
 public:
  explicit DeviceCompletion(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  bool ready() override;
  void wait() override;
  void when_ready(std::function<void()> callback) override;

  virtual bool settled() const = 0;
  // The event that settles it. Throws InvalidArgument if nothing was submitted yet that would.
  virtual const Event& event() const = 0;
  // Called when it will never happen.
  virtual void fail(std::exception_ptr why) = 0;
  // Looks for events that processing all of them does not deliver.
  virtual void look() {}

 protected:
  std::shared_ptr<Context> context_;
};

// Outlives the Device while a read is pending.
class Context : public std::enable_shared_from_this<Context> {
 public:
  Context() = default;
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  DeviceLock lock;
  wgpu::Instance instance;
  wgpu::Device device;
  wgpu::Queue queue;
  wgpu::Limits limits;
  Capabilities capabilities;
  bool validation = true;
  bool owned = false;                           // opened by Weft, which set its callbacks
  bool timed_wait = false;                      // the instance can block
  std::weak_ptr<Device::Impl> opened;           // the device that this is of, while it is open
  std::atomic<std::uint64_t> passed_tests = 0;  // self-tests of it in this process (gpu/self_test.h)

  // Of callbacks that come whenever the device is driven; a caller's device is driven by the caller's instance.
  wgpu::CallbackMode callbacks() const {
    return owned || callbacks_come_alone() ? wgpu::CallbackMode::AllowSpontaneous
                                           : wgpu::CallbackMode::AllowProcessEvents;
  }

  // ---- gpu/wait.cc, which has all code that blocks
  // `place` names what waits. Throws Unsupported where nothing may (gpu/wait.h).
  // `interruptible`: it may be given up (weft/interruption.h); then what waits for must be in order without it.
  void wait(const Event& event, std::string_view place, bool interruptible = false);
  // Backpressure: waits, so that what was submitted takes no memory without end. Where nothing may wait it does
  // nothing; there the caller's loop awaits a future now and then.
  void hold_back(const Event& event, bool interruptible = false);

  bool done(const Event& event);
  // Processes WebGPU's events: runs the callbacks of what has happened.
  void process_events();
  // An event for all work submitted so far.
  std::shared_ptr<Event> mark();
  // Maps the first bytes of a buffer. Its error is a `Failed` that says what failed, and why.
  template <class Failed>
  std::shared_ptr<Event> map(const wgpu::Buffer& buffer, wgpu::MapMode mode, std::uint64_t bytes,
                             std::string_view what);

  // What Dawn's threads compile: not submitted, and nobody may wait for it any more.
  void add_compiling(const std::shared_ptr<Event>& event);
  std::vector<std::shared_ptr<Event>> compiling();

  // Callbacks of futures. deliver() calls those that are settled, unless the thread holds a lock. add_callback() is
  // false once the device is closed.
  bool add_callback(std::shared_ptr<DeviceCompletion> completion, std::function<void()> callback);
  void deliver();
  // callback_came() is for it, too.
  void listen();
  void fail_pending(const std::exception_ptr& why);

  // Throws DeviceLost, or an error that Dawn reported outside any scope since the last call.
  void check();
  // The same without polling a caller's device, which takes as long as a dispatch; for operations that are followed by
  // a submit anyway.
  void check_known() {
    if (lost_ || has_uncaptured_) check();
  }
  bool lost();
  void set_lost(std::string message);
  void set_uncaptured(Failure failure);
  // Dawn reports an error before the call that made it returns; a browser tells later, when more was submitted that
  // depends on the call. So each late failure is raised by the next check(), and fails all that was submitted before
  // it was known: that remembers the number of late failures, and asks check_since() before it gives its result.
  std::uint64_t late_failures() const { return late_failures_.load(std::memory_order_acquire); }
  // `known`: how many were known when the call was made. A command that was refused since then is a consequence.
  void set_late(Failure failure, std::uint64_t known);
  void check_since(std::uint64_t known) {
    if (late_failures() != known) raise_late();
  }
  [[noreturn]] void raise_lost();
  // Calls each callback of on_lost() once if the device is lost.
  void notify_lost();
  std::shared_ptr<void> on_lost(std::function<void(const std::string&)> callback);
  // Dawn's message, or `otherwise`.
  std::string failure_text(std::string_view otherwise);

 private:
  std::atomic<bool> lost_ = false;
  std::atomic<bool> has_uncaptured_ = false;
  std::mutex mutex_;  // of what follows, which callbacks on any thread may change
  std::string lost_message_;
  std::optional<Failure> uncaptured_;
  [[noreturn]] void raise_late();
  std::atomic<std::uint64_t> late_failures_ = 0;
  Failure late_;  // the last one
  using LostCallback = std::function<void(const std::string&)>;
  std::vector<std::weak_ptr<LostCallback>> lost_callbacks_;
  struct Waiting {
    std::shared_ptr<DeviceCompletion> completion;
    std::function<void()> callback;
  };
  std::vector<Waiting> waiting_;
  std::vector<std::weak_ptr<Event>> compiling_;
  bool closed_ = false;
};

template <class Failed>
std::shared_ptr<Event> Context::map(const wgpu::Buffer& buffer, wgpu::MapMode mode, std::uint64_t bytes,
                                    std::string_view what) {
  struct Mapping : Event {
    std::string what;
  };
  const auto mapping = std::make_shared<Mapping>();
  mapping->what = what;
  mapping->future = buffer.MapAsync(
      mode, 0, bytes, callbacks(),
      [](wgpu::MapAsyncStatus status, wgpu::StringView message, std::shared_ptr<Mapping>* held) {
        const auto done = from_callback(held);
        if (status == wgpu::MapAsyncStatus::Success) return done->finish();
        // Nobody waits for what Weft aborts; else the device is lost, which a browser may tell later than this.
        if (status == wgpu::MapAsyncStatus::Aborted) {
          return done->finish(std::make_exception_ptr(
              DeviceLost("{}: the GPU was lost or destroyed: {}", done->what, std::string_view(message))));
        }
        done->finish(std::make_exception_ptr(Failed("{}: {}", done->what, std::string_view(message))));
      },
      held_by_callback(mapping));
  return mapping;
}

// What the device has at work when the process ends is finished then, for some seconds.
void finish_at_process_end(const std::shared_ptr<Context>& context);

// While it lives, the thread delivers no user callbacks: it holds a lock, which they may need.
class CallbacksHeld {
 public:
  CallbacksHeld();
  ~CallbacksHeld();
  CallbacksHeld(const CallbacksHeld&) = delete;
  CallbacksHeld& operator=(const CallbacksHeld&) = delete;
  static bool none();
};

// Catches errors that WebGPU reports between construction and take(), check() or collect(), none of which waits. Works
// on devices whose callbacks Weft did not set.
class ErrorScope {
 public:
  // `internal`: what WebGPU refuses as invalid is an error in Weft itself.
  explicit ErrorScope(Context& context, bool internal = false);
  ~ErrorScope();
  ErrorScope(const ErrorScope&) = delete;
  ErrorScope& operator=(const ErrorScope&) = delete;
  // Ends the scope and returns the first error, validation errors before memory errors, if WebGPU answers at once, as
  // Dawn does. Where it answers later an error is a late failure of `what`, and `later` is called.
  std::optional<Failure> take(std::string what, std::function<void()> later = {});
  // Calls take() and raises the error, if any.
  void check(const std::string& what);
  // Ends the scope. An error is raised by the next Context::check(), as of that operation; here, if WebGPU answers at
  // once.
  void collect(std::string what);

 private:
  Context& context_;
  bool internal_, open_ = true;
};

inline std::string to_string(wgpu::StringView text) { return std::string(std::string_view(text)); }

}  // namespace weft::gpu
