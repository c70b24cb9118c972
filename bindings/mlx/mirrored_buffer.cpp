#include "mirrored_buffer.h"

#include <weft/error.h>
#include <weft/process.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "mlx/memory.h"

namespace mlx::core::webgpu {
namespace {

constexpr std::size_t kSmall = 256;  // bytes that may be copied early
constexpr std::size_t kKeptHost =
    1 << 20;  // of the host's half that are kept to use again: larger ones are cheap to get

// Gives back what belongs to the GPU, which a child of fork() leaves to its parent.
template <class T>
void release(T handle) {
  if (!handle) return;
  if (weft::is_forked()) {
    new T(std::move(handle));
    return;
  }
  const weft::InWeft uses;
  handle = {};
}

}  // namespace

weft::Buffer allocate_on_device(std::size_t bytes) {
  const std::size_t whole_words = std::max<std::size_t>((bytes + 3) / 4 * 4, 4);  // as kernels bind them
  try {
    return device().allocate(whole_words);
  } catch (const weft::OutOfMemory&) {
    // What MLX keeps to use again has memory of the GPU, too.
    clear_cache();
    return device().allocate(whole_words);
  }
}

MirroredBuffer::MirroredBuffer(std::shared_ptr<allocator::Data> whole, std::size_t begin, std::size_t size)
    : size_(size), whole_(std::move(whole)), begin_(begin) {}

MirroredBuffer::~MirroredBuffer() {
  recycle();
  release(std::move(device_));
}

std::size_t MirroredBuffer::held_size() {
  const std::lock_guard lock(mutex_);
  return whole_ ? whole().size() : size_;
}

std::unique_ptr<MirroredBuffer> MirroredBuffer::part_of_whole(std::size_t begin, std::size_t size) {
  const std::lock_guard lock(mutex_);
  return whole_ ? std::make_unique<MirroredBuffer>(whole_, begin_ + begin, size) : nullptr;
}

void MirroredBuffer::make_host() {
  if (host_) return;
  owned_ = std::make_unique_for_overwrite<std::byte[]>(size_);
  host_ = owned_.get();
}

bool MirroredBuffer::is_submitted(std::unique_lock<std::mutex>& lock) {
  if (written_ != recorder().batch()) return true;
  // Whoever records locks the recorder before buffers.
  lock.unlock();
  recorder().submit();
  lock.lock();
  return false;
}

void MirroredBuffer::copy_part(std::size_t offset, std::span<std::byte> bytes) {
  std::unique_lock lock(mutex_);
  while (current_ == kDevice && !is_submitted(lock)) continue;
  if (current_ == kNothing) return;
  if (current_ != kDevice) {
    std::memcpy(bytes.data(), host_ + offset, bytes.size());
    return;
  }
  recorder().encoder().finish(written_);
  auto reading = device().read(device_, offset, bytes.size());
  lock.unlock();
  reading.get().copy_to(bytes);
}

void MirroredBuffer::detach(std::unique_lock<std::mutex>& lock) {
  while (whole_) {
    const std::shared_ptr<allocator::Data> from = whole_;
    auto bytes = std::make_unique_for_overwrite<std::byte[]>(size_);
    lock.unlock();
    static_cast<MirroredBuffer*>(from->buffer().ptr())->copy_part(begin_, {bytes.get(), size_});
    lock.lock();
    if (!whole_) return;  // another thread was first
    owned_ = std::move(bytes);
    host_ = owned_.get();
    current_ = kHost;
    whole_ = nullptr;  // which `from` still holds
  }
}

bool MirroredBuffer::is_elsewhere() {
  const std::lock_guard lock(mutex_);
  return whole_ || current_ == kDevice;
}

void* MirroredBuffer::host() {
  std::optional<weft::InWeft> uses;
  if (is_elsewhere()) uses.emplace();
  std::unique_lock lock(mutex_);
  detach(lock);
  make_host();
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
  const weft::InWeft uses;
  std::unique_lock lock(mutex_);
  if (whole_) return;
  while (current_ == kDevice && !readback(lock)) continue;
}

std::shared_ptr<ReadFuture> MirroredBuffer::readback(std::unique_lock<std::mutex>& lock) {
  if (!readback_) {
    if (!is_submitted(lock)) return nullptr;
    recorder().encoder().finish(written_);
    const bool early = early_ && early_->read;
    if (size_ <= kSmall) recorder().asked_for(written_, early);
    readback_ = early ? early_->read : std::make_shared<ReadFuture>(device().read(device_, 0, size_));
    early_ = nullptr;
  }
  return readback_;
}

void MirroredBuffer::make_device() {
  if (!device_) device_ = allocate_on_device(size_);
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

DeviceHalf MirroredBuffer::read() {
  const std::lock_guard lock(mutex_);
  if (whole_) return {whole().read().memory, begin_, whole_};
  make_device();
  if (current_ == kHost) upload();
  return {device_};
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
  if (whole_) return whole().copy_host(begin_ + offset, bytes);
  if (current_ != kHost && current_ != kBoth) return false;
  std::memcpy(bytes.data(), host_ + offset, bytes.size());
  return true;
}

void MirroredBuffer::recycle() {
  release(std::exchange(readback_, nullptr));
  release(std::exchange(early_, nullptr));
  const std::lock_guard lock(mutex_);
  current_ = kNothing;
  if (owned_ && size_ > kKeptHost) {
    owned_ = nullptr;
    host_ = nullptr;
  }
}

}  // namespace mlx::core::webgpu
