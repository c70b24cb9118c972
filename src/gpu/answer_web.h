// Answers of a browser that come later, as futures.
#pragma once

#include <webgpu/webgpu_cpp.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "gpu/instance.h"
#include "gpu/wait.h"
#include "weft/future.h"

namespace weft::gpu {

template <class T>
class Answer final : public Completion {
 public:
  bool ready() override { return come_; }
  // Only test programs may (can_wait).
  void wait() override {
    if (come_) return;
    refuse_to_wait("opening a device");
    process_instance().WaitAny(future, UINT64_MAX);
  }
  void when_ready(std::function<void()> callback) override {
    if (come_) return callback();
    callbacks_.push_back(std::move(callback));
  }
  void come(T value) {
    value_ = std::move(value);
    come_ = true;
    for (const auto& callback : std::exchange(callbacks_, {})) callback();
  }
  T value() const { return value_; }

  wgpu::Future future;

 private:
  T value_ = {};
  bool come_ = false;
  std::vector<std::function<void()>> callbacks_;
};

template <class T>
Future<T> future_of(const std::shared_ptr<Answer<T>>& answer) {
  return Future<T>(answer, [answer] { return answer->value(); });
}

}  // namespace weft::gpu
