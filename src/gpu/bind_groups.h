// A cache of bind groups, by what they bind.
#pragma once

#include <webgpu/webgpu_cpp.h>

#include <memory>
#include <unordered_map>

#include "gpu/buffer_pool.h"
#include "gpu/pipeline_cache.h"

namespace weft::gpu {

// The parameters' part of a bind group: a range of a uniform buffer that a dynamic offset moves.
struct ParamRange {
  wgpu::Buffer buffer;     // null without parameters
  std::uint32_t size = 0;  // bytes
};

struct BoundRange {
  wgpu::Buffer buffer;
  std::uint64_t offset = 0, size = 0;
};

// Keyed by WebGPU's buffers, not by Weft's handles: a pool buffer that is reused under a new handle finds its bind
// group. Groups of a pool buffer are removed when the pool destroys it, and all when they were not used for kAge
// submits, so that a program whose sizes change does not fill the memory; groups with a caller's buffer after
// kForeignAge submits, so that a caller's memory is not held long after the caller dropped it. A software GPU maps a
// page for each, and a Linux process has at most 65,530 mappings.
class BindGroupCache {
 public:
  BindGroupCache(std::shared_ptr<Context> context, std::shared_ptr<BufferPool> pool);

  wgpu::BindGroup get(const BindLayout& layout, const ParamRange& params, std::span<const BoundRange> ranges);
  void forget(const wgpu::Buffer& buffer);
  void clear() { entries_.clear(); }
  // Called after each submit.
  void age();
  std::size_t size() const { return entries_.size(); }

  static constexpr std::uint64_t kForeignAge = 64, kAge = 1024;
  static constexpr std::size_t kMaxEntries = 32768, kMaxEntriesOfSoftware = 2048;

 private:
  struct Entry {
    const BindLayout* layout;
    ParamRange params;
    std::vector<BoundRange> ranges;
    wgpu::BindGroup group;
    std::uint64_t last_used;
    bool foreign;
    bool matches(const BindLayout& l, const ParamRange& p, std::span<const BoundRange> r) const;
  };

  std::shared_ptr<Context> context_;
  std::shared_ptr<BufferPool> pool_;
  std::unordered_multimap<std::uint64_t, Entry> entries_;
  std::uint64_t now_ = 0;
};

}  // namespace weft::gpu
