// Uses the kernels alone, on the program's own WebGPU device and buffers: adds a row to each row of a matrix. Exit
// status 77: there is no adapter.
#include <webgpu/webgpu_cpp.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "weft/gpu.h"
#include "weft/kernels.h"

using namespace weft;

namespace {

// The program's own device, made with WebGPU alone; null if there is no adapter.
wgpu::Device make_device(const wgpu::Instance& instance) {
  wgpu::Adapter adapter;
  const wgpu::RequestAdapterOptions options{};
  instance.WaitAny(instance.RequestAdapter(
                       &options, wgpu::CallbackMode::WaitAnyOnly,
                       [&](wgpu::RequestAdapterStatus, wgpu::Adapter a, wgpu::StringView) { adapter = std::move(a); }),
                   UINT64_MAX);
  return adapter ? adapter.CreateDevice() : nullptr;
}

wgpu::Buffer make_buffer(const wgpu::Device& device, const std::vector<float>& values) {
  wgpu::BufferDescriptor descriptor;
  descriptor.size = values.size() * sizeof(float);
  descriptor.usage = wgpu::BufferUsage::Storage | wgpu::BufferUsage::CopySrc | wgpu::BufferUsage::CopyDst;
  wgpu::Buffer buffer = device.CreateBuffer(&descriptor);
  device.GetQueue().WriteBuffer(buffer, 0, values.data(), descriptor.size);
  return buffer;
}

}  // namespace

int main() {
  constexpr wgpu::InstanceFeatureName kWait = wgpu::InstanceFeatureName::TimedWaitAny;
  wgpu::InstanceDescriptor wants;
  wants.requiredFeatureCount = 1;
  wants.requiredFeatures = &kWait;
  const wgpu::Instance instance = wgpu::CreateInstance(&wants);
  const wgpu::Device my_device = make_device(instance);
  if (!my_device) {
    std::fprintf(stderr, "no WebGPU adapter\n");
    return 77;
  }
  std::vector<float> a(64 * 128), b(128), y(64 * 128);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 10);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i);
  const wgpu::Buffer buf_a = make_buffer(my_device, a), buf_b = make_buffer(my_device, b),
                     buf_y = make_buffer(my_device, y);

  auto device = gpu::Device::adopt(my_device);  // uses the program's device
  gpu::Encoder encoder(device);
  kernels::binary(encoder, ScalarOp::add, View{buf_a, 0, DType::f32, {64, 128}, {128, 1}},
                  View{buf_b, 0, DType::f32, {64, 128}, {0, 1}},  // a broadcast is a stride of zero
                  View{buf_y, 0, DType::f32, {64, 128}});         // dense when no strides are given
  encoder.submit();

  device.read(buf_y, 0, y.size() * sizeof(float)).get().copy_to(std::as_writable_bytes(std::span(y)));
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (y[i] != a[i] + b[i % 128]) return 1;
  }
  std::printf("%s: y[63, 127] = %g\n", device.adapter().name.c_str(), y.back());
}
