#include <cstdio>
#include <vector>

#include <weft/cpu.h>
#include <weft/kernels.h>

using namespace weft;

int main() {
  const std::vector<float> a = {1, 2, 3, 4}, b = {1, 0, 1, 1};
  const auto view = [](const std::vector<float>& values) {
    return View(Buffer::borrow(std::as_bytes(std::span(values)), nullptr), 0, DType::f32, {2, 2});
  };
  const View y(Buffer::host(16), 0, DType::f32, {2, 2});
  CpuExecutor cpu;
  kernels::matmul(cpu, view(a), view(b), y);
  const float* values = reinterpret_cast<const float*>(y.buffer.data());
  std::printf("%g %g %g %g\n", values[0], values[1], values[2], values[3]);
  return values[0] == 3 && values[1] == 2 && values[2] == 7 && values[3] == 4 ? 0 : 1;
}
