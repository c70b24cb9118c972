// The process's one Dawn instance and what it finds.
#pragma once

#include <dawn/native/DawnNative.h>
#include <webgpu/webgpu_cpp.h>

#include <vector>

#include "weft/gpu.h"

namespace weft::gpu {

// An adapter as it was found, and its twin at WebGPU's compatibility level.
struct FoundAdapter {
  AdapterInfo info;
  wgpu::Adapter adapter;        // at core level if it has that
  wgpu::Adapter compatibility;  // the same hardware at compatibility level; may be null
};

wgpu::Instance process_instance();

// Best first; looked up once in the process. `info.index` is the position.
const std::vector<FoundAdapter>& found_adapters();

// The first of them if it is hardware, else null; does not start OpenGL when it need not.
const FoundAdapter* best_hardware();

AdapterInfo describe(const wgpu::Adapter& adapter);
std::vector<MatrixShape> matrix_shapes(const wgpu::Adapter& adapter);

}  // namespace weft::gpu
