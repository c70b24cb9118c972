// A custom kernel in a graph: WGSL with declared operands. It is not fused, but planned and scheduled like any other
// op.
#include <cmath>
#include <cstdio>
#include <vector>

#include "weft/compile.h"
#include "weft/custom_op.h"

using namespace weft;

// Each row of x divided by its largest magnitude; the magnitudes are a second result.
static std::shared_ptr<const CustomKernel> scale_rows() {
  auto kernel = std::make_shared<CustomKernel>();
  kernel->name = "scale_rows";
  kernel->inputs = {"x"};
  kernel->outputs = {"y", "largest"};
  kernel->wgsl = R"(
fn kernel(row: u32) {
  var top = p.floor;
  for (var k = 0u; k < p.x_n1; k++) { top = max(top, abs(load_x(row * p.x_n1 + k))); }
  for (var k = 0u; k < p.x_n1; k++) { store_y(row * p.x_n1 + k, load_x(row * p.x_n1 + k) / top); }
  store_largest(row, top);
})";
  kernel->numbers = {{"floor", 1e-6f}};
  kernel->infer = [](std::span<const TensorType> in) {
    return std::vector<TensorType>{in[0], {DType::f32, {in[0].shape[0]}}};
  };
  kernel->threads = [](std::span<const TensorType> in, std::span<const TensorType>) { return in[0].shape[0]; };
  // For the device `cpu`; without it, compiling for that device throws Unsupported.
  kernel->cpu = [](std::span<const View> in, std::span<const View> out) {
    const auto* x = reinterpret_cast<const float*>(in[0].buffer.data() + in[0].offset);
    auto* y = reinterpret_cast<float*>(out[0].buffer.data() + out[0].offset);
    auto* largest = reinterpret_cast<float*>(out[1].buffer.data() + out[1].offset);
    const std::int64_t n = in[0].shape()[1];
    for (std::int64_t row = 0; row < in[0].shape()[0]; ++row) {
      float top = 1e-6f;
      for (std::int64_t k = 0; k < n; ++k) top = std::max(top, std::abs(x[row * n + k]));
      for (std::int64_t k = 0; k < n; ++k) y[row * n + k] = x[row * n + k] / top;
      largest[row] = top;
    }
  };
  return kernel;
}

int main() {
  const Device device = Device::open();
  std::printf("%s\n", device.reason().c_str());
  Graph graph;
  const Tensor x = graph.input("x", DType::f32, {4, 3});
  const std::vector<Tensor> results = custom(scale_rows(), std::vector{x * 2.0});
  graph.output("y", results[0]);
  graph.output("largest", results[1] * 0.5);
  Executable exe = compile(graph, device);

  Tensor in(device, DType::f32, {4, 3});
  const Tensor y(device, DType::f32, {4, 3}), largest(device, DType::f32, {4});
  const std::vector<float> numbers{1, -2, 4, 0, 0, 0, 3, 3, -6, 8, 1, 1};
  in.write(std::as_bytes(std::span(numbers)));
  exe.run({{"x", in}}, {{"y", y}, {"largest", largest}});
  const auto scaled = y.read<float>(), tops = largest.read<float>();
  for (const ScheduleStep& step : exe.report().steps) std::printf("  %s\n", step.label.c_str());
  std::printf("row 0: %g %g %g, divided by %g\n", scaled[0], scaled[1], scaled[2], tops[0]);

  // An error is reported with the compiler's message and the line of the text above.
  auto wrong = std::make_shared<CustomKernel>(*scale_rows());
  wrong->wgsl = "fn kernel(i: u32) {\n  store_y(i, loud_x(i));\n}";
  Graph broken;
  broken.output("y", custom(wrong, std::vector{broken.input("x", DType::f32, {4, 3})})[0]);
  bool told = !device.is_gpu();
  try {
    compile(broken, device);
  } catch (const KernelError& e) {
    std::printf("line %d: %s\n", e.line(), e.message().c_str());
    told = e.line() == 2;
  }
  return scaled[1] == -0.5f && tops[0] == 4 && tops[3] == 8 && told ? 0 : 1;
}
