#include "gpu/self_test.h"

#include "core/format.h"
#include "gpu/device_impl.h"
#include "gpu/disk_cache.h"
#include "weft/error.h"
#include "weft/log.h"

namespace weft::gpu {

bool passes_self_test(const Device& device, std::string_view key, const std::function<bool()>& test) {
  Device::Impl& impl = device.impl();
  {
    const std::lock_guard held(impl.context->lock);
    if (const auto known = impl.verdicts.find(std::string(key)); known != impl.verdicts.end()) return known->second;
  }
  constexpr std::byte kPassed{1}, kFailed{2};
  const std::string name = std::format("self-test: {}", key);
  const auto bytes = std::as_bytes(std::span(name));
  bool passed = false;
  const auto stored = impl.cache ? impl.cache->load(bytes) : std::vector<std::byte>();
  if (stored.size() == 1 && (stored[0] == kPassed || stored[0] == kFailed)) {
    passed = stored[0] == kPassed;
  } else {
    bool lasting = true;
    try {
      passed = test();
    } catch (const DeviceLost&) {
      throw;
    } catch (const OutOfMemory& e) {
      lasting = false;  // says nothing about the kind of device
      log(LogLevel::debug, "{}: {}", name, e.what());
    } catch (const Error& e) {
      log(LogLevel::debug, "{}: {}", name, e.what());
    }
    if (!passed) {
      log(LogLevel::warning, "{} does not pass its self-test on {}; a slower form is used", key, impl.adapter.name);
    }
    if (lasting && impl.cache) impl.cache->store(bytes, std::span(passed ? &kPassed : &kFailed, 1));
  }
  // Threads that test at the same time keep to one verdict.
  const std::lock_guard held(impl.context->lock);
  return impl.verdicts.emplace(key, passed).first->second;
}

}  // namespace weft::gpu
