#include "gpu/readback.h"

#include <bit>
#include <cstring>

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
  std::lock_guard lock(mutex_);
  free_.clear();
  cached_ = 0;
}

void ReadBatch::start_map() {
  mapping = true;
  future = staging.MapAsync(
      wgpu::MapMode::Read, 0, used,
      context->owned ? wgpu::CallbackMode::AllowSpontaneous : wgpu::CallbackMode::AllowProcessEvents,
      [](wgpu::MapAsyncStatus status, wgpu::StringView message, ReadBatch* batch) {
        batch->done = true;
        if (status == wgpu::MapAsyncStatus::Success) return;
        const std::string why = to_string(message);
        batch->error = batch->context->lost() ? std::make_exception_ptr(DeviceLost("reading back: {}", why))
                                              : std::make_exception_ptr(ValidationError("reading back: {}", why));
      },
      this);
}

void ReadBatch::wait() {
  if (!done) context->wait(future);
}

ReadBatch::~ReadBatch() {
  if (!mapping) {
    if (staging) pool->give_back(std::move(staging));
    return;
  }
  // Unmapping ends a pending map, whose callback must still find the batch.
  const bool was_done = done;
  staging.Unmap();
  try {
    if (!was_done) context->wait(future);
    if (!error || !was_done) pool->give_back(std::move(staging));
  } catch (...) {
    // The device cannot be waited for; the buffer is gone with it.
  }
}

bool Readback::State::ready() const {
  if (settled()) return true;
  if (stage == Stage::recorded) return false;
  batch->context->process_events();
  return batch->done;
}

std::span<const std::byte> Readback::State::wait_for_bytes() {
  if (stage == Stage::failed) std::rethrow_exception(error);
  if (stage == Stage::recorded) {
    throw InvalidArgument("this read belongs to an encoder that was not submitted yet: submit it first");
  }
  if (!batch) return {};
  batch->wait();
  if (batch->error) std::rethrow_exception(batch->error);
  // Mapped ranges start at multiples of 8 and have sizes that are multiples of 4.
  const std::uint64_t start = offset / 8 * 8;
  const void* p = batch->staging.GetConstMappedRange(start, (offset - start + size + 3) / 4 * 4);
  if (!p && batch->staging.GetMapState() != wgpu::BufferMapState::Mapped) {
    // A mapped buffer is unmapped only when its device is destroyed.
    throw DeviceLost("reading back: the device was closed before the values were read");
  }
  if (!p) throw InternalError("reading back: the staging buffer is not mapped");
  return {static_cast<const std::byte*>(p) + (offset - start), size};
}

void Readback::State::deliver() {
  const auto call = std::exchange(callback, nullptr);
  std::span<const std::byte> bytes;
  std::exception_ptr failure;
  try {
    bytes = wait_for_bytes();
  } catch (...) {
    failure = std::current_exception();
  }
  call(bytes, failure);
}

void Readback::State::fail(std::exception_ptr why) {
  if (stage == Stage::failed) return;
  stage = Stage::failed;
  error = std::move(why);
  source = {};
}

std::vector<std::shared_ptr<ReadBatch>> encode_reads(Device::Impl& device, const wgpu::CommandEncoder& encoder,
                                                     std::span<const std::shared_ptr<Readback::State>> reads) {
  const std::uint64_t most = device.context->limits.maxBufferSize;
  std::vector<std::shared_ptr<ReadBatch>> batches;
  // Two passes over a batch: first its size, then the copies.
  for (std::size_t first = 0, next = 0; first < reads.size(); first = next) {
    auto batch = std::make_shared<ReadBatch>();
    batch->context = device.context;
    batch->pool = device.staging;
    for (; next < reads.size(); ++next) {
      Readback::State& r = *reads[next];
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
      const Readback::State& r = *reads[i];
      if (r.size == 0) continue;
      const std::uint64_t begin = r.source_offset / 4 * 4, end = (r.source_offset + r.size + 3) / 4 * 4;
      encoder.CopyBufferToBuffer(r.source.gpu(), begin, batch->staging, r.offset / 4 * 4, end - begin);
    }
    batches.push_back(std::move(batch));
  }
  return batches;
}

Readback::Readback() = default;
Readback::~Readback() = default;
Readback::Readback(Readback&&) noexcept = default;
Readback& Readback::operator=(Readback&&) noexcept = default;
Readback::Readback(std::shared_ptr<State> state) : state_(std::move(state)) {}

bool Readback::ready() const { return state_ && state_->ready(); }

std::span<const std::byte> Readback::wait_for(std::shared_ptr<State>& held) {
  if (!state_) throw InvalidArgument("this read was taken already, or never started");
  const auto bytes = state_->wait_for_bytes();
  held = std::move(state_);
  if (held->callback) held->deliver();
  return bytes;
}

std::vector<std::byte> Readback::get() {
  std::shared_ptr<State> held;
  const auto bytes = wait_for(held);
  return {bytes.begin(), bytes.end()};
}

void Readback::get(std::span<std::byte> target) {
  if (state_ && target.size() != state_->size) {
    throw InvalidArgument("{} bytes were read, the target holds {}", state_->size, target.size());
  }
  std::shared_ptr<State> held;
  const auto bytes = wait_for(held);
  if (!bytes.empty()) std::memcpy(target.data(), bytes.data(), bytes.size());
}

void Readback::then(std::function<void(std::span<const std::byte>, std::exception_ptr)> callback) {
  if (!state_) throw InvalidArgument("this read was taken already, or never started");
  if (state_->callback) throw InvalidArgument("this read has a callback already");
  state_->callback = std::move(callback);
  state_->device->callbacks.push_back(state_);
}

std::future<std::vector<std::byte>> Readback::future() {
  auto promise = std::make_shared<std::promise<std::vector<std::byte>>>();
  auto result = promise->get_future();
  then([promise](std::span<const std::byte> bytes, std::exception_ptr error) {
    if (error) promise->set_exception(error);
    else promise->set_value({bytes.begin(), bytes.end()});
  });
  return result;
}

}  // namespace weft::gpu
