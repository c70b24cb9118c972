// State shared by all parts of a GPU device: the WebGPU device, waiting for it, and its errors.
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
  // Throws ValidationError, OutOfMemory or InternalError. `what` names the operation that failed.
  [[noreturn]] void raise(std::string_view what) const;
};

// Outlives the Device while a Readback is pending.
class Context {
 public:
  wgpu::Instance instance;
  wgpu::Device device;
  wgpu::Queue queue;
  wgpu::Limits limits;
  Capabilities capabilities;
  bool validation = true;
  bool owned = false;       // opened by Weft, which set its callbacks
  bool timed_wait = false;  // the instance can block

  void wait(wgpu::Future future);
  bool done(wgpu::Future future);
  void process_events();

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
  [[noreturn]] void raise_lost();
  // Calls each callback of on_lost() once if the device is lost.
  void notify_lost();
  std::shared_ptr<void> on_lost(std::function<void(const std::string&)> callback);
  // Dawn's message, or `otherwise`.
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

// Catches errors that Dawn reports between construction and take(). Works on devices whose callbacks Weft did not set.
class ErrorScope {
 public:
  explicit ErrorScope(Context& context);
  ~ErrorScope();
  ErrorScope(const ErrorScope&) = delete;
  ErrorScope& operator=(const ErrorScope&) = delete;
  // Ends the scope and returns the first error, validation errors before memory errors.
  std::optional<Failure> take();
  // Calls take() and raises the error, if any.
  void check(std::string_view what);

 private:
  Context& context_;
  bool open_ = true;
};

inline std::string to_string(wgpu::StringView text) {
  return std::string(std::string_view(text));
}

}  // namespace weft::gpu
