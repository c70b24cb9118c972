#include "kernels/device_math.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "gpu/proof.h"
#include "weft/log.h"
#include "weft/small_float.h"

namespace weft::kernels {
namespace {

constexpr std::string_view kPacking =
    "fn narrow_f16(value: f32) -> u32 { return pack2x16float(vec2<f32>(value, 0.0)); }\n"
    "fn narrow_f16x2(low: f32, high: f32) -> u32 { return pack2x16float(vec2<f32>(low, high)); }\n";

// y[i] = $ of a = x[2 i] and b = x[2 i + 1].
constexpr std::string_view kTest = R"(
struct Params { count: u32 }
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x >= p.count) { return; }
  let a = x[2u * id.x];
  let b = x[2u * id.x + 1u];
  y[id.x] = $;
}
)";

// What the device makes of `formula`, a WGSL u32 of a and b, for each two of x.
std::vector<std::uint32_t> computed(const gpu::Device& device, std::string_view formula, std::span<const float> x) {
  const std::uint64_t bytes = x.size() * 4, results = x.size() * 2;
  const Buffer in = device.allocate(bytes), out = device.allocate(results);
  device.upload(in, 0, std::as_bytes(x));
  const gpu::Binding bindings[] = {{in, 0, bytes, gpu::Access::read}, {out, 0, results, gpu::Access::read_write}};
  const auto count = static_cast<std::uint32_t>(x.size() / 2);
  std::string wgsl(kTest);
  wgsl.replace(wgsl.find('$'), 1, formula);
  gpu::Encoder encoder(device);
  encoder.dispatch({.key = std::string("self-test of ") += formula,
                    .make_wgsl = [&] { return wgsl; },
                    .bindings = bindings,
                    .params = std::as_bytes(std::span(&count, 1)),
                    .workgroups = {(count + 63) / 64, 1, 1},
                    .label = "self-test"});
  gpu::Readback read = encoder.read(out, 0, results);
  encoder.submit();
  const std::vector<std::byte> got = read.get();
  std::vector<std::uint32_t> y(count);
  std::memcpy(y.data(), got.data(), results);
  return y;
}

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
  const std::vector<std::uint32_t> y = computed(device, "pack2x16float(vec2<f32>(a, b))", x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto half = static_cast<std::uint16_t>(y[i / 2] >> (i % 2 * 16));
    const bool nan = (half & 0x7fff) > 0x7c00;
    if (std::isnan(x[i]) ? !nan : half != float16(x[i]).bits) return false;
  }
  return true;
}

// The largest error of `formula`, made for each two of x, in units in the last place of `reference` of the first.
double largest_error(const gpu::Device& device, std::string_view formula, const std::vector<float>& x, double (*reference)(double)) {
  const std::vector<std::uint32_t> y = computed(device, formula, x);
  double worst = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double want = reference(x[2 * i]);
    const double error = std::abs(std::bit_cast<float>(y[i]) - want) / std::ldexp(1.0, std::ilogb(want) - 23);
    worst = error <= worst ? worst : error;  // NaN too
  }
  log(LogLevel::debug, "self-test: {} is off by {:.2f} units in the last place", formula, worst);
  return worst;
}

// The logarithm of the first of each two of x, which are below 1: near 1 it must be exact only in absolute terms.
bool log2_is_right(const gpu::Device& device, const std::vector<float>& x) {
  const std::vector<std::uint32_t> y = computed(device, "bitcast<u32>(log2(a))", x);
  double worst = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double want = std::log2(x[2 * i]);
    const double error = std::abs(std::bit_cast<float>(y[i]) - want) / std::max(1.0, std::abs(want));
    worst = error <= worst ? worst : error;  // NaN too
  }
  log(LogLevel::debug, "self-test: log2 is off by {:.2f} · 2^-23", worst * 0x1p23);
  return worst <= 0x1p-21;
}

bool exp2_is_right(const gpu::Device& device) {
  constexpr int kCount = 1 << 14;
  std::vector<float> x;
  for (int i = 0; i < kCount; ++i) {
    // Over the whole range, and closely near 0.
    const double u = (i + 0.37) / kCount * 2 - 1;
    x.push_back(static_cast<float>(i % 2 ? 125.9 * u : u));
    x.push_back(0);
  }
  if (!(largest_error(device, "bitcast<u32>(exp2(a))", x, [](double v) { return std::exp2(v); }) <= 2.5)) return false;
  for (float& v : x) v = v == 0 ? 0 : std::exp2(std::trunc(v)) * (1 + std::abs(v) / 127);
  if (!(largest_error(device, "bitcast<u32>(1.0 / a)", x, [](double v) { return 1 / v; }) <= 1.5)) return false;
  if (!(largest_error(device, "bitcast<u32>(inverseSqrt(a))", x, [](double v) { return 1 / std::sqrt(v); }) <= 2)) return false;
  for (int i = 0; i < kCount; ++i) x[2 * i] = static_cast<float>((i + 0.37) / kCount);
  if (!log2_is_right(device, x)) return false;
  // What a product's rounding leaves comes out whole only if there is no second rounding.
  for (int i = 0; i < kCount; ++i) {
    x[2 * i] = static_cast<float>(1 + (i + 0.1234567) / kCount);
    x[2 * i + 1] = static_cast<float>(2 - (i * 0.618034 - std::floor(i * 0.618034)));
  }
  const std::vector<std::uint32_t> y = computed(device, "bitcast<u32>(fma(a, b, -(a * b)))", x);
  for (int i = 0; i < kCount; ++i) {
    const float product = x[2 * i] * x[2 * i + 1];
    const double rest = double{x[2 * i]} * x[2 * i + 1] - product;
    if (std::bit_cast<float>(y[i]) != static_cast<float>(rest)) return false;
  }
  return true;
}

}  // namespace

std::string_view f16_packing(const gpu::Device& device) {
  const bool use = !device.capabilities().minimum && gpu::proven(device, "pack2x16float", [&] { return rounds_right(device); });
  return use ? kPacking : std::string_view();
}

bool device_exp2(const gpu::Device& device) {
  const gpu::Capabilities& can = device.capabilities();
  // On a CPU exp2 is a polynomial as ours is.
  return !can.minimum && !can.software && gpu::proven(device, "exp2, log2, fma, reciprocal and root", [&] { return exp2_is_right(device); });
}

}  // namespace weft::kernels
