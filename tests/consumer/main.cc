#include <cstdio>
#include <weft/weft.h>

int main() {
  weft::Graph graph;
  graph.output("y", graph.input("x", weft::DType::f32, {3}) * 2.0 + 1.0);
  weft::Executable exe = weft::compile(graph, weft::Device::cpu());
  weft::Tensor x(exe.device(), weft::DType::f32, {3}), y(exe.device(), weft::DType::f32, {3});
  const float values[] = {1, 2, 3};
  x.write(std::as_bytes(std::span(values)));
  exe.run({{"x", x}}, {{"y", y}});
  std::printf("%g with Weft %s\n", y.read<float>()[2], WEFT_VERSION);
  return y.read<float>()[2] == 7 ? 0 : 1;
}
