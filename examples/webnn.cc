// WebNN in a page: a graph, device tensors, a dispatch; and a tensor shared with WebGPU.
#include <cstdio>
#include <vector>

#include <weft/webnn.h>

using namespace weft;

int main() {
  auto context = webnn::Context::create();  // the best device; chosen by WEFT_DEVICE, if it is set
  webnn::GraphBuilder b(context);
  auto x = b.input("x", {DType::f32, {1, 3, 8, 8}});
  auto filter = b.constant({DType::f32, {4, 3, 3, 3}}, std::vector<float>(4 * 3 * 3 * 3, 0.1f));
  auto y = b.relu(b.conv2d(x, filter, {.padding = {1, 1, 1, 1}, .strides = {2, 2}, .label = "stem"}));
  auto graph = b.build({{"y", y}});  // compiled: fused, memory planned, kernels ready

  auto in = context.create_tensor({.data_type = DType::f32, .shape = {1, 3, 8, 8}, .writable = true});
  auto out = context.create_tensor({.data_type = DType::f32, .shape = {1, 4, 4, 4}, .readable = true});
  context.write_tensor(in, std::vector<float>(3 * 8 * 8, 1));
  context.dispatch(graph, {{"x", in}}, {{"y", out}});  // returns at once
  std::vector<float> values(4 * 4 * 4);
  context.read_tensor(out, std::as_writable_bytes(std::span(values))).get();  // the only place that waits
  std::printf("%g\n", values[5]);
  if (values[5] < 2.69f || values[5] > 2.71f) return 1;  // 27 products of 0.1

  if (!context.accelerated()) return 0;  // the cpu has no WebGPU buffers
  auto frame = context.create_exportable_tensor({.data_type = DType::f32, .shape = {1, 3, 8, 8}});
  wgpu::Buffer buffer = context.export_to_gpu(frame);  // rented: no copy, the tensor's own buffer
  const std::vector<float> twos(3 * 8 * 8, 2);         // your shader writes it; here the queue does
  context.device().gpu().queue().WriteBuffer(buffer, 0, twos.data(), twos.size() * sizeof(float));
  context.return_from_gpu(frame);  // the rent ends
  context.dispatch(graph, {{"x", frame}}, {{"y", out}});
  context.read_tensor(out, std::as_writable_bytes(std::span(values))).get();
  std::printf("%g\n", values[5]);
  return values[5] < 5.39f || values[5] > 5.41f ? 1 : 0;
}
