#include "gpu/open.h"

#include <algorithm>
#include <limits>

#include "core/format.h"
#include "weft/error.h"
#include "weft/flags.h"
#include "weft/log.h"

namespace weft::gpu {

namespace {

constexpr std::uint64_t kLeastBinding = 4096;

Capabilities capabilities_of(const wgpu::Device& device, const wgpu::Limits& limits, const AdapterInfo& adapter) {
  Capabilities c;
  c.f16 = device.HasFeature(wgpu::FeatureName::ShaderF16);
  c.subgroups = device.HasFeature(wgpu::FeatureName::Subgroups);
  if (c.subgroups) {
    c.subgroup_min = adapter.subgroup_min;
    c.subgroup_max = adapter.subgroup_max;
  }
  c.packed_dot = process_instance().HasWGSLLanguageFeature(wgpu::WGSLLanguageFeatureName::Packed4x8IntegerDotProduct);
  c.timestamps = device.HasFeature(wgpu::FeatureName::TimestampQuery);
  c.timestamps_inside_passes = device.HasFeature(wgpu::FeatureName::ChromiumExperimentalTimestampQueryInsidePasses);
  c.software = adapter.software();
  c.reassociates_fp = adapter.backend == "opengl" || adapter.backend == "opengles";
  if (device.HasFeature(wgpu::FeatureName::ChromiumExperimentalSubgroupMatrix)) {
    c.matrix_shapes = adapter.matrix_shapes;
  }
  c.max_binding = limits.maxStorageBufferBindingSize / 4 * 4;
  c.max_buffer = limits.maxBufferSize;
  c.max_workgroup_memory = limits.maxComputeWorkgroupStorageSize;
  c.max_workgroup_size = limits.maxComputeInvocationsPerWorkgroup;
  c.max_storage_buffers = std::min(limits.maxStorageBuffersPerShaderStage, 32u);
  c.max_workgroups = limits.maxComputeWorkgroupsPerDimension;
  c.storage_alignment = limits.minStorageBufferOffsetAlignment;
  // About a second on the slowest GPU of each kind; drivers' watchdogs wait two seconds or more. Software has none.
  c.max_dispatch_work = adapter.software()           ? std::numeric_limits<double>::infinity()
                        : adapter.type == "discrete" ? 2e13
                                                     : 2e11;
  return c;
}

std::vector<wgpu::FeatureName> wanted_features(const wgpu::Adapter& adapter, const DeviceOptions& options) {
  // Objects may then be dropped by any thread, and callers may use the device beside Weft.
  constexpr auto kThreads = wgpu::FeatureName::ImplicitDeviceSynchronization;
  if (options.minimum) {
    return adapter.HasFeature(kThreads) ? std::vector{kThreads} : std::vector<wgpu::FeatureName>();
  }
  const std::pair<wgpu::FeatureName, bool> wanted[] = {
      {wgpu::FeatureName::CoreFeaturesAndLimits, true},
      {wgpu::FeatureName::ShaderF16, options.f16},
      {wgpu::FeatureName::Subgroups, options.subgroups},
      {wgpu::FeatureName::ChromiumExperimentalSubgroupMatrix, options.matrices && options.subgroups && options.f16},
      {wgpu::FeatureName::TimestampQuery, options.timestamps},
      {wgpu::FeatureName::ChromiumExperimentalTimestampQueryInsidePasses, options.timestamps},
      {kThreads, true},
  };
  std::vector<wgpu::FeatureName> features;
  for (const auto& [feature, on] : wanted) {
    if (on && adapter.HasFeature(feature)) features.push_back(feature);
  }
  return features;
}

void on_lost(const wgpu::Device&, wgpu::DeviceLostReason reason, wgpu::StringView message, Context* context) {
  if (reason == wgpu::DeviceLostReason::CallbackCancelled) return;
  context->set_lost(to_string(message));
  callback_came();
}

void on_error(const wgpu::Device&, wgpu::ErrorType type, wgpu::StringView message, Context* context) {
  context->set_uncaptured({type, to_string(message)});
}

void complete(Context& context, const AdapterInfo& adapter) {
  context.queue = context.device.GetQueue();
  context.device.GetLimits(&context.limits);
  context.capabilities = capabilities_of(context.device, context.limits, adapter);
}

}  // namespace

Future<std::shared_ptr<Device::Impl>> open_adapter(const FoundAdapter& found, const std::string& reason,
                                                   const DeviceOptions& options) {
  // At least one aligned range, so that anything can be bound at all.
  if (options.binding_limit && *options.binding_limit < kLeastBinding) {
    const FlagInfo& flag = info(Flag::binding_limit);
    throw InvalidArgument("the binding limit ({}, --{}, DeviceOptions::binding_limit) is {} bytes, expected {} or more",
                          flag.environment, flag.name, *options.binding_limit, kLeastBinding);
  }
  auto context = std::make_shared<Context>();
  context->owned = true;
  context->timed_wait = can_wait();
  context->validation = options.validation;
  context->instance = process_instance();
  DiskCache* const cache = disk_cache_of(found.info, options.cache_dir);
  const AdapterInfo adapter_info = found.info;
  auto made = found.request(options.minimum).and_then([=](const wgpu::Adapter& adapter) {
    if (!adapter) throw NoDevice("{} is gone", adapter_info.name);
    const std::vector<wgpu::FeatureName> features = wanted_features(adapter, options);
    wgpu::Limits limits;
    adapter.GetLimits(&limits);
    limits.nextInChain = nullptr;
    wgpu::DeviceDescriptor descriptor;
    descriptor.label = "weft";
    descriptor.requiredFeatures = features.data();
    descriptor.requiredFeatureCount = features.size();
    if (!options.minimum) descriptor.requiredLimits = &limits;
    descriptor.SetDeviceLostCallback(wgpu::CallbackMode::AllowSpontaneous, on_lost, context.get());
    descriptor.SetUncapturedErrorCallback(on_error, context.get());
    return create_device(adapter, descriptor, adapter_info, options, cache);
  });
  return std::move(made).map([=](wgpu::Device device) {
    if (!device) {
      throw NoDevice("{} ({}) could not be opened: {}", adapter_info.name, adapter_info.backend,
                     context->failure_text("the driver refused a device"));
    }
    context->device = std::move(device);
    complete(*context, adapter_info);
    context->capabilities.minimum = options.minimum;
    context->capabilities.packed_dot &= !options.minimum;
    if (options.binding_limit) {
      std::uint64_t& most = context->capabilities.max_binding;
      most = std::min(most, *options.binding_limit / 4 * 4);
    }
    if (options.dispatch_limit) {
      context->capabilities.max_dispatch_work = std::max(1.0, static_cast<double>(*options.dispatch_limit));
    }
    log(LogLevel::info, "device: {}", reason);
    auto impl = std::make_shared<Device::Impl>(context, adapter_info, reason, options.memory_limit);
    impl->debug_labels = options.debug_labels;
    impl->cache = cache;
    return impl;
  });
}

std::shared_ptr<Device::Impl> adopt_device(wgpu::Device device, bool timed_wait) {
  if (!device) throw InvalidArgument("adopt: the device is null");
  auto context = std::make_shared<Context>();
  const wgpu::Adapter adapter = device.GetAdapter();
  context->instance = adapter.GetInstance();
  context->device = std::move(device);
  context->timed_wait = timed_wait;
  AdapterInfo info = describe(adapter);
  complete(*context, info);
  std::string reason = std::format("{} ({}): the caller's device", info.name, info.backend);
  return std::make_shared<Device::Impl>(std::move(context), std::move(info), std::move(reason), std::nullopt);
}

}  // namespace weft::gpu
