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
#include "mlx/allocator.h"

namespace mlx::core::webgpu {

// What a kernel is given: memory of the device, and where the buffer begins in it, in bytes.
struct DeviceHalf {
  weft::Buffer memory;
  std::size_t offset = 0;
  std::shared_ptr<allocator::Data> whole = {};  // whose memory it is, if it is a part's
};

// Each half is made when it is first used, and stays until the buffer is destroyed. Any thread may call.
//
// A part of another buffer, such as a slice's, is read where that is by kernels. The host has only the part's bytes
// copied; from then on the part is a buffer of its own.
class MirroredBuffer {
 public:
  explicit MirroredBuffer(std::size_t size) : size_(size) {}
  // Its host half is the caller's memory.
  MirroredBuffer(void* host, std::size_t size) : size_(size), host_(static_cast<std::byte*>(host)), current_(kHost) {}
  // A part of what `whole` holds. Nobody writes to the whole while there is a part.
  MirroredBuffer(std::shared_ptr<allocator::Data> whole, std::size_t begin, std::size_t size);
  ~MirroredBuffer();
  MirroredBuffer(const MirroredBuffer&) = delete;
  MirroredBuffer& operator=(const MirroredBuffer&) = delete;

  std::size_t size() const { return size_; }
  // The size of what this keeps from being freed.
  std::size_t held_size();
  // The same as a part of the whole that this is a part of; null if it is a whole.
  std::unique_ptr<MirroredBuffer> part_of_whole(std::size_t begin, std::size_t size);

  // The host half, with what was computed until now: submits work that is recorded, and waits, if only the GPU has it.
  // The caller may write to it, so it alone is current from now on; if its bytes do not change until a kernel reads
  // them, they are not uploaded again.
  void* host();
  // Starts to copy what the GPU has into memory of the host, so that host() waits less.
  void start_readback();

  // The device half for a kernel, with the recorder's lock held. `overwrites`: the kernel writes all of it; otherwise
  // it has what was computed or written until now.
  DeviceHalf read();
  weft::Buffer write(bool overwrites);
  // The work that read() and write() were called for is recorded.
  void recorded();
  // Copies bytes of the host half, if that is current: a kernel may take them as a number.
  bool copy_host(std::size_t offset, std::span<std::byte> bytes);

  // The content is undefined from now on, and the host's half is given back if it is large.
  void recycle();

 private:
  enum Current { kNothing, kHost, kDevice, kBoth };

  // Whether the host's half has to come from the GPU.
  bool is_elsewhere();
  MirroredBuffer& whole() const { return *static_cast<MirroredBuffer*>(whole_->buffer().ptr()); }
  void make_host();
  void make_device();
  void upload();
  // Copies a part of what is current, and waits for it.
  void copy_part(std::size_t offset, std::span<std::byte> bytes);
  // Makes a part a buffer of its own, whose host half is current.
  void detach(std::unique_lock<std::mutex>& lock);
  // False if the work that writes the device half was only recorded: it is submitted, for which it unlocks.
  bool is_submitted(std::unique_lock<std::mutex>& lock);
  // Starts the readback of what is current on the device; submits what is recorded, for which it unlocks.
  std::shared_ptr<ReadFuture> readback(std::unique_lock<std::mutex>& lock);
  std::span<std::byte> host_bytes() const { return {host_, size_}; }

  std::mutex mutex_;
  const std::size_t size_;
  std::shared_ptr<allocator::Data> whole_;  // of which this is a part
  std::size_t begin_ = 0;                   // in the whole
  std::byte* host_ = nullptr;
  std::unique_ptr<std::byte[]> owned_;
  weft::Buffer device_;
  Current current_ = kNothing;
  std::uint64_t batch_ = 0;    // the last one in which work was recorded that uses the device half
  std::uint64_t written_ = 0;  // or writes it
  std::shared_ptr<EarlyRead> early_;
  std::shared_ptr<ReadFuture> readback_;
};

// Memory of the device for so many bytes; what MLX keeps to use again is given back where there is none.
weft::Buffer allocate_on_device(std::size_t bytes);

}  // namespace mlx::core::webgpu
