// Precision policies: the measured errors, the decisions, and that results are within the bound.
#include "compiler/precision.h"

#include <gmock/gmock.h>

#include "compiler/bound.h"
#include "compiler/evaluate.h"
#include "weft/error.h"
#include "weft/flags.h"

namespace weft {
namespace {

using test::Bound;
using test::noise;
using testing::HasSubstr;

TensorData weights(std::int64_t k, std::int64_t n, const std::function<float(std::int64_t k, std::int64_t n)>& value) {
  std::vector<float> v;
  for (std::int64_t i = 0; i < k; ++i) {
    for (std::int64_t j = 0; j < n; ++j) v.push_back(value(i, j));
  }
  return TensorData::of<float>(DType::f32, {k, n}, v);
}

// Like trained weights: normal, of a size that preserves the size of activations.
TensorData ordinary(std::int64_t k, std::int64_t n, unsigned seed) {
  auto random = std::make_shared<std::mt19937>(seed);
  auto normal = std::make_shared<std::normal_distribution<float>>(0.0f, 1 / std::sqrt(static_cast<float>(k)));
  return weights(k, n, [=](auto, auto) { return (*normal)(*random); });
}

// Adjacent weights cancel: for smooth inputs only their rounding errors remain.
TensorData oscillating(std::int64_t k, std::int64_t n) {
  return weights(k, n, [](std::int64_t i, std::int64_t) { return i % 2 ? -3.001f : 3.001f; });
}

double error(const TensorData& w) { return compiler::f16_error(w, {0, Layout::dense(w.shape)}); }

TEST(Precision, TheErrorTellsWeightsApart) {
  for (const std::int64_t k : {64, 384, 1536}) {
    EXPECT_LT(error(ordinary(k, 200, 1)), kF16ErrorBound / 2) << k;
    EXPECT_GT(error(oscillating(k, 8)), kF16ErrorBound * 2) << k;
  }
  const auto with_one = [](float outlier) {
    std::mt19937 random(3);
    std::normal_distribution<float> normal(0.0f, 0.1f);
    return weights(128, 64, [&](std::int64_t i, std::int64_t j) {
      const float w = normal(random);
      return i == 17 && j == 5 ? outlier : w;
    });
  };
  EXPECT_LT(error(with_one(4.0f)), kF16ErrorBound);
  EXPECT_EQ(error(with_one(7e4f)), std::numeric_limits<double>::infinity());
  EXPECT_EQ(error(with_one(5e3f)), std::numeric_limits<double>::infinity());  // results come near the range's end
  EXPECT_EQ(error(with_one(NAN)), std::numeric_limits<double>::infinity());
  // One column too small for f16.
  EXPECT_GT(error(weights(128, 8,
                          [](std::int64_t i, std::int64_t j) {
                            return (j == 3 ? 1e-8f : 0.1f) * std::sin(static_cast<float>(i * 31 + j));
                          })),
            kF16ErrorBound);
  EXPECT_EQ(error(weights(16, 4, [](auto, auto) { return 0.0f; })), 0);
}

struct PrecisionTest : testing::TestWithParam<std::string> {
  // Three layers; the middle one's weights are given.
  static Graph layers(const TensorData& middle) {
    Graph g;
    const Tensor x = g.input("x", DType::f32, {6, 64});
    const auto layer = [&](const Tensor& v, const TensorData& w, std::string name) {
      return relu(matmul(v, g.constant(w, name)) + g.constant(noise({w.shape[1]}, 9), name + ".bias"));
    };
    const Tensor a = layer(x, ordinary(64, 96, 1), "first");
    const Tensor b = layer(a, middle, "middle");
    const Tensor c = layer(layer_norm(b, {}, {}, 1e-5), ordinary(80, 32, 3), "last");
    g.output("y", matmul(c, g.constant(ordinary(32, 40, 4), "head")));
    return g;
  }
  std::map<std::string, PrecisionDecision> decide(const Graph& g, CompileOptions options) {
    exe = compile(g, device, options);
    std::map<std::string, PrecisionDecision> by_name;
    for (const PrecisionDecision& d : exe.report().precision) by_name[d.weights.substr(0, d.weights.find(' '))] = d;
    return by_name;
  }
  // Largest difference from f32 over the largest result.
  double difference(const Graph& g) {
    const std::map<std::string, TensorData> data{{"x", noise({6, 64}, 7)}};
    const Bound bound(device, g, data);
    bound.run(exe);
    const auto expected = compiler::evaluate(g, data);
    const auto want = test::floats_of(expected.at("y"));
    const auto got = bound.outputs_[0].second.read<float>();
    double largest = 0, off = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      largest = std::max<double>(largest, std::abs(want[i]));
      off = std::max<double>(off, std::abs(got[i] - want[i]));
      if (std::isnan(got[i])) return NAN;
    }
    return off / largest;
  }
  void TearDown() override { reset_flags(); }
  Device device = test::device_named(GetParam());
  Executable exe;
};
INSTANTIATE_TEST_SUITE_P(Devices, PrecisionTest, testing::ValuesIn(test::all_devices()),
                         [](const auto& info) { return info.param; });

TEST_P(PrecisionTest, StrictIsTheDefault) {
  const Graph g = layers(ordinary(96, 80, 2));
  EXPECT_TRUE(decide(g, {}).empty());
  EXPECT_EQ(exe.report().graph.find("f16"), std::string::npos);
}

// Rows with work in front of them, of more elements than the cpu fuses: what they were made of is stored as f16, too,
// instead of being converted in kernels of its own.
TEST_P(PrecisionTest, FusedRowsAreNarrowOnBothSides) {
  if (!device.is_gpu()) GTEST_SKIP() << "the cpu does not fuse rows of so many elements";
  Graph g;
  const Tensor x = matmul(g.input("x", DType::f32, {512, 64}), g.constant(ordinary(64, 384, 1), "first"));
  const Tensor rows = layer_norm(x * x + g.constant(noise({384}, 2), "shift"), g.constant(noise({384}, 3), "scale"),
                                 g.constant(noise({384}, 4), "bias"), 1e-5);
  g.output("y", matmul(rows, g.constant(ordinary(384, 32, 5), "last")));
  exe = compile(g, device, {.precision = Precision::f16});
  EXPECT_EQ(exe.report().steps.size(), 3u) << exe.report().graph;
  EXPECT_EQ(exe.report().graph.find(": f32 [512, 384]"), std::string::npos) << exe.report().graph;
}

TEST_P(PrecisionTest, OrdinaryWeightsAreNarrow) {
  const Graph g = layers(ordinary(96, 80, 2));
  for (const Precision p : {Precision::f16, Precision::automatic}) {
    const auto d = decide(g, {.precision = p});
    ASSERT_EQ(d.size(), 4u);
    for (const auto& [name, decision] : d) {
      EXPECT_TRUE(decision.f16) << name << ": " << decision.reason;
      EXPECT_EQ(decision.error > 0, p == Precision::automatic);
    }
    // Weights once, activations between the kernels; the result is f32 as before.
    EXPECT_THAT(exe.report().graph, HasSubstr("constant : f16 [64, 96]"));
    EXPECT_THAT(exe.report().graph, HasSubstr(": f16 [6, 96]"));
    EXPECT_THAT(exe.report().graph, HasSubstr(": f32 [6, 40]"));
    EXPECT_EQ(exe.report().steps.size(), 5u) << exe.report().graph;
    EXPECT_EQ(exe.report().constant_bytes, 2u * (64 * 96 + 96 * 80 + 80 * 32 + 32 * 40) + 4u * (96 + 80 + 32));
    const double off = difference(g);
    EXPECT_LT(off, 5e-3);
    EXPECT_GT(off, 0);
  }
}

TEST_P(PrecisionTest, WeightsThatOscillateStayAndSoDoesWhatComesBefore) {
  const Graph g = layers(oscillating(96, 80));
  auto d = decide(g, {.precision = Precision::automatic});
  EXPECT_FALSE(d.at("middle").f16);
  EXPECT_GT(d.at("middle").error, kF16ErrorBound);
  EXPECT_FALSE(d.at("first").f16);
  EXPECT_THAT(d.at("first").reason, HasSubstr("needs exact operands"));
  EXPECT_TRUE(d.at("last").f16);
  EXPECT_TRUE(d.at("head").f16);
  EXPECT_LT(difference(g), 5e-3);

  // Another bound changes the decision.
  EXPECT_TRUE(decide(g, {.precision = Precision::automatic, .f16_error_bound = 1e3}).at("middle").f16);
  d = decide(layers(ordinary(96, 80, 2)), {.precision = Precision::automatic, .f16_error_bound = 0.0});
  EXPECT_FALSE(d.at("middle").f16);
  EXPECT_THAT(d.at("head").reason, HasSubstr("the bound is 0"));
  set_flag(Flag::f16_error_bound, "1000");
  EXPECT_TRUE(decide(g, {.precision = Precision::automatic}).at("middle").f16);
  reset_flags();
  EXPECT_THROW(decide(g, {.f16_error_bound = -1.0}), InvalidArgument);

  d = decide(g, {.precision = Precision::automatic, .force_f16 = {{"middle", true}}});
  EXPECT_TRUE(d.at("middle").f16);
  EXPECT_TRUE(d.at("first").f16);
  EXPECT_THAT(d.at("middle").reason, HasSubstr("forced"));
  d = decide(layers(ordinary(96, 80, 2)), {.precision = Precision::f16, .force_f16 = {{"last", false}}});
  EXPECT_FALSE(d.at("last").f16);
  EXPECT_TRUE(d.at("middle").f16);
}

// Products of such weights are small, but what is computed from them is not.
TEST_P(PrecisionTest, WhatMayLeaveTheRangeIsStoredWhole) {
  const auto between = [](const std::function<Tensor(Tensor)>& f) {
    Graph g;
    const Tensor x = g.input("x", DType::f32, {6, 64});
    const Tensor h = f(matmul(x, g.constant(ordinary(64, 96, 1), "first")));
    g.output("y", matmul(h, g.constant(ordinary(96, 40, 2), "second")));
    return g;
  };
  for (const auto& f : {std::function<Tensor(Tensor)>([](const Tensor& v) { return square(v * 500.0); }),
                        {[](const Tensor& v) { return exp(v * 12.0); }},
                        {[](const Tensor& v) { return v * 1e5; }},
                        {[](const Tensor& v) { return v * 500.0 * (v * 500.0 + 1.0); }}}) {
    const Graph g = between(f);
    EXPECT_TRUE(decide(g, {.precision = Precision::automatic}).at("first").f16);
    EXPECT_LT(difference(g), 5e-3) << exe.report().graph;
  }
  // Values that grow little or not at all are still stored as f16.
  for (const auto& f : {std::function<Tensor(Tensor)>([](const Tensor& v) { return gelu(v) + v * 2.0; }),
                        {[](const Tensor& v) { return v * sigmoid(v); }}}) {
    const Graph g = between(f);
    EXPECT_TRUE(decide(g, {.precision = Precision::automatic}).at("first").f16);
    EXPECT_THAT(exe.report().graph, HasSubstr(": f16 [6, 96]"));
    EXPECT_LT(difference(g), 5e-3) << exe.report().graph;
  }
}

TEST_P(PrecisionTest, BatchesOfWeightsAreMeasuredEach) {
  for (const bool oscillates : {false, true}) {
    Graph g;
    const Tensor x = g.input("x", DType::f32, {6, 64});
    std::vector<float> both;
    const TensorData calm = ordinary(64, 24, 1), other = oscillates ? oscillating(64, 24) : ordinary(64, 24, 2);
    for (const TensorData* part : {&calm, &other}) {
      const auto* v = reinterpret_cast<const float*>(part->bytes.data());
      both.insert(both.end(), v, v + 64 * 24);
    }
    const Tensor w = g.constant(TensorData::of<float>(DType::f32, {2, 64, 24}, both), "w");
    g.output("y", matmul(broadcast_to(x, {2, 6, 64}), w));
    const auto d = decide(g, {.precision = Precision::automatic}).at("w");
    EXPECT_EQ(d.f16, !oscillates) << d.reason;
    EXPECT_EQ(d.error > kF16ErrorBound, oscillates);
  }
}

TEST_P(PrecisionTest, FlagsDecideWhatTheOptionsLeaveOpen) {
  const Graph g = layers(ordinary(96, 80, 2));
  set_flag(Flag::precision, "auto");
  set_flag(Flag::force_f16, "-first,middle");
  auto d = decide(g, {});
  EXPECT_FALSE(d.at("first").f16);
  EXPECT_TRUE(d.at("middle").f16);
  EXPECT_THAT(d.at("middle").reason, HasSubstr("forced"));
  EXPECT_TRUE(d.at("last").f16);
  EXPECT_GT(d.at("last").error, 0) << "measured";
  d = decide(g, {.force_f16 = {{"first", true}}});
  EXPECT_TRUE(d.at("first").f16) << "the option wins";
  EXPECT_TRUE(decide(g, {.precision = Precision::strict}).empty());
  ExecutableCache cache(device);
  const auto f16 = [&](const char* precision) {
    set_flag(Flag::precision, precision);
    return cache.get("graph", [] { return layers(ordinary(96, 80, 2)); }).report().precision.size();
  };
  EXPECT_EQ(f16("f16"), 4u);
  EXPECT_EQ(f16("strict"), 0u);
  EXPECT_EQ(f16("f16"), 4u);
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_THROW(set_flag(Flag::precision, "half"), InvalidArgument);
  reset_flags();
  EXPECT_TRUE(decide(g, {}).empty());
}

TEST_P(PrecisionTest, ForcesThatDoNothingAreToldOnce) {
  const Graph g = layers(ordinary(96, 80, 2));
  const auto said = [&](const CompileOptions& options) {
    testing::internal::CaptureStderr();
    compile(g, device, options);
    return testing::internal::GetCapturedStderr();
  };
  const std::string typo = "midle of " + GetParam(), name = "head";
  const CompileOptions options{.precision = Precision::f16, .force_f16 = {{typo, true}, {name, false}}};
  const std::string first = said(options);
  EXPECT_THAT(first, HasSubstr("'" + typo + "' does nothing: no weight's name holds it"));
  EXPECT_THAT(first, testing::Not(HasSubstr("'head'")));
  EXPECT_EQ(said(options), "");
  EXPECT_THAT(said({.force_f16 = {{typo, true}}}), HasSubstr("the precision is strict"));
}

TEST_P(PrecisionTest, OutliersStay) {
  const Graph g = layers(weights(96, 80, [](std::int64_t i, std::int64_t j) {
    return i == j ? (i == 3 ? 1e5f : 1.0f) : 0.01f * std::cos(static_cast<float>(i + 5 * j));
  }));
  for (const Precision p : {Precision::f16, Precision::automatic}) {
    const auto d = decide(g, {.precision = p});
    EXPECT_FALSE(d.at("middle").f16);
    EXPECT_THAT(d.at("middle").reason, HasSubstr("range"));
    if (p == Precision::automatic) {
      EXPECT_LT(difference(g), 5e-3);
    }
  }
}

}  // namespace
}  // namespace weft
