#include "gpu/instance.h"

#include <algorithm>
#include <optional>

#include "gpu/context.h"

namespace weft::gpu {

namespace {

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

// OpenGL does not report that a renderer runs on the CPU, but its name shows it.
bool is_software_renderer(std::string_view name) {
  for (const std::string_view known : {"llvmpipe", "lavapipe", "softpipe", "SwiftShader", "Microsoft Basic Render"}) {
    if (name.find(known) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

std::string_view backend_name(wgpu::BackendType type) {
  switch (type) {
    case wgpu::BackendType::Vulkan:
      return "vulkan";
    case wgpu::BackendType::Metal:
      return "metal";
    case wgpu::BackendType::D3D12:
      return "d3d12";
    case wgpu::BackendType::OpenGLES:
      return "opengles";
    case wgpu::BackendType::OpenGL:
      return "opengl";
    case wgpu::BackendType::WebGPU:
      return "webgpu";
    default:
      return "other";
  }
}

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
    if (const std::string_view name = feature_name(features.features[i]); !name.empty())
      out.features.emplace_back(name);
  }
  std::ranges::sort(out.features);
  out.matrix_shapes = matrix_shapes(adapter);
  return out;
}

std::vector<AdapterInfo> adapters() {
  std::vector<AdapterInfo> all;
  for (const FoundAdapter& f : found_adapters()) all.push_back(f.info);
  return all;
}

}  // namespace weft::gpu
