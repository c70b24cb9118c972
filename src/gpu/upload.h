// Uploads to the GPU.
#pragma once

#include <webgpu/webgpu_cpp.h>

#include <deque>
#include <memory>

#include "gpu/context.h"

namespace weft::gpu {

// Mapped staging memory that is reused for large uploads: each takes one copy by the CPU, whatever its size, and there
// are at most kMax bytes of staging memory. While all of it is in use an upload waits; where nothing may wait, the
// queue takes the bytes instead.
class UploadRing {
 public:
  static constexpr std::uint64_t kSlot = 8 << 20, kMax = 64 << 20;  // bytes

  explicit UploadRing(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  // Offset and size are multiples of 4.
  void write(const wgpu::Buffer& target, std::uint64_t offset, std::span<const std::byte> bytes);
  void trim() { slots_.clear(); }

 private:
  struct Slot {
    wgpu::Buffer buffer;
    std::shared_ptr<Event> mapping;     // null: it is mapped
    std::atomic<bool> refused = false;  // there was no memory for it
  };
  // Null: all are in use, and nothing may wait.
  Slot* next();

  std::shared_ptr<Context> context_;
  std::deque<std::shared_ptr<Slot>> slots_;  // the least recently used first
};

// Writes any bytes at any offset: whole words by the queue or the ring, the partial words at both ends by a kernel that
// keeps their other bytes. Takes effect before anything submitted later. Throws InvalidArgument, OutOfMemory.
void upload_bytes(const Device& device, const Buffer& target, std::uint64_t offset, std::span<const std::byte> bytes);

}  // namespace weft::gpu
