#include "kernels/f16_packing.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "gpu/proof.h"
#include "weft/small_float.h"

namespace weft::kernels {
namespace {

constexpr std::string_view kPacking =
    "fn narrow_f16(value: f32) -> u32 { return pack2x16float(vec2<f32>(value, 0.0)); }\n"
    "fn narrow_f16x2(low: f32, high: f32) -> u32 { return pack2x16float(vec2<f32>(low, high)); }\n";

constexpr const char* kTest = R"(
struct Params { count: u32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < p.count) { y[id.x] = pack2x16float(vec2<f32>(x[2u * id.x], x[2u * id.x + 1u])); }
}
)";

// Numbers on, above and below each boundary of rounding, of all exponents that matter; the ends; what is no number.
std::vector<float> trials() {
  constexpr std::uint32_t kMantissas[] = {0,        1,        0xfff,    0x1000,   0x1001,   0x1fff,  0x2000,
                                          0x2fff,   0x3000,   0x3001,   0x3fffff, 0x400000, 0x400001, 0x7fdfff,
                                          0x7fefff, 0x7ff000, 0x7ff001, 0x7fffff, 0x55aaaa, 0x2aa555};
  std::vector<float> out = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, -NAN, 3e38f, -3e38f};
  for (std::uint32_t exponent = 100; exponent < 146; ++exponent) {
    for (const std::uint32_t mantissa : kMantissas) {
      for (const std::uint32_t sign : {0u, 1u}) out.push_back(std::bit_cast<float>(sign << 31 | exponent << 23 | mantissa));
    }
  }
  return out;
}

bool rounds_right(const gpu::Device& device) {
  const std::vector<float> x = trials();
  const std::uint64_t bytes = x.size() * 4, halves = x.size() * 2;
  const Buffer in = device.allocate(bytes), out = device.allocate(halves);
  device.upload(in, 0, std::as_bytes(std::span(x)));
  const gpu::Binding bindings[] = {{in, 0, bytes, gpu::Access::read}, {out, 0, halves, gpu::Access::read_write}};
  const auto count = static_cast<std::uint32_t>(x.size() / 2);
  gpu::Encoder encoder(device);
  encoder.dispatch({.key = "f16 packing self-test",
                    .make_wgsl = [] { return std::string(kTest); },
                    .bindings = bindings,
                    .params = std::as_bytes(std::span(&count, 1)),
                    .workgroups = {(count + 63) / 64, 1, 1},
                    .label = "self-test"});
  gpu::Readback read = encoder.read(out, 0, halves);
  encoder.submit();
  const std::vector<std::byte> got = read.get();
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::uint16_t half;
    std::memcpy(&half, &got[2 * i], 2);
    const bool nan = (half & 0x7fff) > 0x7c00;
    if (std::isnan(x[i]) ? !nan : half != float16(x[i]).bits) return false;
  }
  return true;
}

}  // namespace

std::string_view f16_packing(const gpu::Device& device) {
  const bool use = !device.capabilities().minimum && gpu::proven(device, "pack2x16float", [&] { return rounds_right(device); });
  return use ? kPacking : std::string_view();
}

}  // namespace weft::kernels
