// A graph is built once, compiled once and run often: gelu(a · wᵀ + bias).
#include <cstdio>
#include <vector>

#include "weft/compile.h"

using namespace weft;

int main() {
  const Device device = Device::open();  // the best GPU, $WEFT_ADAPTER, or the cpu
  std::printf("%s\n", device.reason().c_str());

  const std::vector<float> weights(1536 * 384, 0.01f), zeros(1536, 0.0f);
  Graph graph;
  const Value a = graph.input("a", DType::f32, {32, 384});
  const Value w = graph.constant(TensorData::of<float>(DType::f32, {1536, 384}, weights));
  const Value bias = graph.constant(TensorData::of<float>(DType::f32, {1536}, zeros));
  graph.output("y", gelu(matmul(a, w.T()) + bias));

  Executable exe = compile(graph, device);
  DeviceTensor input(device, DType::f32, {32, 384}), output(device, DType::f32, {32, 1536});
  const std::vector<float> ones(32 * 384, 1.0f);
  input.write(std::as_bytes(std::span(ones)));
  exe.run({{"a", input}}, {{"y", output}});           // returns when recorded, not when finished
  const std::vector<float> y = output.read<float>();  // the only place that waits

  // One step: the bias and the activation are the product's epilogue. gelu(3.84) = 3.83976…
  for (const ScheduleStep& step : exe.report().steps) std::printf("  %s\n", step.label.c_str());
  std::printf("y[0, 0] = %g\n", y[0]);
  return exe.report().steps.size() == 1 && y[0] > 3.8397f && y[0] < 3.8398f ? 0 : 1;
}
