// Makes a device from an adapter, or from a caller's WebGPU device.
#pragma once

#include <webgpu/webgpu_cpp.h>

#include "gpu/device_impl.h"
#include "gpu/disk_cache.h"
#include "gpu/instance.h"

namespace weft::gpu {

// Throws InvalidArgument; get() throws NoDevice.
Future<std::shared_ptr<Device::Impl>> open_adapter(const FoundAdapter& adapter, const std::string& reason,
                                                   const DeviceOptions& options);
// Throws InvalidArgument.
std::shared_ptr<Device::Impl> adopt_device(wgpu::Device device, bool timed_wait);

// The adapter's part of the cache on disk; null if `cache_dir` (as Flag::cache_dir) turns it off, and on the web, where
// the browser has its own.
DiskCache* disk_cache_of(const AdapterInfo& adapter, std::string_view cache_dir);
// The device of the descriptor, with what the options mean to Dawn; null if it is refused.
Future<wgpu::Device> create_device(const wgpu::Adapter& adapter, wgpu::DeviceDescriptor& descriptor,
                                   const AdapterInfo& info, const DeviceOptions& options, DiskCache* cache);

}  // namespace weft::gpu
