// Staging buffers for reads, shared by the reads of one submit.
#pragma once

#include <webgpu/webgpu_cpp.h>

#include <map>
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

// The copies into one staging buffer: mapped once, returned to the pool when the last of their bytes is dropped.
struct ReadBatch {
  std::shared_ptr<Context> context;
  std::shared_ptr<StagingPool> pool;
  wgpu::Buffer staging;
  std::uint64_t used = 0;
  std::shared_ptr<Event> mapped;  // null before start_map()

  ~ReadBatch();
  void start_map();
};

// A read of GPU memory in progress.
class PendingRead final : public DeviceCompletion {
 public:
  PendingRead(std::shared_ptr<Context> context, Buffer read, std::uint64_t offset, std::uint64_t bytes)
      : DeviceCompletion(std::move(context)), source(std::move(read)), source_offset(offset), size(bytes) {}

  bool settled() const override;
  const Event& event() const override;
  void fail(std::exception_ptr why) override;
  void submitted();
  // Once it is settled.
  ReadBytes take();

  Buffer source;  // held until the copy is encoded
  const std::uint64_t source_offset, size;
  std::shared_ptr<ReadBatch> batch;  // null when nothing is to be read
  std::uint64_t offset = 0;          // in the staging buffer

 private:
  enum class Stage : std::uint8_t { recorded, submitted, failed };
  std::atomic<Stage> stage_ = Stage::recorded;
  std::exception_ptr error_;  // when failed
  std::uint64_t known_ = 0;   // late failures, when it was submitted
};

Readback future_of(std::shared_ptr<PendingRead> read);

// Encodes the copies of `reads` into as few staging buffers as the device's largest buffer size allows; map the batches
// after submitting.
std::vector<std::shared_ptr<ReadBatch>> encode_reads(Device::Impl& device, const wgpu::CommandEncoder& encoder,
                                                     std::span<const std::shared_ptr<PendingRead>> reads);

}  // namespace weft::gpu
