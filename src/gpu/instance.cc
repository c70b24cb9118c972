#include "gpu/instance.h"

#include <algorithm>
#include <format>
#include <optional>

#include "core/format.h"
#include "gpu/context.h"
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

struct BackendName {
  wgpu::BackendType type;
  std::string_view name;
};

// In order of preference; a platform has one of the first three.
constexpr BackendName kBackends[] = {
    {wgpu::BackendType::Vulkan, "vulkan"}, {wgpu::BackendType::Metal, "metal"},
    {wgpu::BackendType::D3D12, "d3d12"},   {wgpu::BackendType::OpenGLES, "opengles"},
    {wgpu::BackendType::OpenGL, "opengl"},
};
// The first three have WebGPU's core level; starting OpenGL only to list its adapters takes tens of milliseconds.
constexpr std::span<const BackendName> kCoreBackends = std::span(kBackends).first(3);

std::string_view backend_name(wgpu::BackendType type) {
  for (const BackendName& b : kBackends) {
    if (b.type == type) return b.name;
  }
  return "other";
}

std::string_view type_name(wgpu::AdapterType type) {
  switch (type) {
    case wgpu::AdapterType::DiscreteGPU:
      return "discrete";
    case wgpu::AdapterType::IntegratedGPU:
      return "integrated";
    case wgpu::AdapterType::CPU:
      return "cpu";
    default:
      return "unknown";
  }
}

std::optional<DType> matrix_type(wgpu::SubgroupMatrixComponentType type) {
  switch (type) {
    case wgpu::SubgroupMatrixComponentType::F32:
      return DType::f32;
    case wgpu::SubgroupMatrixComponentType::F16:
      return DType::f16;
    case wgpu::SubgroupMatrixComponentType::U32:
      return DType::u32;
    case wgpu::SubgroupMatrixComponentType::I32:
      return DType::i32;
    case wgpu::SubgroupMatrixComponentType::U8:
      return DType::u8;
    case wgpu::SubgroupMatrixComponentType::I8:
      return DType::i8;
    default:
      return std::nullopt;
  }
}

std::vector<dawn::native::Adapter> enumerate(wgpu::FeatureLevel level, wgpu::BackendType backend) {
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
  for (const BackendName& b : kBackends) {
    if (info.backend == b.name) break;
    ++backend;
  }
  const int type = info.type == "discrete" ? 0 : info.type == "integrated" ? 1 : info.type == "unknown" ? 2 : 3;
  return type * 16 + backend;
}

// OpenGL does not report that a renderer runs on the CPU, but its name shows it.
bool is_software_renderer(std::string_view name) {
  for (const std::string_view known : {"llvmpipe", "lavapipe", "softpipe", "SwiftShader", "Microsoft Basic Render"}) {
    if (name.find(known) != std::string_view::npos) return true;
  }
  return false;
}

bool same_hardware(const AdapterInfo& a, const AdapterInfo& b) {
  return a.backend == b.backend && a.name == b.name && a.vendor == b.vendor && a.driver == b.driver;
}

}  // namespace

wgpu::Instance process_instance() { return wgpu::Instance(native_instance().Get()); }

std::vector<MatrixShape> matrix_shapes(const wgpu::Adapter& adapter) {
  std::vector<MatrixShape> shapes;
  if (!adapter.HasFeature(wgpu::FeatureName::ChromiumExperimentalSubgroupMatrix)) return shapes;
  wgpu::AdapterPropertiesSubgroupMatrixConfigs configs;
  wgpu::AdapterInfo info;
  info.nextInChain = &configs;
  adapter.GetInfo(&info);
  for (std::size_t i = 0; i < configs.configCount; ++i) {
    const wgpu::SubgroupMatrixConfig& c = configs.configs[i];
    const auto operand = matrix_type(c.componentType), result = matrix_type(c.resultComponentType);
    if (operand && result) shapes.push_back({*operand, *result, c.M, c.N, c.K});
  }
  return shapes;
}

AdapterInfo describe(const wgpu::Adapter& adapter) {
  AdapterInfo out;
  wgpu::AdapterInfo info;
  adapter.GetInfo(&info);
  out.name = to_string(info.device);
  out.vendor = to_string(info.vendor);
  out.architecture = to_string(info.architecture);
  out.driver = to_string(info.description);
  out.backend = backend_name(info.backendType);
  out.type = is_software_renderer(out.name) ? "cpu" : type_name(info.adapterType);
  out.compatibility = !adapter.HasFeature(wgpu::FeatureName::CoreFeaturesAndLimits);
  if (adapter.HasFeature(wgpu::FeatureName::Subgroups)) {
    out.subgroup_min = info.subgroupMinSize;
    out.subgroup_max = info.subgroupMaxSize;
  }
  adapter.GetLimits(&out.limits);
  wgpu::SupportedFeatures features;
  adapter.GetFeatures(&features);
  for (std::size_t i = 0; i < features.featureCount; ++i) {
    if (const auto* f = dawn::native::GetFeatureInfo(features.features[i])) out.features.emplace_back(f->name);
  }
  std::ranges::sort(out.features);
  out.matrix_shapes = matrix_shapes(adapter);
  return out;
}

namespace {

std::vector<FoundAdapter> look(std::span<const BackendName> backends) {
  std::vector<FoundAdapter> all;
  for (const BackendName& backend : backends) {
    int position = 0;
    for (const auto& a : enumerate(wgpu::FeatureLevel::Core, backend.type)) {
      all.push_back({describe(wgpu::Adapter(a.Get())), backend.type, position++, -1});
    }
    position = 0;
    for (const auto& a : enumerate(wgpu::FeatureLevel::Compatibility, backend.type)) {
      AdapterInfo info = describe(wgpu::Adapter(a.Get()));
      const auto same = std::ranges::find_if(
          all, [&](const FoundAdapter& f) { return f.compatibility < 0 && same_hardware(f.info, info); });
      if (same != all.end())
        same->compatibility = position;
      else
        all.push_back({std::move(info), backend.type, -1, position});
      ++position;
    }
  }
  std::ranges::stable_sort(all, {}, [](const FoundAdapter& f) { return rank(f.info); });
  return all;
}

std::vector<FoundAdapter> look_quietly(std::span<const BackendName> backends) {
  std::vector<FoundAdapter> all;
  quiet_stderr([&] { all = look(backends); });
  order_by_score(all, measured_score);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].info.index = static_cast<int>(i);
  return all;
}

}  // namespace

wgpu::Adapter FoundAdapter::request(bool at_compatibility_level) const {
  const bool low = core < 0 || (at_compatibility_level && compatibility >= 0);
  const auto found = enumerate(low ? wgpu::FeatureLevel::Compatibility : wgpu::FeatureLevel::Core, backend);
  const auto position = static_cast<std::size_t>(low ? compatibility : core);
  return position < found.size() ? wgpu::Adapter(found[position].Get()) : nullptr;
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

std::vector<AdapterInfo> adapters() {
  std::vector<AdapterInfo> all;
  for (const FoundAdapter& f : found_adapters()) all.push_back(f.info);
  return all;
}

}  // namespace weft::gpu
