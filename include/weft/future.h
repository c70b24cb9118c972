// Results that are still to come. Nothing waits for the GPU but get() and wait() of a Future, and functions whose names
// say so: wait, read, item, to_vector, printing, saving, open, compile and load, each of which has a form that gives a
// Future. A browser, where nothing may wait, has ready() and then().
//
//   Future<std::vector<float>> y = exe_output.async_read<float>();
//   ...                                   // the GPU works meanwhile
//   use(y.get());                         // drives the device until the values are there
//
//   compile_async(graph, device)          // nothing waits
//       .and_then([=](Executable exe) { exe.run({a}, {b}); return b.async_read<float>(); })
//       .then([](Future<std::vector<float>> done) { use(done.get()); });
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

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
  // Calls back once it happened, on the thread that drives the device then (by poll(), by wait() and get() of any
  // future of it).
  virtual void when_ready(std::function<void()> callback) = 0;
};

template <class T>
class Future;

namespace detail {

template <class T>
struct IsFuture : std::false_type {};
template <class T>
struct IsFuture<Future<T>> : std::true_type {};

}  // namespace detail

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
  // Drives the device until the result is there.
  void wait() const {
    check();
    if (completion_) completion_->wait();
  }
  // The same, and moves the result out. Throws what the work threw: DeviceLost, …
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
  // The future of f(result), which get() calls.
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
  // The future of f(done), which get() calls: done is this future, and ready, so that f may catch what it throws.
  template <class F>
  auto map_done(F f) && {
    check();
    const std::function<T()> take = std::exchange(take_, nullptr);
    using U = std::invoke_result_t<F, Future>;
    return Future<U>(std::move(completion_), [take, f = std::move(f)]() -> U { return f(Future({}, take)); });
  }
  // The future of the future f(result): f is called once the result is there, also if nobody gets what comes of it
  // but asks whether it is ready(), or waits for it by then(). All links of a chain live until its last one is done,
  // and end in each other: chains are for some steps, a loop of thousands calls get(). Throws InvalidArgument, like an
  // error of f, if that future is not valid().
  template <class F>
  auto and_then(F f) &&;

 private:
  void check() const {
    if (!take_) throw InvalidArgument("future: it has no result: that was taken, or there never was one");
  }

  std::shared_ptr<Completion> completion_;
  std::function<T()> take_;
};

// The future of what f() returns or throws, now.
template <class F>
auto future_of(F&& f) {
  using T = std::invoke_result_t<F>;
  try {
    if constexpr (std::is_void_v<T>) {
      f();
      return Future<void>({}, [] {});
    } else {
      auto result = std::make_shared<T>(f());
      return Future<T>({}, [result]() -> T { return std::move(*result); });
    }
  } catch (...) {
    return Future<T>({}, [error = std::current_exception()]() -> T { std::rethrow_exception(error); });
  }
}

namespace detail {

// First one future, then that which is made of its result.
template <class T, class U>
class Chain final : public Completion, public std::enable_shared_from_this<Chain<T, U>> {
 public:
  Chain(Future<T> first, std::function<Future<U>(Future<T>)> next) : first_(std::move(first)), next_(std::move(next)) {}
  bool ready() override { return (second_.valid() || (first_.ready() && advance())) && second_.ready(); }
  void wait() override {
    if (!second_.valid()) {
      first_.wait();
      advance();
    }
    second_.wait();
  }
  void when_ready(std::function<void()> callback) override {
    if (second_.valid()) return when_second(std::move(callback));
    first_.then([self = this->shared_from_this(), callback = std::move(callback)](Future<T> done) mutable {
      self->first_ = std::move(done);
      self->advance();
      self->when_second(std::move(callback));
    });
  }
  U take() { return second_.get(); }

 private:
  bool advance() {
    try {
      second_ = next_(std::move(first_));
      if (!second_.valid()) throw InvalidArgument("and_then: the function returned a future without a result");
    } catch (...) {
      second_ = Future<U>({}, [error = std::current_exception()]() -> U { std::rethrow_exception(error); });
    }
    next_ = nullptr;
    return true;
  }
  void when_second(std::function<void()> callback) {
    second_.then([self = this->shared_from_this(), callback = std::move(callback)](Future<U> done) {
      self->second_ = std::move(done);
      callback();
    });
  }

  Future<T> first_;
  std::function<Future<U>(Future<T>)> next_;
  Future<U> second_;
};

// Several futures.
template <class T>
class All final : public Completion, public std::enable_shared_from_this<All<T>> {
 public:
  explicit All(std::vector<Future<T>> futures) : futures_(std::move(futures)) {}
  bool ready() override {
    for (const Future<T>& f : futures_) {
      if (!f.ready()) return false;
    }
    return true;
  }
  void wait() override {
    for (const Future<T>& f : futures_) f.wait();
  }
  void when_ready(std::function<void()> callback) override {
    // One more than there are futures, so that none is the last before all were asked.
    const auto left = std::make_shared<std::atomic<std::size_t>>(futures_.size() + 1);
    const auto one = [left, callback = std::move(callback)] {
      if (left->fetch_sub(1) == 1) callback();
    };
    for (std::size_t i = 0; i < futures_.size(); ++i) {
      futures_[i].then([self = this->shared_from_this(), i, one](Future<T> done) {
        self->futures_[i] = std::move(done);
        one();
      });
    }
    one();
  }
  std::vector<Future<T>>& futures() { return futures_; }

 private:
  std::vector<Future<T>> futures_;
};

}  // namespace detail

// Here, behind what it makes.
template <class T>
template <class F>
auto Future<T>::and_then(F f) && {
  check();
  const auto call = [f = std::move(f)](Future<T> done) {
    if constexpr (std::is_void_v<T>) {
      done.get();
      return f();
    } else {
      return f(done.get());
    }
  };
  using Next = std::invoke_result_t<decltype(call), Future<T>>;
  static_assert(detail::IsFuture<Next>::value, "and_then: f returns a Future; map() takes one that returns a value");
  using U = decltype(std::declval<Next>().get());
  const auto chain = std::make_shared<detail::Chain<T, U>>(std::move(*this), call);
  *this = Future();
  return Future<U>(chain, [chain]() -> U { return chain->take(); });
}

// The results of all of them, in their order; the first that failed throws.
template <class T>
auto when_all(std::vector<Future<T>> futures) {
  const auto together = std::make_shared<detail::All<T>>(std::move(futures));
  if constexpr (std::is_void_v<T>) {
    return Future<void>(together, [together] {
      for (Future<void>& f : together->futures()) f.get();
    });
  } else {
    return Future<std::vector<T>>(together, [together] {
      std::vector<T> results;
      for (Future<T>& f : together->futures()) results.push_back(f.get());
      return results;
    });
  }
}

}  // namespace weft
