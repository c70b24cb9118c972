// Quantised numbers on every device against the CPU, on numbers that are halfway between two of the results or next to
// that; and that devices which divide less exactly than IEEE 754 get the same integers. The formulas' values are in
// cpu_kernels_reference_test.cc.
#include "weft/kernels/quantize.h"
#include "weft/kernels/elementwise.h"

#include <cmath>

#include "cpu/executor.h"
#include "kernels/operands.h"
#include "kernels/quantize/expressions.h"
#include "support/chunks.h"
#include "support/differential.h"
#include "support/throws.h"
#include "weft/error.h"
#include "weft/small_float.h"

namespace weft::test {
namespace {

using testing::HasSubstr;

constexpr DType kShifted[] = {DType::i8, DType::u8,  DType::i4,  DType::u4,  DType::i2,
                              DType::u2, DType::i16, DType::u16, DType::i32, DType::u32};
constexpr DType kQuantized[] = {DType::i8,  DType::u8,  DType::i4,  DType::u4,  DType::i2,     DType::u2,
                                DType::i16, DType::u16, DType::i32, DType::u32, DType::f8e4m3, DType::f8e5m2};
constexpr DType kNumbers[] = {DType::f32, DType::f32, DType::f16, DType::bf16};
constexpr double kScales[] = {0.1, 0.05, 1.0 / 3, 0.0078125, 3e-3, 0.7, 1};

double random_scale(Rng& rng) { return kScales[rng() % std::size(kScales)]; }

// A multiple of `scale` near which results change, or its neighbour.
double near_tie(Rng& rng, double scale, DType q) {
  const double range = is_floating(q) ? 500 : std::exp2(bits(q) + 1);
  const double k = std::floor(std::uniform_real_distribution<double>(-range, range)(rng)) + 0.5;
  const auto x = static_cast<float>(k * static_cast<double>(static_cast<float>(scale)));
  switch (rng() % 4) {
    case 0:
      return std::nextafter(x, INFINITY);
    case 1:
      return std::nextafter(x, -INFINITY);
    case 2:
      return static_cast<double>(x) * std::uniform_real_distribution<double>(0, 1)(rng);
    default:
      return x;
  }
}

enum class Function : std::uint8_t { quantize, dequantize, requantize, fake_quantize };

Problem random_call(Rng& rng, Function function) {
  const DType q = pick(rng, kQuantized), number = pick(rng, kNumbers), scale_type = pick(rng, kNumbers);
  const Shape shape = random_shape(rng, 0, 5);
  const bool shifts =
      rng() % 2 && (std::ranges::find(kShifted, q) != std::end(kShifted) || function == Function::fake_quantize);
  Rng& details = rng.details();
  const double scale = random_scale(details);
  const Shape s_shape = random_broadcast(rng, shape);
  const View s = random_view(rng, s_shape, scale_type, random_input_kind(rng));
  set_values(s, [&](std::int64_t) { return scale; });
  Problem p;
  const auto add_zero = [&](DType type) {
    if (shifts) p.inputs.push_back(random_view(rng, s_shape, type, random_input_kind(rng), Values::ordinary));
  };
  const auto zero = [shifts](std::span<const View> in) { return shifts ? std::optional(in[2]) : std::nullopt; };
  std::string name;
  switch (function) {
    case Function::quantize: {
      name = "quantize";
      const View x = random_view(rng, shape, number, random_input_kind(rng));
      set_values(x, [&](std::int64_t) { return near_tie(details, scale, q); });
      p.inputs = {x, s};
      add_zero(q);
      p.outputs = {random_view(rng, shape, q, random_output_kind(rng))};
      const bool saturate = rng() % 2;
      p.call = [=](Stream& st, auto in, auto out) {
        kernels::quantize(st, in[0], in[1], zero(in), out[0], {.saturate = saturate});
      };
      break;
    }
    case Function::dequantize: {
      name = "dequantize";
      p.inputs = {random_view(rng, shape, q, random_input_kind(rng)), s};
      add_zero(q);
      p.outputs = {random_view(rng, shape, number, random_output_kind(rng))};
      p.call = [=](Stream& st, auto in, auto out) { kernels::dequantize(st, in[0], in[1], zero(in), out[0]); };
      break;
    }
    case Function::requantize: {
      name = "requantize";
      const bool sums = bits(q) < 32 && rng() % 2;
      const View x = random_view(rng, shape, sums ? DType::i32 : number, random_input_kind(rng));
      set_values(
          x, [&](std::int64_t) { return sums ? random_int(details, -4000, 4000) : near_tie(details, 1 / scale, q); });
      p.inputs = {x, s};
      add_zero(q);
      p.outputs = {random_view(rng, shape, q, random_output_kind(rng))};
      p.call = [=](Stream& st, auto in, auto out) { kernels::requantize(st, in[0], in[1], zero(in), out[0]); };
      break;
    }
    case Function::fake_quantize: {
      name = "fake_quantize";
      const View x = random_view(rng, shape, number, random_input_kind(rng));
      set_values(x, [&](std::int64_t) { return near_tie(details, scale, DType::i8); });
      p.inputs = {x, s};
      add_zero(rng() % 2 ? DType::i32 : DType::f32);
      if (shifts) set_values(p.inputs[2], [&](std::int64_t) { return random_int(details, -128, 127); });
      p.outputs = {random_view(rng, shape, number, random_output_kind(rng))};
      const kernels::IntegerRange range = rng() % 2 ? kernels::IntegerRange{} : kernels::IntegerRange{0, 65535};
      p.call = [=](Stream& st, auto in, auto out) {
        kernels::fake_quantize(st, in[0], in[1], zero(in), out[0], range);
      };
    }
  }
  p.what = name + " of";
  for (const View& v : p.inputs) p.what += " " + to_string(v);
  p.what += " to " + to_string(p.outputs[0]);
  return p;
}

template <Function function>
Problem problem(Rng& rng) {
  return random_call(rng, function);
}
const bool registered = differential("quantize", problem<Function::quantize>) &&
                        differential("dequantize", problem<Function::dequantize>) &&
                        differential("requantize", problem<Function::requantize>) &&
                        differential("fake_quantize", problem<Function::fake_quantize>);

TEST(Quantize, SaysWhatDoesNotFit) {
  cpu::Executor cpu;
  Rng rng(1);
  const auto view = [&](DType type, const Shape& shape) { return random_view(rng, shape, type); };
  const View x = view(DType::f32, {2, 3}), one = view(DType::f32, {}), q = view(DType::i8, {2, 3});
  const auto quantize = [&](const View& x, const View& s, std::optional<View> z, const View& q) {
    return thrown_by([&] { kernels::quantize(cpu, x, s, z, q); });
  };
  EXPECT_THAT(quantize(x, one, {}, view(DType::i8, {3, 2})),
              HasSubstr("quantize: x is f32 [2, 3] and q i8 [3, 2], expected one shape"));
  EXPECT_THAT(quantize(x, view(DType::f32, {2}), {}, q), HasSubstr("quantize: scale f32 [2]"));
  EXPECT_THAT(quantize(x, one, view(DType::i8, {4}), q), HasSubstr("quantize: zero_point i8 [4]"));
  EXPECT_THAT(quantize(x, one, view(DType::u8, {}), q), HasSubstr("zero_point is u8 []"));
  EXPECT_THAT(quantize(x, one, view(DType::f8e4m3, {}), view(DType::f8e4m3, {2, 3})),
              HasSubstr("quantize: a zero point is given, but f8e4m3 has none; expected one of"));
  EXPECT_THAT(quantize(x, one, {}, view(DType::i64, {2, 3})), HasSubstr("q is i64 [2, 3]; expected"));
  EXPECT_THAT(quantize(q, one, {}, q), HasSubstr("x is i8 [2, 3]; expected"));
  EXPECT_THAT(thrown_by([&] { kernels::fake_quantize(cpu, x, one, {}, x, {5, 5}); }),
              HasSubstr("fake_quantize: the range is 5 to 5, expected low < high, both within ±2^24"));
  EXPECT_THAT(thrown_by([&] { kernels::fake_quantize(cpu, x, one, {}, x, {INT64_MIN, INT64_MAX}); }),
              HasSubstr("expected low < high"));
}

TEST(Quantize, WhatIsNoNumber) {
  cpu::Executor cpu;
  const View x = host_view(DType::f32, {4}, std::array<double, 4>{NAN, INFINITY, -INFINITY, -0.0});
  const View scale = host_view(DType::f32, {}, std::array<double, 1>{0.1}),
             q = host_view(DType::i8, {4}, std::array<double, 4>{});
  kernels::quantize(cpu, x, scale, {}, q);
  EXPECT_EQ(values(q), (std::vector<double>{0, 127, -128, 0}));
  const View y = host_view(DType::f8e5m2, {4}, std::array<double, 4>{});
  kernels::quantize(cpu, x, scale, {}, y, {.saturate = false});
  EXPECT_TRUE(std::isnan(value(y, 0)));
  EXPECT_EQ(value(y, 1), INFINITY);
  EXPECT_TRUE(std::signbit(value(y, 3)));
}

// Runs on the cpu and on every device.
void expect_everywhere(std::span<const View> in, const View& y, const KernelCall& call,
                       const std::vector<double>& expected, const std::string& what) {
  cpu::Executor cpu;
  call(cpu, in, std::span(&y, 1));
  const auto compare = [&](const std::vector<double>& got, const std::string& where) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i])))
          << what << " on " << where << ", element " << i << ": " << got[i] << ", expected " << expected[i];
    }
  };
  compare(values(y), "cpu");
  for (const std::string& name : device_names()) {
    gpu::Device& device = test::device(name);
    gpu::Encoder encoder(device);
    std::vector<View> inputs;
    for (const View& v : in) inputs.push_back(to_device(device, v));
    const View result = to_device(device, y);
    call(encoder, inputs, std::span(&result, 1));
    encoder.submit();
    compare(values(to_host(device, result)), name);
  }
}

// Of numbers at ties, whose quotient is another integer if it is off by a unit in the last place.
TEST(Quantize, TiesAreThoseOfQuotientsInCpp) {
  Rng rng(3);
  for (const DType q : {DType::i8, DType::u8, DType::i4, DType::i16, DType::u16, DType::f8e4m3, DType::f8e5m2}) {
    constexpr std::int64_t kCount = 4000;
    const View x = host_view(DType::f32, {kCount}, std::vector<double>(kCount)),
               s = host_view(DType::f32, {kCount}, std::vector<double>(kCount)),
               y = host_view(q, {kCount}, std::vector<double>(kCount));
    std::vector<double> expected;
    std::int64_t moved = 0;
    for (std::int64_t i = 0; i < kCount; ++i) {
      const auto scale = static_cast<float>(i % 2 ? random_scale(rng)
                                                  : std::exp(std::uniform_real_distribution<double>(-40, 40)(rng)));
      const auto v = static_cast<float>(near_tie(rng, scale, q));
      set_element_bits(x, i, std::bit_cast<std::uint32_t>(v));
      set_element_bits(s, i, std::bit_cast<std::uint32_t>(scale));
      const auto exact = [&](float quotient) -> double {
        const auto [low, high] = kernels::quantized_range(q);
        if (q == DType::f8e4m3) return float(float8_e4m3(static_cast<float>(std::clamp<double>(quotient, low, high))));
        if (q == DType::f8e5m2) return float(float8_e5m2(static_cast<float>(std::clamp<double>(quotient, low, high))));
        return std::clamp<double>(std::nearbyint(quotient), low, high);
      };
      expected.push_back(exact(v / scale));
      moved += expected.back() != exact(std::nextafter(v / scale, INFINITY)) ||
               expected.back() != exact(std::nextafter(v / scale, -INFINITY));
    }
    EXPECT_GT(moved, is_floating(q) ? 5 : 100) << name(q);  // for which a division that is off would not do
    const Expression e = kernels::quantize_expression(DType::f32, DType::f32, false, q, {});
    const auto call = [&](Stream& stream, std::span<const View> in, std::span<const View> out) {
      kernels::map(stream, e, in, out);
    };
    expect_everywhere(std::array{x, s}, y, call, expected, std::string(name(q)));
  }
}

// By the formula in double: (min(max(round(x / scale) + zero, low), high) - zero) · scale.
TEST(Quantize, FakeOfAnyRangeAndZeroPoint) {
  const std::vector<double> x{105, 200,  -300, 0,   1,    -1,       16777216,  -16777216,
                              3e9, -3e9, 1e38, 2.5, -2.5, INFINITY, -INFINITY, NAN};
  struct Case {
    std::int64_t low, high;
    double zero;
  };
  for (const auto& [low, high, zero] : {Case{100, 110, 0},
                                        {0, 1, 100},
                                        {-8, 7, 1000},
                                        {-8, 7, -1000},
                                        {16777215, 16777216, 0},
                                        {-16777216, -16777215, 5},
                                        {-16777216, 16777216, 16777217},
                                        {0, 255, 2147483647},
                                        {0, 255, -2147483648.0},
                                        {-128, 127, 2147480000}}) {
    for (const DType zero_type : {DType::i32, DType::f32}) {
      for (const double scale : {1.0, 0.5, 4.0}) {
        const auto held = zero_type == DType::f32 ? static_cast<double>(static_cast<float>(zero)) : zero;
        std::vector<double> expected;
        for (const double v : x) {
          const double q = static_cast<float>(static_cast<float>(v) / static_cast<float>(scale));
          const double kept =
              std::clamp(std::nearbyint(q), static_cast<double>(low) - held, static_cast<double>(high) - held);
          expected.push_back(static_cast<float>(static_cast<double>(static_cast<float>(kept)) * scale));
        }
        const auto n = static_cast<std::int64_t>(x.size());
        const View in[] = {host_view(DType::f32, {n}, x), host_view(DType::f32, {}, std::array{scale}),
                           host_view(zero_type, {}, std::array{zero})};
        const View y = host_view(DType::f32, {n}, x);
        const kernels::IntegerRange range{low, high};
        const std::string what = std::format("{} to {}, zero point {}, scale {}", low, high, zero, scale);
        expect_everywhere(
            in, y, [&](Stream& s, auto v, auto out) { kernels::fake_quantize(s, v[0], v[1], v[2], out[0], range); },
            expected, what);
        if (zero != 0) continue;
        expect_everywhere(
            std::span(in, 2), y,
            [&](Stream& s, auto v, auto out) { kernels::fake_quantize(s, v[0], v[1], {}, out[0], range); }, expected,
            what);
      }
    }
  }
}

// Infinite, huge, zero and NaN scales, by the formula in double; tiny and denormal ones, too, which a GPU may flush.
TEST(Quantize, ScalesOfEverySize) {
  const float least = std::numeric_limits<float>::denorm_min(), most = std::numeric_limits<float>::max();
  const auto by_formula = [](double x, double scale, double zero, DType q) {
    const double v = std::nearbyint(static_cast<double>(static_cast<float>(x / scale))) + zero;
    const auto [low, high] = kernels::quantized_range(q);
    return std::isnan(v) ? 0.0 : std::clamp(v, low, high);
  };
  for (const DType q : {DType::i8, DType::u8, DType::i16, DType::i32}) {
    for (const double scale : {double{INFINITY}, double{-INFINITY}, double{NAN}, 0.0, double{most}, 0x1p127, 0x1.8p120,
                               -0x1.8p100, double{least}, 0x1p-140, 0x1.ap-130}) {
      std::vector<double> x{0, -0.0, 1, -1, 1e30, -1e30, most, -double{most}, INFINITY, -INFINITY, NAN};
      const bool tiny = std::abs(scale) < 0x1p-126 && scale != 0;
      if (std::isfinite(scale) && scale != 0) {
        for (const double k : {1.5, 2.5, -3.5, 3.0, 0.5, -120.5}) {
          if (std::abs(k * scale) <= double{most}) x.push_back(static_cast<float>(k * scale));
        }
      }
      std::vector<double> expected;
      for (const double v : x) expected.push_back(by_formula(v, scale, 5, q));
      const auto n = static_cast<std::int64_t>(x.size());
      const View in[] = {host_view(DType::f32, {n}, x), host_view(DType::f32, {}, std::array{scale}),
                         host_view(q, {}, std::array{5.0})};
      const View y = host_view(q, {n}, std::vector<double>(x.size()));
      const KernelCall call = [](Stream& s, auto v, auto out) { kernels::quantize(s, v[0], v[1], v[2], out[0]); };
      const std::string what = std::format("{} by {}", name(q), scale);
      if (tiny) {
        cpu::Executor cpu;
        call(cpu, in, std::span(&y, 1));
        EXPECT_EQ(values(y), expected) << what;
      } else {
        expect_everywhere(in, y, call, expected, what);
      }
    }
  }
}

TEST(Quantize, OperandsAreCalledByTheirNames) {
  cpu::Executor cpu;
  const Buffer buffer = Buffer::host(64);
  const View x(buffer, 0, DType::f32, {4}), q(buffer, 4, DType::i8, {4});
  const View scale = host_view(DType::f32, {}, std::array{1.0});
  EXPECT_THAT(thrown_by([&] { kernels::quantize(cpu, x, scale, {}, q); }),
              HasSubstr("quantize: q i8 [4] shares memory with x f32 [4]"));
  EXPECT_THAT(thrown_by([&] { kernels::dequantize(cpu, q, scale, {}, x); }),
              HasSubstr("dequantize: x f32 [4] shares memory with q i8 [4]"));
  EXPECT_THAT(thrown_by([&] { kernels::quantize(cpu, x, View(), {}, q); }), HasSubstr("quantize: scale f32 [] has no"));
}

using QuantizeChunks = ChunksTest;

TEST_F(QuantizeChunks, OperandsPastABinding) {
  for (const DType type : {DType::i8, DType::u4, DType::i16, DType::f8e4m3}) {
    const View x = random_view(rng, {700, 500}, DType::f32), s = random_view(rng, {700, 1}, DType::f32);
    set_values(s, [](std::int64_t i) { return 0.01 + 0.001 * static_cast<double>(i % 7); });
    const View q = random_view(rng, {700, 500}, type);
    both({x, s}, {q}, [](Stream& st, auto in, auto out) { kernels::quantize(st, in[0], in[1], {}, out[0]); }, {});
    both({q, s}, {x}, [](Stream& st, auto in, auto out) { kernels::dequantize(st, in[0], in[1], {}, out[0]); }, {});
  }
}

}  // namespace
}  // namespace weft::test
