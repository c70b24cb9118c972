// Compiles a function of a model, which is a struct of tensors: it is traced once for each new shape of its arguments.
#include <cstdio>
#include <vector>

#include "weft/array.h"
#include "weft/evaluate.h"
#include "weft/traced.h"

using namespace weft;

struct Layer {
  Tensor weight, bias;
};

int main() {
  std::printf("%s\n", default_device().reason().c_str());
  std::vector<Layer> layers(3);
  for (Layer& layer : layers) {
    layer = {tensor({64, 64}, std::vector<float>(4096, 1.0f / 64)), tensor({64}, std::vector<float>(64, 1))};
  }
  int traced = 0;
  auto f = compile([&](const std::vector<Layer>& layers, Tensor x) {
    ++traced;
    for (const Layer& layer : layers) x = relu(matmul(x, layer.weight) + layer.bias);
    return x;
  });
  auto batch = tensor({2, 64}, std::vector<float>(128, 1));
  auto y = f(layers, batch);                                         // traced, compiled and run
  for (int i = 0; i < 10; ++i) y = f(layers, batch);                 // only run
  auto one = f(layers, tensor({1, 64}, std::vector<float>(64, 1)));  // another shape: traced again
  std::printf("traced %d times: %g %g\n", traced, y.read<float>()[0], one.read<float>()[0]);  // 2 times: 4 4
  return traced == 2 && f.cached() == 2 && y.read<float>()[127] == 4 && one.read<float>()[63] == 4 ? 0 : 1;
}
