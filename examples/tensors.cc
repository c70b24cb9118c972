// Tensors that are computed when their values are wanted.
#include <cmath>

#include "weft/weft.h"

using namespace weft;

int main() {
  auto x = random::normal({1024, 1024});                   // on the default device: the best GPU, or the cpu
  auto y = softmax(matmul(x, x.T()) * 0.03f, -1) + 1;      // nothing has run yet
  print(y.sum());                                          // one graph, a few dispatches, one small readback
  x.set({slice(0, 10), all}, 0);                           // a new value of x; y keeps the one it was made of
  auto f = compile([](Tensor a) { return gelu(a) * a; });  // a function compiled for the types that it is given
  auto g = grad([&](Tensor a) { return mean(f(a)); })(x);  // its gradient, which is compiled and fused as well
  save("y.npy", f(y));                                     // numpy.load("y.npy")

  // Each row of a softmax adds up to one.
  const double sum = y.sum().item<double>(), zeros = x[slice(0, 10)].sum().item<double>();
  const double difference = max(abs(load("y.npy") - gelu(y) * y)).item<double>();
  // A step along all elements changes the mean by the sum of the gradient.
  const double slope = (mean(f(x + 0.01f)) - mean(f(x - 0.01f))).item<double>() / 0.02;
  const bool derived = std::abs(slope - g.sum().item<double>()) < 1e-3;
  return std::abs(sum - 1024 * 1025) < 1 && zeros == 0 && difference < 1e-5 && derived ? 0 : 1;
}
