#include "gpu/readback.h"

#include <bit>
#include <cstring>

#include "gpu/device_impl.h"
#include "weft/error.h"

namespace weft::gpu {

wgpu::Buffer StagingPool::take(std::uint64_t bytes) {
  {
    std::lock_guard lock(mutex_);
    if (const auto found = free_.lower_bound(bytes); found != free_.end() && found->first <= 4 * bytes + 4096) {
      wgpu::Buffer buffer = std::move(found->second);
      cached_ -= found->first;
      free_.erase(found);
      return buffer;
    }
  }
  wgpu::BufferDescriptor descriptor;
  descriptor.label = "weft readback";
  descriptor.size = std::min<std::uint64_t>(std::bit_ceil(std::max<std::uint64_t>(bytes, 4096)),
                                            std::max<std::uint64_t>(context_->limits.maxBufferSize / 4 * 4, bytes));
  descriptor.usage = wgpu::BufferUsage::MapRead | wgpu::BufferUsage::CopyDst;
  ErrorScope scope(*context_);
  wgpu::Buffer buffer = context_->device.CreateBuffer(&descriptor);
  scope.check("allocating memory to read back into");
  return buffer;
}

void StagingPool::give_back(wgpu::Buffer buffer) {
  std::lock_guard lock(mutex_);
  const std::uint64_t size = buffer.GetSize();
  if (cached_ + size > kMostCached) return;
  cached_ += size;
  free_.emplace(size, std::move(buffer));
}

void StagingPool::trim() {
  std::lock_guard lock(mutex_);
  free_.clear();
  cached_ = 0;
}

void ReadBatch::start_map() {
  submitted = true;
  future = staging.MapAsync(
      wgpu::MapMode::Read, 0, used, wgpu::CallbackMode::AllowProcessEvents,
      [](wgpu::MapAsyncStatus status, wgpu::StringView message, ReadBatch* batch) {
        batch->done = true;
        if (status == wgpu::MapAsyncStatus::Success) return;
        if (batch->context->lost()) {
          batch->error = std::make_exception_ptr(DeviceLost("reading back: the GPU was lost: {}", to_string(message)));
        } else {
          batch->error = std::make_exception_ptr(ValidationError("reading back: {}", to_string(message)));
        }
      },
      this);
}

void ReadBatch::wait() {
  if (!done) context->wait(future);
}

ReadBatch::~ReadBatch() {
  if (!staging) return;
  if (submitted && !done) {
    // The callback must not find the batch gone: unmapping ends the pending map.
    staging.Unmap();
    try {
      context->wait(future);
    } catch (...) {
    }
    if (error) error = nullptr;
    pool->give_back(std::move(staging));
    return;
  }
  if (submitted) staging.Unmap();
  if (!error) pool->give_back(std::move(staging));
}

bool Readback::State::ready() const {
  if (unsubmitted) return false;
  if (!batch || batch->done) return true;
  batch->context->process_events();
  return batch->done;
}

std::span<const std::byte> Readback::State::wait_for_bytes() {
  if (unsubmitted) throw InvalidArgument("this read belongs to an encoder that was not submitted yet: submit it first");
  if (!batch) return {};
  batch->wait();
  if (batch->error) std::rethrow_exception(batch->error);
  const void* p = batch->staging.GetConstMappedRange(offset / 8 * 8, (offset % 8 + size + 3) / 4 * 4);
  if (!p) throw InternalError("reading back: the staging buffer is not mapped");
  return {static_cast<const std::byte*>(p) + offset % 8, size};
}

void Readback::State::deliver() {
  auto call = std::move(callback);
  callback = nullptr;
  std::span<const std::byte> bytes;
  std::exception_ptr error;
  try {
    bytes = wait_for_bytes();
  } catch (...) {
    error = std::current_exception();
  }
  call(bytes, error);
}

Readback::Readback() = default;
Readback::~Readback() = default;
Readback::Readback(Readback&&) noexcept = default;
Readback& Readback::operator=(Readback&&) noexcept = default;
Readback::Readback(std::shared_ptr<State> state) : state_(std::move(state)) {}

bool Readback::ready() const { return state_ && state_->ready(); }

std::vector<std::byte> Readback::get() {
  if (!state_) throw InvalidArgument("this read was taken already, or never started");
  const auto bytes = state_->wait_for_bytes();
  std::vector<std::byte> out(bytes.begin(), bytes.end());
  state_.reset();
  return out;
}

void Readback::get(std::span<std::byte> target) {
  if (!state_) throw InvalidArgument("this read was taken already, or never started");
  if (target.size() != state_->size) {
    throw InvalidArgument("{} bytes were read, the target holds {}", state_->size, target.size());
  }
  const auto bytes = state_->wait_for_bytes();
  if (!bytes.empty()) std::memcpy(target.data(), bytes.data(), bytes.size());
  state_.reset();
}

void Readback::then(std::function<void(std::span<const std::byte>, std::exception_ptr)> callback) {
  if (!state_) throw InvalidArgument("this read was taken already, or never started");
  if (state_->callback) throw InvalidArgument("this read has a callback already");
  state_->callback = std::move(callback);
  state_->device->callbacks.push_back(state_);
}

}  // namespace weft::gpu
