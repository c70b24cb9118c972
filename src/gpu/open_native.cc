// Devices of Dawn, with its toggles and its cache of compiled shaders. On the web, open_web.cc.
#include <algorithm>

#include "core/format.h"
#include "gpu/open.h"

namespace weft::gpu {

namespace {

// Dawn calls twice: for the size, then for the bytes.
std::size_t load_blob(std::size_t key_size, const std::uint8_t* key, std::size_t size, std::uint8_t* out, void* cache,
                      void*) noexcept {
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

void store_blob(std::size_t key_size, const std::uint8_t* key, std::size_t size, const std::uint8_t* value, void* cache,
                void*) noexcept {
  static_cast<DiskCache*>(cache)->store({reinterpret_cast<const std::byte*>(key), key_size},
                                        {reinterpret_cast<const std::byte*>(value), size});
}

}  // namespace

DiskCache* disk_cache_of(const AdapterInfo& adapter, std::string_view cache_dir) {
  const auto root = DiskCache::root_of(cache_dir);
  if (root.empty()) return nullptr;
  return &DiskCache::of(root,
                        std::format("{}|{}|{}|{}", adapter.name, adapter.vendor, adapter.driver, adapter.backend));
}

Future<wgpu::Device> create_device(const wgpu::Adapter& adapter, wgpu::DeviceDescriptor& descriptor,
                                   const AdapterInfo& info, const DeviceOptions& options, DiskCache* cache) {
  // The content of a new buffer is undefined, so Dawn need not clear it.
  std::vector<const char*> enabled = {"allow_unsafe_apis"};
  std::vector<const char*> disabled = {"timestamp_quantization", "lazy_clear_resource_on_first_use"};
  if (!options.validation) enabled.push_back("skip_validation");
  if (!options.robustness) enabled.push_back("disable_robustness");
  // Dawn limits indices in shaders on Metal, and leaves bounds to Vulkan's drivers. Devices that stand in for others
  // compute as there.
  if (options.minimum || info.software()) disabled.push_back("vulkan_use_buffer_robust_access_2");
  // Otherwise the thread that opened the device would keep OpenGL's context.
  if (info.backend.starts_with("opengl")) enabled.push_back("gl_allow_context_on_multi_threads");
  if (options.debug_labels) enabled.push_back("use_user_defined_labels_in_backend");
  wgpu::DawnTogglesDescriptor toggles;
  toggles.enabledToggles = enabled.data();
  toggles.enabledToggleCount = enabled.size();
  toggles.disabledToggles = disabled.data();
  toggles.disabledToggleCount = disabled.size();
  // The C descriptor: the C++ one cannot set these callbacks.
  WGPUDawnCacheDeviceDescriptor blobs = WGPU_DAWN_CACHE_DEVICE_DESCRIPTOR_INIT;
  if (cache) {
    blobs.dawnLoadCacheDataCallbackInfo.callback = load_blob;
    blobs.dawnLoadCacheDataCallbackInfo.userdata1 = cache;
    blobs.dawnStoreCacheDataCallbackInfo.callback = store_blob;
    blobs.dawnStoreCacheDataCallbackInfo.userdata1 = cache;
    toggles.nextInChain = reinterpret_cast<wgpu::ChainedStruct*>(&blobs.chain);
  }
  descriptor.nextInChain = &toggles;
  return Future<wgpu::Device>({}, [device = adapter.CreateDevice(&descriptor)] { return device; });
}

}  // namespace weft::gpu
