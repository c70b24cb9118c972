// Results that are still to come. Nothing waits for the GPU but Future::get() and functions that say so; a browser,
// where nothing may wait, has ready() and then().
//
//   Future<std::vector<float>> y = exe_output.async_read<float>();
//   ...                                   // the GPU works meanwhile
//   use(y.get());                         // drives the device until the values are there
#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "weft/error.h"

namespace weft {

// What a Future waits for: work of a device. Any thread may call.
class Completion {
 public:
  virtual ~Completion() = default;
  // True once it happened. Drives the device, without waiting.
  virtual bool ready() = 0;
  // Drives the device until it happened.
  virtual void wait() = 0;
  // Calls back once it happened, on the thread that drives the device then (by poll(), wait(), get() of any future of
  // it).
  virtual void when_ready(std::function<void()> callback) = 0;
};

template <class T>
class Future {
 public:
  Future() = default;
  // `take` gives the result, or throws, once `completion` is ready; null: it is already.
  Future(std::shared_ptr<Completion> completion, std::function<T()> take)
      : completion_(std::move(completion)), take_(std::move(take)) {}
  Future(Future&&) noexcept = default;
  Future& operator=(Future&&) noexcept = default;

  // False for one that was made from nothing, or whose result was taken. Everything below throws InvalidArgument then.
  bool valid() const { return take_ != nullptr; }
  // True once get() would not wait. Drives the device.
  bool ready() const {
    check();
    return !completion_ || completion_->ready();
  }
  // Drives the device until the result is there, and moves it out. Throws what the work threw: DeviceLost, …
  T get() {
    check();
    if (completion_) completion_->wait();
    const std::function<T()> take = std::exchange(take_, nullptr);
    const auto held = std::move(completion_);
    return take();
  }
  // Calls `callback` with the future once get() would not wait: on the thread that drives the device then, or here if
  // it is ready.
  void then(std::function<void(Future)> callback) {
    check();
    if (!completion_) return callback(std::move(*this));
    const auto completion = completion_;
    const auto self = std::make_shared<Future>(std::move(*this));
    *this = Future();
    completion->when_ready([self, callback = std::move(callback)] { callback(std::move(*self)); });
  }
  // The future of f(result).
  template <class F>
  auto map(F f) && {
    check();
    const std::function<T()> take = std::exchange(take_, nullptr);
    if constexpr (std::is_void_v<T>) {
      using U = std::invoke_result_t<F>;
      return Future<U>(std::move(completion_), [take, f = std::move(f)]() -> U {
        take();
        return f();
      });
    } else {
      using U = std::invoke_result_t<F, T>;
      return Future<U>(std::move(completion_), [take, f = std::move(f)]() -> U { return f(take()); });
    }
  }

 private:
  void check() const {
    if (!take_) throw InvalidArgument("future: it has no result: that was taken, or there never was one");
  }

  std::shared_ptr<Completion> completion_;
  std::function<T()> take_;
};

}  // namespace weft
