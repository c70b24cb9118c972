// The kernels without anything else: a row is added to each row of a matrix, on a GPU buffer that this program owns.
#include <cstdio>
#include <vector>

#include "weft/cpu.h"
#include "weft/device.h"
#include "weft/kernels.h"

using namespace weft;

int main() {
  const Device device = Device::open();
  std::vector<float> a(64 * 128), b(128);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 10);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i);
  const Buffer buf_a = device.allocate(a.size() * 4), buf_b = device.allocate(b.size() * 4), buf_y = device.allocate(a.size() * 4);
  device.upload(buf_a, 0, std::as_bytes(std::span(a)));
  device.upload(buf_b, 0, std::as_bytes(std::span(b)));

  const auto add = [&](Stream& stream) {
    kernels::binary(stream, ScalarOp::add,
                    View{buf_a, 0, DType::f32, {64, 128}, {128, 1}},
                    View{buf_b, 0, DType::f32, {64, 128}, {0, 1}},  // a broadcast is a stride of zero
                    View{buf_y, 0, DType::f32, {64, 128}});         // dense when no strides are given
  };
  if (device.is_gpu()) {
    gpu::Encoder encoder(device.gpu());
    add(encoder);
    encoder.submit();
  } else {
    cpu::Executor executor;
    add(executor);
  }

  std::vector<float> y(a.size());
  device.read(buf_y, 0, std::as_writable_bytes(std::span(y)));
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (y[i] != a[i] + b[i % 128]) return 1;
  }
  std::printf("%s: y[63, 127] = %g\n", device.name().c_str(), y.back());
}
