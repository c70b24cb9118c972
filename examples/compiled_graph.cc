// Builds a graph once, compiles it once and runs it often: gelu(a · wᵀ + bias).
#include <cstdio>
#include <vector>

#include "weft/compile.h"

using namespace weft;

int main() {
  const Device device = Device::open();  // the best GPU, $WEFT_DEVICE, or the cpu
  std::printf("%s\n", device.reason().c_str());
  const std::vector<float> numbers(1536 * 384, 0.01f), zeros(1536, 0.0f), ones(32 * 384, 1.0f);
  const auto weights = TensorData::of<float>(DType::f32, {1536, 384}, numbers);
  const auto offsets = TensorData::of<float>(DType::f32, {1536}, zeros);
  Tensor input(device, DType::f32, {32, 384}), output(device, DType::f32, {32, 1536});
  input.write(std::as_bytes(std::span(ones)));

  Graph graph;
  auto a = graph.input("a", DType::f32, {32, 384});
  auto w = graph.constant(weights);  // or a tensor of a memory-mapped safetensors file
  auto bias = graph.constant(offsets);
  graph.output("y", gelu(matmul(a, w.T()) + bias));  // one dispatch: the product with its epilogue
  auto exe = compile(graph, device);
  exe.run({{"a", input}}, {{"y", output}});  // returns when recorded, not when finished
  auto y = output.read<float>();             // the only place that waits

  for (const ScheduleStep& step : exe.report().steps) std::printf("  %s\n", step.label.c_str());
  std::printf("y[0, 0] = %g\n", y[0]);  // gelu(3.84) = 3.83976…
  return exe.report().steps.size() == 1 && y[0] > 3.8397f && y[0] < 3.8398f ? 0 : 1;
}
