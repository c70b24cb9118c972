// Devices of the browser's WebGPU, which has no toggles, and a cache of its own.
#include "core/format.h"
#include "gpu/answer_web.h"
#include "gpu/context.h"
#include "gpu/open.h"
#include "weft/error.h"

namespace weft::gpu {

DiskCache* disk_cache_of(const AdapterInfo&, std::string_view) { return nullptr; }

Future<wgpu::Device> create_device(const wgpu::Adapter& adapter, wgpu::DeviceDescriptor& descriptor,
                                   const AdapterInfo& info, const DeviceOptions&, DiskCache*) {
  struct Made {
    wgpu::Device device;
    std::string message;
  };
  const auto answer = std::make_shared<Answer<Made>>();
  answer->future = adapter.RequestDevice(
      &descriptor, wgpu::CallbackMode::AllowSpontaneous,
      [](wgpu::RequestDeviceStatus, wgpu::Device device, wgpu::StringView message,
         std::shared_ptr<Answer<Made>>* held) { from_callback(held)->come({std::move(device), to_string(message)}); },
      held_by_callback(answer));
  return future_of(answer).map([name = info.name](Made made) {
    if (!made.device) throw NoDevice("{} could not be opened: {}", name, made.message);
    return made.device;
  });
}

}  // namespace weft::gpu
