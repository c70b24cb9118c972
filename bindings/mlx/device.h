// The GPU that MLX computes on, and its one queue, into which all of MLX's GPU streams record.
#pragma once

#include <weft/gpu.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>

#include "mlx/api.h"

namespace mlx::core::webgpu {

// True if there is a GPU: the adapter that WEFT_DEVICE names, else the best there is.
MLX_API bool available();

// Opened when it is first asked for. Throws weft::NoDevice.
MLX_API const weft::gpu::Device& device();

// A future that any number of threads wait for.
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

// The end of what was recorded until then, submitted or not yet.
class Marker {
 public:
  // Submits the work if nobody did, and waits until it is done. Throws what the work threw.
  void wait();
  // Whether wait() would return at once; false also while another thread waits.
  bool ready();

 private:
  friend class Recorder;
  std::unique_ptr<SharedFuture<void>> future_;  // written with the recorder's lock held, before submitted_
  std::atomic<bool> submitted_ = false;
};

// Records what all streams compute, in the order in which MLX evaluates it: work of one stream that follows work of
// another needs no other synchronization on the GPU. Whoever records holds the lock, and waits with it only where the GPU
// is far behind (weft::gpu::Encoder).
//
// A submission costs the host as much as several dispatches, so small evaluations that follow each other closely share
// one: submit_soon() leaves work to the next call, or to a thread that submits what nobody else did.
class Recorder {
 public:
  Recorder();
  // Ends the thread.
  void exit();

  std::unique_lock<std::recursive_mutex> lock() { return std::unique_lock(mutex_); }
  // With the lock held; recorded() says that the encoder was given work.
  weft::gpu::Encoder& encoder() { return encoder_; }
  void recorded() {
    if (std::exchange(empty_, false)) last_ = nullptr;
  }
  // Counts submissions: work that was recorded in this batch has not been submitted.
  std::uint64_t batch() const { return batch_; }
  // Submits what is recorded. The result is ready when that, and all that was submitted before, is done.
  std::shared_ptr<Marker> submit();
  // The same, except that the work is submitted within a tenth of a millisecond or so.
  std::shared_ptr<Marker> submit_soon();
  // Waits, if the GPU is many batches behind, until it is not.
  void limit_batches();

 private:
  using Clock = std::chrono::steady_clock;

  std::shared_ptr<Marker> marker();
  void submit_what_is_left();

  std::recursive_mutex mutex_;
  weft::gpu::Encoder encoder_;
  std::atomic<std::uint64_t> batch_ = 1;
  bool empty_ = true;
  std::shared_ptr<Marker> last_;  // of all that is recorded; null: nobody has asked for it
  Clock::time_point last_submit_ = {};
  std::deque<std::shared_ptr<Marker>> pending_;
  bool watched_ = false;  // the thread will look at what is recorded
  bool exits_ = false;
  std::condition_variable_any wake_;
  std::thread thread_;
};

Recorder& recorder();

}  // namespace mlx::core::webgpu
