// The process's one Dawn instance and its adapters.
#pragma once

#include <dawn/native/DawnNative.h>
#include <webgpu/webgpu_cpp.h>

#include <vector>

#include "weft/gpu.h"

namespace weft::gpu {

// An adapter. WebGPU opens one device from an adapter object, so each device requests a new one.
struct FoundAdapter {
  AdapterInfo info;
  wgpu::BackendType backend;
  // Its index in the enumeration of each level; negative: not there.
  int core = -1, compatibility = -1;

  // At compatibility level if asked for and available. Null if the adapter is gone.
  wgpu::Adapter request(bool at_compatibility_level) const;
};

wgpu::Instance process_instance();

// Best first; looked up once in the process. `info.index` is the position.
const std::vector<FoundAdapter>& found_adapters();

// The first of them if it is hardware, else null; does not start OpenGL unless it has to.
const FoundAdapter* best_hardware();

AdapterInfo describe(const wgpu::Adapter& adapter);
std::vector<MatrixShape> matrix_shapes(const wgpu::Adapter& adapter);

}  // namespace weft::gpu
