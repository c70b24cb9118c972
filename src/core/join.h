// One future of several results.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "weft/future.h"

namespace weft {

// Ready when all parts are.
template <class T>
class JoinedCompletion final : public Completion, public std::enable_shared_from_this<JoinedCompletion<T>> {
 public:
  explicit JoinedCompletion(std::vector<Future<T>> parts) : parts_(std::move(parts)), left_(parts_.size()) {}

  bool ready() override {
    return std::ranges::all_of(parts_, [](const Future<T>& part) { return part.ready(); });
  }
  void wait() override {
    for (Future<T>& part : parts_) part = settled(part);
  }
  // Each part is its callback's until it is ready. Future asks for nothing else in between.
  void when_ready(std::function<void()> callback) override {
    for (Future<T>& part : parts_) {
      part.then([self = this->shared_from_this(), &part, callback](Future<T> done) {
        part = std::move(done);
        if (--self->left_ == 0) callback();
      });
    }
  }
  std::vector<T> take() {
    std::vector<T> results;
    for (Future<T>& part : parts_) results.push_back(part.get());
    return results;
  }

 private:
  // A future of the result, or of the error, once it is there.
  static Future<T> settled(Future<T>& part) {
    try {
      return Future<T>({}, [result = part.get()] { return result; });
    } catch (...) {
      return Future<T>({}, [error = std::current_exception()]() -> T { std::rethrow_exception(error); });
    }
  }

  std::vector<Future<T>> parts_;
  std::atomic<std::size_t> left_;
};

// The results of all, in their order; throws what the first of them that failed throws.
template <class T>
Future<std::vector<T>> join(std::vector<Future<T>> parts) {
  if (parts.empty()) return Future<std::vector<T>>({}, [] { return std::vector<T>(); });
  const auto joined = std::make_shared<JoinedCompletion<T>>(std::move(parts));
  return Future<std::vector<T>>(joined, [joined] { return joined->take(); });
}

}  // namespace weft
