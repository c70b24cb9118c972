#include "gpu/params.h"

#include <bit>

#include "core/format.h"
#include "weft/error.h"

namespace weft::gpu {

std::uint32_t param_range(const Context& context, std::size_t bytes) {
  constexpr std::uint32_t kSmallestWindow = 256;
  const std::uint64_t window = std::max<std::uint64_t>(std::bit_ceil(bytes), kSmallestWindow);
  const std::uint64_t most =
      std::min<std::uint64_t>(context.limits.maxUniformBufferBindingSize, ParamPages::kPageBytes);
  if (window > most) {
    throw InvalidArgument("{} bytes of parameters; a dispatch takes up to {}", bytes, std::bit_floor(most));
  }
  return static_cast<std::uint32_t>(window);
}

wgpu::Buffer make_uniform_buffer(Context& context, std::uint64_t bytes, std::string_view label) {
  wgpu::BufferDescriptor descriptor;
  descriptor.label = label;
  descriptor.size = bytes;
  descriptor.usage = wgpu::BufferUsage::Uniform | wgpu::BufferUsage::CopyDst;
  ErrorScope scope(context);
  wgpu::Buffer buffer = context.device.CreateBuffer(&descriptor);
  scope.collect("allocating parameters");
  return buffer;
}

std::unique_ptr<ParamPage> ParamPages::take() {
  std::unique_ptr<ParamPage> page;
  if (free_.empty()) {
    page = std::make_unique<ParamPage>();
    page->buffer = make_uniform_buffer(*context_, kPageBytes, "weft parameters");
    page->shadow.resize(kPageBytes);
  } else {
    page = std::move(free_.back());
    free_.pop_back();
  }
  page->used = 0;
  return page;
}

}  // namespace weft::gpu
