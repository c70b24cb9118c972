#include "mirrored_buffer.h"

#include <weft/error.h>

#include <algorithm>
#include <cstring>

#include "mlx/memory.h"

namespace mlx::core::webgpu {
namespace {

constexpr std::size_t kSmall = 256;  // bytes that may be copied early

}  // namespace

void* MirroredBuffer::host() {
  std::unique_lock lock(mutex_);
  if (!host_) {
    owned_ = std::make_unique_for_overwrite<std::byte[]>(size_);
    host_ = owned_.get();
  }
  while (current_ == kDevice) {
    const auto reading = readback(lock);
    if (!reading) continue;
    lock.unlock();
    reading->wait();
    lock.lock();
    // Not if a kernel has written since, or another thread was first.
    if (readback_ != reading) continue;
    reading->result().copy_to(host_bytes());
    device_.holds_now(0, weft::digest_of(host_bytes()));
    readback_ = nullptr;
    current_ = kBoth;
  }
  current_ = kHost;
  return host_;
}

void MirroredBuffer::start_readback() {
  std::unique_lock lock(mutex_);
  while (current_ == kDevice && !readback(lock)) continue;
}

std::shared_ptr<ReadFuture> MirroredBuffer::readback(std::unique_lock<std::mutex>& lock) {
  if (!readback_) {
    if (written_ == recorder().batch()) {
      // Whoever records locks the recorder before buffers.
      lock.unlock();
      recorder().submit();
      lock.lock();
      return nullptr;
    }
    recorder().encoder().finish(written_);
    const bool early = early_ && early_->read;
    if (size_ <= kSmall) recorder().asked_for(written_, early);
    readback_ = early ? early_->read : std::make_shared<ReadFuture>(device().read(device_, 0, size_));
    early_ = nullptr;
  }
  return readback_;
}

void MirroredBuffer::make_device() {
  if (device_) return;
  const std::size_t whole_words = std::max<std::size_t>((size_ + 3) / 4 * 4, 4);  // as kernels bind them
  try {
    device_ = device().allocate(whole_words);
  } catch (const weft::OutOfMemory&) {
    // What MLX keeps to use again has memory of the GPU, too.
    clear_cache();
    device_ = device().allocate(whole_words);
  }
}

void MirroredBuffer::upload() {
  const weft::Buffer::Digest digest = weft::digest_of(host_bytes());
  if (!device_.holds(0, digest)) {
    // An upload comes before all that is submitted later.
    if (batch_ == recorder().batch()) recorder().submit();
    recorder().encoder().finish(batch_);
    device().upload(device_, 0, host_bytes());
    device_.holds_now(0, digest);
  }
  current_ = kBoth;
}

weft::Buffer MirroredBuffer::read() {
  const std::lock_guard lock(mutex_);
  make_device();
  if (current_ == kHost) upload();
  return device_;
}

weft::Buffer MirroredBuffer::write(bool overwrites) {
  const std::lock_guard lock(mutex_);
  make_device();
  if (current_ == kHost && !overwrites) upload();
  device_.changed();  // once it is encoded, too
  current_ = kDevice;
  readback_ = nullptr;
  written_ = recorder().batch();
  early_ = size_ <= kSmall ? recorder().read_early(device_, size_) : nullptr;
  return device_;
}

void MirroredBuffer::recorded() {
  const std::lock_guard lock(mutex_);
  batch_ = recorder().batch();
}

bool MirroredBuffer::copy_host(std::size_t offset, std::span<std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  if (current_ != kHost && current_ != kBoth) return false;
  std::memcpy(bytes.data(), host_ + offset, bytes.size());
  return true;
}

void MirroredBuffer::recycle() {
  const std::lock_guard lock(mutex_);
  current_ = kNothing;
  readback_ = nullptr;
  early_ = nullptr;
}

}  // namespace mlx::core::webgpu
