// Which operations become one kernel: checked by the labels of the schedule, and by results on every device.
#include "compiler/bound.h"
#include "compiler/evaluate.h"
#include "weft/small_float.h"

namespace weft {
namespace {

using test::Bound;
using test::noise;
using test::numbers;

struct FusionTest : testing::TestWithParam<std::string> {
  // Compiles, runs, compares with single nodes on the CPU, and returns the labels of the steps.
  std::vector<std::string> run(const Graph& g, const std::map<std::string, TensorData>& data, float tolerance = 2e-5f) {
    Executable exe = compile(g, device);
    const Bound bound(device, g, data);
    bound.run(exe);
    bound.compare(compiler::evaluate(g, data), exe.report().graph, tolerance);
    std::vector<std::string> labels;
    for (const ScheduleStep& s : exe.report().steps) labels.push_back(s.label);
    return labels;
  }
  using Labels = std::vector<std::string>;
  Device device = test::device_named(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Devices, FusionTest, testing::ValuesIn(test::all_devices()),
                         [](const auto& info) { return info.param; });

TEST_P(FusionTest, BroadcastsStayStrides) {
  Graph g;
  const Tensor a = g.input("a", DType::f32, {1, 6, 1, 20});
  const Tensor b = g.input("b", DType::f32, {1, 6, 9, 20});
  g.output("y", broadcast_to(a, {1, 6, 9, 20}) + b);
  g.output("z", (a + b) * a);
  EXPECT_EQ(run(g, {{"a", noise({1, 6, 1, 20}, 1)}, {"b", noise({1, 6, 9, 20}, 2)}}).size(), 1u);
}

TEST_P(FusionTest, SeveralResultsOfOneKernel) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {7, 33});
  const Tensor row = g.input("row", DType::f32, {33});
  const Tensor e = exp(x);
  const Tensor shifted = e + row;
  g.output("e", e);
  g.output("shifted", shifted);
  g.output("scaled", tanh(shifted) * e);
  g.output("negative", cast(binary(ScalarOp::less, x, row), DType::f32));
  EXPECT_EQ(run(g, {{"x", noise({7, 33}, 1)}, {"row", noise({33}, 2)}}), Labels{"exp+add+tanh+mul+less+cast [7, 33]"});
}

// Nodes on a path through another kernel cannot be fused with what comes before it.
TEST_P(FusionTest, ResultsThatWaitForOthersStayApart) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {8, 16});
  const Tensor a = exp(x);
  const Tensor s = cumsum(a, 0);
  const Tensor b = s * x + a;
  const Tensor c = unary(ScalarOp::sin, x);
  g.output("a", a);
  g.output("b", b);
  g.output("c", c * s);
  EXPECT_EQ(run(g, {{"x", noise({8, 16}, 1)}}).size(), 3u);
}

// Drivers may simplify expressions as if they were of real numbers; this must not happen across operations that were
// fused.
TEST_P(FusionTest, WhatOneOperationHandsOnIsRounded) {
  constexpr auto neg = ScalarOp::neg, square = ScalarOp::square, less = ScalarOp::less, rsqrt = ScalarOp::rsqrt,
                 reciprocal = ScalarOp::reciprocal, floor_divide = ScalarOp::floor_divide;
  const auto up = [](const Tensor& v, double by) { return v + by; };
  const std::function<Tensor(Tensor)> chains[] = {
      [](const Tensor& x) { return unary(ScalarOp::sqrt, x) * unary(ScalarOp::sqrt, x); },
      [](const Tensor& x) { return unary(square, unary(ScalarOp::sqrt, x)); },
      [](const Tensor& x) { return unary(ScalarOp::sqrt, unary(square, x)); },
      [&](const Tensor& x) { return up(up(x, 8388608), -8388608); },
      [&](const Tensor& x) { return up(x, 1) - x; },
      [](const Tensor& x) { return x * 1e30 * 1e-30; },
      [](const Tensor& x) { return x * 2.0 - x * 2.0; },
      [](const Tensor& x) { return x + unary(neg, x); },
      [](const Tensor& x) { return x / x; },
      [](const Tensor& x) { return (x - x) / (x - x); },
      [](const Tensor& x) { return x / (unary(ScalarOp::sqrt, x) - unary(ScalarOp::sqrt, x)); },
      [](const Tensor& x) { return binary(floor_divide, x, x * 0.0); },
      [](const Tensor& x) { return unary(reciprocal, unary(reciprocal, x)); },
      [](const Tensor& x) { return x * unary(rsqrt, x) * unary(rsqrt, x); },
      [](const Tensor& x) { return unary(ScalarOp::exp2, unary(ScalarOp::log2, x)); },
      [](const Tensor& x) { return unary(ScalarOp::log, unary(ScalarOp::exp, x)); },
      [](const Tensor& x) { return x * cast(binary(less, x, x * 0.5), DType::f32); },
      // Two-sum: the rounding error of the sum.
      [&](const Tensor& x) {
        const Tensor y = x * 1e-8, sum = x + y, part = sum - x;
        return (x - (sum - part)) + (y - part);
      },
  };
  const std::vector<float> values{-4,    -1,    -0.0f,  0,        2.3f,      0.1f, 1,
                                  1e10f, 1e30f, -1e30f, INFINITY, -INFINITY, NAN,  7.7f};
  const Shape shape{static_cast<std::int64_t>(values.size())};
  const std::map<std::string, TensorData> data{{"x", TensorData::of<float>(DType::f32, shape, values)}};
  Graph g;
  const Tensor x = g.input("x", DType::f32, shape);
  for (std::size_t k = 0; k < std::size(chains); ++k) g.output(std::format("y{}", k), chains[k](x));
  const auto results = [&](bool fusion) {
    Executable exe = compile(g, device, {.fusion = fusion});
    const Bound bound(device, g, data);
    bound.run(exe);
    std::vector<std::vector<float>> all;
    for (const auto& [name, t] : bound.outputs_) all.push_back(t.read<float>());
    return all;
  };
  const auto together = results(true), separate = results(false);
  for (std::size_t k = 0; k < together.size(); ++k) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float a = together[k][i], b = separate[k][i];
      EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b)))
          << "chain " << k << " of " << values[i] << ": " << a << ", separate " << b;
    }
  }
}

// The mask value of many models; and 64-bit integers.
TEST_P(FusionTest, ConstantsAtTheEndsOfTypes) {
  constexpr float kMax = std::numeric_limits<float>::max();
  Graph g;
  const Tensor x = g.input("x", DType::f32, {4});
  g.output("low", binary(ScalarOp::max, x, g.scalar(-kMax, DType::f32)));
  const Tensor hidden = g.constant(TensorData::of<float>(DType::f32, {4}, std::vector<float>{0, 1, 0, 1}));
  g.output("masked", softmax(x + hidden * -kMax));
  const Tensor n = g.scalar(9007199254740993, DType::i64);
  g.output("odd", cast(n - g.scalar(9007199254740992, DType::i64), DType::f32));
  const std::map<std::string, TensorData> data{
      {"x", TensorData::of<float>(DType::f32, {4}, std::vector<float>{1, -INFINITY, 3, kMax})}};
  Executable exe = compile(g, device);
  const Bound bound(device, g, data);
  bound.run(exe);
  EXPECT_EQ(bound.outputs_[0].second.read<float>(), (std::vector<float>{1, -kMax, 3, kMax}));
  EXPECT_NEAR(bound.outputs_[1].second.read<float>()[2], 1 / (1 + std::exp(-2.0f) + std::exp(-3.0f)), 1e-6);
  EXPECT_EQ(bound.outputs_[2].second.read<float>()[0], 1);
}

// Patterns that the fused op does not support are left alone.
TEST_P(FusionTest, WhatNoOperationTakesStaysApart) {
  const Shape shape{3, 8};
  for (const double epsilon : {-0.5, static_cast<double>(NAN)}) {
    Graph g;
    const Tensor x = g.input("x", DType::f32, shape);
    const Tensor d = x - reduce(ReduceKind::mean, x, {1}, true);
    g.output("y", d / sqrt(reduce(ReduceKind::mean, d * d, {1}, true) + epsilon));
    Executable exe = compile(g, device);
    const Bound bound(device, g, {{"x", noise(shape, 1)}});
    EXPECT_NO_THROW(bound.run(exe));
  }
  Graph none;
  const Tensor q = none.input("q", DType::f32, {1, 2, 3, 0}), v = none.input("v", DType::f32, {1, 2, 3, 4});
  none.output("y", matmul(softmax(matmul(q, q.T())), v));
  run(none, {{"q", noise({1, 2, 3, 0}, 1)}, {"v", noise({1, 2, 3, 4}, 2)}});
  Graph packed;
  const Tensor p = packed.input("p", DType::i4, {4, 3});
  packed.output("y", slice(cast(p, DType::f32) * 2.0, 0, 1, 2));
  const std::vector<std::byte> bytes{std::byte{0x21}, std::byte{0x43}, std::byte{0x65},
                                     std::byte{0x07}, std::byte{0x91}, std::byte{0xa2}};
  run(packed, {{"p", TensorData::copy_of(DType::i4, {4, 3}, bytes)}});
}

// A scale after a mask applies to the mask too; and several factors cannot always be combined into one.
TEST_P(FusionTest, AttentionWithScalesThatAreNoneOfScores) {
  const Shape shape{1, 2, 5, 8};
  std::vector<std::uint8_t> seen;
  for (int i = 0; i < 25; ++i) seen.push_back(i % 5 <= i / 5);
  const std::map<std::string, TensorData> data{{"q", noise(shape, 1)}, {"k", noise(shape, 2)}, {"v", noise(shape, 3)}};
  const auto attend = [&](const std::function<Tensor(Graph&, Tensor)>& scores) {
    Graph g;
    const Tensor q = g.input("q", DType::f32, shape), k = g.input("k", DType::f32, shape);
    g.output("y", matmul(softmax(scores(g, matmul(q, k.T()))), g.input("v", DType::f32, shape)));
    return run(g, data);
  };
  const auto mask = [&](Graph& g) { return g.constant(TensorData::of<std::uint8_t>(DType::boolean, {5, 5}, seen)); };
  attend([&](Graph& g, const Tensor& s) { return select(mask(g), s, g.scalar(-1e30, DType::f32)) * 1e-30; });
  attend([&](Graph& g, const Tensor& s) { return select(mask(g), s, g.scalar(-1e30, DType::f32)) / -2.0; });
  attend([&](Graph&, const Tensor& s) { return s * 1e-30 * 1e-30 * 1e30 * 1e30; });
  const auto usual =
      attend([&](Graph& g, const Tensor& s) { return select(mask(g), s * 0.3, g.scalar(-1e30, DType::f32)); });
  EXPECT_EQ(usual.size(), 1u);
}

TEST_P(FusionTest, WideRegionsAreSplit) {
  Graph g;
  std::map<std::string, TensorData> data;
  std::vector<Tensor> in;
  for (int i = 0; i < 12; ++i) {
    const std::string name = std::format("x{}", i);
    in.push_back(g.input(name, DType::f32, {5, 8}));
    data.emplace(name, noise({5, 8}, static_cast<unsigned>(i)));
  }
  for (int i = 0; i < 12; ++i) g.output(std::format("y{}", i), tanh(in[i] * in[(i + 1) % 12]) + in[(i + 5) % 12]);
  const auto labels = run(g, data);
  if (device.is_gpu()) {
    const auto most = device.gpu().capabilities().max_storage_buffers;
    EXPECT_GE(labels.size(), std::ceil(24.0 / most));
    EXPECT_LE(labels.size(), 11u);
  }
}

TEST_P(FusionTest, AReductionTakesTheWorkAroundIt) {
  Graph g;
  const Tensor a = g.input("a", DType::f32, {6, 50});
  const Tensor b = g.input("b", DType::f32, {50});
  g.output("dot", reduce(ReduceKind::sum, a * b, {1}));
  g.output("norm", sqrt(reduce(ReduceKind::mean, (a - b) * (a - b), {0}, true) + 1e-3));
  g.output("flat", reduce(ReduceKind::max, reshape(exp(a) * 0.5, {300}), {0}));
  EXPECT_EQ(run(g, {{"a", noise({6, 50}, 1)}, {"b", noise({50}, 2)}}),
            (Labels{"mul+reduce_sum [6]", "sub+mul+reduce_mean+add+sqrt [1, 50]", "exp+mul+reduce_max []"}));
}

TEST_P(FusionTest, MixedTypesInOneRegion) {
  Graph g;
  const Tensor x = g.input("x", DType::f16, {4, 24});
  const Tensor i = g.input("i", DType::i32, {24});
  const Tensor scaled = cast(x, DType::f32) * cast(i, DType::f32);
  g.output("sum", reduce(ReduceKind::sum, scaled, {1}));
  const Tensor positive = binary(ScalarOp::greater, scaled, g.scalar(0, DType::f32));
  g.output("chosen", select(positive, scaled, cast(i, DType::f32)));
  const TensorData half = TensorData::of<std::uint16_t>(DType::f16, {4, 24}, std::vector<std::uint16_t>(96, 0x3a00));
  std::vector<std::int32_t> steps;
  for (int k = 0; k < 24; ++k) steps.push_back(k - 11);
  const auto labels = run(g, {{"x", half}, {"i", TensorData::of<std::int32_t>(DType::i32, {24}, steps)}});
  EXPECT_EQ(labels.size(), device.is_gpu() ? 1u : 2u);
}

TEST_P(FusionTest, SoftmaxWrittenOut) {
  for (const int axis : {0, 1, 2}) {
    for (const bool keep : {true, false}) {
      Graph g;
      const Tensor x = g.input("x", DType::f32, {3, 4, 37});
      const auto over = [&](ReduceKind op, const Tensor& v) {
        const Tensor r = reduce(op, v, {axis}, keep);
        return keep ? r : expand_dims(r, axis);
      };
      const Tensor e = exp(x - broadcast_to(over(ReduceKind::max, x), x.shape()));
      g.output("y", keep ? e / over(ReduceKind::sum, e) : e * unary(ScalarOp::reciprocal, over(ReduceKind::sum, e)));
      EXPECT_EQ(run(g, {{"x", noise({3, 4, 37}, 1, 3)}}), Labels{"softmax [3, 4, 37]"});
    }
  }
}

TEST_P(FusionTest, WhatOnlyLooksLikeSoftmax) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {8, 8});
  const Tensor e = exp(x - reduce(ReduceKind::max, x, {1}, true));
  g.output("another axis", e / reduce(ReduceKind::sum, e, {0}, true));
  g.output("another sum", e / reduce(ReduceKind::sum, x * x, {1}, true));
  const Tensor f = exp(x - reduce(ReduceKind::max, x, {1}));  // broadcast along the wrong axis
  g.output("spread", f / reduce(ReduceKind::sum, f, {1}, true));
  for (const std::string& label : run(g, {{"x", noise({8, 8}, 1)}}))
    EXPECT_EQ(label.find("softmax"), std::string::npos);
}

TEST_P(FusionTest, LayerNormWrittenOut) {
  for (int form = 0; form < 5; ++form) {
    Graph g;
    const Tensor x = g.input("x", DType::f32, {5, 3, 32});
    const Tensor d = x - reduce(ReduceKind::mean, x, {2}, true);
    const Tensor square = form == 0   ? d * d
                          : form == 1 ? unary(ScalarOp::square, d)
                                      : binary(ScalarOp::pow, d, g.scalar(2, DType::f32));
    const Tensor squares = form == 4 ? variance(x, {2}, 0, true) : reduce(ReduceKind::mean, square, {2}, true);
    const Tensor inside = squares + 1e-5;
    Tensor y = form % 2 ? d * rsqrt(inside) : d / sqrt(inside);
    if (form > 0) y = y * g.input("scale", DType::f32, {32});
    if (form > 1) y = g.input("bias", DType::f32, {1, 1, 32}) + y;
    g.output("y", y);
    std::map<std::string, TensorData> data{{"x", noise({5, 3, 32}, 1)}};
    if (form > 0) data.emplace("scale", noise({32}, 2));
    if (form > 1) data.emplace("bias", noise({1, 1, 32}, 3));
    EXPECT_EQ(run(g, data, 1e-4f), Labels{"layer_norm [5, 3, 32]"}) << form;
  }
}

// The variance of a sample does not belong to a layer norm, nor does one over another axis.
TEST_P(FusionTest, OtherVariancesStay) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {8, 8});
  const Tensor d = x - reduce(ReduceKind::mean, x, {1}, true);
  g.output("sample", d / sqrt(variance(x, {1}, 1, true) + 1e-5));
  g.output("columns", d / sqrt(variance(x, {0}, 0, true) + 1e-5));
  for (const std::string& label : run(g, {{"x", noise({8, 8}, 1)}}))
    EXPECT_EQ(label.find("layer_norm"), std::string::npos);
}

TEST_P(FusionTest, RmsNormWrittenOut) {
  for (const bool scaled : {false, true}) {
    Graph g;
    const Tensor x = g.input("x", DType::f32, {6, 40});
    Tensor y = x * rsqrt(reduce(ReduceKind::mean, x * x, {1}, true) + 1e-5);
    std::map<std::string, TensorData> data{{"x", noise({6, 40}, 1)}};
    if (scaled) {
      y = g.input("scale", DType::f32, {40}) * y;
      data.emplace("scale", noise({40}, 2));
    }
    g.output("y", y);
    EXPECT_EQ(run(g, data), Labels{"rms_norm [6, 40]"}) << scaled;
  }
}

TEST_P(FusionTest, LogSoftmaxWrittenOut) {
  for (const bool whole : {false, true}) {
    Graph g;
    const Tensor x = g.input("x", DType::f32, {9, 31});
    const Tensor shifted = x - reduce(ReduceKind::max, x, {1}, true);
    g.output("y", whole ? x - reduce(ReduceKind::log_sum_exp, x, {1}, true)
                        : shifted - unary(ScalarOp::log, reduce(ReduceKind::sum, exp(shifted), {1}, true)));
    EXPECT_EQ(run(g, {{"x", noise({9, 31}, 1, 4)}}), Labels{"log_softmax [9, 31]"}) << whole;
  }
}

// A mask with one number for adjacent elements does not keep a reduction from being vectorised.
TEST_P(FusionTest, MeansUnderAMask) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {3, 10, 16});
  const Tensor m = g.input("m", DType::f32, {3, 10, 1});
  g.output("sum", reduce(ReduceKind::sum, x * m, {1}));
  g.output("other", reduce(ReduceKind::max, x * m, {2}));
  EXPECT_EQ(run(g, {{"x", noise({3, 10, 16}, 1)}, {"m", noise({3, 10, 1}, 2)}}),
            (Labels{"mul+reduce_sum [3, 16]", "mul+reduce_max [3, 10]"}));
}

// Work before and after softmax and norms is fused into their kernels, with mixed types and broadcasts.
TEST_P(FusionTest, RowsFusePrologueAndEpilogue) {
  const Shape shape{2, 6, 40};
  const auto halves = [](const Shape& s) {
    std::vector<std::uint16_t> bits(static_cast<std::size_t>(element_count(s)));
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = float16(static_cast<float>(i % 23) * 0.125f - 1).bits;
    return TensorData::of<std::uint16_t>(DType::f16, s, bits);
  };
  const std::map<std::string, TensorData> all{{"x", noise(shape, 1, 3)},         {"r", noise({2, 40, 6}, 2)},
                                              {"mask", noise({1, 1, 40}, 3, 4)}, {"w", noise({40}, 4)},
                                              {"gate", noise({2, 6, 1}, 5)},     {"h", halves(shape)}};
  using Build = std::function<void(Graph&, const std::map<std::string, Tensor>&)>;
  const auto check = [&](const std::string& label, const std::vector<std::string>& names, const Build& build,
                         float tolerance = 2e-5f) {
    Graph g;
    std::map<std::string, TensorData> data;
    std::map<std::string, Tensor> in;
    for (const std::string& n : names) {
      data.emplace(n, all.at(n));
      in.emplace(n, g.input(n, all.at(n).dtype, all.at(n).shape));
    }
    build(g, in);
    EXPECT_EQ(run(g, data, tolerance), Labels{label + " [2, 6, 40]"});
  };
  check("mul+add+softmax", {"x", "mask"},
        [](Graph& g, auto& in) { g.output("y", softmax(in.at("x") * 0.5 + in.at("mask"))); });
  check("mul+add+softmax", {"x", "mask"},
        [](Graph& g, auto& in) { g.output("y", softmax(in.at("x") * 0.5 + in.at("mask"), 1)); });
  check(
      "mul+add+layer_norm+cast+cast+mul", {"h", "w", "gate"},
      [](Graph& g, auto& in) {
        g.output("y",
                 cast(layer_norm(in.at("h") + in.at("h") * 0.5, in.at("w"), {}, 1e-3), DType::f32) * in.at("gate"));
      },
      4e-3f);
  check("cast+add+rms_norm", {"h", "r", "w"}, [](Graph& g, auto& in) {
    const Tensor sum = cast(in.at("h"), DType::f32) + permute(in.at("r"), {0, 2, 1});
    g.output("y", rms_norm(sum, in.at("w"), 1e-3));
    g.output("sum", sum);
  });
  check(
      "log_softmax+cast+cast", {"x"},
      [](Graph& g, auto& in) { g.output("y", cast(cast(log_softmax(in.at("x")), DType::f16), DType::f32)); }, 1e-3f);
  check("layer_norm+gelu_erf", {"x", "w"},
        [](Graph& g, auto& in) { g.output("y", gelu(layer_norm(in.at("x"), in.at("w"), in.at("w"), 1e-3))); });
  check("tanh+group_norm+add", {"x", "mask"}, [](Graph& g, auto& in) {
    g.output("y", group_norm(weft::tanh(in.at("x")), {}, {}, 2, 1e-3, 1) + in.at("mask"));
  });
  // Both results, and work after one of them.
  check("add+layer_norm+mul", {"x", "mask", "gate"}, [](Graph& g, auto& in) {
    const Tensor sum = in.at("x") + in.at("mask");
    const Tensor y = layer_norm(sum, {}, {}, 1e-3);
    g.output("sum", sum);
    g.output("y", y);
    g.output("gated", y * in.at("gate"));
  });
}

// x + residual is used after the norm too: the norm's kernel stores it, others read it.
TEST_P(FusionTest, ASumThatGoesOnPastItsNorm) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {12, 32});
  const Tensor r = g.input("r", DType::f32, {12, 32});
  const Tensor w = g.input("w", DType::f32, {32, 32});
  const Tensor sum = x + r;
  g.output("y", matmul(layer_norm(sum, {}, {}, 1e-3), w) + sum);
  const auto labels = run(g, {{"x", noise({12, 32}, 1)}, {"r", noise({12, 32}, 2)}, {"w", noise({32, 32}, 3)}}, 1e-4f);
  EXPECT_EQ(labels, (Labels{"add+layer_norm [12, 32]", "matmul+residual [12, 32]"}));
}

TEST_P(FusionTest, WorkThatRowsDoNotTake) {
  const auto labels = [&](const Shape& shape, const std::function<void(Graph&, Tensor, Tensor)>& build) {
    Graph g;
    build(g, g.input("x", DType::f32, shape), g.input("r", DType::f32, shape));
    return run(g, {{"x", noise(shape, 1)}, {"r", noise(shape, 2)}}, 1e-4f);
  };
  // On a path through another kernel.
  EXPECT_EQ(labels({4, 8},
                   [](Graph& g, const Tensor& x, const Tensor& r) {
                     const Tensor y = softmax(x);
                     g.output("y", y * reduce(ReduceKind::sum, y * y, {0}, true) + r);
                   })
                .size(),
            3u);
  // A value of the prologue that the epilogue reads again.
  EXPECT_EQ(labels({4, 8},
                   [](Graph& g, const Tensor& x, const Tensor& r) {
                     const Tensor sum = x + r;
                     g.output("y", softmax(sum) * sum);
                   }),
            (Labels{"add+softmax [4, 8]", "mul [4, 8]"}));
  // A weight that is x itself.
  EXPECT_EQ(labels({8},
                   [](Graph& g, const Tensor& x, const Tensor& r) {
                     const Tensor sum = x + r;
                     g.output("y", layer_norm(sum, sum, {}, 1e-3));
                   }),
            (Labels{"add [8]", "layer_norm [8]"}));
  // On the cpu only small work is fused.
  const auto few =
      labels({600, 240}, [](Graph& g, const Tensor& x, const Tensor& r) { g.output("y", softmax(x + r)); });
  EXPECT_EQ(few.size(), device.is_gpu() ? 1u : 2u);
  // For rows that are read twice only cheap work is fused.
  // On a wide device more of a row fits in registers.
  const bool wide = device.is_gpu() && device.gpu().capabilities().max_workgroup_size >= 1024;
  const Shape rows = wide ? Shape{34, 70000} : Shape{80, 30000};
  EXPECT_EQ(labels(rows, [](Graph& g, const Tensor& x, const Tensor& r) { g.output("y", softmax(x + r)); }).size(),
            device.is_gpu() ? 1u : 2u);
  const auto dear = labels(rows, [](Graph& g, const Tensor& x, const Tensor& r) {
    g.output("y", softmax(unary(ScalarOp::erfinv, x * 0.5) * unary(ScalarOp::lgamma, r + 3.0)));
  });
  EXPECT_EQ(dear.size(), 2u);
}

}  // namespace
}  // namespace weft
