#include "support/dawn_counters.h"

#include <dawn/native/DawnNative.h>

#include <atomic>
#include <format>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

// The test program defines WebGPU's entry points, which take precedence over those of Dawn's library. They count calls
// and forward them through Dawn's procedure table.

namespace weft::test {
namespace {

struct Counts {
  std::atomic<std::uint64_t> buffers{0}, bind_groups{0}, layouts{0}, shader_modules{0}, pipelines{0};
  std::atomic<std::uint64_t> submits{0}, writes{0}, dispatches{0}, passes{0}, maps{0};
} counts;

std::atomic<int> buffers_to_fail{0}, buffers_to_make{0};

// An answer to PopErrorScope that its caller has not got yet.
struct HeldAnswer {
  WGPUPopErrorScopeCallbackInfo to;
  WGPUPopErrorScopeStatus status;
  WGPUErrorType type;
  std::string message;
};
std::mutex held_mutex;
bool scopes_are_held = false;
std::vector<HeldAnswer> held_answers;

const DawnProcTable& procs() {
  static const DawnProcTable& table = dawn::native::GetProcs();
  return table;
}

}  // namespace

void fail_next_buffers(int count, int skip) {
  buffers_to_make = skip;
  buffers_to_fail = count;
}

void hold_error_scopes(bool hold) {
  {
    const std::lock_guard lock(held_mutex);
    scopes_are_held = hold;
  }
  if (!hold) release_error_scopes();
}

void release_error_scopes() {
  std::vector<HeldAnswer> answers;
  {
    const std::lock_guard lock(held_mutex);
    answers.swap(held_answers);
  }
  for (const HeldAnswer& a : answers) {
    a.to.callback(a.status, a.type, {a.message.data(), a.message.size()}, a.to.userdata1, a.to.userdata2);
  }
}

DawnCounters DawnCounters::now() {
  return {counts.buffers, counts.bind_groups, counts.layouts,    counts.shader_modules, counts.pipelines,
          counts.submits, counts.writes,      counts.dispatches, counts.passes,         counts.maps};
}

DawnCounters DawnCounters::operator-(const DawnCounters& b) const {
  return {buffers - b.buffers,     bind_groups - b.bind_groups,
          layouts - b.layouts,     shader_modules - b.shader_modules,
          pipelines - b.pipelines, submits - b.submits,
          writes - b.writes,       dispatches - b.dispatches,
          passes - b.passes,       maps - b.maps};
}

std::string DawnCounters::text() const {
  return std::format(
      "{} buffers, {} bind groups, {} layouts, {} shader modules, {} pipelines; {} submits, {} writes, {} dispatches, "
      "{} passes, {} maps",
      buffers, bind_groups, layouts, shader_modules, pipelines, submits, writes, dispatches, passes, maps);
}

}  // namespace weft::test

using weft::test::counts;
using weft::test::procs;

extern "C" {

WGPUBuffer wgpuDeviceCreateBuffer(WGPUDevice device, const WGPUBufferDescriptor* descriptor) {
  ++counts.buffers;
  if (weft::test::buffers_to_fail > 0 && weft::test::buffers_to_make-- <= 0) {
    --weft::test::buffers_to_fail;
    WGPUDawnFakeBufferOOMForTesting fault = WGPU_DAWN_FAKE_BUFFER_OOM_FOR_TESTING_INIT;
    fault.fakeOOMAtDevice = true;
    WGPUBufferDescriptor failing = *descriptor;
    failing.nextInChain = &fault.chain;
    return procs().deviceCreateBuffer(device, &failing);
  }
  return procs().deviceCreateBuffer(device, descriptor);
}
WGPUFuture wgpuDevicePopErrorScope(WGPUDevice device, WGPUPopErrorScopeCallbackInfo callback) {
  {
    const std::lock_guard lock(weft::test::held_mutex);
    if (!weft::test::scopes_are_held) return procs().devicePopErrorScope(device, callback);
  }
  WGPUPopErrorScopeCallbackInfo holding = callback;
  holding.userdata1 = new WGPUPopErrorScopeCallbackInfo(callback);
  holding.callback = [](WGPUPopErrorScopeStatus status, WGPUErrorType type, WGPUStringView message, void* to, void*) {
    const std::unique_ptr<WGPUPopErrorScopeCallbackInfo> owner(static_cast<WGPUPopErrorScopeCallbackInfo*>(to));
    const std::lock_guard lock(weft::test::held_mutex);
    weft::test::held_answers.push_back(
        {*owner, status, type, std::string(message.data ? message.data : "", message.data ? message.length : 0)});
  };
  return procs().devicePopErrorScope(device, holding);
}
WGPUBindGroup wgpuDeviceCreateBindGroup(WGPUDevice device, const WGPUBindGroupDescriptor* descriptor) {
  ++counts.bind_groups;
  return procs().deviceCreateBindGroup(device, descriptor);
}
WGPUBindGroupLayout wgpuDeviceCreateBindGroupLayout(WGPUDevice device, const WGPUBindGroupLayoutDescriptor* d) {
  ++counts.layouts;
  return procs().deviceCreateBindGroupLayout(device, d);
}
WGPUPipelineLayout wgpuDeviceCreatePipelineLayout(WGPUDevice device, const WGPUPipelineLayoutDescriptor* descriptor) {
  ++counts.layouts;
  return procs().deviceCreatePipelineLayout(device, descriptor);
}
WGPUShaderModule wgpuDeviceCreateShaderModule(WGPUDevice device, const WGPUShaderModuleDescriptor* descriptor) {
  ++counts.shader_modules;
  return procs().deviceCreateShaderModule(device, descriptor);
}
WGPUComputePipeline wgpuDeviceCreateComputePipeline(WGPUDevice device, const WGPUComputePipelineDescriptor* d) {
  ++counts.pipelines;
  return procs().deviceCreateComputePipeline(device, d);
}
WGPUFuture wgpuDeviceCreateComputePipelineAsync(WGPUDevice device, const WGPUComputePipelineDescriptor* d,
                                                WGPUCreateComputePipelineAsyncCallbackInfo callback) {
  ++counts.pipelines;
  return procs().deviceCreateComputePipelineAsync(device, d, callback);
}
void wgpuQueueSubmit(WGPUQueue queue, size_t count, const WGPUCommandBuffer* commands) {
  ++counts.submits;
  procs().queueSubmit(queue, count, commands);
}
void wgpuQueueWriteBuffer(WGPUQueue queue, WGPUBuffer buffer, uint64_t offset, const void* data, size_t size) {
  ++counts.writes;
  procs().queueWriteBuffer(queue, buffer, offset, data, size);
}
void wgpuComputePassEncoderDispatchWorkgroups(WGPUComputePassEncoder pass, uint32_t x, uint32_t y, uint32_t z) {
  ++counts.dispatches;
  procs().computePassEncoderDispatchWorkgroups(pass, x, y, z);
}
WGPUComputePassEncoder wgpuCommandEncoderBeginComputePass(WGPUCommandEncoder encoder,
                                                          const WGPUComputePassDescriptor* descriptor) {
  ++counts.passes;
  return procs().commandEncoderBeginComputePass(encoder, descriptor);
}
WGPUFuture wgpuBufferMapAsync(WGPUBuffer buffer, WGPUMapMode mode, size_t offset, size_t size,
                              WGPUBufferMapCallbackInfo callback) {
  ++counts.maps;
  return procs().bufferMapAsync(buffer, mode, offset, size, callback);
}

}  // extern "C"
