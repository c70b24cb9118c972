// Memory in two halves: MLX's arrays are read and written by the CPU through a pointer that does not change, and by
// kernels in memory of the GPU.
#pragma once

#include <weft/view.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "device.h"

namespace mlx::core::webgpu {

// Each half is made when it is first used, and stays until the buffer is destroyed. Any thread may call.
class MirroredBuffer {
 public:
  explicit MirroredBuffer(std::size_t size) : size_(size) {}
  // Its host half is the caller's memory.
  MirroredBuffer(void* host, std::size_t size) : size_(size), host_(static_cast<std::byte*>(host)), current_(kHost) {}

  std::size_t size() const { return size_; }

  // The host half, with what was computed until now: submits work that is recorded, and waits, if only the GPU has it.
  // The caller may write to it, so it alone is current from now on; if its bytes do not change until a kernel reads
  // them, they are not uploaded again.
  void* host();
  // Starts to copy what the GPU has into memory of the host, so that host() waits less.
  void start_readback();

  // The device half for a kernel, with the recorder's lock held. `overwrites`: the kernel writes all of it; otherwise
  // it has what was computed or written until now.
  weft::Buffer read();
  weft::Buffer write(bool overwrites);
  // The work that read() and write() were called for is recorded.
  void recorded();
  // Copies bytes of the host half, if that is current: a kernel may take them as a number.
  bool copy_host(std::size_t offset, std::span<std::byte> bytes);

  // The content is undefined from now on.
  void recycle();

 private:
  enum Current { kNothing, kHost, kDevice, kBoth };

  void make_device();
  void upload();
  // Starts the readback of what is current on the device; submits what is recorded, for which it unlocks.
  std::shared_ptr<ReadFuture> readback(std::unique_lock<std::mutex>& lock);
  std::span<std::byte> host_bytes() const { return {host_, size_}; }

  std::mutex mutex_;
  const std::size_t size_;
  std::byte* host_ = nullptr;
  std::unique_ptr<std::byte[]> owned_;
  weft::Buffer device_;
  Current current_ = kNothing;
  std::uint64_t batch_ = 0;  // the last one in which work was recorded that uses the device half
  std::uint64_t written_ = 0;  // or writes it
  std::shared_ptr<EarlyRead> early_;
  std::shared_ptr<ReadFuture> readback_;
};

}  // namespace mlx::core::webgpu
