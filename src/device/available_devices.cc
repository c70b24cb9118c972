#include <algorithm>
#include <format>

#include "core/host_memory.h"
#include "gpu/instance.h"
#include "weft/devices.h"

namespace weft {
namespace {

std::optional<std::uint64_t> memory_of(const gpu::FoundAdapter& found) {
  if (!gpu::can_wait()) return std::nullopt;  // a browser, which does not tell it
  const wgpu::Adapter adapter = found.request(false).get();
  if (!adapter || !adapter.HasFeature(wgpu::FeatureName::AdapterPropertiesMemoryHeaps)) return std::nullopt;
  wgpu::AdapterPropertiesMemoryHeaps heaps;
  wgpu::AdapterInfo info;
  info.nextInChain = &heaps;
  if (adapter.GetInfo(&info) != wgpu::Status::Success) return std::nullopt;
  // Drivers may also list the host's memory that the GPU can reach.
  std::uint64_t local = 0;
  for (std::size_t i = 0; i < heaps.heapCount; ++i) {
    const wgpu::MemoryHeapInfo& heap = heaps.heapInfo[i];
    if (heap.properties & wgpu::HeapProperty::DeviceLocal) local += heap.size;
  }
  if (local == 0) return std::nullopt;
  return local;
}

DeviceDescription described(DeviceDescription d) {
  d.description = std::format("{} ({}{}{})", d.name, d.backend == d.name ? "" : d.backend + ", ", d.type,
                              d.memory ? std::format(", {:.1f} GiB", static_cast<double>(*d.memory) / (1 << 30)) : "");
  return d;
}

}  // namespace

std::vector<DeviceDescription> available_devices() {
  std::vector<DeviceDescription> all;
  for (const gpu::FoundAdapter& f : gpu::found_adapters()) {
    all.push_back(described({.open_as = std::to_string(f.info.index),
                             .name = f.info.name,
                             .backend = f.info.backend,
                             .type = f.info.software() ? "software" : f.info.type,
                             .description = {},
                             .memory = memory_of(f)}));
  }
  const std::uint64_t host = physical_memory();
  all.push_back(described({.open_as = "cpu",
                           .name = "cpu",
                           .backend = "cpu",
                           .type = "processor",
                           .description = {},
                           .memory = host == ~std::uint64_t{0} ? std::nullopt : std::optional(host)}));
  return all;
}

}  // namespace weft
