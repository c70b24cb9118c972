#include <algorithm>
#include <limits>

#include "gpu/choose.h"
#include "gpu/device_impl.h"
#include "gpu/disk_cache.h"
#include "gpu/upload.h"
#include "weft/error.h"
#include "weft/log.h"

namespace weft::gpu {

namespace {

Capabilities capabilities_of(const wgpu::Device& device, const wgpu::Limits& limits, const AdapterInfo& adapter) {
  Capabilities c;
  c.f16 = device.HasFeature(wgpu::FeatureName::ShaderF16);
  c.subgroups = device.HasFeature(wgpu::FeatureName::Subgroups);
  if (c.subgroups) {
    c.subgroup_min = adapter.subgroup_min;
    c.subgroup_max = adapter.subgroup_max;
  }
  c.timestamps = device.HasFeature(wgpu::FeatureName::TimestampQuery);
  c.timestamps_inside_passes =
      device.HasFeature(wgpu::FeatureName::ChromiumExperimentalTimestampQueryInsidePasses);
  c.software = adapter.software();
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
  return c;
}

std::vector<wgpu::FeatureName> wanted_features(const wgpu::Adapter& adapter, const DeviceOptions& options) {
  if (options.minimum) return {};
  const std::pair<wgpu::FeatureName, bool> wanted[] = {
      {wgpu::FeatureName::CoreFeaturesAndLimits, true},
      {wgpu::FeatureName::ShaderF16, options.f16},
      {wgpu::FeatureName::Subgroups, options.subgroups},
      {wgpu::FeatureName::ChromiumExperimentalSubgroupMatrix, options.matrices && options.subgroups && options.f16},
      {wgpu::FeatureName::TimestampQuery, options.timestamps},
      {wgpu::FeatureName::ChromiumExperimentalTimestampQueryInsidePasses, options.timestamps},
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
}

void on_error(const wgpu::Device&, wgpu::ErrorType type, wgpu::StringView message, Context* context) {
  context->set_uncaptured({type, to_string(message)});
}

// Dawn asks twice: for the size, then for the bytes.
std::size_t load_blob(std::size_t key_size, const std::uint8_t* key, std::size_t size, std::uint8_t* out,
                      void* cache, void*) noexcept {
  thread_local std::vector<std::byte> key_found, value;
  const std::span wanted(reinterpret_cast<const std::byte*>(key), key_size);
  try {
    if (out == nullptr || !std::ranges::equal(wanted, key_found)) {
      value = static_cast<DiskCache*>(cache)->load(wanted);
      key_found.assign(wanted.begin(), wanted.end());
    }
    if (out == nullptr) return value.size();
    const std::size_t copied = size == value.size() ? size : 0;
    std::ranges::copy(std::span(value).first(copied), reinterpret_cast<std::byte*>(out));
    key_found.clear();
    value = {};
    return copied;
  } catch (...) {
    return 0;
  }
}

void store_blob(std::size_t key_size, const std::uint8_t* key, std::size_t size, const std::uint8_t* value,
                void* cache, void*) noexcept {
  static_cast<DiskCache*>(cache)->store({reinterpret_cast<const std::byte*>(key), key_size},
                                        {reinterpret_cast<const std::byte*>(value), size});
}

void complete(Context& context, const AdapterInfo& adapter) {
  context.queue = context.device.GetQueue();
  context.device.GetLimits(&context.limits);
  context.capabilities = capabilities_of(context.device, context.limits, adapter);
}

}  // namespace

Device::Impl::Impl(std::shared_ptr<Context> c, AdapterInfo info, std::string why,
                   std::optional<std::uint64_t> memory_limit)
    : context(std::move(c)),
      adapter(std::move(info)),
      reason(std::move(why)),
      pool(std::make_shared<BufferPool>(context, memory_limit)),
      staging(std::make_shared<StagingPool>(context)),
      pipelines(context),
      bind_groups(context, pool),
      pages(context),
      uploads(context) {
  // Where the CPU can write a buffer itself, the queue does so.
  if (adapter.type != "discrete") ring_from = std::numeric_limits<std::uint64_t>::max();
  pool->on_destroy = [this](const wgpu::Buffer& buffer) { bind_groups.forget(buffer); };
}

Device::Impl::~Impl() {
  pool->on_destroy = nullptr;
  if (context->owned) context->device.Destroy();
  // Reads that still wait fail now; whoever asked to be called is told.
  try {
    context->process_events();
    for (const auto& state : callbacks) {
      if (!state->settled()) {
        state->fail(std::make_exception_ptr(DeviceLost("the device was closed before this read was submitted")));
      }
    }
    deliver_callbacks();
  } catch (const std::exception& e) {
    log(LogLevel::warning, "closing a GPU device: {}", e.what());
  }
}

void Device::Impl::deliver_callbacks() {
  // A callback may start further reads, so the list is walked by index and may grow; get() may have called one already.
  for (std::size_t i = 0; i < callbacks.size();) {
    if (callbacks[i]->callback && !callbacks[i]->settled()) {
      ++i;
      continue;
    }
    const auto state = std::move(callbacks[i]);
    callbacks.erase(callbacks.begin() + static_cast<std::ptrdiff_t>(i));
    if (state->callback) state->deliver();
  }
}

Device::Device(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

Device Device::open(const DeviceOptions& options) {
  const Choice choice = choose(options.adapter);
  const wgpu::Adapter adapter = choice.adapter->request(options.minimum);
  if (!adapter) throw NoDevice("{} is gone", choice.adapter->info.name);
  // Content of a new buffer is undefined here, so Dawn need not clear it.
  std::vector<const char*> enabled = {"allow_unsafe_apis"};
  std::vector<const char*> disabled = {"timestamp_quantization", "lazy_clear_resource_on_first_use"};
  if (!options.validation) enabled.push_back("skip_validation");
  if (!options.robustness) enabled.push_back("disable_robustness");
  if (options.debug_labels) enabled.push_back("use_user_defined_labels_in_backend");
  wgpu::DawnTogglesDescriptor toggles;
  toggles.enabledToggles = enabled.data();
  toggles.enabledToggleCount = enabled.size();
  toggles.disabledToggles = disabled.data();
  toggles.disabledToggleCount = disabled.size();
  // The C form: the C++ one cannot set these callbacks.
  WGPUDawnCacheDeviceDescriptor blobs = WGPU_DAWN_CACHE_DEVICE_DESCRIPTOR_INIT;
  if (const auto root = DiskCache::root_of(options.cache_dir); !root.empty()) {
    const AdapterInfo& a = choice.adapter->info;
    DiskCache& cache = DiskCache::of(root, std::format("{}|{}|{}|{}", a.name, a.vendor, a.driver, a.backend));
    blobs.dawnLoadCacheDataCallbackInfo.callback = load_blob;
    blobs.dawnLoadCacheDataCallbackInfo.userdata1 = &cache;
    blobs.dawnStoreCacheDataCallbackInfo.callback = store_blob;
    blobs.dawnStoreCacheDataCallbackInfo.userdata1 = &cache;
    toggles.nextInChain = reinterpret_cast<wgpu::ChainedStruct*>(&blobs.chain);
  }

  const std::vector<wgpu::FeatureName> features = wanted_features(adapter, options);
  wgpu::Limits limits;
  adapter.GetLimits(&limits);
  limits.nextInChain = nullptr;
  auto context = std::make_shared<Context>();
  context->owned = true;
  context->timed_wait = true;
  context->validation = options.validation;
  wgpu::DeviceDescriptor descriptor;
  descriptor.nextInChain = &toggles;
  descriptor.label = "weft";
  descriptor.requiredFeatures = features.data();
  descriptor.requiredFeatureCount = features.size();
  if (!options.minimum) descriptor.requiredLimits = &limits;
  descriptor.SetDeviceLostCallback(wgpu::CallbackMode::AllowSpontaneous, on_lost, context.get());
  descriptor.SetUncapturedErrorCallback(on_error, context.get());

  context->instance = process_instance();
  context->device = adapter.CreateDevice(&descriptor);
  if (!context->device) {
    throw NoDevice("{} ({}) could not be opened: {}", choice.adapter->info.name, choice.adapter->info.backend,
                   context->failure_text("the driver refused a device"));
  }
  complete(*context, choice.adapter->info);
  log(LogLevel::info, "device: {}", choice.reason);
  auto impl = std::make_shared<Impl>(std::move(context), choice.adapter->info, choice.reason, options.memory_limit);
  impl->debug_labels = options.debug_labels;
  return Device(std::move(impl));
}

Device Device::adopt(wgpu::Device device, bool timed_wait) {
  if (!device) throw InvalidArgument("adopt: the device is null");
  auto context = std::make_shared<Context>();
  const wgpu::Adapter adapter = device.GetAdapter();
  context->instance = adapter.GetInstance();
  context->device = std::move(device);
  context->timed_wait = timed_wait;
  AdapterInfo info = describe(adapter);
  complete(*context, info);
  std::string reason = std::format("{} ({}): the caller's device", info.name, info.backend);
  return Device(std::make_shared<Impl>(std::move(context), std::move(info), std::move(reason), std::nullopt));
}

const wgpu::Device& Device::webgpu() const { return impl_->context->device; }
const wgpu::Queue& Device::queue() const { return impl_->context->queue; }
const AdapterInfo& Device::adapter() const { return impl_->adapter; }
const Capabilities& Device::capabilities() const { return impl_->context->capabilities; }
const std::string& Device::reason() const { return impl_->reason; }

Buffer Device::allocate(std::uint64_t bytes) const {
  impl_->context->check();
  return impl_->pool->allocate(bytes);
}

void Device::upload(const Buffer& target, std::uint64_t offset, std::span<const std::byte> bytes) const {
  upload_bytes(*this, target, offset, bytes);
}

Readback Device::read(const Buffer& source, std::uint64_t offset, std::uint64_t bytes) const {
  Encoder encoder(*this);
  Readback result = encoder.read(source, offset, bytes);
  encoder.submit();
  return result;
}

void Device::wait() const {
  impl_->context->check();
  impl_->context->wait(impl_->context->queue.OnSubmittedWorkDone(
      wgpu::CallbackMode::WaitAnyOnly, [](wgpu::QueueWorkDoneStatus, wgpu::StringView) {}));
  impl_->context->process_events();
  impl_->deliver_callbacks();
  impl_->context->check();
}

void Device::poll() const {
  impl_->context->process_events();
  impl_->deliver_callbacks();
}

void Device::set_memory_limit(std::optional<std::uint64_t> bytes) const { impl_->pool->set_limit(bytes); }
MemoryFigures Device::memory() const { return impl_->pool->figures(); }
void Device::trim() const {
  impl_->pool->trim();
  impl_->staging->trim();
  impl_->uploads.trim();
}

}  // namespace weft::gpu
