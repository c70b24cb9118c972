#include "kernels/device_math.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "core/format.h"
#include "core/str_cat.h"
#include "gpu/self_test.h"
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

// Evaluates `formula`, a WGSL u32 of a and b, for each pair of x. Its kernel starts to compile at construction.
struct Trial {
  std::string_view formula;
  std::vector<float> x;
  Buffer in, out;
  gpu::Recording recording;
};

Trial start(const gpu::Device& device, std::string_view formula, const std::vector<float>& x) {
  const std::uint64_t bytes = x.size() * 4, results = x.size() * 2;
  Trial trial{formula, x, device.allocate(bytes), device.allocate(results), gpu::Recording(device)};
  device.upload(trial.in, 0, std::as_bytes(std::span(x)));
  const gpu::Binding bindings[] = {{trial.in, 0, bytes, gpu::Access::read},
                                   {trial.out, 0, results, gpu::Access::read_write}};
  const auto count = static_cast<std::uint32_t>(x.size() / 2);
  std::string wgsl(kTest);
  wgsl.replace(wgsl.find('$'), 1, formula);
  trial.recording.dispatch({.key = std::string("self-test of ") += formula,
                            .make_wgsl = [&] { return wgsl; },
                            .bindings = bindings,
                            .params = std::as_bytes(std::span(&count, 1)),
                            .workgroups = {(count + 63) / 64, 1, 1},
                            .label = "self-test"});
  return trial;
}

using Numbers = std::span<const float>;
using Results = std::span<const std::uint32_t>;
using Check = std::function<bool(Numbers x, Results y)>;

// Whether the device's results are right.
Future<bool> checked(const gpu::Device& device, Trial& trial, Check is_right) {
  const std::size_t count = trial.x.size() / 2;
  gpu::Encoder encoder(device);
  encoder.replay(trial.recording);
  gpu::Readback read = encoder.read(trial.out, 0, count * 4);
  encoder.submit();
  return std::move(read).map([x = trial.x, is_right = std::move(is_right)](const gpu::ReadBytes& got) {
    std::vector<std::uint32_t> y(x.size() / 2);
    std::memcpy(y.data(), got.span().data(), got.size());
    return is_right(x, y);
  });
}

Future<bool> all_right(std::vector<Future<bool>> checks) {
  return when_all(std::move(checks)).map([](const std::vector<bool>& right) {
    return std::ranges::all_of(right, [](bool r) { return r; });
  });
}

// Numbers at, above and below each rounding boundary, of all exponents that matter; the ends of the range; NaN.
std::vector<float> trials() {
  constexpr std::uint32_t kMantissas[] = {0,        1,        0xfff,    0x1000,   0x1001,   0x1fff,   0x2000,
                                          0x2fff,   0x3000,   0x3001,   0x3fffff, 0x400000, 0x400001, 0x7fdfff,
                                          0x7fefff, 0x7ff000, 0x7ff001, 0x7fffff, 0x55aaaa, 0x2aa555};
  std::vector<float> out = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, -NAN, 3e38f, -3e38f};
  for (std::uint32_t exponent = 100; exponent < 146; ++exponent) {
    for (const std::uint32_t mantissa : kMantissas) {
      for (const std::uint32_t sign : {0u, 1u})
        out.push_back(std::bit_cast<float>(sign << 31 | exponent << 23 | mantissa));
    }
  }
  return out;
}

Future<bool> rounds_right(const gpu::Device& device) {
  Trial trial = start(device, "pack2x16float(vec2<f32>(a, b))", trials());
  return checked(device, trial, [](Numbers x, Results y) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto half = static_cast<std::uint16_t>(y[i / 2] >> (i % 2 * 16));
      const bool nan = (half & 0x7fff) > 0x7c00;
      if (std::isnan(x[i]) ? !nan : half != float16(x[i]).bits) return false;
    }
    return true;
  });
}

// True if the results are within `most` units in the last place of `reference` of each pair's first number.
Check within(double most, std::string_view formula, double (*reference)(double)) {
  return [=](Numbers x, Results y) {
    double worst = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double want = reference(x[2 * i]);
      const double error = std::abs(std::bit_cast<float>(y[i]) - want) / std::ldexp(1.0, std::ilogb(want) - 23);
      worst = error <= worst ? worst : error;  // NaN too
    }
    log(LogLevel::debug, "self-test: {} is off by {:.2f} units in the last place", formula, worst);
    return worst <= most;
  };
}

// True if the logarithms of the pairs' first numbers are right: near 1 the error is limited only in absolute terms.
bool log2_is_right(Numbers x, Results y) {
  double worst = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double want = std::log2(x[2 * i]);
    const double error = std::abs(std::bit_cast<float>(y[i]) - want) / std::max(1.0, std::abs(want));
    worst = error <= worst ? worst : error;  // NaN too
  }
  log(LogLevel::debug, "self-test: log2 is off by {:.2f} · 2^-23", worst * 0x1p23);
  return worst <= 0x1p-21;
}

// True if fma returns a product's rounding error exactly, which needs a single rounding.
bool fma_is_right(Numbers x, Results y) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    const float a = x[2 * i], b = x[2 * i + 1], product = a * b;
    if (std::bit_cast<float>(y[i]) != static_cast<float>(double{a} * b - product)) return false;
  }
  return true;
}

constexpr float kEnds[] = {0.0f, 1.0f, 13.15f, 13.16f, 3e38f, INFINITY, -INFINITY, -1.0f, NAN, -NAN};

std::vector<float> pairs_of(std::span<const float> numbers) {
  std::vector<float> pairs;
  for (const float a : numbers) {
    for (const float b : numbers) pairs.insert(pairs.end(), {a, b});
  }
  return pairs;
}

// Within 4 units in the last place, from where one correction makes them exact to half a unit; NaN of negative numbers
// and NaN.
bool square_roots_right(Numbers x, Results y) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    const float a = x[2 * i], got = std::bit_cast<float>(y[i]);
    const double want = std::sqrt(double{a});
    const bool right =
        std::isnan(want) ? std::isnan(got) : std::abs(got - want) <= 4 * std::ldexp(1.0, std::ilogb(want) - 23);
    if (!right) return false;
  }
  return true;
}

// Also for infinities; comparisons with NaN are false.
bool compares_right(Numbers x, Results y) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    const float a = x[2 * i], b = x[2 * i + 1];
    if (y[i] != (a >= b ? 1u : 2u) + (std::abs(a) < b ? 0 : 4)) return false;
  }
  return true;
}

// True if adding a number so large that the sum has no fractional digits rounds each pair's first number, or its
// magnitude, to the nearest integer, and infinities and NaN give results that are not finite.
bool rounds_by_sums(Numbers x, Results y) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    const float a = x[2 * i], got = std::bit_cast<float>(y[i]);
    const bool right = std::isfinite(a) ? std::abs(got) == std::abs(std::nearbyint(a)) : !std::isfinite(got);
    if (!right) return false;
  }
  return true;
}

Future<bool> exp2_is_right(const gpu::Device& device) {
  constexpr int kCount = 1 << 14;
  const auto pairs = [](auto first, auto second) {
    std::vector<float> x;
    for (int i = 0; i < kCount; ++i) {
      x.push_back(static_cast<float>(first(i)));
      x.push_back(static_cast<float>(second(i)));
    }
    return x;
  };
  const auto none = [](int) { return 0; };
  // Over the whole range, with many points near 0.
  const auto exponent = [](int i) {
    const double u = (i + 0.37) / kCount * 2 - 1;
    return static_cast<float>(i % 2 ? 125.9 * u : u);
  };
  const std::vector<float> wide =
      pairs([&](int i) { return std::exp2(std::trunc(exponent(i))) * (1 + std::abs(exponent(i)) / 127); }, none);
  // All compile concurrently, because the first result of a process waits for this test.
  Trial exp2 = start(device, "bitcast<u32>(exp2(a))", pairs(exponent, none));
  Trial reciprocal = start(device, "bitcast<u32>(1.0 / a)", wide);
  Trial root = start(device, "bitcast<u32>(inverseSqrt(a))", wide);
  std::vector<float> also_negative = wide;
  for (const float a : {-1.0f, -3e38f, -INFINITY, NAN}) also_negative.insert(also_negative.end(), {a, 0});
  Trial square_root = start(device, "bitcast<u32>(sqrt(a))", also_negative);
  Trial log2 = start(device, "bitcast<u32>(log2(a))", pairs([](int i) { return (i + 0.37) / kCount * 4; }, none));
  Trial fma = start(device, "bitcast<u32>(fma(a, b, -(a * b)))",
                    pairs([](int i) { return 1 + (i + 0.1234567) / kCount; },
                          [](int i) { return 2 - (i * 0.618034 - std::floor(i * 0.618034)); }));
  Trial least = start(device, "select(0u, 1u, a >= b) | select(0u, 2u, !(a >= b)) | select(0u, 4u, !(abs(a) < b))",
                      pairs_of(kEnds));
  std::vector<float> near_whole = pairs([](int i) { return (i - kCount / 2) * 0.137; }, [](int) { return 1; });
  for (const float end : kEnds) near_whole.insert(near_whole.end(), {std::abs(end) > 1e6f ? end * INFINITY : end, 1});
  Trial sum =
      start(device, "bitcast<u32>(bitcast<f32>(bitcast<u32>(a + 12582912.0) | 0x4b000000u) - 12582912.0)", near_whole);
  Trial fused =
      start(device, "bitcast<u32>(bitcast<f32>(bitcast<u32>(fma(abs(a), b, 12582912.0)) | 0x4b000000u) - 12582912.0)",
            near_whole);
  std::vector<Future<bool>> checks;
  checks.push_back(checked(device, least, compares_right));
  checks.push_back(checked(device, sum, rounds_by_sums));
  checks.push_back(checked(device, fused, rounds_by_sums));
  checks.push_back(checked(device, exp2, within(2.5, "exp2", [](double v) { return std::exp2(v); })));
  checks.push_back(checked(device, reciprocal, within(1.5, "reciprocal", [](double v) { return 1 / v; })));
  checks.push_back(checked(device, root, within(2, "root", [](double v) { return 1 / std::sqrt(v); })));
  checks.push_back(checked(device, square_root, square_roots_right));
  checks.push_back(checked(device, log2, log2_is_right));
  checks.push_back(checked(device, fma, fma_is_right));
  return all_right(std::move(checks));
}

// Arguments of all exponents, with many between 0 and ½.
Future<bool> small_log2_is_right(const gpu::Device& device) {
  constexpr int kCount = 1 << 14;
  std::vector<float> x;
  for (int i = 0; i < kCount; ++i) {
    const double u = (i + 0.37) / kCount;
    x.push_back(static_cast<float>(i % 2 ? std::exp2(-1 - 99 * u) : u / 2));
    x.push_back(0);
  }
  Trial log2 = start(device, "bitcast<u32>(log2(a))", x);
  return checked(device, log2, within(2.2, "log2", [](double v) { return std::log2(v); }));
}

// The ends of the ranges of exp2, log2, reciprocals and inverse roots, and the logarithm of 1, which is 0.
Future<bool> ends_right(const gpu::Device& device) {
  constexpr float kInf = INFINITY;
  struct End {
    float x, function, want;  // 0: log2, 1: inverse root, 2: reciprocal, 3: exp2
  };
  static constexpr End kFunctionEnds[] = {
      {1, 0, 0},     {0, 0, -kInf},   {kInf, 0, kInf}, {-1, 0, NAN},    {-kInf, 0, NAN}, {NAN, 0, NAN},
      {0, 1, kInf},  {kInf, 1, 0},    {-1, 1, NAN},    {NAN, 1, NAN},   {0, 2, kInf},    {kInf, 2, 0},
      {NAN, 2, NAN}, {kInf, 3, kInf}, {-kInf, 3, 0},   {1000, 3, kInf}, {-1000, 3, 0},   {NAN, 3, NAN}};
  std::vector<float> x;
  for (const End& end : kFunctionEnds) x.insert(x.end(), {end.x, end.function});
  Trial trial = start(device,
                      "bitcast<u32>(select(select(log2(a), inverseSqrt(a), b == 1.0), "
                      "select(1.0 / a, exp2(a), b == 3.0), b >= 2.0))",
                      x);
  return checked(device, trial, [](Numbers, Results y) {
    for (std::size_t i = 0; i < y.size(); ++i) {
      const float got = std::bit_cast<float>(y[i]), want = kFunctionEnds[i].want;
      if (std::isnan(want) ? !std::isnan(got) : got != want) return false;
    }
    return true;
  });
}

Future<bool> nan_is_kept(const gpu::Device& device) {
  std::vector<float> x;
  for (const float function : {0.0f, 1.0f, 2.0f, 3.0f}) x.insert(x.end(), {NAN, function, -NAN, function});
  Trial trial =
      start(device,
            "bitcast<u32>(select(select(exp(a), exp2(a), b == 1.0), select(log(a), log2(a), b == 3.0), b >= 2.0))", x);
  return checked(device, trial, [](Numbers, Results y) {
    return std::ranges::all_of(y, [](std::uint32_t bits) { return std::isnan(std::bit_cast<float>(bits)); });
  });
}

// Minima and maxima of pairs, also of denormals and with -0 below 0; and comparisons with NaN.
Future<bool> orders_right(const gpu::Device& device) {
  static constexpr float kOrdered[] = {-INFINITY, -3e38f, -1.0f, -1e-40f, -0.0f, 0.0f, 1e-40f, 1e-37f, 1.0f, INFINITY};
  Trial larger = start(device, "bitcast<u32>(max(a, b))", pairs_of(kOrdered));
  Trial smaller = start(device, "bitcast<u32>(min(a, b))", pairs_of(kOrdered));
  Trial none = start(device, "select(0u, 1u, !(a >= b) & !(a < b))", pairs_of(kEnds));
  const auto chosen = [](const std::size_t& (*choose)(const std::size_t&, const std::size_t&)) {
    return [choose](Numbers, Results y) {
      constexpr std::size_t kCount = std::size(kOrdered);
      for (std::size_t i = 0; i < y.size(); ++i) {
        if (y[i] != std::bit_cast<std::uint32_t>(kOrdered[choose(i / kCount, i % kCount)])) return false;
      }
      return true;
    };
  };
  std::vector<Future<bool>> checks;
  checks.push_back(checked(device, larger, chosen(std::max<std::size_t>)));
  checks.push_back(checked(device, smaller, chosen(std::min<std::size_t>)));
  checks.push_back(checked(device, none, [](Numbers x, Results y) {
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (y[i] != (std::isnan(x[2 * i]) || std::isnan(x[2 * i + 1]) ? 1u : 0u)) return false;
    }
    return true;
  }));
  return all_right(std::move(checks));
}

}  // namespace

std::string_view f16_packing(const gpu::Device& device) {
  // Not on a CPU: llvmpipe with vectors of 256 bits sets a sign bit too many in some kernels (softmax of bf16 into f16,
  // one in four elements), though the self-test passes.
  const gpu::Capabilities& can = device.capabilities();
  const bool use = !can.minimum && !can.software &&
                   gpu::passes_self_test(device, "pack2x16float", [&] { return rounds_right(device); });
  return use ? kPacking : std::string_view();
}

bool device_exp2(const gpu::Device& device) {
  const gpu::Capabilities& can = device.capabilities();
  // Not on a CPU, where exp2 is a polynomial just as ours is.
  constexpr const char* kWhat =
      "exp2, log2 up to 4, fma, reciprocal, roots, rounding by sums, and comparisons, also denied ones and of "
      "magnitudes";
  return !can.minimum && !can.software && gpu::passes_self_test(device, kWhat, [&] { return exp2_is_right(device); });
}

bool keeps_nan(const gpu::Device& device) {
  return gpu::passes_self_test(device, "exponentials and logarithms of NaN", [&] { return nan_is_kept(device); });
}

std::string with_nan_kept(std::string_view wgsl) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  std::string result;
  const auto take = [&](std::size_t size) {
    result += wgsl.substr(0, size);
    wgsl.remove_prefix(size);
  };
  while (!wgsl.empty()) {
    std::size_t size = 0;
    while (size < wgsl.size() && is_word(wgsl[size])) ++size;
    const std::string_view word = wgsl.substr(0, size);
    const bool losing = word == "exp" || word == "exp2" || word == "log" || word == "log2";
    if (!losing || !wgsl.substr(size).starts_with('(')) {
      take(std::max<std::size_t>(size, 1));
      continue;
    }
    std::size_t end = size + 1;
    for (int depth = 1; end < wgsl.size() && depth; ++end) depth += (wgsl[end] == '(') - (wgsl[end] == ')');
    const std::string x = with_nan_kept(wgsl.substr(size + 1, end - size - 2));
    // x = x where it is not NaN, of each element if x is a vector. (x != x would not do: SwiftShader says no for NaN.)
    result += str_cat("select(", x, ", ", word, '(', x, "), (", x, ") == (", x, "))");
    wgsl.remove_prefix(end);
  }
  return result;
}

DeviceForms device_forms(const gpu::Device& device) {
  return [&device](std::string_view function) {
    if (!device_exp2(device)) return false;
    if (function == "min_f32" || function == "max_f32" || function == "clamp_f32") {
      return gpu::passes_self_test(device, "least and largest of two", [&] { return orders_right(device); });
    }
    const auto is_of = [&](std::string_view part) { return function.find(part) != function.npos; };
    const bool is_lgamma = function.starts_with("lgamma");
    if (is_lgamma || is_of("_narrow") || is_of("_wide") || is_of("_brief") || is_of("_bf16")) {
      constexpr const char* kEndsOf = "ends of exp2, log2, reciprocal and root";
      if (!gpu::passes_self_test(device, kEndsOf, [&] { return ends_right(device); })) return false;
    }
    if (!is_lgamma) return true;
    return gpu::passes_self_test(device, "log2 below one half within 2.2", [&] { return small_log2_is_right(device); });
  };
}

}  // namespace weft::kernels
