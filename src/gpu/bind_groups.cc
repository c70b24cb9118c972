#include "gpu/bind_groups.h"

namespace weft::gpu {

namespace {

std::uint64_t mix(std::uint64_t h, std::uint64_t v) {
  h = (h ^ v) * 0x9E3779B97F4A7C15ull;
  return h ^ h >> 32;
}

std::uint64_t bits_of(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

std::uint64_t hash_of(const BindLayout& layout, const ParamRange& params, std::span<const BoundRange> ranges) {
  std::uint64_t h = mix(bits_of(&layout), bits_of(params.buffer.Get()) + params.size);
  for (const BoundRange& r : ranges) h = mix(mix(mix(h, bits_of(r.buffer.Get())), r.offset), r.size);
  return h;
}

}  // namespace

BindGroupCache::BindGroupCache(std::shared_ptr<Context> context, std::shared_ptr<BufferPool> pool)
    : context_(std::move(context)), pool_(std::move(pool)) {}

bool BindGroupCache::Entry::matches(const BindLayout& l, const ParamRange& p, std::span<const BoundRange> r) const {
  if (layout != &l || params.buffer.Get() != p.buffer.Get() || params.size != p.size || ranges.size() != r.size()) {
    return false;
  }
  for (std::size_t i = 0; i < r.size(); ++i) {
    if (ranges[i].buffer.Get() != r[i].buffer.Get() || ranges[i].offset != r[i].offset || ranges[i].size != r[i].size) {
      return false;
    }
  }
  return true;
}

wgpu::BindGroup BindGroupCache::get(const BindLayout& layout, const ParamRange& params,
                                    std::span<const BoundRange> ranges) {
  const std::uint64_t hash = hash_of(layout, params, ranges);
  for (auto [it, end] = entries_.equal_range(hash); it != end; ++it) {
    if (it->second.matches(layout, params, ranges)) {
      it->second.last_used = now_;
      return it->second.group;
    }
  }
  std::vector<wgpu::BindGroupEntry> bound;
  if (layout.signature.params) {
    wgpu::BindGroupEntry& e = bound.emplace_back();
    e.binding = 0;
    e.buffer = params.buffer;
    e.size = params.size;
  }
  bool foreign = false;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    wgpu::BindGroupEntry& e = bound.emplace_back();
    e.binding = static_cast<std::uint32_t>(i + 1);
    e.buffer = ranges[i].buffer;
    e.offset = ranges[i].offset;
    e.size = ranges[i].size;
    foreign |= !pool_->owns(ranges[i].buffer);
  }
  wgpu::BindGroupDescriptor descriptor;
  descriptor.label = "weft";
  descriptor.layout = layout.group;
  descriptor.entries = bound.data();
  descriptor.entryCount = bound.size();
  // The bindings were checked, and an error scope costs more than a bind group. On a device that Weft opened, its own
  // callback reports errors as well, but in a browser too late; there a caller's buffers are worth a scope.
  std::optional<ErrorScope> scope;
  if (!context_->owned || (foreign && callbacks_come_alone())) scope.emplace(*context_);
  wgpu::BindGroup group = context_->device.CreateBindGroup(&descriptor);
  if (scope) scope->collect("binding buffers");
  if (entries_.size() >= (context_->capabilities.software ? kMaxEntriesOfSoftware : kMaxEntries)) entries_.clear();
  entries_.emplace(hash, Entry{&layout, params, {ranges.begin(), ranges.end()}, group, now_, foreign});
  return group;
}

void BindGroupCache::forget(const wgpu::Buffer& buffer) {
  std::erase_if(entries_, [&](const auto& item) {
    const Entry& e = item.second;
    return e.params.buffer.Get() == buffer.Get() ||
           std::ranges::any_of(e.ranges, [&](const BoundRange& r) { return r.buffer.Get() == buffer.Get(); });
  });
}

void BindGroupCache::age() {
  if (++now_ % kForeignAge != 0) return;
  std::erase_if(entries_, [&](const auto& item) {
    return now_ - item.second.last_used > (item.second.foreign ? kForeignAge : kAge);
  });
}

}  // namespace weft::gpu
