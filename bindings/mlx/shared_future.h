// A future that any number of threads wait for.
#pragma once

#include <weft/future.h>
#include <weft/gpu.h>

#include <exception>
#include <mutex>
#include <type_traits>
#include <utility>
#include <variant>

namespace mlx::core::webgpu {

template <class T>
class SharedFuture {
 public:
  explicit SharedFuture(weft::Future<T> future) : future_(std::move(future)) {}

  // Waits until the work is done. Throws what the work threw.
  void wait() {
    const std::lock_guard lock(mutex_);
    if (!done_) {
      try {
        if constexpr (std::is_void_v<T>) {
          future_.get();
        } else {
          result_ = future_.get();
        }
      } catch (...) {
        error_ = std::current_exception();
      }
      done_ = true;
    }
    if (error_) std::rethrow_exception(error_);
  }
  // Whether wait() would return at once; false also while another thread waits.
  bool ready() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    return lock && (done_ || future_.ready());
  }
  // Once wait() has returned.
  const auto& result() const { return result_; }

 private:
  std::mutex mutex_;
  weft::Future<T> future_;
  std::conditional_t<std::is_void_v<T>, std::monostate, T> result_ = {};
  bool done_ = false;
  std::exception_ptr error_;
};

using ReadFuture = SharedFuture<weft::gpu::ReadBytes>;

}  // namespace mlx::core::webgpu
