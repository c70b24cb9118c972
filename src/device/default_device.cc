#include <mutex>
#include <optional>
#include <utility>

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

thread_local std::optional<Device> of_thread;

}  // namespace

Device default_device() {
  if (of_thread) return *of_thread;
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

DefaultDeviceScope::DefaultDeviceScope(const Device& device) : before_(std::exchange(of_thread, device)) {}
DefaultDeviceScope::~DefaultDeviceScope() { of_thread = std::move(before_); }

}  // namespace weft
