// Elementwise kernels: each operation on a GPU against the CPU, over types, layouts and odd sizes.
#include "kernels/elementwise/elementwise.h"
#include "scalar_cases.h"
#include "support/kernel_test.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"
#include "weft/kernels/elementwise.h"
#include "weft/kernels/reduce.h"

namespace weft::test {
namespace {

using kernels::map;

class Elementwise : public testing::TestWithParam<std::string> {
 protected:
  gpu::Device& device() { return test::device(GetParam()); }
  // Compares the expression of views [n] on both sides, including the signs of zeros.
  void expect_same_zeros(const Expression& e, std::span<const View> in, const Tolerance& tolerance,
                         const std::string& what, bool signs = true) {
    const View on_cpu = random_view(rng, in[0].shape(), e.output_type(0));
    View there = to_device(device(), on_cpu);
    std::vector<View> inputs;
    for (const View& v : in) inputs.push_back(to_device(device(), v));
    gpu::Encoder encoder(device());
    map(encoder, e, inputs, std::span(&there, 1));
    encoder.submit();
    map(executor_, e, in, std::span(&on_cpu, 1));
    const View on_gpu = to_host(device(), there);
    expect_close(on_gpu, on_cpu, tolerance, what);
    const int width = bits(on_cpu.dtype) / (on_cpu.dtype == DType::c64 ? 2 : 1);
    for (std::int64_t i = 0; i < on_cpu.count(); ++i) {
      for (int part = 0; part < bits(on_cpu.dtype); part += width) {
        const std::uint64_t sign = std::uint64_t{1} << (width - 1), mask = 2 * sign - 1;
        const std::uint64_t a = element_bits(on_gpu, i) >> part & mask, b = element_bits(on_cpu, i) >> part & mask;
        if ((a & ~sign) || (b & ~sign) || !signs) continue;
        std::string arguments;
        for (const View& v : in) arguments += std::format(" {}", value(v, i));
        EXPECT_EQ(a, b) << what << " of" << arguments << ": the sign of 0";
      }
    }
  }
  cpu::Executor executor_;
  Rng rng{42};
};
INSTANTIATE_TEST_SUITE_P(Devices, Elementwise, testing::ValuesIn(device_names()),
                         [](const auto& i) { return i.param; });

// The narrow floats differ from f32 only in their loads and stores, so a few operations are enough.
bool worth_trying(ScalarOp op, DType type) {
  using enum ScalarOp;
  if (!is_floating(type) || type == DType::f32) return true;
  return op == neg || op == ScalarOp::exp || op == add || op == ScalarOp::div || op == min || op == less ||
         op == select || op == ScalarOp::nextafter || op == ScalarOp::signbit || op == ScalarOp::complex;
}

TEST_P(Elementwise, EveryOperationOnEveryType) {
  for (int i = static_cast<int>(ScalarOp::neg); i < kScalarOpCount; ++i) {
    const auto op = static_cast<ScalarOp>(i);
    for (DType type : kComputingTypes) {
      if (!takes(op, type) || !worth_trying(op, type)) continue;
      // 500 pipelines: all on the first device, some of them on the others.
      if (GetParam() != devices()[0].name && rng() % 6) continue;
      const Expression e = one_op(op, type);
      // Narrow integers that fill words may be loaded as words; the last of 515 elements may not.
      for (const std::int64_t size : {515, 1024}) {
        if (size % 2 == 0 && (!is_integer(type) || bits(type) > 16)) continue;
        std::vector<View> in;
        for (const auto& node : e.nodes()) {
          if (node.op == ScalarOp::input) {
            in.push_back(random_view(rng, {size}, node.type, Kind::dense, values_for(op, type)));
          }
        }
        make_fit(op, type, in, rng);
        const View out = random_view(rng, {size}, e.output_type(0));
        run_both(device(), in, {{out}}, call_of(e), tolerance(op, type),
                 std::format("{} {} [{}]", name(op), name(type), size));
      }
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

constexpr double kCorners[] = {0.0,   -0.0,  1.0,    -1.0,  0.5,    -0.5,     -2.5,      3.0, 20.0,
                               -20.0, 300.0, -300.0, 1e-20, -1e-20, INFINITY, -INFINITY, NAN};

// `count` views of all combinations of corners.
std::vector<View> corners(DType type, int count) {
  std::size_t n = 1;
  for (int k = 0; k < count; ++k) n *= std::size(kCorners);
  std::vector<View> views;
  std::size_t step = 1;
  for (int k = 0; k < count; ++k, step *= std::size(kCorners)) {
    std::vector<double> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = kCorners[i / step % std::size(kCorners)];
    views.push_back(host_view(type, {static_cast<std::int64_t>(n)}, values));
  }
  return views;
}

TEST_P(Elementwise, SignsOfZeros) {
  for (int i = static_cast<int>(ScalarOp::neg); i < kScalarOpCount; ++i) {
    const auto op = static_cast<ScalarOp>(i);
    for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
      if (op == ScalarOp::select || !takes(op, type)) continue;
      if (type != DType::f32 && kernels::info(op).narrow.empty()) continue;
      if (arity(op) == 1 && GetParam() != devices()[0].name && type != DType::f32) continue;
      const Expression e = one_op(op, type);
      expect_same_zeros(e, corners(type, arity(op)), tolerance(op, type), std::format("{} {}", name(op), name(type)));
    }
  }
}

TEST_P(Elementwise, LogarithmsOfGammaAreZeroAtOneAndTwo) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    const View x = host_view(type, {2}, std::array{1.0, 2.0}), y = random_view(rng, {2}, type);
    run_both(device(), std::array{x}, std::array{y}, call_of(one_op(ScalarOp::lgamma, type)), kSameBits, "lgamma");
    EXPECT_EQ(element_bits(y, 0), 0u);  // not -0, as in C
    EXPECT_EQ(element_bits(y, 1), 0u);
  }
}

// Compilers simplify x · 0 to 0, which is wrong for some x.
TEST_P(Elementwise, ZerosOfIntegersInAnExpression) {
  for (const DType type : {DType::i32, DType::u32, DType::i8, DType::u16, DType::i64}) {
    for (const ScalarOp op : {ScalarOp::add, ScalarOp::sub, ScalarOp::mul, ScalarOp::div}) {
      Expression e;
      const int x = e.input(type), zero = e.constant(0, type);
      e.output(e.apply(op, {e.apply(op, {x, e.cast(e.constant(0, DType::f32), type)}), zero}));
      run_both(device(), std::array{random_view(rng, {37}, type)}, std::array{random_view(rng, {37}, type)}, call_of(e),
               {}, std::format("{} {} with 0", name(op), name(type)));
    }
  }
}

// Infinity times false is NaN, -3 times false -0, also if the compiler knows that the factor is 0 or 1.
TEST_P(Elementwise, ProductsWithTruths) {
  const View truth = host_view(DType::boolean, {12}, std::vector<double>{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1});
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    const View x = host_view(
        type, {12}, std::vector<double>{INFINITY, INFINITY, -INFINITY, -INFINITY, NAN, NAN, -3, -3, 2, 2, -0.0, -0.0});
    for (const DType through : {DType::boolean, DType::u8, DType::i32, DType::u64, DType::f32}) {
      for (const ScalarOp op : {ScalarOp::mul, ScalarOp::div}) {
        for (const bool combined : {false, true}) {
          Expression e;
          const int v = e.input(type), b = e.input(DType::boolean);
          const int t = combined ? e.apply(ScalarOp::logical_or, {b, b}) : b;
          const int factor = e.cast(through == DType::boolean ? t : e.cast(t, through), type);
          e.output(e.apply(op, {v, factor}));
          expect_same_zeros(e, std::array{x, truth}, {},
                            std::format("{} {} by bool through {}", name(type), name(op), name(through)));
        }
      }
    }
  }
}

TEST_P(Elementwise, ZerosInAnExpressionAreNumbersAsOthers) {
  for (const DType type : {DType::f32, DType::f16, DType::c64}) {
    for (const double zero : {0.0, -0.0}) {
      for (const ScalarOp op : {ScalarOp::add, ScalarOp::sub, ScalarOp::mul, ScalarOp::div}) {
        for (const bool first : {false, true}) {
          Expression e;
          const int x = e.input(type), c = e.constant(zero, type);
          e.output(first ? e.apply(op, {c, x}) : e.apply(op, {x, c}));
          // Compilers may reorder the sums of complex products.
          const bool signs = type != DType::c64 || op == ScalarOp::add || op == ScalarOp::sub;
          expect_same_zeros(e, corners(type, 1), {},
                            std::format("{} {} with {}{}", name(op), name(type), zero, first ? " first" : ""), signs);
        }
      }
      Expression e;
      const int x = e.input(type), c = e.constant(zero, type);
      e.output(e.apply(ScalarOp::fma, {x, c, x}));
      expect_same_zeros(e, corners(type, 1), {}, std::format("fma {} with {}", name(type), zero), type != DType::c64);
    }
  }
  Expression masked, half, widened;
  {
    const int x = masked.input(DType::f32);
    const int below = masked.apply(ScalarOp::less, {x, masked.constant(2, DType::f32)});
    masked.output(masked.apply(ScalarOp::mul, {x, masked.cast(below, DType::f32)}));
  }
  expect_same_zeros(masked, corners(DType::f32, 1), {}, "by a comparison");
  {
    const int x = half.input(DType::f32);
    const int zero = half.cast(half.constant(0, DType::i32), DType::f32);
    half.output(half.apply(ScalarOp::lerp, {x, half.input(DType::f32), zero}));
  }
  expect_same_zeros(half, corners(DType::f32, 2), {}, "lerp at 0");
  {
    const int x = widened.cast(widened.input(DType::f32), DType::c64);
    widened.output(widened.apply(ScalarOp::mul, {x, widened.cast(widened.input(DType::f32), DType::c64)}));
  }
  expect_same_zeros(widened, corners(DType::f32, 2), {}, "real numbers as complex ones", false);
  const Expression reciprocal = one_op(ScalarOp::reciprocal, DType::c64);
  expect_same_zeros(reciprocal, corners(DType::c64, 1), {.relative = 1e-6}, "1 / x", false);
}

// On a GPU f64 is only bits: it converts them, and reports everything else as Unsupported.
TEST_P(Elementwise, ConvertsDoubles) {
  std::vector<double> numbers(kCorners, std::end(kCorners));
  for (const double x : {1.0,
                         0x1p-126,
                         0x1p-149,
                         0x1p-150,
                         0x1.8p-150,
                         0x1p-1074,
                         0x1.fffffep127,
                         0x1.ffffffp127,
                         0x1p128,
                         1e308,
                         65504.0,
                         65519.99,
                         65520.0,
                         0x1p-24,
                         0x1p-25,
                         0x1.00001p-25,
                         0x1p31,
                         0x1p32,
                         0x1p63,
                         0x1p64,
                         0x1.fffffffffffffp62,
                         255.5,
                         1 + 0x1p-24,
                         1 + 0x1p-24 + 0x1p-52,
                         1 + 0x1p-11 + 0x1p-40,
                         448.0}) {
    numbers.insert(numbers.end(), {x, -x, x * 1.000001, x / 3});
  }
  const auto n = static_cast<std::int64_t>(numbers.size());
  const View doubles = host_view(DType::f64, {n}, numbers);
  const View random = random_view(rng, {n}, DType::f64, Kind::dense, Values::special);
  const auto copy = [](Stream& s, auto in, auto out) { kernels::copy(s, in[0], out[0]); };
  for (const DType type : kComputingTypes) {
    for (const View& from : {doubles, random}) {
      run_both(device(), {{from}}, {{random_view(rng, {n}, type)}}, copy, {}, std::format("f64 to {}", name(type)));
    }
    const View narrow = random_view(rng, {n}, type, Kind::dense, Values::special);
    run_both(device(), {{narrow}}, {{random_view(rng, {n}, DType::f64)}}, copy, {},
             std::format("{} to f64", name(type)));
  }
  gpu::Encoder encoder(device());
  const View x = to_device(device(), doubles);
  for (const ScalarOp op : {ScalarOp::neg, ScalarOp::nextafter, ScalarOp::add, ScalarOp::is_nan, ScalarOp::clamp}) {
    const Expression e = one_op(op, DType::f64);
    const std::vector<View> in(static_cast<std::size_t>(arity(op)), x);
    const View y = to_device(device(), random_view(rng, {n}, e.output_type(0)));
    try {
      map(encoder, e, in, std::span(&y, 1));
      ADD_FAILURE() << name(op);
    } catch (const Unsupported& error) {
      EXPECT_TRUE(std::string_view(error.what()).starts_with(std::format("{}: f64 cannot compute", name(op))))
          << error.what();
    }
  }
}

// Normal numbers whose remainder by truncation is denormal, but whose remainder by flooring is not.
TEST_P(Elementwise, RemaindersOfSmallNumbers) {
  std::vector<double> dividends, divisors, expected;
  for (int k = -125; k <= -58; ++k) {
    for (const double b : {std::ldexp(1.0, k), std::ldexp(1.75, k)}) {
      for (const int j : {1, 2, 5, 8, 15, 22}) {
        const double r = b * std::ldexp(1.0, -j), a = -(b + r);
        if (a != static_cast<float>(a)) continue;
        for (const double sign : {1.0, -1.0}) {
          dividends.push_back(sign * a);
          divisors.push_back(sign * b);
          expected.push_back(sign * (b - r));
        }
      }
    }
  }
  const auto n = static_cast<std::int64_t>(dividends.size());
  const View a = host_view(DType::f32, {n}, dividends), b = host_view(DType::f32, {n}, divisors),
             y = random_view(rng, {n}, DType::f32);
  run_both(device(), std::array{a, b}, {{y}}, call_of(one_op(ScalarOp::remainder, DType::f32)), kSameBits, "remainder");
  for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(value(y, i), static_cast<float>(expected[i]));
}

// Comparisons with 0, and tests for true, distinguish denormals from zeros: alone, and before or after a reduction.
TEST_P(Elementwise, DenormalsBesideZeros) {
  using enum ScalarOp;
  for (const DType type : {DType::f32, DType::bf16}) {
    const std::uint64_t sign = std::uint64_t{1} << (bits(type) - 1);
    const std::uint64_t numbers[] = {0, sign, 1, sign | 1, 3, sign | 77, 0, sign, 100};
    for (const std::int64_t n : {9, 16, 35}) {
      const View x = random_view(rng, {n}, type);
      for (std::int64_t i = 0; i < n; ++i) set_element_bits(x, i, numbers[i % 9]);
      for (const ScalarOp op : {cast, equal, not_equal, less, less_equal, greater, greater_equal}) {
        for (const double zero : {0.0, -0.0}) {
          for (const bool first : {false, true}) {
            if (op == cast && (first || std::signbit(zero))) continue;
            Expression e;
            const int in = e.input(type), other = op == cast ? in : e.constant(zero, type);
            const int truth = op == cast ? e.cast(in, DType::boolean)
                              : first    ? e.apply(op, {other, in})
                                         : e.apply(op, {in, other});
            e.output(truth);
            const View y = random_view(rng, {n}, DType::boolean);
            const std::string what = std::format("{} of {}, {}, {} {}", op == cast ? "cast" : name(op), to_string(x),
                                                 zero, first ? "first" : "second", n);
            run_both(device(), {{x}}, {{y}}, call_of(e), kSameBits, what);
            for (const kernels::ReduceKind reduction : {kernels::ReduceKind::count, kernels::ReduceKind::any}) {
              const View sum =
                  random_view(rng, {}, reduction == kernels::ReduceKind::count ? DType::i32 : DType::boolean);
              run_both(
                  device(), {{x}}, {{sum}},
                  [&](Stream& s, auto in, auto out) {
                    kernels::reduce(s, reduction, in[0], out[0], std::array{0}, 0, {.prologue = {&e, in.subspan(1)}});
                  },
                  kSameBits, what + ", reduced");
            }
          }
        }
      }
    }
  }
}

TEST_P(Elementwise, FunctionsByName) {
  for (const FunctionInfo& f : functions()) {
    if (scalar_op(f.name)) continue;
    for (DType type : {DType::f32, DType::f16}) {
      if (GetParam() != devices()[0].name && type == DType::f16) continue;
      std::vector<double> parameters;
      for (const FunctionParameter& p : f.parameters) parameters.push_back(p.default_value + 0.25);
      const View in[] = {random_view(rng, {300}, type, Kind::dense, Values::special)};
      flush_denormals(in[0]);
      const View out[] = {random_view(rng, {300}, type)};
      run_both(
          device(), in, out, [&](Stream& s, auto x, auto y) { kernels::elementwise(s, f.name, x, y[0], parameters); },
          composite_tolerance(type), std::format("{} {}", f.name, name(type)));
    }
  }
}

// f64 by the C library and f32 by Weft's own functions: the same signs of zeros, infinities and NaN, and the same
// numbers to five digits (f32 has seven).
TEST(ElementwiseCpu, F64EndsAsF32Does) {
  cpu::Executor cpu;
  const std::vector<float> one = {0,   -0.0f, INFINITY, -INFINITY, NAN,  0.5f,  -0.5f, 1,      -1,     2,
                                  -2,  -3,    5.5f,     -5.5f,     14,   -14,   100,   -100,   200,    -200,
                                  700, -700,  1000,     -1000,     1e4f, -1e4f, 1e30f, -1e30f, 1e-30f, -1e-30f};
  const std::vector<float> two = {0, -0.0f, INFINITY, -INFINITY, NAN, 1, -1, 2, -2.5f, 1e30f, -1e30f, 1e-30f};
  for (const FunctionInfo& f : functions()) {
    const auto op = scalar_op(f.name);
    if (f.operands > 2 || (op && (!takes(*op, DType::f64) || op == ScalarOp::nextafter || op == ScalarOp::complex))) {
      continue;  // nextafter steps in its own type
    }
    std::vector<std::vector<double>> arguments(static_cast<std::size_t>(f.operands));
    if (f.operands == 1) arguments[0].assign(one.begin(), one.end());
    for (const float a : two) {
      for (const float b : two) {
        if (f.operands == 2) arguments[0].push_back(a), arguments[1].push_back(b);
      }
    }
    const auto n = static_cast<std::int64_t>(arguments[0].size());
    std::vector<std::vector<double>> results;
    for (const DType type : {DType::f64, DType::f32}) {
      std::vector<View> in;
      for (const auto& a : arguments) in.push_back(host_view(type, {n}, a));
      const Expression e = function_expression(f.name, std::vector<DType>(in.size(), type));
      Rng rng(1);
      const View y = random_view(rng, {n}, e.output_type(0));
      map(cpu, e, in, std::span(&y, 1));
      results.push_back(values(y));
    }
    for (std::size_t i = 0; i < results[0].size(); ++i) {
      const auto wide = static_cast<float>(results[0][i]), narrow = static_cast<float>(results[1][i]);
      std::string what(f.name);
      for (const auto& a : arguments) what += std::format(" {}", a[i]);
      if (std::isnan(wide) || std::isnan(narrow))
        EXPECT_EQ(std::isnan(wide), std::isnan(narrow)) << what;
      else if (wide == 0 || std::isinf(wide))
        EXPECT_EQ(std::format("{}", wide), std::format("{}", narrow)) << what;
      // The line of hardsigmoid crosses 0 at a difference that each type rounds differently.
      else
        EXPECT_NEAR(wide, narrow, 1e-5 * std::abs(wide) + (f.name == "hardsigmoid" ? 1e-7 : 1e-38)) << what;
    }
  }
}

TEST_P(Elementwise, ActivationsAtTheirEnds) {
  constexpr double kInf = INFINITY;
  const struct {
    const char* name;
    std::vector<double> x, y;
  } cases[] = {
      {"threshold", {NAN, -kInf, kInf, 0, 0.5}, {NAN, 0, kInf, 0, 0.5}},
      {"hardshrink", {NAN, -kInf, kInf, 0.5, -0.75}, {NAN, -kInf, kInf, 0, -0.75}},
      {"softshrink", {NAN, -kInf, kInf, 0.25}, {NAN, -kInf, kInf, 0}},
      {"softsign", {NAN, -kInf, kInf, -0.0}, {NAN, -1, 1, -0.0}},
      {"hardswish", {NAN, -kInf, kInf, -3, -4, -0.0}, {NAN, -0.0, kInf, -0.0, -0.0, -0.0}},
      {"hardsigmoid", {NAN, -kInf, kInf}, {NAN, 0, 1}},
      {"elu", {NAN, -kInf, kInf}, {NAN, -1, kInf}},
      {"celu", {NAN, -kInf, kInf}, {NAN, -1, kInf}},
      {"leaky_relu", {NAN, -kInf, kInf}, {NAN, -kInf, kInf}},
      {"relu6", {NAN, -kInf, kInf}, {NAN, 0, 6}},
      {"sigmoid", {NAN, -kInf, kInf}, {NAN, 0, 1}},
      {"softplus", {NAN, -kInf, kInf}, {NAN, 0, kInf}},
      {"logsigmoid", {NAN, -kInf, kInf}, {NAN, -kInf, -0.0}},
      {"silu", {NAN, -kInf, kInf}, {NAN, -0.0, kInf}},
      {"mish", {NAN, -kInf, kInf}, {NAN, -0.0, kInf}},
      {"gelu_erf", {NAN, -kInf, kInf}, {NAN, -0.0, kInf}},
      {"gelu_tanh", {NAN, -kInf, kInf}, {NAN, -0.0, kInf}},
      {"gelu_quick", {NAN, -kInf, kInf}, {NAN, -0.0, kInf}},
  };
  for (const auto& c : cases) {
    for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
      const auto n = static_cast<std::int64_t>(c.x.size());
      const View x = host_view(type, {n}, c.x), on_cpu = random_view(rng, {n}, type);
      kernels::elementwise(executor_, c.name, std::span(&x, 1), on_cpu);
      const View in = to_device(device(), x), out = to_device(device(), random_view(rng, {n}, type));
      gpu::Encoder encoder(device());
      kernels::elementwise(encoder, c.name, std::span(&in, 1), out);
      encoder.submit();
      const View on_gpu = to_host(device(), out);
      for (std::int64_t i = 0; i < n; ++i) {
        // Compared as text, which shows the sign of 0 and NaN without one.
        const auto text = [](double v) { return std::isnan(v) ? "nan" : std::format("{}", v); };
        EXPECT_EQ(text(value(on_cpu, i)), text(c.y[i])) << c.name << " of " << c.x[i] << " in " << name(type);
        EXPECT_EQ(text(value(on_gpu, i)), text(c.y[i])) << c.name << " of " << c.x[i] << " in " << name(type);
      }
    }
  }
}

TEST(ElementwiseNames, OperationsAndTheirOtherNames) {
  for (int i = static_cast<int>(ScalarOp::neg); i < kScalarOpCount; ++i) {
    const auto op = static_cast<ScalarOp>(i);
    EXPECT_EQ(scalar_op(name(op)), op);
  }
  EXPECT_EQ(scalar_op("rint"), ScalarOp::round);
  EXPECT_EQ(scalar_op("fmod"), ScalarOp::rem);
  EXPECT_EQ(scalar_op("isfinite"), ScalarOp::is_finite);
  EXPECT_EQ(scalar_op("cast"), std::nullopt);
  EXPECT_EQ(scalar_op("relu6"), std::nullopt);
  ASSERT_NE(find_function("leaky_relu"), nullptr);
  EXPECT_EQ(find_function("leaky_relu")->parameters[0].name, "alpha");
  EXPECT_EQ(find_function("maximum")->name, "max");
  EXPECT_EQ(find_function("nothing"), nullptr);
}

TEST(ElementwiseNames, RefusesWhatDoesNotFit) {
  const DType f32[] = {DType::f32, DType::f32};
  const DType i32[] = {DType::i32};
  const double parameters[] = {1, 2};
  auto expect = [](auto&& f, const char* text) {
    try {
      f();
      ADD_FAILURE() << "no error with '" << text << "'";
    } catch (const InvalidArgument& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(text));
    }
  };
  expect([&] { function_expression("nothing", f32); }, "no elementwise function is called 'nothing'");
  expect([&] { function_expression("leaky_rellu", f32); },
         "no elementwise function is called 'leaky_rellu'; the nearest name is 'leaky_relu'");
  expect([&] { function_expression("tnah", f32); },
         "no elementwise function is called 'tnah'; the nearest name is 'tanh'");
  expect([&] { function_expression("relu6", f32); }, "relu6 takes 1 operands, got 2");
  expect([&] { function_expression("elu", std::span(f32, 1), parameters); }, "elu takes 1 parameters, got 2");
  expect([&] { function_expression("elu", i32); }, "elu takes float, got i32");
  expect([&] { function_expression("real", i32); }, "real takes complex, got i32");
}

// Selects between an argument and a value with its sign, which compilers have mixed up in these layouts.
TEST_P(Elementwise, AnArgumentOrWhatHasItsSign) {
  for (const ScalarOp op : {ScalarOp::atan, ScalarOp::atan2, ScalarOp::cbrt, ScalarOp::asinh, ScalarOp::sign}) {
    for (const DType type : {DType::f8e4m3, DType::f8e5m2}) {
      const View in[] = {random_view(rng, {16, 96}, type, Kind::dense, Values::special),
                         random_view(rng, {16, 96}, type, Kind::transposed, Values::special)};
      const auto used = std::span(in).first(static_cast<std::size_t>(arity(op)));
      make_fit(op, type, used, rng);
      const View out = random_view(rng, {1, 16, 96}, type, Kind::sliced);
      const View y(out.buffer, out.offset, type, {16, 96}, {out.strides()[1], out.strides()[2]});
      run_both(device(), used, {{y}}, call_of(one_op(op, type)), tolerance(op, type),
               std::format("{} {}", name(op), name(type)));
    }
  }
}

TEST_P(Elementwise, LayoutsOfEveryRank) {
  const Shape shapes[] = {{},
                          {1},
                          {7},
                          {64},
                          {1025},
                          {3, 5},
                          {16, 64},
                          {5, 1, 9},
                          {4, 6, 8},
                          {2, 3, 4, 5},
                          {3, 1, 2, 7},
                          {2, 2, 3, 2, 4},
                          {2, 1, 2, 3, 2, 4},
                          {2, 2, 1, 2, 2, 1, 5},
                          {2, 1, 2, 2, 1, 2, 2, 3}};
  for (DType type : {DType::f32, DType::f16, DType::u8, DType::boolean, DType::i64}) {
    const Expression e = one_op(type == DType::boolean ? ScalarOp::logical_xor : ScalarOp::add, type);
    for (const Shape& shape : shapes) {
      for (Kind in_kind : kInputKinds) {
        const Kind out_kind = kOutputKinds[rng() % std::size(kOutputKinds)];
        const View in[] = {random_view(rng, shape, type, in_kind),
                           random_view(rng, shape, type, kInputKinds[rng() % 6])};
        const View out[] = {random_view(rng, shape, type, out_kind)};
        run_both(device(), in, out, call_of(e), {},
                 std::format("{} {} {} to {}", name(type), to_string(shape), to_string(in_kind), to_string(out_kind)));
      }
    }
  }
}

// Narrow outputs that start and end inside words, next to other elements that must not change: all offsets and lengths.
TEST_P(Elementwise, NarrowOutputsKeepTheirNeighbours) {
  for (DType type : {DType::u8, DType::f16}) {
    const Expression e = one_op(ScalarOp::square, type);
    for (int offset = 0; offset < 4; ++offset) {
      for (int count = 1; count < 12; ++count) {
        for (int x_offset : {offset, 0}) {
          const View x = random_view(rng, {32}, type);
          const View y = random_view(rng, {32}, type);
          const auto bytes = static_cast<std::uint64_t>(bits(type) / 8);
          const View in[] = {View(x.buffer, x_offset * bytes, type, {count})};
          const View out[] = {View(y.buffer, offset * bytes, type, {count})};
          run_both(device(), in, out, call_of(e), {}, std::format("{} offset {} count {}", name(type), offset, count));
        }
      }
    }
  }
}

TEST_P(Elementwise, Broadcasts) {
  const Expression e = one_op(ScalarOp::mul, DType::f32);
  const struct {
    Shape a, b, y;
  } cases[] = {{{}, {5, 8}, {5, 8}},
               {{8}, {5, 1}, {5, 8}},
               {{4, 1, 8}, {6, 1}, {4, 6, 8}},
               {{1}, {1}, {3, 3}},
               {{2, 1, 1, 4}, {3, 1, 4}, {2, 3, 5, 4}}};
  for (const auto& c : cases) {
    const View in[] = {random_view(rng, c.a, DType::f32), random_view(rng, c.b, DType::f32)};
    const View out[] = {random_view(rng, c.y, DType::f32)};
    run_both(device(), in, out, call_of(e), {}, to_string(c.y));
  }
}

TEST_P(Elementwise, SeveralOutputsAndSharedNodes) {
  Expression e;
  const int x = e.input(DType::f32);
  const int n = e.input(DType::i32);
  const int t = e.apply(ScalarOp::tanh, {x});
  const int m = e.apply(ScalarOp::mul, {t, e.cast(n, DType::f32)});
  e.output(m);
  e.output(e.cast(m, DType::f16));
  e.output(e.apply(ScalarOp::less, {m, e.constant(0.25, DType::f32)}));
  e.output(e.apply(ScalarOp::bitwise_and, {n, e.constant(7, DType::i32)}));
  for (const Shape& shape : {Shape{130}, Shape{7, 9}}) {
    const View in[] = {random_view(rng, shape, DType::f32), random_view(rng, shape, DType::i32)};
    const View out[] = {random_view(rng, shape, DType::f32), random_view(rng, shape, DType::f16, Kind::offset),
                        random_view(rng, shape, DType::boolean, Kind::offset),
                        random_view(rng, shape, DType::i32, Kind::transposed)};
    run_both(device(), in, out, call_of(e), {.ulp = 4}, to_string(shape));
  }
}

// Functions in f32 whose results are rounded to a narrow float after selections and factors, from a type with a smaller
// range.
TEST_P(Elementwise, RoundedBehindAFactor) {
  for (const DType from : {DType::f16, DType::bf16, DType::f32}) {
    for (const DType to : {DType::f16, DType::bf16}) {
      for (const ScalarOp op : {ScalarOp::cosh, ScalarOp::sinh, ScalarOp::mish, ScalarOp::expm1, ScalarOp::erfinv,
                                ScalarOp::silu, ScalarOp::gelu_erf, ScalarOp::gelu_tanh, ScalarOp::exp}) {
        for (const double factor : {1.5, 0x1p30}) {
          Expression e;
          const int x = e.cast(e.input(from), DType::f32);
          const int scaled = e.apply(ScalarOp::mul, {e.constant(factor, DType::f32), e.apply(op, {x})});
          const int below = e.apply(ScalarOp::less, {x, e.constant(20, DType::f32)});
          e.output(e.cast(e.apply(ScalarOp::select, {below, scaled, e.apply(op, {x})}), to));
          constexpr double points[] = {-100, -89,  -88.5, -60,    -12, -9, -8.5, -3, -1,   -0.9995, -0.5,
                                       0,    0.25, 0.5,   0.9995, 1,   2,  11,   30, 88.5, 89,      89.375};
          const View in = test::host_view(from, {static_cast<std::int64_t>(std::size(points))}, points);
          run_both(device(), {{in}}, {{random_view(rng, in.shape(), to)}}, call_of(e),
                   {.ulp = 1, .absolute = to == DType::f16 ? 1e-7 : 0x1p-125 * factor}, e.to_string());  // flushed
        }
      }
    }
  }
}

// A long chain of selections, each of which uses the one before twice.
TEST_P(Elementwise, ChoicesFromChoices) {
  Expression e;
  int x = e.input(DType::bf16);
  for (int i = 0; i < 60; ++i) x = e.apply(ScalarOp::max, {x, e.apply(ScalarOp::neg, {x})});
  e.output(x);
  const View in = test::host_view(DType::bf16, {8}, std::vector<double>{-3, -2, -1, -0.5, 0.5, 1, 2, 3});
  run_both(device(), {{in}}, {{random_view(rng, {8}, DType::bf16)}}, call_of(e), {}, "max");
}

// Compilers tend to omit a rounding to a narrow float and back.
TEST_P(Elementwise, CastsRoundAtEachStep) {
  for (const DType type : {DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2}) {
    Expression e;
    const int x = e.input(DType::f32);
    const int rounded = e.cast(e.cast(e.apply(ScalarOp::mul, {x, e.constant(0.3, DType::f32)}), type), DType::f32);
    e.output(e.apply(ScalarOp::mul, {rounded, e.constant(5, DType::f32)}));
    e.output(e.cast(rounded, type));
    const View in[] = {random_view(rng, {4096}, DType::f32)};
    const View out[] = {random_view(rng, {4096}, DType::f32), random_view(rng, {4096}, type)};
    run_both(device(), in, out, call_of(e), {}, std::string(name(type)));
  }
}

// One row of the last axis for each workgroup, or several workgroups for one: operands that are constant along it are
// loaded once.
TEST_P(Elementwise, RowsOfWholeWorkgroups) {
  Expression e;
  const int x = e.input(DType::f32);
  const int scaled = e.apply(ScalarOp::mul, {x, e.input(DType::f32)});
  e.output(e.apply(ScalarOp::max, {scaled, e.input(DType::f32)}));
  const auto workgroup = static_cast<std::int64_t>(std::min(256u, device().capabilities().max_workgroup_size));
  for (const int unroll : {1, 2, 4}) {
    for (const std::int64_t rows : {1, 3}) {
      const Shape shape{2, 3, rows * unroll * workgroup * 4};
      const View in[] = {random_view(rng, shape, DType::f32), random_view(rng, {3, 1}, DType::f32),
                         random_view(rng, {2, 1, 1}, DType::f32, Kind::offset)};
      const View out[] = {random_view(rng, shape, DType::f32)};
      const auto call = [&](Stream& s, std::span<const View> inputs, std::span<const View> outputs) {
        kernels::map(s, "map", e, inputs, outputs, {.unroll = unroll});
      };
      run_both(device(), in, out, call, {}, std::format("{} by {}", to_string(shape), unroll));
    }
  }
}

// Threads load 16 bytes of narrow elements at once: each type to each, along rows, with operands that are constant
// along them, and at offsets that are not aligned for it.
TEST_P(Elementwise, GroupsOfSixteenBytes) {
  constexpr DType kNarrow[] = {DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2, DType::i16,
                               DType::u16, DType::i8,   DType::u8,     DType::boolean};
  int turn = 0;
  for (const DType from : kNarrow) {
    for (const DType to : kNarrow) {
      Expression e;
      const int x = e.input(from), row = e.input(DType::u8), whole = e.input(DType::f16);
      const int scale = e.cast(e.apply(ScalarOp::max, {row, e.constant(1.0, DType::u8)}), DType::f32);
      const int product = e.apply(ScalarOp::mul, {e.cast(x, DType::f32), scale});
      e.output(e.cast(e.apply(ScalarOp::max, {product, e.cast(whole, DType::f32)}), to));
      e.output(e.apply(ScalarOp::logical_and, {e.cast(x, DType::boolean), e.cast(row, DType::boolean)}));
      for (const std::int64_t length : {16, 128 * 16 * 3, 64 * 24, 8 * 15, 20}) {
        const std::int64_t first = turn % 5 == 4 ? 4 : turn % 3 * 16;
        const Shape shape{3, length};
        const auto part = [&](DType type) {
          View v = random_view(rng, {3, length + first}, type);
          v.layout.shape[-1] = length;
          v.offset += static_cast<std::uint64_t>(first * bits(type) / 8);
          return v;
        };
        const View in[] = {part(from), random_view(rng, {3, 1}, DType::u8),
                           random_view(rng, turn % 2 ? Shape{length} : Shape{1}, DType::f16)};
        const View out[] = {part(to), random_view(rng, shape, DType::boolean)};
        const kernels::MapForm form{16, turn++ % 4};
        const auto call = [&](Stream& s, std::span<const View> inputs, std::span<const View> outputs) {
          kernels::map(s, "map", e, inputs, outputs, form);
        };
        run_both(device(), in, out, call, {},
                 std::format("{} to {}, {} from {} by {}", name(from), name(to), length, first, form.unroll));
      }
    }
  }
  // A single function, whose arguments outside the fast path's range use the slow path; in place.
  for (const DType type : {DType::f16, DType::bf16, DType::f8e4m3}) {
    Expression e;
    e.output(e.apply(ScalarOp::silu, {e.input(type)}));
    const View x = random_view(rng, {2, 128 * 16 * 2 + 48}, type);
    const auto call = [&](Stream& s, std::span<const View> inputs, std::span<const View> outputs) {
      kernels::map(s, "silu", e, inputs, outputs, {.width = 16, .unroll = 1});
    };
    run_both(device(), std::span(&x, 1), std::span(&x, 1), call, {.ulp = 1}, std::string(name(type)));
  }
}

// Operands in one buffer, each bound as words of its own, and virtual operands (ramps).
TEST_P(Elementwise, GroupsOfSixteenBytesOfOneBuffer) {
  constexpr DType kTypes[] = {DType::f16, DType::bf16, DType::i8, DType::boolean, DType::i16, DType::f8e4m3};
  constexpr std::int64_t kRows = 3;
  constexpr std::uint64_t kArea = 1 << 15;
  int turn = 0;
  for (const DType a : kTypes) {
    for (const DType b : kTypes) {
      Expression e;
      const int x = e.input(a), z = e.input(b), column = e.input(DType::f16);
      const int sum = e.apply(ScalarOp::add, {e.cast(x, DType::f32), e.cast(z, DType::f32)});
      e.output(e.cast(e.apply(ScalarOp::add, {sum, e.cast(column, DType::f32)}), a));
      const std::int64_t n = 128 * 16 + 16 * (turn % 3);
      const View whole = random_view(rng, {static_cast<std::int64_t>(3 * kArea)}, DType::u8);
      const auto part = [&](std::uint64_t at, DType type) {
        const View v(whole.buffer, at, type, {kRows, n}), values = random_view(rng, {kRows, n}, type);
        for (std::int64_t i = 0; i < v.count(); ++i) set_element_bits(v, i, element_bits(values, i));
        return v;
      };
      const View in[] = {part(32, a), part(kArea + 64, b), random_view(rng, {kRows, 1}, DType::f16)};
      const View out[] = {turn % 2 ? in[0] : View(whole.buffer, 2 * kArea + 16, a, {kRows, n})};
      const kernels::MapForm form{16, 1 + turn++ % 3};
      const auto call = [&](Stream& s, std::span<const View> inputs, std::span<const View> outputs) {
        kernels::map(s, "map", e, inputs, outputs, form);
      };
      run_both(device(), in, out, call, {.ulp = 1}, std::format("{} {} by {}", name(a), name(b), form.unroll));
    }
  }
  for (const DType type : {DType::i16, DType::i8}) {
    Expression e;
    const int x = e.input(type), ramp = e.input(DType::i32), number = e.input(DType::i32);
    const int sum = e.apply(ScalarOp::add, {e.cast(x, DType::i32), ramp});
    e.output(e.cast(e.apply(ScalarOp::add, {sum, number}), type));
    const Shape shape{3, 128 * 16 * 2 + 32};
    const View host = random_view(rng, shape, type);
    const View in[] = {to_device(device(), host)}, out[] = {to_device(device(), random_view(rng, shape, type))};
    const Strides steps{5, 3};
    const kernels::Virtual virtuals[] = {{.type = DType::i32, .bits = 7, .strides = steps},
                                         {.type = DType::i32, .bits = 11}};
    gpu::Encoder encoder(device());
    kernels::map_gpu(encoder, {.name = "ramps",
                               .expression = e,
                               .inputs = in,
                               .outputs = out,
                               .shape = shape,
                               .strides = {in[0].strides(), out[0].strides(), steps, Strides{0, 0}},
                               .virtuals = virtuals,
                               .form = {16, 2}});
    encoder.submit();
    const View got = to_host(device(), out[0]);
    const std::uint64_t mask = (std::uint64_t{1} << bits(type)) - 1;
    for (std::int64_t i = 0; i < got.count(); ++i) {
      const auto want = static_cast<std::int64_t>(value(host, i)) + 18 + 5 * (i / shape[1]) + 3 * (i % shape[1]);
      ASSERT_EQ(element_bits(got, i), static_cast<std::uint64_t>(want) & mask) << name(type) << " " << i;
    }
  }
}

// A chain of sums, and of products, rounds at each step, in the given order.
TEST_P(Elementwise, ChainsInTheirOrder) {
  for (const ScalarOp op : {ScalarOp::add, ScalarOp::mul}) {
    Expression e;
    int chain = e.input(DType::f32);
    std::vector<View> in = {random_view(rng, {3, 257}, DType::f32)};
    for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::u8}) {
      chain = e.apply(op, {chain, e.cast(e.input(type), DType::f32)});
      in.push_back(random_view(rng, in.size() % 2 ? Shape{3, 1} : Shape{257}, type));
    }
    e.output(chain);
    e.output(e.apply(ScalarOp::floor, {chain}));
    const View out[] = {random_view(rng, {3, 257}, DType::f32), random_view(rng, {3, 257}, DType::f32)};
    run_both(device(), in, out, call_of(e), {}, std::string(name(op)));
  }
}

// Words of bf16 are stored by a rounding without NaN handling if no element is NaN. Here a function that reports
// arguments for its slow path is followed by one that gives NaN for other reasons.
TEST_P(Elementwise, ResultsOfSeveralOperationsThatAreNoNumbers) {
  const DType type = DType::bf16;
  Expression e;
  const int sum = e.apply(ScalarOp::add, {e.apply(ScalarOp::silu, {e.input(type)}), e.input(type)});
  e.output(e.apply(ScalarOp::asin, {sum}));
  const View in[] = {random_view(rng, {4096}, type), random_view(rng, {4096}, type)};
  for (std::int64_t i = 0; i < 4096; ++i) {
    set_element_bits(in[0], i, 0x3f00);                                               // ½
    set_element_bits(in[1], i, i % 7 == 0 ? 0x4000 : i % 11 == 0 ? 0x7fc0 : 0x3e00);  // 2, NaN, ⅛
  }
  for (const int width : {4, 8}) {
    const View out[] = {random_view(rng, {4096}, type)};
    const auto call = [&](Stream& s, std::span<const View> inputs, std::span<const View> outputs) {
      kernels::map(s, "map", e, inputs, outputs, {.width = width, .unroll = 2});
    };
    run_both(device(), in, out, call, {.ulp = 1}, std::format("by {}", width));
  }
}

// Unaligned rows: rows of odd lengths, and parts of rows, begin and end inside words or groups of four, each at another
// offset; adjacent elements must not change.
TEST_P(Elementwise, RowsThatBeginAnywhere) {
  const auto part = [&](DType type, const Shape& whole, std::int64_t first, std::int64_t length) {
    View v = random_view(rng, whole, type);
    v.layout.shape[-1] = length;
    v.offset += static_cast<std::uint64_t>(first * bits(type) / 8);
    return v;
  };
  const std::pair<DType, DType> types[] = {{DType::f32, DType::f32},   {DType::f16, DType::f16},
                                           {DType::bf16, DType::bf16}, {DType::f32, DType::f16},
                                           {DType::f16, DType::f32},   {DType::u8, DType::i16}};
  int turn = 0;
  for (const auto& [from, to] : types) {
    Expression e;
    const int sum = e.apply(ScalarOp::add, {e.cast(e.input(from), to), e.cast(e.input(from), to)});
    e.output(e.apply(ScalarOp::add, {sum, e.cast(e.input(to), to)}));
    for (const std::int64_t length : {16, 17, 18, 19, 31, 65}) {
      for (const std::int64_t first : {0, 1, 2, 3}) {
        const std::int64_t pitch = length + first + turn % 3;
        const View in[] = {part(from, {3, 5, pitch}, turn % 2 ? first : 0, length),
                           turn % 4 ? random_view(rng, {length}, from) : random_view(rng, {5, 1}, from),
                           turn % 5 ? random_view(rng, {3, 5, length}, to) : part(to, {5, pitch}, first, length)};
        const View out[] = {part(to, {3, 5, pitch}, first, length)};
        const int unroll = 1 << turn++ % 3;
        const auto call = [&](Stream& s, std::span<const View> inputs, std::span<const View> outputs) {
          kernels::map(s, "map", e, inputs, outputs, {.unroll = unroll});
        };
        run_both(device(), in, out, call, {.ulp = to == DType::f32 ? 0.0 : 1.0},
                 std::format("{} to {}, {} from {} of {} by {}", name(from), name(to), length, first, pitch, unroll));
      }
    }
    // In place.
    const View x = part(to, {4, 23}, 1, 21);
    const View in[] = {x, x};
    run_both(device(), in, {{x}}, call_of(one_op(ScalarOp::add, to)), {}, std::format("in place {}", name(to)));
  }
}

TEST_P(Elementwise, SmallIntegersWrapAtEachStep) {
  Expression e;
  const int a = e.input(DType::i8);
  const int sum = e.apply(ScalarOp::add, {a, e.input(DType::i8)});
  e.output(e.apply(ScalarOp::div, {sum, e.constant(2, DType::i8)}));
  const View in[] = {host_view(DType::i8, {3}, std::vector<double>{100, -100, 127}),
                     host_view(DType::i8, {3}, std::vector<double>{100, -100, 1})};
  const View out[] = {random_view(rng, {3}, DType::i8)};
  run_both(device(), in, out, call_of(e), {});
  EXPECT_EQ(values(out[0]), (std::vector<double>{-28, 28, -64}));
}

TEST_P(Elementwise, ConstantsOfAllKinds) {
  const std::vector<double> groups[] = {{0.0, -0.0, 1.0, -3.25, 1e30}, {-1e30, 1e-40, NAN, INFINITY, -INFINITY}};
  for (DType type : kComputingTypes) {
    for (const auto& group : groups) {
      Expression e;
      std::vector<View> out;
      for (double c : group) {
        e.output(e.constant(c, type));
        out.push_back(random_view(rng, {6}, type));
      }
      run_both(device(), {}, out, call_of(e), {}, std::string(name(type)));
    }
  }
}

TEST_P(Elementwise, InPlace) {
  for (DType type : {DType::f32, DType::f16, DType::u8, DType::i64}) {
    for (Kind kind : kOutputKinds) {
      const Expression e = one_op(ScalarOp::add, type);
      const View x = random_view(rng, {9, 13}, type, kind);
      const View in[] = {x, x};
      run_both(device(), in, {{x}}, call_of(e), {}, std::format("{} {}", name(type), to_string(kind)));
    }
  }
}

// Operands of different types in one buffer, one of which is written.
TEST_P(Elementwise, TypesShareABuffer) {
  Expression e;
  const int x = e.input(DType::f32);
  e.output(e.apply(ScalarOp::exp, {x}));
  e.output(e.apply(ScalarOp::less, {x, e.constant(0, DType::f32)}));
  const View all = random_view(rng, {1024}, DType::u8);
  const View in[] = {View(all.buffer, 512, DType::f32, {37})};
  for (int i = 0; i < 37; ++i) set_element_bits(in[0], i, std::bit_cast<std::uint32_t>(static_cast<float>(i - 18)));
  const View out[] = {View(all.buffer, 16, DType::f32, {37}), View(all.buffer, 301, DType::boolean, {37})};
  run_both(device(), in, out, call_of(e), {.ulp = 4});
}

TEST_P(Elementwise, EmptyShapesDoNothing) {
  const Expression e = one_op(ScalarOp::add, DType::f32);
  for (const Shape& shape : {Shape{0}, Shape{3, 0, 2}}) {
    const View in[] = {random_view(rng, shape, DType::f32), random_view(rng, {1}, DType::f32)};
    const View out[] = {random_view(rng, shape, DType::f32)};
    run_both(device(), in, out, call_of(e), {});
  }
}

TEST_P(Elementwise, GridsPastOneDimension) {
  // 65,535 workgroups of 128 or 256 threads of 4 elements, and a few more.
  const std::int64_t n = std::int64_t{65535} * std::min(256u, device().capabilities().max_workgroup_size) * 4 + 4099;
  const View x = random_view(rng, {16}, DType::u8);
  const View y(device().allocate((static_cast<std::uint64_t>(n) + 15) / 16 * 16), 0, DType::u8, {n});
  Expression e;
  e.output(e.apply(ScalarOp::add, {e.input(DType::u8), e.constant(3, DType::u8)}));
  const View in = View(to_device(device(), x).buffer, 0, DType::u8, {1});
  gpu::Encoder encoder(device());
  map(encoder, e, std::span(&in, 1), std::span(&y, 1));
  encoder.submit();
  const View host = to_host(device(), y);
  const auto want = static_cast<std::uint8_t>(element_bits(x, 0) + 3);
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < n; ++i) wrong += static_cast<std::uint8_t>(host.buffer.data()[i]) != want;
  EXPECT_EQ(wrong, 0);
}

// A prime number of whole workgroups, so that the grid has more of them; in place, no element may be processed twice.
TEST_P(Elementwise, GridsThatAreNotWholeInPlace) {
  const std::int64_t block = std::int64_t{std::min(256u, device().capabilities().max_workgroup_size)} * 4 * 2;
  const std::int64_t n = 65537 * block;
  Expression e;
  e.output(e.apply(ScalarOp::mul, {e.input(DType::u8), e.constant(3, DType::u8)}));
  for (const Shape& shape : {Shape{n}, Shape{65537, block}}) {
    const View y(device().allocate(static_cast<std::uint64_t>(n)), 0, DType::u8, shape);
    gpu::Encoder encoder(device());
    kernels::fill(encoder, 5, y);
    kernels::map(encoder, "map", e, std::span(&y, 1), std::span(&y, 1), {.unroll = 2});
    encoder.submit();
    const View host = to_host(device(), y);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < n; ++i) wrong += static_cast<std::uint8_t>(host.buffer.data()[i]) != 15;
    EXPECT_EQ(wrong, 0) << to_string(shape);
  }
}

TEST_P(Elementwise, RefusesWhatDoesNotFit) {
  gpu::Encoder encoder(device());
  auto f32 = [&](const Shape& shape) { return to_device(device(), random_view(rng, shape, DType::f32)); };
  auto expect = [&](auto&& f, const char* text) {
    try {
      f();
      ADD_FAILURE() << "no error with '" << text << "'";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(text));
    }
  };
  expect([&] { kernels::binary(encoder, ScalarOp::add, f32({3}), f32({4}), f32({4})); },
         "add: a f32 [3] does not broadcast to y f32 [4]");
  expect(
      [&] { kernels::unary(encoder, ScalarOp::exp, f32({1}), to_device(device(), random_view(rng, {4}, DType::f16))); },
      "exp: y is f16 [4], expected f32 [4]");
  expect([&] { kernels::unary(encoder, ScalarOp::is_nan, f32({4}), f32({4})); }, "expected bool [4]");
  expect([&] { kernels::unary(encoder, ScalarOp::bitwise_not, f32({4}), f32({4})); }, "integer or bool, got f32");
  const View overlap(f32({4}).buffer, 0, DType::f32, {2, 2}, {0, 1});
  expect([&] { kernels::unary(encoder, ScalarOp::exp, f32({2, 2}), overlap); }, "overlaps itself");
  const View f64 = to_device(device(), random_view(rng, {4}, DType::f64));
  expect([&] { kernels::unary(encoder, ScalarOp::exp, f64, f64); }, "f64 cannot compute on a GPU");
  Expression e;
  std::vector<View> many;
  int sum = e.constant(0, DType::f32);
  for (int i = 0; i < 40; ++i) {
    many.push_back(f32({4}));
    sum = e.apply(ScalarOp::add, {sum, e.input(DType::f32)});
  }
  e.output(sum);
  const View y = f32({4});
  expect([&] { map(encoder, e, many, std::span(&y, 1)); }, "storage buffers, this device takes");
  // The device still works.
  kernels::unary(encoder, ScalarOp::exp, f32({4}), y);
  encoder.submit();
}

}  // namespace
}  // namespace weft::test
