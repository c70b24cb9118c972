// What every part of the gpu room shares: the WebGPU device, how to wait for it, and what went wrong with it.
#pragma once

#include <webgpu/webgpu_cpp.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <string>

#include "weft/gpu.h"

namespace weft::gpu {

// What Dawn reported, not yet turned into an exception.
struct Failure {
  wgpu::ErrorType type = wgpu::ErrorType::NoError;
  std::string message;
  // Throws ValidationError, OutOfMemory or InternalError. `what` says what was being done.
  [[noreturn]] void raise(std::string_view what) const;
};

// Outlives the Device where a Readback still waits.
class Context {
 public:
  wgpu::Instance instance;
  wgpu::Device device;
  wgpu::Queue queue;
  wgpu::Limits limits;
  Capabilities capabilities;
  bool validation = true;
  bool owned = false;       // Weft opened it: its callbacks are ours
  bool timed_wait = false;  // the instance can block

  void wait(wgpu::Future future);
  bool done(wgpu::Future future);
  void process_events();

  // Throws DeviceLost, or an error that Dawn reported outside any scope since the last call.
  void check();
  // The same without asking a caller's device, which takes as long as a dispatch does; for what ends in a submit
  // anyway.
  void check_known() {
    if (lost_ || has_uncaptured_) check();
  }
  bool lost();
  void set_lost(std::string message);
  void set_uncaptured(Failure failure);
  [[noreturn]] void raise_lost();
  // Calls those back who want to know of the loss, if there is one, each once.
  void tell_lost();
  std::shared_ptr<void> on_lost(std::function<void(const std::string&)> callback);
  // What Dawn said, or `otherwise`.
  std::string failure_text(std::string_view otherwise);

 private:
  std::atomic<bool> lost_ = false;
  std::atomic<bool> has_uncaptured_ = false;
  std::mutex mutex_;
  std::string lost_message_;
  std::optional<Failure> uncaptured_;
  using LostCallback = std::function<void(const std::string&)>;
  std::vector<std::weak_ptr<LostCallback>> lost_callbacks_;
};

// Catches what Dawn reports between construction and take(). Works on devices whose callbacks are not ours.
class ErrorScope {
 public:
  explicit ErrorScope(Context& context);
  ~ErrorScope();
  ErrorScope(const ErrorScope&) = delete;
  ErrorScope& operator=(const ErrorScope&) = delete;
  // Ends the scope: what was caught first, validation before memory.
  std::optional<Failure> take();
  // take(), raised.
  void check(std::string_view what);

 private:
  Context& context_;
  bool open_ = true;
};

inline std::string to_string(wgpu::StringView text) {
  return std::string(std::string_view(text));
}

}  // namespace weft::gpu
