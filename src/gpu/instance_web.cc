// The browser's WebGPU (bindings/web). It gives adapters and devices later; here that is waited for, which only test
// programs can.
#include <algorithm>
#include <span>

#include "core/format.h"
#include "gpu/context.h"
#include "gpu/instance.h"
#include "weft/error.h"

namespace weft::gpu {

namespace {

// Null if there is none.
wgpu::Adapter request_adapter(wgpu::FeatureLevel level) {
  if (!can_wait()) return nullptr;
  wgpu::RequestAdapterOptions options;
  options.featureLevel = level;
  options.powerPreference = wgpu::PowerPreference::HighPerformance;
  wgpu::Adapter found;
  const wgpu::Future future = process_instance().RequestAdapter(
      &options, wgpu::CallbackMode::WaitAnyOnly,
      [](wgpu::RequestAdapterStatus, wgpu::Adapter adapter, wgpu::StringView, wgpu::Adapter* out) {
        *out = std::move(adapter);
      },
      &found);
  process_instance().WaitAny(future, UINT64_MAX);
  return found;
}

}  // namespace

wgpu::Instance process_instance() {
  static const wgpu::Instance& instance = *new wgpu::Instance(wgpu::CreateInstance());
  return instance;
}

bool can_wait() {
  // Asked at every call that might wait.
  static const bool can = [] {
    wgpu::SupportedInstanceFeatures features;
    wgpu::GetInstanceFeatures(&features);
    const std::span<const wgpu::InstanceFeatureName> all(features.features, features.featureCount);
    return std::ranges::find(all, wgpu::InstanceFeatureName::TimedWaitAny) != all.end();
  }();
  return can;
}

std::string_view feature_name(wgpu::FeatureName feature) {
  switch (feature) {
    case wgpu::FeatureName::CoreFeaturesAndLimits:
      return "core-features-and-limits";
    case wgpu::FeatureName::ShaderF16:
      return "shader-f16";
    case wgpu::FeatureName::Subgroups:
      return "subgroups";
    case wgpu::FeatureName::TimestampQuery:
      return "timestamp-query";
    default:
      return {};
  }
}

wgpu::Adapter FoundAdapter::request(bool at_compatibility_level) const {
  return request_adapter(at_compatibility_level ? wgpu::FeatureLevel::Compatibility : wgpu::FeatureLevel::Core);
}

// A browser offers one adapter. It may lack WebGPU's core level.
const std::vector<FoundAdapter>& found_adapters() {
  static const auto& found = *[] {
    auto* all = new std::vector<FoundAdapter>;
    for (const auto level : {wgpu::FeatureLevel::Core, wgpu::FeatureLevel::Compatibility}) {
      const wgpu::Adapter adapter = request_adapter(level);
      if (!adapter) continue;
      all->push_back({describe(adapter), wgpu::BackendType::WebGPU});
      break;
    }
    return all;
  }();
  return found;
}

const FoundAdapter* best_hardware() {
  const std::vector<FoundAdapter>& found = found_adapters();
  return found.empty() || found.front().info.software() ? nullptr : &found.front();
}

}  // namespace weft::gpu
