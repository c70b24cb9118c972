#include <mutex>
#include <optional>

#include "weft/device.h"

namespace weft {
namespace {

struct Default {
  std::mutex mutex;
  std::optional<Device> device;
};
Default& the_default() {
  static auto& value = *new Default;
  return value;
}

}  // namespace

Device default_device() {
  Default& d = the_default();
  const std::lock_guard lock(d.mutex);
  if (!d.device) d.device = Device::open();
  return *d.device;
}

void set_default_device(const Device& device) {
  Default& d = the_default();
  const std::lock_guard lock(d.mutex);
  d.device = device;
}

}  // namespace weft
