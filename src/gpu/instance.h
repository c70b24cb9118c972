// The process's one WebGPU instance and its adapters: Dawn's in instance_native.cc, the browser's in instance_web.cc.
#pragma once

#include <webgpu/webgpu_cpp.h>

#include <string_view>
#include <vector>

#include "weft/future.h"
#include "weft/gpu.h"

namespace weft::gpu {

// An adapter. WebGPU opens one device from an adapter object, so each device requests a new one.
struct FoundAdapter {
  AdapterInfo info;
  wgpu::BackendType backend;
  // Its index in the enumeration of each level; negative: not there.
  int core = -1, compatibility = -1;

  // At compatibility level if asked for and available. Null if the adapter is gone.
  Future<wgpu::Adapter> request(bool at_compatibility_level) const;
};

wgpu::Instance process_instance();
// Whether a thread may wait for what that instance does. On the web only test programs may, by JSPI.
bool can_wait();
// Whether WebGPU's callbacks come without anybody driving a device: in a browser, whose loop of events calls them.
bool callbacks_come_alone();

// After it the functions below need not wait: a browser tells its adapters later.
Future<void> look_for_adapters();
// Best first; looked up once in the process. `info.index` is the position.
const std::vector<FoundAdapter>& found_adapters();

// The first of them if it is hardware, else null; does not start OpenGL unless it has to.
const FoundAdapter* best_hardware();

// "vulkan"; "other" for those that Weft does not look for.
std::string_view backend_name(wgpu::BackendType type);
// "shader-f16"; empty for a feature that WebGPU does not name.
std::string_view feature_name(wgpu::FeatureName feature);
AdapterInfo describe(const wgpu::Adapter& adapter);
std::vector<MatrixShape> matrix_shapes(const wgpu::Adapter& adapter);

}  // namespace weft::gpu
