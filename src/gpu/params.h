// Parameter blocks of dispatches, packed into uniform buffers.
#pragma once

#include <webgpu/webgpu_cpp.h>

#include <memory>

#include "gpu/bind_groups.h"

namespace weft::gpu {

// Rounds the size of a parameter block up to one of a few sizes, so that bind groups are shared. Throws
// InvalidArgument.
std::uint32_t param_range(const Context& context, std::size_t bytes);

// A uniform buffer and the bytes it will get at the next submit.
struct ParamPage {
  wgpu::Buffer buffer;
  std::vector<std::byte> shadow;
  std::uint32_t used = 0;
};

// Pages that encoders borrow until they submit. The queue runs in order, so a page can be reused right after that.
class ParamPages {
 public:
  static constexpr std::uint32_t kPageBytes = 64 << 10;

  explicit ParamPages(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  std::unique_ptr<ParamPage> take();
  void give_back(std::unique_ptr<ParamPage> page) { free_.push_back(std::move(page)); }

 private:
  std::shared_ptr<Context> context_;
  std::vector<std::unique_ptr<ParamPage>> free_;
};

wgpu::Buffer make_uniform_buffer(Context& context, std::uint64_t bytes, std::string_view label);

}  // namespace weft::gpu
