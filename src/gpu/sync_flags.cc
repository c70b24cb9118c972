#include "gpu/sync_flags.h"

#include <algorithm>
#include <bit>

#include "gpu/device_impl.h"

namespace weft::gpu {

View sync_flags(const Device& device, std::uint64_t count) {
  constexpr std::uint64_t kLeast = 1 << 14;  // most kernels need fewer
  const std::lock_guard held(device.impl().context->lock);
  Buffer& buffer = device.impl().sync_flags;
  const std::uint64_t bytes = count * 4;
  if (!buffer || buffer.size() < bytes) {
    // Dispatches recorded with the smaller buffer still use it; both are all ones between dispatches.
    Buffer larger = device.allocate(std::bit_ceil(std::max(bytes, kLeast * 4)));
    device.upload(larger, 0, std::vector<std::byte>(larger.size(), std::byte{0xff}));
    buffer = std::move(larger);
  }
  return {buffer, 0, DType::u32, {static_cast<std::int64_t>(count)}};
}

}  // namespace weft::gpu
