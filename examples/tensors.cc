// Tensors that are computed when their values are wanted.
#include <cstdio>

#include "weft/evaluate.h"
#include "weft/graph.h"
#include "weft/print.h"

using namespace weft;

int main() {
  std::printf("%s\n", default_device().reason().c_str());

  auto x = tensor({2, 3}, {1, 2, 3, 4, 5, 6});             // on the default device: the best GPU, or the cpu
  auto y = softmax(matmul(x, x.T()) * 0.03) + 1.0;         // nothing has run yet
  print(y);                                                // one graph, a few dispatches, one small readback
  auto z = y;
  for (int i = 0; i < 100; ++i) {
    z = matmul(z, y) / 3.0;                                // compiled in the first turn, found in the others
    eval(z);                                               // submits, and does not wait
  }
  print(reduce(ReduceKind::max, z, {0, 1}));
  auto there = to(y, Device::cpu());                       // the same program on another device

  std::printf("%g\n", there.read<float>()[0]);
  return y.has_data() && there.read<float>() == y.read<float>() ? 0 : 1;
}
