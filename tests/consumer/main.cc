#include <weft/weft.h>
#include <cstdio>
#include <string_view>

using namespace weft;

// A program's own name, which names of the library must not clash with.
Device cpu() { return Device::cpu(); }

int main() {
  set_default_device(cpu());
  Graph graph;
  graph.output("y", graph.input("x", DType::f32, {3}) * 2.0 + 1.0);
  Executable exe = compile(graph, cpu(), {.constant_folding = true});
  Tensor x(exe.device(), DType::f32, {3}), y(exe.device(), DType::f32, {3});
  const float values[] = {1, 2, 3};
  x.write(std::as_bytes(std::span(values)));
  exe.run({{"x", x}}, {{"y", y}});
  std::printf("%g with Weft %s\n", y.read<float>()[2], WEFT_VERSION);
  // Options that are not named give no warning.
  const Tensor sums = conv(ones({1, 1, 3, 3}), ones({1, 1, 3, 3}), {}, {.padding = {1, 1}});
  // A program's own errors, and comparisons of a tensor with a number, which are no bool.
  try {
    throw InvalidArgument("{} stays as it is");
  } catch (const Error& e) {
    if (std::string_view(e.what()) != "{} stays as it is") return 1;
  }
  const Tensor largest = sums.max();
  const Tensor nine = (largest == 9) & (9 == largest) & (largest != 8.5);
  return y.read<float>()[2] == 7 && nine.item<bool>() ? 0 : 1;
}
