#include "gpu/readback.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "core/format.h"
#include "gpu/device_impl.h"
#include "weft/error.h"

namespace weft::gpu {

namespace {

std::uint64_t staging_size(std::uint64_t bytes, std::uint64_t most) {
  constexpr std::uint64_t kSmallest = 4096, kLarge = 1 << 20;
  const std::uint64_t rounded =
      bytes < kLarge ? std::bit_ceil(std::max(bytes, kSmallest)) : (bytes + kLarge - 1) / kLarge * kLarge;
  return std::max(bytes, std::min(rounded, most / 4 * 4));
}

}  // namespace

wgpu::Buffer StagingPool::take(std::uint64_t bytes) {
  {
    std::lock_guard lock(mutex_);
    if (const auto found = free_.lower_bound(bytes); found != free_.end()) {
      wgpu::Buffer buffer = std::move(found->second);
      cached_ -= found->first;
      free_.erase(found);
      return buffer;
    }
  }
  wgpu::BufferDescriptor descriptor;
  descriptor.label = "weft readback";
  descriptor.size = staging_size(bytes, context_->limits.maxBufferSize);
  descriptor.usage = wgpu::BufferUsage::MapRead | wgpu::BufferUsage::CopyDst;
  ErrorScope scope(*context_);
  wgpu::Buffer buffer = context_->device.CreateBuffer(&descriptor);
  scope.check(std::format("allocating {} bytes to read back into", descriptor.size));
  return buffer;
}

void StagingPool::give_back(wgpu::Buffer buffer) {
  std::lock_guard lock(mutex_);
  cached_ += buffer.GetSize();
  free_.emplace(buffer.GetSize(), std::move(buffer));
  // The largest go first: they are the rarest, and allocating one is cheap compared with filling it.
  while (cached_ > kMaxCached && free_.size() > 1) {
    const auto largest = std::prev(free_.end());
    cached_ -= largest->first;
    free_.erase(largest);
  }
}

void StagingPool::trim() {
  const std::lock_guard held(context_->lock);  // dropping a buffer is a call into WebGPU
  std::lock_guard lock(mutex_);
  free_.clear();
  cached_ = 0;
}

void ReadBatch::start_map() {
  mapped = context->map<ValidationError>(staging, wgpu::MapMode::Read, used, "reading back");
}

ReadBatch::~ReadBatch() {
  if (!staging) return;
  const std::lock_guard held(context->lock);
  const bool sound = !mapped || !mapped->is_done() || !mapped->error;
  // Ends a pending map, whose callback comes at once or later.
  if (mapped) staging.Unmap();
  if (sound) pool->give_back(std::move(staging));
  staging = nullptr;
}

bool PendingRead::settled() const {
  const Stage stage = stage_.load(std::memory_order_acquire);
  return stage == Stage::failed || (stage == Stage::submitted && (!batch || batch->mapped->is_done()));
}

const Event& PendingRead::event() const {
  if (stage_.load(std::memory_order_acquire) == Stage::recorded) {
    throw InvalidArgument("this read belongs to an encoder that was not submitted yet: submit it first");
  }
  return *batch->mapped;
}

void PendingRead::submitted() {
  source = {};
  known_ = context_->late_failures();
  stage_.store(Stage::submitted, std::memory_order_release);
}

void PendingRead::fail(std::exception_ptr why) {
  if (stage_.load(std::memory_order_acquire) == Stage::failed) return;
  error_ = std::move(why);
  source = {};
  stage_.store(Stage::failed, std::memory_order_release);
}

ReadBytes PendingRead::take() {
  if (stage_.load(std::memory_order_acquire) == Stage::failed) std::rethrow_exception(error_);
  context_->check_since(known_);
  if (!batch) return {};
  const std::lock_guard held(context_->lock);
  if (batch->mapped->error) {
    if (!context_->lost()) std::rethrow_exception(batch->mapped->error);
    try {
      std::rethrow_exception(batch->mapped->error);
    } catch (const Error& e) {
      throw DeviceLost("{}", e.what());
    }
  }
  // Mapped ranges start at multiples of 8 and have sizes that are multiples of 4.
  const std::uint64_t start = offset / 8 * 8;
  const void* p = batch->staging.GetConstMappedRange(start, (offset - start + size + 3) / 4 * 4);
  if (!p && batch->staging.GetMapState() != wgpu::BufferMapState::Mapped) {
    // A mapped buffer is unmapped only when its device is destroyed.
    throw DeviceLost("reading back: the device was closed before the values were read");
  }
  // A browser's bytes are copied into the program's memory, which may have no place for them.
  if (!p || size > std::numeric_limits<std::size_t>::max())
    throw OutOfMemory("reading back: no {} bytes to be had", size);
  // Closing the device would take the memory away.
  struct Held {
    std::shared_ptr<ReadBatch> batch;
    std::shared_ptr<Device::Impl> device;
  };
  auto held_memory = std::make_shared<const Held>(batch, context_->opened.lock());
  if (!held_memory->device) throw DeviceLost("reading back: the device was closed before the values were read");
  return ReadBytes({static_cast<const std::byte*>(p) + (offset - start), static_cast<std::size_t>(size)},
                   std::move(held_memory));
}

Readback future_of(std::shared_ptr<PendingRead> read) {
  return Readback(read, [read] { return read->take(); });
}

void ReadBytes::copy_to(std::span<std::byte> target) const {
  if (target.size() != bytes_.size()) {
    throw InvalidArgument("{} bytes were read, the target holds {}", bytes_.size(), target.size());
  }
  std::ranges::copy(bytes_, target.begin());
}

std::vector<std::shared_ptr<ReadBatch>> encode_reads(Device::Impl& device, const wgpu::CommandEncoder& encoder,
                                                     std::span<const std::shared_ptr<PendingRead>> reads) {
  const std::uint64_t most = device.context->limits.maxBufferSize;
  std::vector<std::shared_ptr<ReadBatch>> batches;
  // Two passes over a batch: first its size, then the copies.
  for (std::size_t first = 0, next = 0; first < reads.size(); first = next) {
    auto batch = std::make_shared<ReadBatch>();
    batch->context = device.context;
    batch->pool = device.staging;
    for (; next < reads.size(); ++next) {
      PendingRead& r = *reads[next];
      if (r.size == 0) continue;
      // Copies move whole words; slots start at multiples of 8, as mapped ranges do.
      const std::uint64_t begin = r.source_offset / 4 * 4, end = (r.source_offset + r.size + 3) / 4 * 4;
      if (batch->used > 0 && batch->used + (end - begin) > most) break;
      r.batch = batch;
      r.offset = batch->used + (r.source_offset - begin);
      batch->used += (end - begin + 7) / 8 * 8;
    }
    if (batch->used == 0) continue;
    batch->used = std::min(batch->used, most / 4 * 4);
    batch->staging = device.staging->take(batch->used);
    for (std::size_t i = first; i < next; ++i) {
      const PendingRead& r = *reads[i];
      if (r.size == 0) continue;
      const std::uint64_t begin = r.source_offset / 4 * 4, end = (r.source_offset + r.size + 3) / 4 * 4;
      encoder.CopyBufferToBuffer(r.source.gpu(), begin, batch->staging, r.offset / 4 * 4, end - begin);
    }
    batches.push_back(std::move(batch));
  }
  return batches;
}

}  // namespace weft::gpu
