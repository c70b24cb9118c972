// The error of the scalar functions in units in the last place of f32, against double, over the whole range of
// arguments.
#include <cmath>
#include <cstring>
#include <numbers>
#include <regex>

#include "cpu/executor.h"
#include "kernels/device_math.h"
#include "kernels/elementwise/expression_wgsl.h"
#include "kernels/library.h"
#include "kernels/source.h"
#include "scalar_cases.h"
#include "support/kernel_test.h"
#include "weft/kernels/copy.h"
#include "weft/kernels/elementwise.h"
#include "weft/small_float.h"

namespace weft::test {
namespace {

// References whose own error is far below f32's.
double sigmoid_ref(double z) { return z < 0 ? std::exp(z) / (1 + std::exp(z)) : 1 / (1 + std::exp(-z)); }
double gelu_erf_ref(double x) { return std::isinf(x) && x < 0 ? 0 : 0.5 * x * std::erfc(-x / std::numbers::sqrt2); }
double gated_ref(double x, double z) { return std::isinf(z) && z < 0 ? 0 : x * sigmoid_ref(z); }

struct Function {
  ScalarOp op;
  double (*reference)(double);
  double gpu_ulp;  // bound for a GPU
};
// 4 for Weft's own functions; sqrt, rsqrt and reciprocal are the device's, for which WGSL allows errors of 2.5 ULP.
const Function kFunctions[] = {
    {ScalarOp::sqrt, [](double x) { return std::sqrt(x); }, 3},
    {ScalarOp::rsqrt, [](double x) { return 1 / std::sqrt(x); }, 3},
    {ScalarOp::reciprocal, [](double x) { return 1 / x; }, 3},
    {ScalarOp::exp, [](double x) { return std::exp(x); }, 4},
    {ScalarOp::exp2, [](double x) { return std::exp2(x); }, 4},
    {ScalarOp::log, [](double x) { return std::log(x); }, 4},
    {ScalarOp::log2, [](double x) { return std::log2(x); }, 4},
    {ScalarOp::sin, [](double x) { return std::sin(x); }, 4},
    {ScalarOp::cos, [](double x) { return std::cos(x); }, 4},
    {ScalarOp::tan, [](double x) { return std::tan(x); }, 4},
    {ScalarOp::tanh, [](double x) { return std::tanh(x); }, 4},
    {ScalarOp::erf, [](double x) { return std::erf(x); }, 4},
    {ScalarOp::sigmoid, sigmoid_ref, 4},
    {ScalarOp::softplus, [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }, 4},
    {ScalarOp::gelu_erf, gelu_erf_ref, 4},
    {ScalarOp::gelu_tanh,
     [](double x) { return gated_ref(x, 2 * std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)); }, 4},
    {ScalarOp::gelu_quick, [](double x) { return gated_ref(x, 1.702 * x); }, 4},
    {ScalarOp::silu, [](double x) { return gated_ref(x, x); }, 4},
};

// The error in units of the last place of the reference, or of `scale` if that is larger; WGSL may flush denormals.
double ulp_error(float got, double want, double scale = 0) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : INFINITY;
  const auto rounded = static_cast<float>(want);
  if (got == rounded) return 0;
  if (std::isinf(rounded)) return std::isinf(got) || std::abs(got) > 3.4028e38f ? 0 : INFINITY;
  if (std::isnan(got) || std::isinf(got)) return std::abs(want) > 3.4028e38 ? 0 : INFINITY;
  if (std::abs(got - want) <= 0x1p-126) return 0;
  return std::abs(got - want) / std::ldexp(1.0, std::max(std::ilogb(std::max(std::abs(want), scale)), -126) - 23);
}

// Every exponent, the ranges where functions change, and the limits; no denormals (a GPU may treat them as zero).
std::vector<float> arguments(Rng& rng, int n) {
  std::vector<float> x = {0.0f,        -0.0f,   1,       -1,       INFINITY, -INFINITY, NAN,        88.7f,
                          -87.3f,      127.99f, 3.4e38f, -3.4e38f, 402,      1e5f,      1.5707964f, 3.1415927f,
                          16367173.0f, 1e22f,   14.4f,   -13.0f,   -5.5f,    0.6249f,   0.99999f,   1.0000001f};
  // Next to multiples of π/2, where a sine or cosine is only the rounding error of the argument.
  for (int k = 1; k <= 256; ++k) {
    const auto nearest = static_cast<float>(k * (std::numbers::pi / 2));
    x.insert(x.end(), {nearest, -std::nextafter(nearest, 0.0f), std::nextafter(nearest, 1e9f)});
  }
  while (static_cast<int>(x.size()) < n) {
    const double u = std::uniform_real_distribution<double>(-1, 1)(rng);
    switch (x.size() % 4) {
      case 0:
        x.push_back(static_cast<float>(u * 20));
        break;
      case 1:
        x.push_back(static_cast<float>(u * 110));
        break;
      case 2:
        x.push_back(static_cast<float>(u));
        break;
      default:
        x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(rng())));
    }
    if (std::abs(x.back()) < 0x1p-126f && x.back() != 0) x.pop_back();
  }
  return x;
}

View to_view(const std::vector<float>& v) {
  View view(Buffer::host(v.size() * 4), 0, DType::f32, {static_cast<std::int64_t>(v.size())});
  std::memcpy(view.buffer.data(), v.data(), v.size() * 4);
  return view;
}

// Functions without an independent reference here: compared with the CPU in f64, which is tested against mpmath and
// SciPy (functions_reference_test.cc).
constexpr std::string_view kByReference[] = {
    "cbrt",       "expm1", "log10",      "log1p", "asin", "acos",   "atan",      "sinh",
    "cosh",       "asinh", "acosh",      "atanh", "erfc", "erfinv", "lgamma",    "digamma",
    "logsigmoid", "mish",  "leaky_relu", "elu",   "selu", "celu",   "hardswish", "softsign",
    "j0",         "j1",    "y0",         "y1",    "k0",   "k1",     "k0e",       "k1e"};

std::vector<double> by_cpu(std::string_view name, const View& x) {
  cpu::Executor cpu;
  const auto n = static_cast<std::uint64_t>(x.count());
  const View wide(Buffer::host(n * 8), 0, DType::f64, x.shape());
  const View y(Buffer::host(n * 8), 0, DType::f64, x.shape());
  kernels::copy(cpu, x, wide);
  kernels::elementwise(cpu, name, std::span(&wide, 1), y);
  return values(y);
}

// Where terms cancel, the bound is relative to the largest of them (weft/expression.h): lgamma and digamma below 0, and
// Bessel functions at their zeros.
double largest_term(std::string_view name, double x, double want) {
  if (name == "j0" || name == "j1" || name == "y0" || name == "y1") {
    // (That of J1 near 0 is the result.)
    if (name == "j1" && std::abs(x) < 1) return 0;
    return std::isfinite(x) ? std::min(1.0, std::sqrt(2 / (std::numbers::pi * std::abs(x)))) : 0;
  }
  if (x >= 0 || !std::isfinite(x)) return 0;
  if (name == "digamma") return std::max(1.0, std::abs(want) + std::log(1 - x));
  return name == "lgamma" ? std::max(1.0, x > -1e30 ? -x * (std::log(1 - x) - 1) : 0) : 0;
}

struct Worst {
  double ulp = 0;
  double x = 0, y = 0, got = 0;
  void see(double error, double at, double at_y, double value) {
    if (error > ulp) *this = {error, at, at_y, value};
  }
};

class ScalarAccuracy : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Devices, ScalarAccuracy, testing::ValuesIn(device_names()),
                         [](const auto& i) { return i.param; });

constexpr int kCount = 1 << 16;

TEST_P(ScalarAccuracy, Unary) {
  Rng rng(11);
  gpu::Device& device = test::device(GetParam());
  const std::vector<float> x = arguments(rng, kCount);
  const View host = to_view(x);
  const View on_gpu = to_device(device, host);
  for (const Function& f : kFunctions) {
    const View y = to_device(device, host);
    gpu::Encoder encoder(device);
    kernels::unary(encoder, f.op, on_gpu, y);
    encoder.submit();
    const View result = to_host(device, y);
    Worst worst;
    for (int i = 0; i < kCount; ++i) {
      const auto got = static_cast<float>(value(result, i));
      worst.see(ulp_error(got, f.reference(x[i])), x[i], 0, got);
    }
    EXPECT_LE(worst.ulp, f.gpu_ulp) << name(f.op) << "(" << worst.x << ") = " << worst.got;
    RecordProperty(std::string(name(f.op)), std::format("{:.2f}", worst.ulp));
  }
}

// To the bit what C++ divides: of random bits, so that denormals, infinities and NaN are among operands and results, of
// numbers of moderate size, and of quotients of small integers.
TEST_P(ScalarAccuracy, QuotientsRoundedToNearest) {
  Rng rng(12);
  gpu::Device& device = test::device(GetParam());
  constexpr std::int64_t n = 1 << 16;
  const View a = host_view(DType::f32, {n}, std::vector<double>(n)),
             b = host_view(DType::f32, {n}, std::vector<double>(n));
  const float ends[] = {0.0f, -0.0f, 0x1p-149f,        0x1.fffffcp-127f, 0x1p-126f,
                        1.0f, 3.0f,  -0x1.fffffep127f, INFINITY,         NAN};
  std::vector<std::uint32_t> expected;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto any = [&](std::int64_t end) {
      if (i < 100) return ends[end];
      if (i % 4 == 0) return std::bit_cast<float>(static_cast<std::uint32_t>(rng()));
      if (i % 4 == 1) return static_cast<float>(static_cast<int>(rng() % 601) - 300);
      return std::uniform_real_distribution<float>(i % 4 == 2 ? -1.0f : 1.0f, 2)(rng);
    };
    const float x = any(i / 10 % 10), y = any(i % 10);
    set_element_bits(a, i, std::bit_cast<std::uint32_t>(x));
    set_element_bits(b, i, std::bit_cast<std::uint32_t>(y));
    expected.push_back(std::bit_cast<std::uint32_t>(x / y));
  }
  const View y = to_device(device, a);
  gpu::Encoder encoder(device);
  kernels::binary(encoder, ScalarOp::div_rn, to_device(device, a), to_device(device, b), y);
  encoder.submit();
  const View result = to_host(device, y);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto got = static_cast<std::uint32_t>(element_bits(result, i)), want = expected[static_cast<std::size_t>(i)];
    if (std::isnan(std::bit_cast<float>(want)) && std::isnan(std::bit_cast<float>(got))) continue;
    ASSERT_EQ(got, want) << value(a, i) << " / " << value(b, i) << " = " << value(result, i);
  }
}

// Evaluates `call`, an expression of functions of the library, for each x in the place of $; with `devices_own` in the
// forms that use the device's own functions, where there are such.
std::vector<float> by_library(gpu::Device& device, const std::string& call, const std::vector<float>& x,
                              bool devices_own, const std::string& declarations = "") {
  const std::string main = declarations + std::format(R"(
struct Params {{ count: u32, opaque_zero: u32 }}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
  if (id.x < p.count) {{ y[id.x] = {}; }}
}}
)",
                                                      std::regex_replace(call, std::regex("\\$"), "x[id.x]"));
  const std::uint64_t bytes = x.size() * 4;
  const Buffer in = device.allocate(bytes), out = device.allocate(bytes);
  device.upload(in, 0, std::as_bytes(std::span(x)));
  const gpu::Binding bindings[] = {{in, 0, bytes, gpu::Access::read}, {out, 0, bytes, gpu::Access::read_write}};
  const std::uint32_t params[] = {static_cast<std::uint32_t>(x.size()), 0};
  const auto forms = [&](std::string_view) { return devices_own; };
  gpu::Encoder encoder(device);
  encoder.dispatch({.key = std::format("test of {} {} {}", call, devices_own, declarations),
                    .make_wgsl = [&] { return main + kernels::library_for(main, forms); },
                    .bindings = bindings,
                    .params = std::as_bytes(std::span(params)),
                    .workgroups = {(params[0] + 63) / 64, 1, 1},
                    .label = "test"});
  gpu::Readback read = encoder.read(out, 0, bytes);
  encoder.submit();
  const std::vector<std::byte> got = read.get();
  std::vector<float> y(x.size());
  std::memcpy(y.data(), got.data(), bytes);
  return y;
}

// Forms that are only used on GPUs: they compile on every device, and agree with the functions that they replace on
// arguments within their range.
TEST_P(ScalarAccuracy, FormsByTheDevicesOwnFunctions) {
  gpu::Device& device = test::device(GetParam());
  const std::string text = kernels::kernel_source("device_math") + kernels::kernel_source("device_narrow_math");
  const std::regex function(R"(fn (\w+)\(x: f32(, y: f32)?\) -> f32)");
  const std::regex suffix("_(bf16|brief|near|narrow|wide)(_f32)?$");
  std::vector<float> x;
  for (int i = -600; i <= 600; ++i) x.push_back(static_cast<float>(i) / 100);
  int compiled = 0, compared = 0;
  for (std::sregex_iterator i(text.begin(), text.end(), function), end; i != end; ++i) {
    const std::string form = (*i)[1];
    const std::string arguments = (*i)[2].matched ? "($, 1.0 - $)" : "($)";
    const std::vector<float> got = by_library(device, form + arguments, x, true);
    ++compiled;
    std::string whole = std::regex_replace(form, suffix, "");
    if (!whole.ends_with("_f32")) whole += "_f32";
    const bool is_part = kernels::library_for("= " + whole + "(", [](std::string_view) { return false; }).empty();
    if (is_part) continue;  // a helper of another function
    const std::vector<float> want = by_library(device, whole + arguments, x, false);
    ++compared;
    for (std::size_t k = 0; k < x.size(); ++k) {
      if ((std::isnan(want[k]) && std::isnan(got[k])) || got[k] == want[k]) continue;
      ASSERT_FALSE(std::isinf(want[k])) << form << " of " << x[k] << " is " << got[k];
      // 2^-11 of the result, or of 1 near its zeros.
      EXPECT_NEAR(got[k], want[k], 0x1p-11 * std::max(1.0f, std::abs(want[k]))) << form << " of " << x[k];
    }
  }
  EXPECT_GE(compiled, 30);
  EXPECT_GE(compared, 20);
}

// Functions that leave arguments outside the fast path to the kernel, as on GPUs, alone and of constants, whose results
// are hidden from compilers: they compile on every device, and agree with the CPU.
TEST_P(ScalarAccuracy, FastPathExpressions) {
  gpu::Device& device = test::device(GetParam());
  const auto all = [](std::string_view) { return true; };
  std::vector<float> x;
  for (int i = -128; i <= 128; ++i) x.push_back(static_cast<float>(i) / 64);  // also exact in bf16
  int compiled = 0;
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    for (int op = static_cast<int>(ScalarOp::neg); op < kScalarOpCount; ++op) {
      const auto function = static_cast<ScalarOp>(op);
      if (!takes(function, type) || arity(function) > 2) continue;
      for (const bool of_constants : {false, true}) {
        Expression e;
        const int a = e.input(type);
        const auto operand = [&](double value) { return of_constants ? e.constant(value, type) : a; };
        const int result =
            arity(function) == 1 ? e.apply(function, {operand(1.5)}) : e.apply(function, {operand(1.5), operand(2.5)});
        if (e.nodes()[static_cast<std::size_t>(result)].type != type) continue;
        e.output(of_constants ? e.apply(ScalarOp::mul, {a, result}) : result);
        if (!kernels::has_fast_path(e, all)) continue;
        const std::string text = kernels::expression_fast_wgsl(e, all, false) + R"(
fn near_or_nan(x: f32) -> f32 {
  var far = false;
  let y = expression_fast(vec4<f32>(x), &far).x;
  return select(y, f32_from_bits(0x7fc00000u), far);
}
)";
        const std::vector<float> got = by_library(device, "near_or_nan($)", x, true, text);
        ++compiled;
        cpu::Executor cpu;
        const View in(Buffer::host(x.size() * 8), 0, type, {static_cast<std::int64_t>(x.size())});
        const View out(Buffer::host(x.size() * 8), 0, type, in.shape());
        kernels::copy(cpu, to_view(x), in);
        kernels::map(cpu, e, std::span(&in, 1), std::span(&out, 1));
        for (std::size_t i = 0; i < x.size(); ++i) {
          const double want = value(out, static_cast<std::int64_t>(i));
          if (std::isnan(got[i]) || std::isnan(want)) continue;  // slow path
          EXPECT_NEAR(got[i], want, std::max(1.0, std::abs(want)) * (type == DType::bf16 ? 0x1p-7 : 0x1p-10))
              << e.to_string() << " of " << x[i];
        }
      }
    }
  }
  EXPECT_GE(compiled, 60);
}

// All 16-bit patterns.
View every_narrow_float(DType type) {
  const View all(Buffer::host(kCount * 2), 0, type, {kCount});
  for (int i = 0; i < kCount; ++i) {
    const auto pattern = static_cast<std::uint16_t>(i);
    std::memcpy(all.buffer.data() + static_cast<std::ptrdiff_t>(i) * 2, &pattern, 2);
  }
  return all;
}

// The functions with short forms for narrow floats.
constexpr const char* kNarrow[] = {
    "exp",  "exp2", "tanh", "sigmoid", "logsigmoid", "softplus", "mish", "gelu_erf", "gelu_tanh", "gelu_quick", "silu",
    "cbrt", "log",  "log2", "log10",   "log1p",      "expm1",    "sin",  "cos",      "tan",       "asin",       "acos",
    "atan", "sinh", "cosh", "asinh",   "acosh",      "atanh",    "erf",  "erfc",     "erfinv"};

// The forms that GPUs use for them, on every device: within 2^-14 of the result, 2^-12 for bf16, before it is rounded.
TEST_P(ScalarAccuracy, ShortFormsOfEveryNarrowFloat) {
  gpu::Device& device = test::device(GetParam());
  for (const DType type : {DType::f16, DType::bf16}) {
    const View host = every_narrow_float(type);
    const std::vector<double> numbers = values(host);
    const std::vector<float> x(numbers.begin(), numbers.end());
    const bool half = type == DType::f16;
    const double share = half ? 0x1p-14 : 0x1p-12, least = half ? 0x1p-26 : 0x1p-126,
                 largest = half ? 65504 : 3.3895314e38;
    for (const std::string f : kNarrow) {
      std::string form = f + (half ? "_narrow" : "_bf16");
      if (!half && !kernels::has_device_form(form)) form = f + "_narrow";
      if (!kernels::has_device_form(form)) continue;
      const std::vector<float> got = by_library(device, form + "($)", x, true);
      std::vector<float> far(x.size());
      if (const std::string test = f + "_wide_far"; !half && kernels::has_device_form(test)) {
        far = by_library(device, "f32(" + test + "($))", x, true);
      }
      const std::vector<double> want = by_cpu(f, host);
      Worst worst;
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (far[i]) continue;
        // Kernels store results of the fast path without NaN handling. (NaN itself is only right on devices that passed
        // a self-test of comparisons.)
        if (!half && std::isnan(want[i]) && !std::isnan(x[i])) {
          EXPECT_FALSE(kernels::has_device_form(f + "_wide_far")) << form << " of " << x[i] << " is not far";
        }
        if (x[i] != 0 && std::abs(x[i]) < 0x1p-126f) continue;
        // Past the first multiple, products are exact only on devices that fuse multiply and add.
        const bool angle = f == "sin" || f == "cos" || f == "tan";
        if (angle && std::isfinite(x[i]) && std::abs(x[i]) > 0.75f && !kernels::device_exp2(device)) continue;
        if (std::isnan(want[i]) && std::isnan(got[i])) continue;
        if (x[i] == 0) {
          EXPECT_EQ(std::signbit(got[i]), std::signbit(want[i])) << form << " of " << x[i] << " = " << got[i];
        }
        if (std::abs(want[i]) > largest && std::abs(got[i]) > largest && (got[i] > 0) == (want[i] > 0)) continue;
        const double error = std::abs(got[i] - want[i]);
        if (error <= least) continue;
        worst.see(std::isnan(error) ? INFINITY : error / std::abs(want[i]), x[i], want[i], got[i]);
      }
      EXPECT_LE(worst.ulp, share) << form << " of " << weft::name(type) << " " << worst.x << " = " << worst.got
                                  << ", not " << worst.y;
      RecordProperty(form, std::format("2^{:.1f}", std::log2(worst.ulp)));
    }
  }
}

// GELU of f16 is nearly as precise as its f32 function before it is rounded, by both short forms.
TEST_P(ScalarAccuracy, GeluOfEveryF16) {
  gpu::Device& device = test::device(GetParam());
  const View host = every_narrow_float(DType::f16);
  const std::vector<double> numbers = values(host);
  const std::vector<float> x(numbers.begin(), numbers.end());
  for (const bool devices_own : {false, true}) {
    const std::vector<float> got = by_library(device, "gelu_erf_narrow($)", x, devices_own);
    int misrounded = 0;
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!std::isfinite(x[i])) continue;
      const double want = gelu_erf_ref(x[i]);
      const auto nearest = static_cast<float>(float16(static_cast<float>(want)));
      misrounded += static_cast<float>(float16(got[i])) != nearest;
      if (std::abs(want) >= 0x1p-14) worst = std::max(worst, std::abs(got[i] - want) / std::abs(want));
    }
    EXPECT_LE(worst, 0x1p-19) << "2^" << std::log2(worst);
    EXPECT_LE(misrounded, 40) << "of 63488";  // 937 with a tail within 2^-15.7
    RecordProperty(devices_own ? "own" : "common",
                   std::format("2^{:.1f}, {} misrounded", std::log2(worst), misrounded));
  }
}

// Every 16-bit number: the error of a function's short form is 2^-14 of the result (2^-12 for bf16), plus half a unit
// for the rounding.
TEST_P(ScalarAccuracy, EveryNarrowFloat) {
  gpu::Device& device = test::device(GetParam());
  for (const DType type : {DType::f16, DType::bf16}) {
    const int digits = type == DType::f16 ? 11 : 8, lowest = type == DType::f16 ? -14 : -126;
    const double largest = type == DType::f16 ? 65504 : 3.3895314e38,
                 bound = 0.5 + std::exp2(digits - (type == DType::f16 ? 14 : 12));
    const View host = every_narrow_float(type);
    const View x = to_device(device, host);
    for (const char* f : kNarrow) {
      const std::vector<double> want = by_cpu(f, host), from = values(host);
      const View y = to_device(device, host);
      gpu::Encoder encoder(device);
      kernels::elementwise(encoder, f, std::span(&x, 1), y);
      encoder.submit();
      const std::vector<double> got = values(to_host(device, y));
      Worst worst;
      for (std::size_t i = 0; i < got.size(); ++i) {
        if (from[i] != 0 && std::abs(from[i]) < 0x1p-126) continue;
        const double unit = std::ldexp(1.0, std::max(want[i] == 0 ? lowest : std::ilogb(want[i]), lowest) - digits + 1);
        double error = std::isnan(want[i]) ? (std::isnan(got[i]) ? 0 : INFINITY) : std::abs(got[i] - want[i]) / unit;
        if (std::isinf(got[i]) && std::abs(want[i]) > largest && (got[i] > 0) == (want[i] > 0)) error = 0;
        if (std::abs(got[i] - want[i]) <= 0x1p-126) error = 0;  // may be flushed
        worst.see(std::isnan(error) ? INFINITY : error, from[i], want[i], got[i]);
      }
      EXPECT_LE(worst.ulp, bound) << f << " of " << name(type) << " " << worst.x << " = " << worst.got << ", not "
                                  << worst.y;
    }
  }
}

TEST_P(ScalarAccuracy, UnaryByReference) {
  Rng rng(15);
  gpu::Device& device = test::device(GetParam());
  const std::vector<float> x = arguments(rng, kCount);
  const View host = to_view(x);
  const View on_gpu = to_device(device, host);
  for (const std::string_view f : kByReference) {
    const std::vector<double> want = by_cpu(f, host);
    const View y = to_device(device, host);
    gpu::Encoder encoder(device);
    kernels::elementwise(encoder, f, std::span(&on_gpu, 1), y);
    encoder.submit();
    const View result = to_host(device, y);
    Worst worst;
    for (int i = 0; i < kCount; ++i) {
      const auto got = static_cast<float>(value(result, i));
      worst.see(ulp_error(got, want[i], largest_term(f, x[i], want[i])), x[i], 0, got);
    }
    EXPECT_LE(worst.ulp, 4) << f << "(" << worst.x << ") = " << worst.got;
    RecordProperty(std::string(f), std::format("{:.2f}", worst.ulp));
  }
}

TEST_P(ScalarAccuracy, OfTwoNumbers) {
  Rng rng(16);
  gpu::Device& device = test::device(GetParam());
  const std::vector<float> a = arguments(rng, kCount);
  std::vector<float> b = arguments(rng, kCount);
  std::ranges::shuffle(b, rng);
  // In half of the pairs both numbers are of similar magnitude.
  for (int i = 0; i < kCount; i += 2) {
    b[i] = static_cast<float>(a[i] * std::exp2(std::uniform_real_distribution<double>(-12, 12)(rng)));
    if (std::abs(b[i]) < 0x1p-126f) b[i] = 0;
  }
  const std::pair<ScalarOp, double (*)(double, double)> functions[] = {
      {ScalarOp::atan2, [](double y, double x) { return std::atan2(y, x); }},
      {ScalarOp::hypot, [](double x, double y) { return std::hypot(x, y); }}};
  for (const auto& [op, reference] : functions) {
    const View y = to_device(device, to_view(a));
    gpu::Encoder encoder(device);
    kernels::binary(encoder, op, to_device(device, to_view(a)), to_device(device, to_view(b)), y);
    encoder.submit();
    const View result = to_host(device, y);
    Worst worst;
    for (int i = 0; i < kCount; ++i) {
      const auto got = static_cast<float>(value(result, i));
      worst.see(ulp_error(got, reference(a[i], b[i])), a[i], b[i], got);
    }
    EXPECT_LE(worst.ulp, 4) << name(op) << "(" << worst.x << ", " << worst.y << ") = " << worst.got;
  }
}

TEST_P(ScalarAccuracy, Pow) {
  Rng rng(12);
  gpu::Device& device = test::device(GetParam());
  std::vector<float> a = arguments(rng, kCount);
  std::vector<float> b = arguments(rng, kCount);
  std::ranges::shuffle(b, rng);
  for (int i = 0; i < kCount; i += 2) a[i] = std::abs(a[i]);
  for (int i = 0; i < kCount; i += 8) b[i] = std::round(b[i]);
  // Arguments whose results cover f32's range: x near 1 to large powers.
  for (int i = 1; i < kCount; i += 4) {
    a[i] = 1 + static_cast<float>(std::uniform_real_distribution<double>(-0.3, 0.3)(rng));
    b[i] = static_cast<float>(std::uniform_real_distribution<double>(-88, 88)(rng) / std::log(std::abs(a[i])));
  }
  // IEEE 754's rules for limits, ones, and integers too large to be odd.
  const float edges[] = {0,       1,       2,        3,        0.5f,    1.5f,          0.99999994f, 1.0000001f, 4194303,
                         4194305, 8388607, 16777215, 16777216, 3.4e38f, 3.4028235e38f, 1.2e-38f,    INFINITY,   NAN};
  for (const float x : edges) {
    for (const float y : edges) {
      for (const int signs : {0, 1, 2, 3}) {
        a.push_back(signs & 1 ? -x : x);
        b.push_back(signs & 2 ? -y : y);
      }
    }
  }
  const View y = to_device(device, to_view(a));
  gpu::Encoder encoder(device);
  kernels::binary(encoder, ScalarOp::pow, to_device(device, to_view(a)), to_device(device, to_view(b)), y);
  encoder.submit();
  const View result = to_host(device, y);
  Worst worst;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto got = static_cast<float>(value(result, static_cast<std::int64_t>(i)));
    const double want = std::pow(static_cast<double>(a[i]), static_cast<double>(b[i]));
    worst.see(ulp_error(got, want), a[i], b[i], got);
    EXPECT_TRUE(std::isnan(want) || std::signbit(got) == std::signbit(want)) << "pow(" << a[i] << ", " << b[i] << ")";
  }
  EXPECT_LE(worst.ulp, 4) << "pow(" << worst.x << ", " << worst.y << ") = " << worst.got;
  RecordProperty("pow", std::format("{:.2f}", worst.ulp));
}

// Over the whole plane: tiny and huge parameters, both tails, arguments next to the mean. By the CPU's f64, which is
// tested against mpmath and SciPy (tests/reference/incomplete.py).
TEST_P(ScalarAccuracy, IncompleteGammaAndBeta) {
  Rng rng(19);
  gpu::Device& device = test::device(GetParam());
  const auto uniform = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(rng); };
  const auto normal = [&] { return std::normal_distribution<double>()(rng); };
  std::vector<float> a, b, x, probability;
  const auto put = [](std::vector<float>& to, double v) {
    to.push_back(static_cast<float>(std::clamp(v, 1.2e-38, 3e38)));
  };
  for (int i = 0; i < kCount / 4; ++i) {
    const double wide = i % 8 == 0 ? 28 : i % 8 == 1 ? 4 : 6;
    const double p = std::pow(10, uniform(-wide, wide)),
                 q = i % 3 ? std::pow(10, uniform(-wide, wide)) : p * std::exp(normal());
    put(a, p);
    put(b, q);
    put(x, i % 4 == 0   ? std::pow(10, uniform(-wide, wide))
           : i % 4 == 1 ? p + 4 * normal() * std::sqrt(p)
           : i % 4 == 2 ? p * std::exp(0.5 * normal())
                        : std::exp(uniform(-3, 5)));
    const double mean = p / (p + q);
    put(probability, std::min(i % 4 == 0   ? uniform(0, 1)
                              : i % 4 == 1 ? mean + 3 * normal() * std::sqrt(mean * (1 - mean) / (p + q + 1))
                              : i % 4 == 2 ? std::pow(10, uniform(-8, 0))
                                           : 1 - std::pow(10, uniform(-7, 0)),
                              1 - 0x1p-24));
  }
  const float huge = std::numeric_limits<float>::max();
  for (const float p : {1.2e-38f, 1e-10f, 0.5f, 1.0f, 19.9f, 1e10f, 1e25f, 3e30f, huge}) {
    for (const float q : {1.2e-38f, 0.25f, 1.0f, 1.1f, 19.9f, 1e10f, 1.00001e10f, 1e25f, 3e30f, huge}) {
      for (const float r : {1.2e-38f, 1e-10f, 0.5f, 0.99999994f}) {
        a.push_back(p), b.push_back(q), x.push_back(q), probability.push_back(r);
      }
    }
  }
  for (const ScalarOp op : {ScalarOp::gammainc, ScalarOp::gammaincc, ScalarOp::betainc}) {
    const bool beta = op == ScalarOp::betainc;
    std::vector<View> host{to_view(a), to_view(beta ? b : x)};
    if (beta) host.push_back(to_view(probability));
    std::vector<View> wide, on_gpu;
    cpu::Executor cpu;
    for (const View& v : host) {
      wide.push_back(View(Buffer::host(a.size() * 8), 0, DType::f64, v.shape()));
      kernels::copy(cpu, v, wide.back());
      on_gpu.push_back(to_device(device, v));
    }
    const View want(Buffer::host(a.size() * 8), 0, DType::f64, host[0].shape()), y = to_device(device, host[0]);
    kernels::elementwise(cpu, name(op), wide, want);
    gpu::Encoder encoder(device);
    kernels::elementwise(encoder, name(op), on_gpu, y);
    encoder.submit();
    const View result = to_host(device, y);
    double worst = 0;
    for (std::int64_t i = 0; i < result.count(); ++i) {
      const double got = value(result, i), exact = value(want, i);
      const double error = std::abs(got - exact) <= 2.4e-38 ? 0 : std::abs(got - exact) / exact;
      worst = std::max(worst, error);
      EXPECT_LE(error, 3e-6) << name(op) << " of " << value(host[0], i) << ", " << value(host[1], i)
                             << (beta ? std::format(", {}", value(host[2], i)) : "") << " is " << got << ", not "
                             << exact;
      EXPECT_EQ(std::isnan(got), std::isnan(exact));
    }
    RecordProperty(std::string(name(op)), std::format("{:.1e}", worst));
  }
}

// The error of x is what one of 3e-6 in the lesser of the probability and what it lacks of 1 makes of it, and 5e-7 of
// x. By the CPU's f64, which is tested against mpmath (tests/reference/incomplete.py); what a change of the probability
// makes of x by differences.
TEST_P(ScalarAccuracy, InversesOfIncompleteGammaAndBeta) {
  Rng rng(20);
  gpu::Device& device = test::device(GetParam());
  const auto uniform = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(rng); };
  std::vector<float> a, b, p;
  for (int i = 0; i < kCount / 4; ++i) {
    const double wide = i % 8 == 0 ? 30 : i % 8 == 1 ? 3 : 8;
    const auto put = [](std::vector<float>& to, double v) {
      to.push_back(static_cast<float>(std::clamp(v, 1.2e-38, 3e38)));
    };
    put(a, std::pow(10, uniform(-wide, wide)));
    put(b, i % 3 ? std::pow(10, uniform(-wide, wide)) : a.back() * std::exp(uniform(-3, 3)));
    put(p, std::min(i % 4 < 2    ? uniform(0, 1)
                    : i % 4 == 2 ? std::pow(10, uniform(-37, 0))
                                 : 1 - std::pow(10, uniform(-7, 0)),
                    1 - 0x1p-24));
  }
  for (const float q : {1.2e-38f, 1e-10f, 0.5f, 1.0f, 19.9f, 1e10f, 1e19f, 1e25f, 3e30f, 3e38f}) {
    for (const float r : {1.2e-38f, 0.25f, 1.0f, 20.1f, 1e6f, 1e10f, 1e25f, 3e38f}) {
      for (const float s : {0.0f, 1.2e-38f, 1e-10f, 0.5f, 0.50000006f, 0.99999994f, 1.0f, -0.5f, 1.5f, NAN}) {
        a.push_back(q), b.push_back(r), p.push_back(s);
      }
    }
  }
  for (const float q : {0.0f, -1.0f, INFINITY, NAN}) {
    for (const float s : {0.0f, -0.0f, 0.25f, 0.75f, 1.0f, -0.5f, NAN}) {
      a.push_back(q), b.push_back(2), p.push_back(s);
      a.push_back(2), b.push_back(q), p.push_back(s);
      a.push_back(q), b.push_back(q), p.push_back(s);
    }
  }
  cpu::Executor cpu;
  const auto count = static_cast<std::int64_t>(a.size());
  // The inverse in f64 with the probability changed by a part of the lesser one.
  const auto inverse = [&](ScalarOp op, double part) {
    const auto in_f64 = [&](const std::vector<float>& v, double share) {
      View wide(Buffer::host(v.size() * 8), 0, DType::f64, {count});
      for (std::int64_t i = 0; i < count; ++i) {
        const double x = v[static_cast<std::size_t>(i)];
        const double y = x > 0 && x < 1 ? x + share * std::min(x, 1 - x) : x;
        set_element_bits(wide, i, std::bit_cast<std::uint64_t>(y));
      }
      return wide;
    };
    const std::vector<View> wide = arity(op) == 2 ? std::vector{in_f64(a, 0), in_f64(p, part)}
                                                  : std::vector{in_f64(a, 0), in_f64(b, 0), in_f64(p, part)};
    const View y(Buffer::host(a.size() * 8), 0, DType::f64, {count});
    kernels::elementwise(cpu, name(op), wide, y);
    return values(y);
  };
  for (const ScalarOp op : {ScalarOp::gammaincinv, ScalarOp::gammainccinv, ScalarOp::betaincinv}) {
    constexpr double kPart = 1e-4;
    const std::vector<double> want = inverse(op, 0), above = inverse(op, kPart), below = inverse(op, -kPart);
    const auto on_device = [&](const std::vector<float>& v) { return to_device(device, to_view(v)); };
    const std::vector<View> on_gpu = arity(op) == 2 ? std::vector{on_device(a), on_device(p)}
                                                    : std::vector{on_device(a), on_device(b), on_device(p)};
    const View y = to_device(device, to_view(a));
    gpu::Encoder encoder(device);
    kernels::elementwise(encoder, name(op), on_gpu, y);
    encoder.submit();
    const View result = to_host(device, y);
    double worst = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto k = static_cast<std::size_t>(i);
      const double got = value(result, i), exact = want[k];
      EXPECT_EQ(std::isnan(got), std::isnan(exact));
      if (std::isnan(exact) || got == exact || std::abs(got - exact) <= 2.4e-38) continue;
      if (exact > 3e38 && got >= 2.9e38) continue;
      const double allowed = 3e-6 * std::abs(above[k] - below[k]) / (2 * kPart) + 5e-7 * exact;
      const double error = std::isfinite(got) ? std::abs(got - exact) / allowed : INFINITY;
      worst = std::max(worst, error);
      EXPECT_LE(error, 1) << name(op) << " of " << a[k] << (arity(op) == 3 ? std::format(", {}", b[k]) : "") << ", "
                          << p[k] << " is " << got << ", not " << exact;
    }
    RecordProperty(std::string(name(op)), std::format("{:.2f} of the bound", worst));
  }
}

// The CPU computes in double and rounds once.
TEST(ScalarAccuracyCpu, Unary) {
  Rng rng(13);
  cpu::Executor cpu;
  std::vector<float> x = arguments(rng, 4 * kCount);
  for (int i = 0; i < 64; ++i) x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(rng() & 0x807fffffu)));
  const View in = to_view(x);
  for (const Function& f : kFunctions) {
    const View y = to_view(x);
    kernels::unary(cpu, f.op, in, y);
    Worst worst;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto got = static_cast<float>(value(y, static_cast<std::int64_t>(i)));
      worst.see(ulp_error(got, f.reference(x[i])), x[i], 0, got);
    }
    EXPECT_LE(worst.ulp, 0.55) << name(f.op) << "(" << worst.x << ") = " << worst.got;
  }
}

TEST(ScalarAccuracyCpu, UnaryByReference) {
  Rng rng(17);
  cpu::Executor cpu;
  const std::vector<float> x = arguments(rng, kCount);
  const View in = to_view(x);
  for (const std::string_view f : kByReference) {
    if (!scalar_op(f)) continue;  // compositions round at each step
    const std::vector<double> want = by_cpu(f, in);
    const View y = to_view(x);
    kernels::elementwise(cpu, f, std::span(&in, 1), y);
    Worst worst;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto got = static_cast<float>(value(y, static_cast<std::int64_t>(i)));
      worst.see(ulp_error(got, want[i]), x[i], 0, got);
    }
    EXPECT_LE(worst.ulp, 0.55) << f << "(" << worst.x << ") = " << worst.got;
  }
}

TEST(ScalarAccuracyCpu, OfTwoNumbers) {
  Rng rng(18);
  cpu::Executor cpu;
  const std::vector<float> a = arguments(rng, kCount);
  std::vector<float> b = arguments(rng, kCount);
  std::ranges::shuffle(b, rng);
  for (int i = 0; i < kCount; i += 2)
    b[i] = static_cast<float>(a[i] * std::exp2(std::uniform_real_distribution<double>(-30, 30)(rng)));
  for (int i = 0; i < kCount; i += 16) b[i] = std::round(b[i]);
  const View in[] = {to_view(a), to_view(b)};
  const std::pair<ScalarOp, double (*)(double, double)> functions[] = {
      {ScalarOp::pow, [](double x, double y) { return std::pow(x, y); }},
      {ScalarOp::rem, [](double x, double y) { return std::fmod(x, y); }},
      {ScalarOp::atan2, [](double y, double x) { return std::atan2(y, x); }},
      {ScalarOp::hypot, [](double x, double y) { return std::hypot(x, y); }},
      {ScalarOp::logaddexp, [](double x, double y) {
         return std::isnan(x + y) && !std::isinf(x) ? NAN
                : x == y                            ? x + std::numbers::ln2
                                                    : std::max(x, y) + std::log1p(std::exp(-std::abs(x - y)));
       }}};
  for (const auto& [op, reference] : functions) {
    const View y = to_view(a);
    kernels::binary(cpu, op, in[0], in[1], y);
    Worst worst;
    for (int i = 0; i < kCount; ++i) {
      const auto got = static_cast<float>(value(y, i));
      const double want = reference(a[i], b[i]);
      // Near its zeros the terms cancel.
      if (op == ScalarOp::logaddexp && std::abs(got - want) < 1e-9) continue;
      worst.see(ulp_error(got, want), a[i], b[i], got);
      if (op == ScalarOp::rem && want == 0) {
        EXPECT_EQ(std::signbit(got), std::signbit(a[i])) << a[i] << " rem " << b[i];
      }
    }
    EXPECT_LE(worst.ulp, op == ScalarOp::rem ? 0 : 0.55)
        << name(op) << "(" << worst.x << ", " << worst.y << ") = " << worst.got;
  }
}

// The CPU uses the C library for f64.
TEST(ScalarAccuracyCpu, Doubles) {
  Rng rng(14);
  cpu::Executor cpu;
  const View x = random_view(rng, {1000}, DType::f64);
  for (const Function& f : kFunctions) {
    const View y = random_view(rng, {1000}, DType::f64);
    kernels::unary(cpu, f.op, x, y);
    for (int i = 0; i < 1000; ++i) {
      const double want = f.reference(value(x, i));
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(value(y, i)));
      } else {
        EXPECT_NEAR(value(y, i), want, 1e-13 * std::max(1.0, std::abs(want))) << name(f.op) << " " << value(x, i);
      }
    }
  }
}

}  // namespace
}  // namespace weft::test
