// The browser's WebGPU (bindings/web), which gives adapters and devices later.
#include <algorithm>
#include <span>

#include "core/format.h"
#include "gpu/answer_web.h"
#include "gpu/context.h"
#include "gpu/instance.h"
#include "weft/error.h"

namespace weft::gpu {

namespace {

// Null if there is none.
Future<wgpu::Adapter> request_adapter(wgpu::FeatureLevel level) {
  wgpu::RequestAdapterOptions options;
  options.featureLevel = level;
  options.powerPreference = wgpu::PowerPreference::HighPerformance;
  const auto answer = std::make_shared<Answer<wgpu::Adapter>>();
  answer->future = process_instance().RequestAdapter(
      &options, wgpu::CallbackMode::AllowSpontaneous,
      [](wgpu::RequestAdapterStatus, wgpu::Adapter adapter, wgpu::StringView,
         std::shared_ptr<Answer<wgpu::Adapter>>* held) { from_callback(held)->come(std::move(adapter)); },
      held_by_callback(answer));
  return future_of(answer);
}

// A browser offers one adapter.
std::vector<FoundAdapter>& known_adapters() {
  static auto& known = *new std::vector<FoundAdapter>;
  return known;
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

bool callbacks_come_alone() { return true; }

Future<wgpu::Adapter> FoundAdapter::request(bool at_compatibility_level) const {
  return request_adapter(at_compatibility_level ? wgpu::FeatureLevel::Compatibility : wgpu::FeatureLevel::Core);
}

// A browser that has none now may have one later, when its GPU is back.
Future<void> look_for_adapters() {
  if (!known_adapters().empty()) return Future<void>({}, [] {});
  return request_adapter(wgpu::FeatureLevel::Core)
      .and_then([](wgpu::Adapter core) {
        // It may lack WebGPU's core level.
        return core ? Future<wgpu::Adapter>({}, [core] { return core; })
                    : request_adapter(wgpu::FeatureLevel::Compatibility);
      })
      .map([](const wgpu::Adapter& adapter) {
        if (adapter && known_adapters().empty()) {
          known_adapters().push_back({describe(adapter), wgpu::BackendType::WebGPU});
        }
      });
}

const std::vector<FoundAdapter>& found_adapters() {
  if (known_adapters().empty() && can_wait()) look_for_adapters().get();
  return known_adapters();
}

const FoundAdapter* best_hardware() {
  const std::vector<FoundAdapter>& found = found_adapters();
  return found.empty() || found.front().info.software() ? nullptr : &found.front();
}

}  // namespace weft::gpu
