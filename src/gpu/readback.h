// Staging buffers for reads, shared by the reads of one submit.
#pragma once

#include <memory>
#include <mutex>

#include "gpu/context.h"

namespace weft::gpu {

class StagingPool {
 public:
  explicit StagingPool(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  // Mappable for reading, at least `bytes`. Throws OutOfMemory.
  wgpu::Buffer take(std::uint64_t bytes);
  void give_back(wgpu::Buffer buffer);
  void trim();

 private:
  static constexpr std::uint64_t kMaxCached = 256 << 20;  // bytes

  std::shared_ptr<Context> context_;
  std::mutex mutex_;
  std::multimap<std::uint64_t, wgpu::Buffer> free_;
  std::uint64_t cached_ = 0;
};

// The copies into one staging buffer: mapped once, returned to the pool when its last Readback is destroyed.
struct ReadBatch {
  std::shared_ptr<Context> context;
  std::shared_ptr<StagingPool> pool;
  wgpu::Buffer staging;
  std::uint64_t used = 0;
  bool mapping = false;  // MapAsync was called
  bool done = false;
  std::exception_ptr error;
  wgpu::Future future;

  ~ReadBatch();
  void start_map();
  void wait();
};

struct Readback::State {
  Buffer source;                     // held until the copy is encoded
  std::uint64_t source_offset = 0;
  std::uint64_t size = 0;
  Device::Impl* device = nullptr;    // only to register a callback
  enum class Stage { recorded, submitted, failed } stage = Stage::recorded;
  std::exception_ptr error;          // when failed
  std::shared_ptr<ReadBatch> batch;  // null when nothing is to be read
  std::uint64_t offset = 0;          // in the staging buffer
  std::function<void(std::span<const std::byte>, std::exception_ptr)> callback;

  bool settled() const { return stage == Stage::failed || (stage == Stage::submitted && (!batch || batch->done)); }
  bool ready() const;
  std::span<const std::byte> wait_for_bytes();
  void deliver();
  void fail(std::exception_ptr why);
};

// Encodes the copies of `reads` into as few staging buffers as the device's largest buffer size allows; map the batches
// after submitting.
std::vector<std::shared_ptr<ReadBatch>> encode_reads(Device::Impl& device, const wgpu::CommandEncoder& encoder,
                                                     std::span<const std::shared_ptr<Readback::State>> reads);

}  // namespace weft::gpu
