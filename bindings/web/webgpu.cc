// The functions of webgpu.h that Weft uses, over the WebGPU of the page (webgpu.js).
//
// Answers that come later: a call takes the number of a future; when JavaScript has the answer, it calls gpu_settled.
// A callback of the mode AllowSpontaneous is called there, others by wgpuInstanceProcessEvents or wgpuInstanceWaitAny.
// A page's program cannot wait: wgpuInstanceWaitAny with a time is an error unless the program defines gpu_suspend.
#include <emscripten.h>
#include <webgpu/webgpu.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

extern "C" {

// ---- webgpu.js
void gpu_release(int object);
int gpu_has_wgsl_feature(const char* name, int bytes);
void gpu_request_adapter(int future, int compatibility, int power, int fallback);
double gpu_limit(int object, const char* name, int bytes);
int gpu_has_feature(int object, const char* name, int bytes);
char* gpu_info_text(int adapter, const char* name, int bytes);
double gpu_info_number(int adapter, const char* name, int bytes);
void gpu_request_device(int future, int adapter, const char* descriptor, int bytes);
int gpu_device_adapter(int device);
void gpu_watch(int device);
void gpu_device_destroy(int device);
int gpu_device_queue(int device);
void gpu_push_error_scope(int device, int filter);
void gpu_pop_error_scope(int future, int device);
int gpu_create_buffer(int device, double size, int usage, int mapped, const char* label, int bytes);
void gpu_destroy_buffer(int buffer);
void gpu_map(int future, int buffer, int mode, double offset, double size);
void gpu_read_mapped(int buffer, double offset, double size, void* target);
void gpu_write_mapped(int buffer, double offset, double size, const void* source);
void gpu_unmap(int buffer);
int gpu_create_shader_module(int device, const char* code, int code_bytes, const char* label, int bytes);
void gpu_compilation_info(int future, int module);
int gpu_create_bind_group_layout(int device, const std::uint32_t* entries, int count, const char* label, int bytes);
int gpu_create_pipeline_layout(int device, int group, const char* label, int bytes);
int gpu_create_bind_group(int device, int layout, const double* entries, int count, const char* label, int bytes);
void gpu_create_compute_pipeline(int future, int device, int layout, int module, const char* entry, int entry_bytes,
                                 const char* label, int bytes);
int gpu_create_compute_pipeline_now(int device, int layout, int module, const char* entry, int entry_bytes,
                                    const char* label, int bytes);
int gpu_create_query_set(int device, int count, const char* label, int bytes);
int gpu_create_command_encoder(int device, const char* label, int bytes);
int gpu_begin_pass(int encoder, int queries, int begin, int end, const char* label, int bytes);
void gpu_copy(int encoder, int source, double from, int target, double to, double size);
void gpu_resolve_queries(int encoder, int queries, int first, int count, int target, double offset);
int gpu_finish(int encoder);
void gpu_set_pipeline(int pass, int pipeline);
void gpu_set_bind_group(int pass, int index, int group, const std::uint32_t* offsets, int count);
void gpu_dispatch(int pass, std::uint32_t x, std::uint32_t y, std::uint32_t z);
void gpu_push_debug_group(int pass, const char* label, int bytes);
void gpu_pop_debug_group(int pass);
void gpu_end_pass(int pass);
void gpu_submit(int queue, int commands);
void gpu_write_buffer(int queue, int buffer, double offset, const void* source, std::size_t size);
void gpu_work_done(int future, int queue);

// Returns to the browser until an answer comes, or that time is over. Only of programs that can (JSPI).
[[gnu::weak]] void gpu_suspend(double milliseconds);

}  // extern "C"

// ---- Objects. Their handles point to these; `id` is the number of the browser's object.
namespace {

struct Object {
  int id;
  int references = 1;
};

std::string_view text_of(WGPUStringView s) {
  if (!s.data) return {};
  return s.length == WGPU_STRLEN ? std::string_view(s.data) : std::string_view(s.data, s.length);
}
WGPUStringView view_of(std::string_view s) { return {s.data(), s.size()}; }

// Passes a string on as two arguments.
#define WEFT_TEXT(s) text_of(s).data(), static_cast<int>(text_of(s).size())

}  // namespace

struct WGPUInstanceImpl : Object {};
struct WGPUAdapterImpl : Object {
  bool core;  // asked for at the core level
};
struct WGPUQueueImpl : Object {};
struct WGPUBindGroupLayoutImpl : Object {};
struct WGPUBindGroupImpl : Object {};
struct WGPUPipelineLayoutImpl : Object {};
struct WGPUComputePipelineImpl : Object {};
struct WGPUShaderModuleImpl : Object {};
struct WGPUQuerySetImpl : Object {};
struct WGPUCommandBufferImpl : Object {};
struct WGPUCommandEncoderImpl : Object {};
struct WGPUComputePassEncoderImpl : Object {};
struct WGPUDeviceImpl : Object {
  WGPUQueue queue;
  WGPUAdapter adapter;
  WGPUDeviceLostCallbackInfo on_lost = {};
  WGPUUncapturedErrorCallbackInfo on_error = {};
  std::uint64_t lost = 0;  // the future
  bool owned = false;      // by the program, not by the page
  bool gone = false;
};
struct WGPUBufferImpl : Object {
  std::uint64_t size;
  WGPUBufferUsage usage;
  WGPUBufferMapState state = WGPUBufferMapState_Unmapped;
  WGPUMapMode mode = WGPUMapMode_None;
  std::uint64_t offset = 0;  // of what is mapped
  // The program's copy of the bytes that are mapped: made when they are asked for.
  std::vector<std::byte> bytes;
  std::uint64_t mapped = 0;
  std::uint64_t maps = 0;  // how many were asked for: an unmapped buffer's answer is not that of the next map
};

namespace {

// ---- Futures
using Messages = std::vector<std::pair<WGPUCompilationMessage, std::string>>;

struct Pending {
  WGPUCallbackMode mode;
  std::function<void(int status, int value, WGPUStringView message)> answer;  // calls the callback
  bool settled = false;
  int status = 0, value = 0;
  std::string message = {};
  std::shared_ptr<Messages> messages = nullptr;  // of a shader
};

std::unordered_map<std::uint64_t, Pending>& pending() {
  static auto& all = *new std::unordered_map<std::uint64_t, Pending>;
  return all;
}
std::unordered_map<int, WGPUDevice>& devices() {
  static auto& all = *new std::unordered_map<int, WGPUDevice>;
  return all;
}

int new_future(WGPUCallbackMode mode, std::function<void(int, int, WGPUStringView)> answer) {
  static int last = 0;
  pending().emplace(++last, Pending{mode, std::move(answer)});
  return last;
}

// Calls the callback of an answer that has come.
void deliver(std::uint64_t future) {
  auto taken = pending().extract(future);
  const Pending& p = taken.mapped();
  p.answer(p.status, p.value, view_of(p.message));
}

void process(WGPUCallbackMode least) {
  std::vector<std::uint64_t> ready;
  for (const auto& [future, p] : pending()) {
    if (p.settled && p.mode >= least) ready.push_back(future);
  }
  std::ranges::sort(ready);
  for (const std::uint64_t future : ready) {
    if (pending().contains(future)) deliver(future);
  }
}

// ---- Names
struct FeatureName {
  WGPUFeatureName feature;
  std::string_view name;
};
constexpr FeatureName kFeatures[] = {
    {WGPUFeatureName_CoreFeaturesAndLimits, "core-features-and-limits"},
    {WGPUFeatureName_ShaderF16, "shader-f16"},
    {WGPUFeatureName_Subgroups, "subgroups"},
    {WGPUFeatureName_TimestampQuery, "timestamp-query"},
};

struct LimitName {
  std::string_view name;
  std::uint32_t WGPULimits::* small = nullptr;
  std::uint64_t WGPULimits::* large = nullptr;
};
#define WEFT_SMALL(limit) {#limit, &WGPULimits::limit, nullptr}
#define WEFT_LARGE(limit) {#limit, nullptr, &WGPULimits::limit}
constexpr LimitName kLimits[] = {
    WEFT_SMALL(maxTextureDimension1D),
    WEFT_SMALL(maxTextureDimension2D),
    WEFT_SMALL(maxTextureDimension3D),
    WEFT_SMALL(maxTextureArrayLayers),
    WEFT_SMALL(maxBindGroups),
    WEFT_SMALL(maxBindGroupsPlusVertexBuffers),
    WEFT_SMALL(maxBindingsPerBindGroup),
    WEFT_SMALL(maxDynamicUniformBuffersPerPipelineLayout),
    WEFT_SMALL(maxDynamicStorageBuffersPerPipelineLayout),
    WEFT_SMALL(maxSampledTexturesPerShaderStage),
    WEFT_SMALL(maxSamplersPerShaderStage),
    WEFT_SMALL(maxStorageBuffersPerShaderStage),
    WEFT_SMALL(maxStorageTexturesPerShaderStage),
    WEFT_SMALL(maxUniformBuffersPerShaderStage),
    WEFT_LARGE(maxUniformBufferBindingSize),
    WEFT_LARGE(maxStorageBufferBindingSize),
    WEFT_SMALL(minUniformBufferOffsetAlignment),
    WEFT_SMALL(minStorageBufferOffsetAlignment),
    WEFT_SMALL(maxVertexBuffers),
    WEFT_LARGE(maxBufferSize),
    WEFT_SMALL(maxVertexAttributes),
    WEFT_SMALL(maxVertexBufferArrayStride),
    WEFT_SMALL(maxInterStageShaderVariables),
    WEFT_SMALL(maxColorAttachments),
    WEFT_SMALL(maxColorAttachmentBytesPerSample),
    WEFT_SMALL(maxComputeWorkgroupStorageSize),
    WEFT_SMALL(maxComputeInvocationsPerWorkgroup),
    WEFT_SMALL(maxComputeWorkgroupSizeX),
    WEFT_SMALL(maxComputeWorkgroupSizeY),
    WEFT_SMALL(maxComputeWorkgroupSizeZ),
    WEFT_SMALL(maxComputeWorkgroupsPerDimension),
};

WGPUStatus get_limits(int object, WGPULimits* out) {
  for (const LimitName& limit : kLimits) {
    const double value = gpu_limit(object, limit.name.data(), static_cast<int>(limit.name.size()));
    if (limit.small)
      out->*limit.small = value < 0 ? WGPU_LIMIT_U32_UNDEFINED : static_cast<std::uint32_t>(value);
    else
      out->*limit.large = value < 0 ? WGPU_LIMIT_U64_UNDEFINED : static_cast<std::uint64_t>(value);
  }
  return WGPUStatus_Success;
}

bool has(int object, std::string_view feature) {
  return gpu_has_feature(object, feature.data(), static_cast<int>(feature.size()));
}

std::string_view name_of(WGPUFeatureName feature) {
  for (const FeatureName& f : kFeatures) {
    if (f.feature == feature) return f.name;
  }
  return {};
}

// GPUDeviceDescriptor as JSON. What the browser does not know is left out.
std::string device_json(WGPUAdapter adapter, const WGPUDeviceDescriptor& descriptor) {
  std::string features, limits;
  for (std::size_t i = 0; i < descriptor.requiredFeatureCount; ++i) {
    const std::string_view name = name_of(descriptor.requiredFeatures[i]);
    if (name.empty() || !has(adapter->id, name)) continue;
    features += (features.empty() ? "\"" : ",\"") + std::string(name) + "\"";
  }
  for (const LimitName& limit : kLimits) {
    if (!descriptor.requiredLimits) break;
    const WGPULimits& wanted = *descriptor.requiredLimits;
    const bool set =
        limit.small ? wanted.*limit.small != WGPU_LIMIT_U32_UNDEFINED : wanted.*limit.large != WGPU_LIMIT_U64_UNDEFINED;
    if (!set || gpu_limit(adapter->id, limit.name.data(), static_cast<int>(limit.name.size())) < 0) continue;
    limits += (limits.empty() ? "\"" : ",\"") + std::string(limit.name) +
              "\":" + std::to_string(limit.small ? wanted.*limit.small : wanted.*limit.large);
  }
  return "{\"label\":\"" + std::string(text_of(descriptor.label)) + "\",\"requiredFeatures\":[" + features +
         "],\"requiredLimits\":{" + limits + "}}";
}

WGPUDevice make_device(int id, WGPUAdapter adapter) {
  auto* device = new WGPUDeviceImpl{{id}, new WGPUQueueImpl{{gpu_device_queue(id)}}, adapter};
  device->lost = static_cast<std::uint64_t>(new_future(WGPUCallbackMode_WaitAnyOnly, [](int, int, WGPUStringView) {}));
  return device;
}

void say_lost(WGPUDevice device, int reason, std::string_view message) {
  if (std::exchange(device->gone, true)) return;
  if (const auto found = pending().find(device->lost); found != pending().end()) found->second.settled = true;
  if (device->on_lost.callback) {
    device->on_lost.callback(&device, static_cast<WGPUDeviceLostReason>(reason), view_of(message),
                             device->on_lost.userdata1, device->on_lost.userdata2);
  }
}

template <class T>
void release(T* object) {
  if (--object->references > 0) return;
  if (object->id) gpu_release(object->id);
  delete object;
}

}  // namespace

// ---- Called by webgpu.js
extern "C" {

EMSCRIPTEN_KEEPALIVE void gpu_settled(int future, int status, int value, const char* message) {
  const auto found = pending().find(static_cast<std::uint64_t>(future));
  if (found == pending().end()) return;
  Pending& p = found->second;
  p.settled = true;
  p.status = status;
  p.value = value;
  p.message = message;
  if (p.mode == WGPUCallbackMode_AllowSpontaneous) deliver(static_cast<std::uint64_t>(future));
}

EMSCRIPTEN_KEEPALIVE void gpu_compilation_message(int future, int type, double line, const char* message) {
  const auto found = pending().find(static_cast<std::uint64_t>(future));
  if (found == pending().end()) return;
  WGPUCompilationMessage m = WGPU_COMPILATION_MESSAGE_INIT;
  m.type = static_cast<WGPUCompilationMessageType>(type);
  m.lineNum = static_cast<std::uint64_t>(line);
  found->second.messages->emplace_back(m, message);
}

EMSCRIPTEN_KEEPALIVE void gpu_lost(int device, int reason, const char* message) {
  if (const auto found = devices().find(device); found != devices().end()) say_lost(found->second, reason, message);
}

EMSCRIPTEN_KEEPALIVE void gpu_uncaptured(int id, int type, const char* message) {
  const auto found = devices().find(id);
  if (found == devices().end() || found->second->gone || !found->second->on_error.callback) return;
  const WGPUDevice device = found->second;
  device->on_error.callback(&device, static_cast<WGPUErrorType>(type), view_of(message), device->on_error.userdata1,
                            device->on_error.userdata2);
}

// A device of the page's own, by the number of the object: it is the page's, and is not destroyed here.
WGPUDevice gpu_adopt_device(int id) {
  const WGPUDevice device = make_device(id, new WGPUAdapterImpl{{gpu_device_adapter(id)}, true});
  devices().emplace(id, device);
  gpu_watch(id);
  return device;
}

// The number of the page's object.
int gpu_buffer(WGPUBuffer buffer) { return buffer->id; }

// ---- References
#define WEFT_REFERENCES(Type)                                          \
  void wgpu##Type##AddRef(WGPU##Type object) { ++object->references; } \
  void wgpu##Type##Release(WGPU##Type object) { release(object); }
WEFT_REFERENCES(Instance)
WEFT_REFERENCES(Adapter)
WEFT_REFERENCES(Queue)
WEFT_REFERENCES(BindGroupLayout)
WEFT_REFERENCES(BindGroup)
WEFT_REFERENCES(PipelineLayout)
WEFT_REFERENCES(ComputePipeline)
WEFT_REFERENCES(ShaderModule)
WEFT_REFERENCES(QuerySet)
WEFT_REFERENCES(CommandBuffer)
WEFT_REFERENCES(CommandEncoder)
WEFT_REFERENCES(ComputePassEncoder)
WEFT_REFERENCES(Buffer)

void wgpuDeviceAddRef(WGPUDevice device) { ++device->references; }
void wgpuDeviceRelease(WGPUDevice device) {
  if (device->references == 1) {
    device->on_lost.callback = nullptr;
    pending().erase(device->lost);
    devices().erase(device->id);
    if (device->owned && !device->gone) gpu_device_destroy(device->id);
    release(device->queue);
    release(device->adapter);
  }
  release(device);
}

// Classes of the header that hold these never do here.
void wgpuSamplerAddRef(WGPUSampler) {}
void wgpuSamplerRelease(WGPUSampler) {}
void wgpuTextureViewAddRef(WGPUTextureView) {}
void wgpuTextureViewRelease(WGPUTextureView) {}
void wgpuSurfaceAddRef(WGPUSurface) {}
void wgpuSurfaceRelease(WGPUSurface) {}

// ---- The instance
WGPUInstance wgpuCreateInstance(const WGPUInstanceDescriptor*) { return new WGPUInstanceImpl{{0}}; }

void wgpuGetInstanceFeatures(WGPUSupportedInstanceFeatures* out) {
  static const WGPUInstanceFeatureName waits[] = {WGPUInstanceFeatureName_TimedWaitAny};
  *out = {gpu_suspend ? std::size_t{1} : 0, waits};
}
void wgpuSupportedInstanceFeaturesFreeMembers(WGPUSupportedInstanceFeatures) {}

WGPUBool wgpuInstanceHasWGSLLanguageFeature(WGPUInstance, WGPUWGSLLanguageFeatureName feature) {
  constexpr std::string_view kPackedDot = "packed_4x8_integer_dot_product";
  return feature == WGPUWGSLLanguageFeatureName_Packed4x8IntegerDotProduct &&
         gpu_has_wgsl_feature(kPackedDot.data(), static_cast<int>(kPackedDot.size()));
}

void wgpuInstanceProcessEvents(WGPUInstance) { process(WGPUCallbackMode_AllowProcessEvents); }
void wgpuDeviceTick(WGPUDevice) { process(WGPUCallbackMode_AllowProcessEvents); }

WGPUWaitStatus wgpuInstanceWaitAny(WGPUInstance, std::size_t count, WGPUFutureWaitInfo* infos,
                                   std::uint64_t nanoseconds) {
  const double end = emscripten_get_now() + static_cast<double>(nanoseconds) * 1e-6;
  for (;;) {
    bool any = false;
    for (std::size_t i = 0; i < count; ++i) {
      const auto found = pending().find(infos[i].future.id);
      infos[i].completed = found == pending().end() || found->second.settled;
      any |= infos[i].completed == WGPU_TRUE;
      if (found != pending().end() && found->second.settled) deliver(infos[i].future.id);
    }
    if (any) return WGPUWaitStatus_Success;
    const double left = end - emscripten_get_now();
    if (nanoseconds == 0 || left <= 0) return WGPUWaitStatus_TimedOut;
    if (!gpu_suspend) return WGPUWaitStatus_Error;
    gpu_suspend(left);
  }
}

WGPUFuture wgpuInstanceRequestAdapter(WGPUInstance, const WGPURequestAdapterOptions* options,
                                      WGPURequestAdapterCallbackInfo info) {
  const bool compatibility = options && options->featureLevel == WGPUFeatureLevel_Compatibility;
  const int future = new_future(info.mode, [=](int status, int value, WGPUStringView message) {
    info.callback(static_cast<WGPURequestAdapterStatus>(status),
                  value ? new WGPUAdapterImpl{{value}, !compatibility} : nullptr, message, info.userdata1,
                  info.userdata2);
  });
  gpu_request_adapter(future, compatibility, options ? options->powerPreference : 0,
                      options && options->forceFallbackAdapter);
  return {static_cast<std::uint64_t>(future)};
}

// ---- Adapters
WGPUInstance wgpuAdapterGetInstance(WGPUAdapter) { return wgpuCreateInstance(nullptr); }
WGPUStatus wgpuAdapterGetLimits(WGPUAdapter adapter, WGPULimits* out) { return get_limits(adapter->id, out); }
WGPUBool wgpuAdapterHasFeature(WGPUAdapter adapter, WGPUFeatureName feature) {
  // Browsers without the compatibility level have no name for the other one.
  if (feature == WGPUFeatureName_CoreFeaturesAndLimits && adapter->core) return true;
  const std::string_view name = name_of(feature);
  return !name.empty() && has(adapter->id, name);
}
void wgpuAdapterGetFeatures(WGPUAdapter adapter, WGPUSupportedFeatures* out) {
  auto* found = new WGPUFeatureName[std::size(kFeatures)];
  std::size_t count = 0;
  for (const FeatureName& f : kFeatures) {
    if (wgpuAdapterHasFeature(adapter, f.feature)) found[count++] = f.feature;
  }
  *out = {count, found};
}
void wgpuSupportedFeaturesFreeMembers(WGPUSupportedFeatures features) { delete[] features.features; }

WGPUStatus wgpuAdapterGetInfo(WGPUAdapter adapter, WGPUAdapterInfo* out) {
  const auto text = [&](std::string_view name) {
    char* found = gpu_info_text(adapter->id, name.data(), static_cast<int>(name.size()));
    return WGPUStringView{found, std::strlen(found)};
  };
  const auto number = [&](std::string_view name) {
    return gpu_info_number(adapter->id, name.data(), static_cast<int>(name.size()));
  };
  out->vendor = text("vendor");
  out->architecture = text("architecture");
  out->description = text("description");
  // Its name as people read it, which browsers show to few pages: else whose it is, and of which kind.
  std::string name(text_of(out->description));
  if (name.empty()) name = std::string(text_of(out->vendor)) + " " + std::string(text_of(out->architecture));
  out->device = {strdup(name.c_str()), name.size()};
  out->backendType = WGPUBackendType_WebGPU;
  out->adapterType = number("isFallbackAdapter") > 0 ? WGPUAdapterType_CPU : WGPUAdapterType_Unknown;
  out->vendorID = out->deviceID = 0;
  out->subgroupMinSize = static_cast<std::uint32_t>(std::max(0.0, number("subgroupMinSize")));
  out->subgroupMaxSize = static_cast<std::uint32_t>(std::max(0.0, number("subgroupMaxSize")));
  return WGPUStatus_Success;
}
void wgpuAdapterInfoFreeMembers(WGPUAdapterInfo info) {
  for (const WGPUStringView& s : {info.vendor, info.architecture, info.device, info.description}) {
    std::free(const_cast<char*>(s.data));
  }
}
void wgpuAdapterPropertiesMemoryHeapsFreeMembers(WGPUAdapterPropertiesMemoryHeaps) {}
void wgpuAdapterPropertiesSubgroupMatrixConfigsFreeMembers(WGPUAdapterPropertiesSubgroupMatrixConfigs) {}

WGPUFuture wgpuAdapterRequestDevice(WGPUAdapter adapter, const WGPUDeviceDescriptor* descriptor,
                                    WGPURequestDeviceCallbackInfo info) {
  const WGPUDeviceDescriptor asked = descriptor ? *descriptor : WGPUDeviceDescriptor WGPU_DEVICE_DESCRIPTOR_INIT;
  wgpuAdapterAddRef(adapter);
  const auto on_lost = asked.deviceLostCallbackInfo;
  const auto on_error = asked.uncapturedErrorCallbackInfo;
  const int future = new_future(info.mode, [=](int status, int value, WGPUStringView message) {
    WGPUDevice device = nullptr;
    if (value) {
      device = make_device(value, adapter);
      device->owned = true;
      device->on_lost = on_lost;
      device->on_error = on_error;
      devices().emplace(value, device);
    } else {
      release(adapter);
    }
    info.callback(static_cast<WGPURequestDeviceStatus>(status), device, message, info.userdata1, info.userdata2);
  });
  const std::string json = device_json(adapter, asked);
  gpu_request_device(future, adapter->id, json.data(), static_cast<int>(json.size()));
  return {static_cast<std::uint64_t>(future)};
}

// ---- Devices
WGPUAdapter wgpuDeviceGetAdapter(WGPUDevice device) {
  wgpuAdapterAddRef(device->adapter);
  return device->adapter;
}
WGPUQueue wgpuDeviceGetQueue(WGPUDevice device) {
  wgpuQueueAddRef(device->queue);
  return device->queue;
}
WGPUStatus wgpuDeviceGetLimits(WGPUDevice device, WGPULimits* out) { return get_limits(device->id, out); }
WGPUBool wgpuDeviceHasFeature(WGPUDevice device, WGPUFeatureName feature) {
  const std::string_view name = name_of(feature);
  return !name.empty() && has(device->id, name);
}
WGPUFuture wgpuDeviceGetLostFuture(WGPUDevice device) { return {device->lost}; }
void wgpuDeviceDestroy(WGPUDevice device) {
  gpu_device_destroy(device->id);
  say_lost(device, WGPUDeviceLostReason_Destroyed, "the device was destroyed");
}
// Dawn's, with which tests lose a device.
void wgpuDeviceForceLoss(WGPUDevice device, WGPUDeviceLostReason reason, WGPUStringView message) {
  gpu_device_destroy(device->id);
  say_lost(device, reason, text_of(message));
}
void wgpuDevicePushErrorScope(WGPUDevice device, WGPUErrorFilter filter) { gpu_push_error_scope(device->id, filter); }
WGPUFuture wgpuDevicePopErrorScope(WGPUDevice device, WGPUPopErrorScopeCallbackInfo info) {
  const int future = new_future(info.mode, [=](int status, int value, WGPUStringView message) {
    info.callback(static_cast<WGPUPopErrorScopeStatus>(status), static_cast<WGPUErrorType>(value), message,
                  info.userdata1, info.userdata2);
  });
  gpu_pop_error_scope(future, device->id);
  return {static_cast<std::uint64_t>(future)};
}

// ---- Buffers
WGPUBuffer wgpuDeviceCreateBuffer(WGPUDevice device, const WGPUBufferDescriptor* d) {
  auto* buffer =
      new WGPUBufferImpl{{gpu_create_buffer(device->id, static_cast<double>(d->size), static_cast<int>(d->usage),
                                            d->mappedAtCreation, WEFT_TEXT(d->label))},
                         d->size,
                         d->usage};
  if (d->mappedAtCreation) {
    buffer->state = WGPUBufferMapState_Mapped;
    buffer->mode = WGPUMapMode_Write;
    buffer->mapped = d->size;
  }
  return buffer;
}
void wgpuBufferDestroy(WGPUBuffer buffer) { gpu_destroy_buffer(buffer->id); }
std::uint64_t wgpuBufferGetSize(WGPUBuffer buffer) { return buffer->size; }
WGPUBufferUsage wgpuBufferGetUsage(WGPUBuffer buffer) { return buffer->usage; }
WGPUBufferMapState wgpuBufferGetMapState(WGPUBuffer buffer) { return buffer->state; }

WGPUFuture wgpuBufferMapAsync(WGPUBuffer buffer, WGPUMapMode mode, std::size_t offset, std::size_t size,
                              WGPUBufferMapCallbackInfo info) {
  buffer->state = WGPUBufferMapState_Pending;
  buffer->mode = mode;
  buffer->offset = offset;
  buffer->mapped = size == WGPU_WHOLE_MAP_SIZE ? buffer->size - offset : size;
  wgpuBufferAddRef(buffer);
  const int future = new_future(info.mode, [=, map = ++buffer->maps](int status, int, WGPUStringView message) {
    if (buffer->state == WGPUBufferMapState_Pending && buffer->maps == map) {
      buffer->state = status == WGPUMapAsyncStatus_Success ? WGPUBufferMapState_Mapped : WGPUBufferMapState_Unmapped;
    }
    wgpuBufferRelease(buffer);
    info.callback(static_cast<WGPUMapAsyncStatus>(status), message, info.userdata1, info.userdata2);
  });
  gpu_map(future, buffer->id, static_cast<int>(mode), static_cast<double>(offset), static_cast<double>(buffer->mapped));
  return {static_cast<std::uint64_t>(future)};
}

void* wgpuBufferGetMappedRange(WGPUBuffer buffer, std::size_t offset, std::size_t) {
  if (buffer->state != WGPUBufferMapState_Mapped) return nullptr;
  if (buffer->bytes.empty()) {
    if (buffer->mapped > buffer->bytes.max_size()) return nullptr;
    try {
      buffer->bytes.resize(static_cast<std::size_t>(buffer->mapped));
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
    if (buffer->mode == WGPUMapMode_Read) {
      gpu_read_mapped(buffer->id, static_cast<double>(buffer->offset), static_cast<double>(buffer->mapped),
                      buffer->bytes.data());
    }
  }
  return buffer->bytes.data() + (offset - buffer->offset);
}
const void* wgpuBufferGetConstMappedRange(WGPUBuffer buffer, std::size_t offset, std::size_t size) {
  return wgpuBufferGetMappedRange(buffer, offset, size);
}

void wgpuBufferUnmap(WGPUBuffer buffer) {
  if (!buffer->bytes.empty() && buffer->mode == WGPUMapMode_Write) {
    gpu_write_mapped(buffer->id, static_cast<double>(buffer->offset), static_cast<double>(buffer->mapped),
                     buffer->bytes.data());
  }
  buffer->bytes = {};
  buffer->state = WGPUBufferMapState_Unmapped;
  gpu_unmap(buffer->id);
}

// ---- Shaders and what they are bound to
WGPUShaderModule wgpuDeviceCreateShaderModule(WGPUDevice device, const WGPUShaderModuleDescriptor* d) {
  const auto& wgsl = *reinterpret_cast<const WGPUShaderSourceWGSL*>(d->nextInChain);
  return new WGPUShaderModuleImpl{{gpu_create_shader_module(device->id, WEFT_TEXT(wgsl.code), WEFT_TEXT(d->label))}};
}

WGPUFuture wgpuShaderModuleGetCompilationInfo(WGPUShaderModule module, WGPUCompilationInfoCallbackInfo info) {
  const auto messages = std::make_shared<Messages>();
  const int future = new_future(info.mode, nullptr);
  Pending& p = pending().at(static_cast<std::uint64_t>(future));
  p.answer = [=](int status, int, WGPUStringView) {
    std::vector<WGPUCompilationMessage> list;
    for (auto& [message, text] : *messages) {
      list.push_back(message);
      list.back().message = view_of(text);
    }
    WGPUCompilationInfo found = WGPU_COMPILATION_INFO_INIT;
    found.messageCount = list.size();
    found.messages = list.data();
    info.callback(static_cast<WGPUCompilationInfoRequestStatus>(status), &found, info.userdata1, info.userdata2);
  };
  p.messages = messages;
  gpu_compilation_info(future, module->id);
  return {static_cast<std::uint64_t>(future)};
}

WGPUBindGroupLayout wgpuDeviceCreateBindGroupLayout(WGPUDevice device, const WGPUBindGroupLayoutDescriptor* d) {
  std::vector<std::uint32_t> entries;
  for (std::size_t i = 0; i < d->entryCount; ++i) {
    const WGPUBindGroupLayoutEntry& e = d->entries[i];
    entries.insert(entries.end(), {e.binding, static_cast<std::uint32_t>(e.buffer.type), e.buffer.hasDynamicOffset});
  }
  return new WGPUBindGroupLayoutImpl{
      {gpu_create_bind_group_layout(device->id, entries.data(), static_cast<int>(d->entryCount), WEFT_TEXT(d->label))}};
}

WGPUPipelineLayout wgpuDeviceCreatePipelineLayout(WGPUDevice device, const WGPUPipelineLayoutDescriptor* d) {
  return new WGPUPipelineLayoutImpl{
      {gpu_create_pipeline_layout(device->id, d->bindGroupLayouts[0]->id, WEFT_TEXT(d->label))}};
}

WGPUBindGroup wgpuDeviceCreateBindGroup(WGPUDevice device, const WGPUBindGroupDescriptor* d) {
  std::vector<double> entries;
  for (std::size_t i = 0; i < d->entryCount; ++i) {
    const WGPUBindGroupEntry& e = d->entries[i];
    entries.insert(entries.end(),
                   {static_cast<double>(e.binding), static_cast<double>(e.buffer->id), static_cast<double>(e.offset),
                    e.size == WGPU_WHOLE_SIZE ? -1 : static_cast<double>(e.size)});
  }
  return new WGPUBindGroupImpl{{gpu_create_bind_group(device->id, d->layout->id, entries.data(),
                                                      static_cast<int>(d->entryCount), WEFT_TEXT(d->label))}};
}

WGPUFuture wgpuDeviceCreateComputePipelineAsync(WGPUDevice device, const WGPUComputePipelineDescriptor* d,
                                                WGPUCreateComputePipelineAsyncCallbackInfo info) {
  const int future = new_future(info.mode, [=](int status, int value, WGPUStringView message) {
    info.callback(static_cast<WGPUCreatePipelineAsyncStatus>(status),
                  value ? new WGPUComputePipelineImpl{{value}} : nullptr, message, info.userdata1, info.userdata2);
  });
  gpu_create_compute_pipeline(future, device->id, d->layout->id, d->compute.module->id,
                              WEFT_TEXT(d->compute.entryPoint), WEFT_TEXT(d->label));
  return {static_cast<std::uint64_t>(future)};
}

// Made at once, that is, before it is compiled: errors come to the scope, later.
WGPUComputePipeline wgpuDeviceCreateComputePipeline(WGPUDevice device, const WGPUComputePipelineDescriptor* d) {
  return new WGPUComputePipelineImpl{{gpu_create_compute_pipeline_now(
      device->id, d->layout->id, d->compute.module->id, WEFT_TEXT(d->compute.entryPoint), WEFT_TEXT(d->label))}};
}

WGPUQuerySet wgpuDeviceCreateQuerySet(WGPUDevice device, const WGPUQuerySetDescriptor* d) {
  return new WGPUQuerySetImpl{{gpu_create_query_set(device->id, static_cast<int>(d->count), WEFT_TEXT(d->label))}};
}

// ---- Commands
WGPUCommandEncoder wgpuDeviceCreateCommandEncoder(WGPUDevice device, const WGPUCommandEncoderDescriptor* d) {
  const WGPUStringView label = d ? d->label : WGPUStringView{};
  return new WGPUCommandEncoderImpl{{gpu_create_command_encoder(device->id, WEFT_TEXT(label))}};
}
WGPUComputePassEncoder wgpuCommandEncoderBeginComputePass(WGPUCommandEncoder encoder,
                                                          const WGPUComputePassDescriptor* d) {
  const WGPUPassTimestampWrites* times = d ? d->timestampWrites : nullptr;
  const WGPUStringView label = d ? d->label : WGPUStringView{};
  return new WGPUComputePassEncoderImpl{{gpu_begin_pass(
      encoder->id, times ? times->querySet->id : 0, times ? static_cast<int>(times->beginningOfPassWriteIndex) : 0,
      times ? static_cast<int>(times->endOfPassWriteIndex) : 0, WEFT_TEXT(label))}};
}
void wgpuCommandEncoderCopyBufferToBuffer(WGPUCommandEncoder encoder, WGPUBuffer source, std::uint64_t from,
                                          WGPUBuffer target, std::uint64_t to, std::uint64_t size) {
  gpu_copy(encoder->id, source->id, static_cast<double>(from), target->id, static_cast<double>(to),
           static_cast<double>(size));
}
void wgpuCommandEncoderResolveQuerySet(WGPUCommandEncoder encoder, WGPUQuerySet queries, std::uint32_t first,
                                       std::uint32_t count, WGPUBuffer target, std::uint64_t offset) {
  gpu_resolve_queries(encoder->id, queries->id, static_cast<int>(first), static_cast<int>(count), target->id,
                      static_cast<double>(offset));
}
WGPUCommandBuffer wgpuCommandEncoderFinish(WGPUCommandEncoder encoder, const WGPUCommandBufferDescriptor*) {
  return new WGPUCommandBufferImpl{{gpu_finish(encoder->id)}};
}
void wgpuComputePassEncoderSetPipeline(WGPUComputePassEncoder pass, WGPUComputePipeline pipeline) {
  gpu_set_pipeline(pass->id, pipeline->id);
}
void wgpuComputePassEncoderSetBindGroup(WGPUComputePassEncoder pass, std::uint32_t index, WGPUBindGroup group,
                                        std::size_t count, const std::uint32_t* offsets) {
  gpu_set_bind_group(pass->id, static_cast<int>(index), group->id, offsets, static_cast<int>(count));
}
void wgpuComputePassEncoderDispatchWorkgroups(WGPUComputePassEncoder pass, std::uint32_t x, std::uint32_t y,
                                              std::uint32_t z) {
  gpu_dispatch(pass->id, x, y, z);
}
void wgpuComputePassEncoderPushDebugGroup(WGPUComputePassEncoder pass, WGPUStringView label) {
  gpu_push_debug_group(pass->id, WEFT_TEXT(label));
}
void wgpuComputePassEncoderPopDebugGroup(WGPUComputePassEncoder pass) { gpu_pop_debug_group(pass->id); }
void wgpuComputePassEncoderEnd(WGPUComputePassEncoder pass) { gpu_end_pass(pass->id); }
// Of a feature that no browser has.
void wgpuComputePassEncoderWriteTimestamp(WGPUComputePassEncoder, WGPUQuerySet, std::uint32_t) {}

// ---- The queue
void wgpuQueueSubmit(WGPUQueue queue, std::size_t count, const WGPUCommandBuffer* commands) {
  for (std::size_t i = 0; i < count; ++i) gpu_submit(queue->id, commands[i]->id);
}
void wgpuQueueWriteBuffer(WGPUQueue queue, WGPUBuffer buffer, std::uint64_t offset, const void* data,
                          std::size_t size) {
  gpu_write_buffer(queue->id, buffer->id, static_cast<double>(offset), data, size);
}
WGPUFuture wgpuQueueOnSubmittedWorkDone(WGPUQueue queue, WGPUQueueWorkDoneCallbackInfo info) {
  const int future = new_future(info.mode, [=](int status, int, WGPUStringView message) {
    info.callback(static_cast<WGPUQueueWorkDoneStatus>(status), message, info.userdata1, info.userdata2);
  });
  gpu_work_done(future, queue->id);
  return {static_cast<std::uint64_t>(future)};
}

}  // extern "C"
