// Dispatches that a thread encodes: WebGPU takes about as long to encode a dispatch as MLX and Weft's kernels take to
// decide on it, so the two are done side by side.
#pragma once

#include <weft/gpu.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "counted_bytes.h"
#include "shared_future.h"

namespace mlx::core::webgpu {

// What a batch computes for the host to read soon: copied at the batch's end, since a copy that is submitted later
// waits for the batches between.
struct EarlyRead {
  weft::Buffer buffer;
  std::size_t size;
  std::shared_ptr<ReadFuture> read = {};  // once the batch is submitted
};

// One thread at a time records; any thread may wait for what it recorded. Errors of dispatches are those of their
// batch's end.
class DeferredEncoder final : public weft::gpu::Commands {
 public:
  explicit DeferredEncoder(const weft::gpu::Device& device);
  // Ends the thread; what was not submitted is dropped.
  void exit();

  weft::gpu::Device& device() override { return device_; }
  void dispatch(const weft::gpu::Dispatch& dispatch) override;
  void dispatch(const std::shared_ptr<const weft::gpu::PreparedDispatch>& dispatch,
                std::span<const weft::gpu::Binding> bindings, std::span<const weft::gpu::NumberParam> numbers) override;
  weft::Buffer scratch(std::uint64_t bytes) override;

  // The end of a batch. Its future is there once the batch is submitted, which finish() waits for.
  struct Batch {
    std::vector<std::shared_ptr<EarlyRead>> reads;
    std::atomic<bool> submitted = false;
    std::unique_ptr<SharedFuture<void>> done;
  };
  // Submits all that was recorded until now, or leaves it to the thread if that is at work.
  void submit(const std::shared_ptr<Batch>& batch);
  // Returns when all that was recorded until now is encoded, and all batches that ended are submitted; or only the
  // first `batches` of them.
  void finish();
  void finish(std::uint64_t batches) {
    if (submitted_ < batches) finish();
  }

 private:
  struct Command {
    std::shared_ptr<const weft::gpu::PreparedDispatch> dispatch;
    std::size_t bindings = 0, numbers = 0;  // so many of the queue's
    std::shared_ptr<Batch> end;             // instead of a dispatch
  };
  struct Queue {
    std::vector<Command> commands;
    std::vector<weft::gpu::Binding> bindings;
    std::vector<weft::gpu::NumberParam> numbers;
  };

  void encode_in_thread();
  void encode_queued();  // with encoding_ held
  void encode(Queue& queue);
  void end(Batch& batch);

  weft::gpu::Device device_;
  weft::Buffer scratch_;
  CountedBytes scratch_bytes_;

  std::mutex encoding_;  // whoever has it encodes what is queued, in order
  weft::gpu::Encoder encoder_;
  Queue taken_;
  std::exception_ptr error_;                  // the first of this batch
  std::atomic<std::uint64_t> submitted_ = 0;  // batches
  std::size_t recorded_ = 0;                  // commands of the batch that is recorded

  std::mutex queueing_;
  Queue queue_;
  bool urgent_ = false, exits_ = false;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace mlx::core::webgpu
