// Devices of the browser's WebGPU, which has no toggles, and a cache of its own.
#include "core/format.h"
#include "gpu/open.h"
#include "weft/error.h"

namespace weft::gpu {

DiskCache* disk_cache_of(const AdapterInfo&, std::string_view) { return nullptr; }

wgpu::Device create_device(const wgpu::Adapter& adapter, wgpu::DeviceDescriptor& descriptor, const AdapterInfo& info,
                           const DeviceOptions&, DiskCache*) {
  struct Answer {
    wgpu::Device device;
    std::string message;
  } answer;
  const wgpu::Future future = adapter.RequestDevice(
      &descriptor, wgpu::CallbackMode::WaitAnyOnly,
      [](wgpu::RequestDeviceStatus, wgpu::Device device, wgpu::StringView message, Answer* out) {
        *out = {std::move(device), to_string(message)};
      },
      &answer);
  if (process_instance().WaitAny(future, UINT64_MAX) != wgpu::WaitStatus::Success || !answer.device) {
    throw NoDevice("{} could not be opened: {}", info.name, answer.message);
  }
  return answer.device;
}

}  // namespace weft::gpu
