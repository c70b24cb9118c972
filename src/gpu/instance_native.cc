// Dawn itself: its instance, and the adapters of this machine. On the web, instance_web.cc.
#include <dawn/native/DawnNative.h>

#include <algorithm>

#include "core/format.h"
#include "core/system.h"
#include "gpu/instance.h"
#include "gpu/quiet_stderr.h"
#include "gpu/score.h"
#include "gpu/surfaceless.h"
#include "weft/log.h"

namespace weft::gpu {

namespace {

// Never destroyed: devices of other translation units may outlive a static here.
dawn::native::Instance& native_instance() {
  static dawn::native::Instance& instance = *[] {
    allow_surfaceless();
    const wgpu::InstanceFeatureName features[] = {wgpu::InstanceFeatureName::TimedWaitAny};
    const char* const toggles[] = {"allow_unsafe_apis"};
    wgpu::DawnTogglesDescriptor chained;
    chained.enabledToggles = toggles;
    chained.enabledToggleCount = std::size(toggles);
    // Missing drivers are no error; Dawn's messages go to the log.
    dawn::native::DawnInstanceDescriptor native;
    native.SetLoggingCallback([](wgpu::LoggingType, wgpu::StringView message) {
      log(LogLevel::debug, "WebGPU: {}", std::string_view(message));
    });
    chained.nextInChain = &native;
    wgpu::InstanceDescriptor descriptor;
    descriptor.nextInChain = &chained;
    descriptor.requiredFeatures = features;
    descriptor.requiredFeatureCount = std::size(features);
    return new dawn::native::Instance(&descriptor);
  }();
  return instance;
}

// In order of preference; a platform has one of the first three.
constexpr wgpu::BackendType kBackends[] = {wgpu::BackendType::Vulkan, wgpu::BackendType::Metal,
                                           wgpu::BackendType::D3D12, wgpu::BackendType::OpenGLES,
                                           wgpu::BackendType::OpenGL};
// The first three have WebGPU's core level; starting OpenGL only to list its adapters takes tens of milliseconds.
constexpr std::span<const wgpu::BackendType> kCoreBackends = std::span(kBackends).first(3);

// Drivers of OpenGL stay loaded. Dawn unloads them with the adapters that it has listed; a thread of Mesa's that has
// not begun to run by then would begin at an address where no code is any more.
void keep_opengl_loaded() { [[maybe_unused]] static const auto absent = cannot_load("libEGL.so"); }

std::vector<dawn::native::Adapter> enumerate(wgpu::FeatureLevel level, wgpu::BackendType backend) {
  if (backend == wgpu::BackendType::OpenGLES || backend == wgpu::BackendType::OpenGL) keep_opengl_loaded();
  // f16 on NVIDIA is behind a toggle; the unsafe ones are cooperative matrices and timestamps inside passes.
  const char* const toggles[] = {"allow_unsafe_apis", "vulkan_enable_f16_on_nvidia"};
  wgpu::DawnTogglesDescriptor chained;
  chained.enabledToggles = toggles;
  chained.enabledToggleCount = std::size(toggles);
  wgpu::RequestAdapterOptions options;
  options.nextInChain = &chained;
  options.featureLevel = level;
  options.backendType = backend;
  return native_instance().EnumerateAdapters(&options);
}

int rank(const AdapterInfo& info) {
  int backend = 0;
  for (const wgpu::BackendType b : kBackends) {
    if (info.backend == backend_name(b)) break;
    ++backend;
  }
  const int type = info.type == "discrete" ? 0 : info.type == "integrated" ? 1 : info.type == "unknown" ? 2 : 3;
  return type * 16 + backend;
}

bool same_hardware(const AdapterInfo& a, const AdapterInfo& b) {
  return a.backend == b.backend && a.name == b.name && a.vendor == b.vendor && a.driver == b.driver;
}

std::vector<FoundAdapter> look(std::span<const wgpu::BackendType> backends) {
  std::vector<FoundAdapter> all;
  for (const wgpu::BackendType backend : backends) {
    int position = 0;
    for (const auto& a : enumerate(wgpu::FeatureLevel::Core, backend)) {
      all.push_back({describe(wgpu::Adapter(a.Get())), backend, position++, -1});
    }
    position = 0;
    for (const auto& a : enumerate(wgpu::FeatureLevel::Compatibility, backend)) {
      AdapterInfo info = describe(wgpu::Adapter(a.Get()));
      const auto same = std::ranges::find_if(
          all, [&](const FoundAdapter& f) { return f.compatibility < 0 && same_hardware(f.info, info); });
      if (same != all.end())
        same->compatibility = position;
      else
        all.push_back({std::move(info), backend, -1, position});
      ++position;
    }
  }
  std::ranges::stable_sort(all, {}, [](const FoundAdapter& f) { return rank(f.info); });
  return all;
}

std::vector<FoundAdapter> look_quietly(std::span<const wgpu::BackendType> backends) {
  std::vector<FoundAdapter> all;
  quiet_stderr([&] { all = look(backends); });
  order_by_score(all, measured_score);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].info.index = static_cast<int>(i);
  return all;
}

}  // namespace

wgpu::Instance process_instance() { return wgpu::Instance(native_instance().Get()); }

std::string_view feature_name(wgpu::FeatureName feature) {
  const auto* info = dawn::native::GetFeatureInfo(feature);
  return info ? info->name : std::string_view();
}

bool can_wait() { return true; }
bool callbacks_come_alone() { return false; }

Future<wgpu::Adapter> FoundAdapter::request(bool at_compatibility_level) const {
  const bool low = core < 0 || (at_compatibility_level && compatibility >= 0);
  const auto found = enumerate(low ? wgpu::FeatureLevel::Compatibility : wgpu::FeatureLevel::Core, backend);
  const auto position = static_cast<std::size_t>(low ? compatibility : core);
  return Future<wgpu::Adapter>(
      {}, [adapter = position < found.size() ? wgpu::Adapter(found[position].Get()) : nullptr] { return adapter; });
}

Future<void> look_for_adapters() {
  return Future<void>({}, [] {});
}

const std::vector<FoundAdapter>& found_adapters() {
  static const auto& found = *new std::vector<FoundAdapter>(look_quietly(kBackends));
  return found;
}

const FoundAdapter* best_hardware() {
  static const auto& core = *new std::vector<FoundAdapter>(look_quietly(kCoreBackends));
  // No adapter of OpenGL ranks above a discrete GPU of these backends.
  const auto& found = !core.empty() && core.front().info.type == "discrete" ? core : found_adapters();
  return found.empty() || found.front().info.software() ? nullptr : &found.front();
}

}  // namespace weft::gpu
