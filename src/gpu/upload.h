// Bytes on their way to the GPU.
#pragma once

#include "weft/gpu.h"

namespace weft::gpu {

// Writes any bytes at any offset: whole words through the queue, the words at ragged edges by a kernel that keeps their
// other bytes. Takes effect before anything submitted later. Throws InvalidArgument, OutOfMemory.
void upload_bytes(const Device& device, const Buffer& target, std::uint64_t offset, std::span<const std::byte> bytes);

}  // namespace weft::gpu
