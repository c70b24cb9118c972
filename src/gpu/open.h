// Makes a device from an adapter, or from a caller's WebGPU device.
#pragma once

#include "gpu/device_impl.h"
#include "gpu/disk_cache.h"
#include "gpu/instance.h"

namespace weft::gpu {

// Throws NoDevice.
std::shared_ptr<Device::Impl> open_adapter(const FoundAdapter& adapter, std::string reason,
                                           const DeviceOptions& options);
// Throws InvalidArgument.
std::shared_ptr<Device::Impl> adopt_device(wgpu::Device device, bool timed_wait);

// The adapter's part of the cache on disk; null if `cache_dir` (as Flag::cache_dir) turns it off.
DiskCache* disk_cache_of(const AdapterInfo& adapter, std::string_view cache_dir);

}  // namespace weft::gpu
