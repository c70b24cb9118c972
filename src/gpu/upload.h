// Bytes on their way to the GPU.
#pragma once

#include <deque>
#include <memory>

#include "gpu/context.h"

namespace weft::gpu {

// Staging memory that is mapped again and again, for uploads that are large: each is one copy by the CPU, however large
// it is, and no more than kMost bytes of staging memory exist.
class UploadRing {
 public:
  static constexpr std::uint64_t kSlot = 8 << 20, kMost = 64 << 20;  // bytes

  explicit UploadRing(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  ~UploadRing();
  // Offset and size are multiples of 4.
  void write(const wgpu::Buffer& target, std::uint64_t offset, std::span<const std::byte> bytes);
  void trim();

 private:
  struct Slot {
    wgpu::Buffer buffer;
    wgpu::Future mapping;
    bool mapped = true;
    std::string failure;
  };
  Slot& next();

  std::shared_ptr<Context> context_;
  std::deque<std::unique_ptr<Slot>> slots_;  // the one used longest ago first
};

// Writes any bytes at any offset: whole words by the queue or the ring, the words at ragged edges by a kernel that
// keeps their other bytes. Takes effect before anything submitted later. Throws InvalidArgument, OutOfMemory.
void upload_bytes(const Device& device, const Buffer& target, std::uint64_t offset, std::span<const std::byte> bytes);

}  // namespace weft::gpu
