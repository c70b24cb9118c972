#include "support/devices.h"

#include <cstdlib>

#include "core/format.h"
#include "weft/error.h"

namespace weft::test {

namespace {

bool wanted(std::string_view name) {
  const char* filter = std::getenv("WEFT_TEST_DEVICES");
  if (!filter || !*filter) return true;
  const std::string list = std::format(",{},", filter);
  return list.find(std::format(",{},", name)) != std::string::npos;
}

const gpu::AdapterInfo* find(const std::vector<gpu::AdapterInfo>& all, std::string_view backend, bool software) {
  for (const gpu::AdapterInfo& a : all) {
    if (a.backend == backend && a.software() == software) return &a;
  }
  return nullptr;
}

std::vector<TestDevice> open_all() {
  const std::vector<gpu::AdapterInfo> all = gpu::adapters();
  std::vector<TestDevice> out;
  const auto add = [&](std::string name, const gpu::AdapterInfo* adapter, bool minimum) {
    if (!adapter || !wanted(name)) return;
    gpu::DeviceOptions options;
    options.adapter = std::to_string(adapter->index);
    options.minimum = minimum;
    out.push_back({std::move(name), gpu::Device::open(options)});
  };
  add("lavapipe", find(all, "vulkan", true), false);
  add("minimum", find(all, "vulkan", true), true);
  add("opengles", find(all, "opengles", true), true);
  // The one adapter of a browser, or of Node.
  const gpu::AdapterInfo* const browser = !all.empty() && all[0].backend == "webgpu" ? &all[0] : nullptr;
  add("browser", browser, false);
  add("browser_minimum", browser, true);
  if (!browser && !all.empty() && !all[0].software()) {
    add("gpu", &all[0], false);
    add("gpu_minimum", &all[0], true);
  }
  return out;
}

}  // namespace

std::vector<TestDevice>& devices() {
  // Leaked, because statics of Dawn and the drivers may be destroyed before it.
  static std::vector<TestDevice>& opened = *new std::vector<TestDevice>(open_all());
  return opened;
}

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const TestDevice& d : devices()) names.push_back(d.name);
  return names;
}

gpu::Device& device(const std::string& name) {
  for (TestDevice& d : devices()) {
    if (d.name == name) return d.device;
  }
  throw InvalidArgument("no test device is called '{}'", name);
}

gpu::DeviceOptions like(const gpu::Device& device) {
  gpu::DeviceOptions options;
  options.adapter = std::to_string(device.adapter().index);
  return options;
}

}  // namespace weft::test
