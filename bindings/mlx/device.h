// The GPU that MLX computes on, and its one queue, into which all of MLX's GPU streams record.
#pragma once

#include <weft/gpu.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "deferred_encoder.h"
#include "mlx/api.h"

namespace mlx::core::webgpu {

// True if there is a GPU: the adapter that WEFT_DEVICE names, else the best there is.
MLX_API bool available();

// Opened when it is first asked for. Throws weft::NoDevice.
MLX_API const weft::gpu::Device& device();

// The end of what was recorded until then, submitted or not yet.
class Marker {
 public:
  // Submits the work if nobody did, and waits until it is done. Throws what the work threw.
  void wait();
  // Whether wait() would return at once; false also while another thread waits.
  bool ready();

 private:
  friend class Recorder;
  const std::shared_ptr<DeferredEncoder::Batch> batch_ = std::make_shared<DeferredEncoder::Batch>();
  std::atomic<bool> ended_ = false;  // it was given to the encoder
};

// Records what all streams compute, in the order in which MLX evaluates it: work of one stream that follows work of
// another needs no other synchronization on the GPU. Whoever records holds the lock, and waits with it only where the
// GPU is far behind (weft::gpu::Encoder).
//
// A submission costs the host as much as several dispatches, so small evaluations that follow each other closely share
// one: submit_soon() leaves work to the next call, or to a thread that submits what nobody else did.
class Recorder {
 public:
  Recorder();
  // Ends the thread.
  void exit();

  std::unique_lock<std::recursive_mutex> lock() { return std::unique_lock(mutex_); }
  // With the lock held to record; recorded() says that the encoder was given work.
  DeferredEncoder& encoder() { return encoder_; }
  void recorded() {
    if (std::exchange(empty_, false)) last_ = nullptr;
  }
  // Counts submissions: work that was recorded in this batch has not been submitted.
  std::uint64_t batch() const { return batch_; }
  // Small results that are read after later work was submitted, as tokens are while the next one is computed, are
  // copied early once one was missed, for as long as they are asked for.
  //
  // With the lock held: the copy of a buffer behind what is recorded, which is made if the result still is somewhere
  // else then; null if such copies are not asked for.
  std::shared_ptr<EarlyRead> read_early(const weft::Buffer& buffer, std::size_t size);
  // The host asked for a small result of `batch`, and there was an early copy or none.
  void asked_for(std::uint64_t batch, bool early);

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
  DeferredEncoder encoder_;
  std::atomic<std::uint64_t> batch_ = 1;
  std::vector<std::shared_ptr<EarlyRead>> early_reads_;
  std::atomic<int> unused_reads_left_ = 0;  // so many early copies that nobody asks for are the last
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
