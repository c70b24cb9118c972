// Labels: where they come from, what they survive, and where they are shown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/bound.h"
#include "support/devices.h"
#include "support/throws.h"
#include "weft/compile.h"
#include "weft/error.h"
#include "weft/profile.h"

namespace weft::test {
namespace {

using testing::HasSubstr;

std::vector<std::string> step_labels(const Graph& graph) {
  std::vector<std::string> labels;
  const Executable executable = compile(graph, Device::cpu());
  for (const ScheduleStep& step : executable.report().steps) labels.push_back(step.label);
  return labels;
}

TEST(Labels, ComeFromScopesAndFromPeople) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {2});
  EXPECT_EQ(x.label(), "");
  Tensor y, z;
  {
    const LabelScope layer("layers.0");
    y = exp(x);
    EXPECT_EQ(y.label(), "layers.0");
    {
      const LabelScope query("query");
      EXPECT_EQ(neg(x).label(), "layers.0.query");
    }
    z = neg(y);
    z.set_label("gate");
  }
  EXPECT_EQ(z.label(), "layers.0.gate");
  EXPECT_EQ(exp(z).label(), "");
  z.set_label("gate");
  EXPECT_EQ(z.label(), "gate");
  const Tensor again = z;  // the same tensor
  z.set_label("");
  EXPECT_EQ(again.label(), "");
  EXPECT_THROW(Tensor().set_label("x"), InvalidArgument);
  EXPECT_EQ(Tensor().label(), "");
}

TEST(Labels, AreNoPartOfWhatGraphsAreComparedBy) {
  const auto make = [](const char* label) {
    Graph g{std::string(label)};
    const LabelScope scope(label);
    g.output("y", exp(g.input("x", DType::f32, {2})));
    return g;
  };
  EXPECT_TRUE(make("one").equals(make("another")));
  EXPECT_EQ(make("one").hash(), make("another").hash());
  EXPECT_THAT(make("one").to_string(), HasSubstr("exp(x0)} %0 : f32 [2] \"one\"\n"));
}

TEST(Labels, SurviveFusion) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {8, 16}), w = g.input("w", DType::f32, {16, 4});
  Tensor product = matmul(x, w), shifted = product + g.input("b", DType::f32, {4}), active = gelu(shifted);
  product.set_label("dense.product");
  shifted.set_label("dense.bias");
  active.set_label("activation");
  Tensor normed = layer_norm(active * 2.0, {}, {}, 1e-5);
  normed.set_label("norm");
  g.output("y", normed);
  const std::vector<std::string> labels = step_labels(g);
  ASSERT_EQ(labels.size(), 2u);
  for (const char* part : {"\"dense.product\"", "\"dense.bias\"", "\"activation\""})
    EXPECT_THAT(labels[0], HasSubstr(part));
  EXPECT_THAT(labels[1], HasSubstr("layer_norm"));
  EXPECT_THAT(labels[1], HasSubstr("\"norm\""));
  EXPECT_THAT(labels[1], testing::Not(HasSubstr("dense")));
}

// Softmax of operations, merged products and common subexpressions keep the labels of what they replace.
TEST(Labels, SurviveOtherPasses) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {4, 8});
  const Tensor e = exp(x - reduce(ReduceKind::max, x, {1}, true));
  Tensor y = e / reduce(ReduceKind::sum, e, {1}, true);
  y.set_label("attention.weights");
  g.output("y", y);
  const std::vector<std::string> labels = step_labels(g);
  ASSERT_EQ(labels.size(), 1u);
  EXPECT_EQ(labels[0], "softmax [4, 8] \"attention.weights\"");
}

// A product that stands for several has the labels of all.
TEST(Labels, SurviveJoinedProducts) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {4, 8});
  const auto dense = [&](const char* label) {
    const LabelScope scope(label);
    return matmul(x, Graph::constant(TensorData::of<float>(DType::f32, {8, 4}, std::vector<float>(32, 1))));
  };
  const Tensor query = dense("query"), key = dense("key");
  g.output("y", softmax(query, -1) + softmax(key, -1));
  const std::vector<std::string> labels = step_labels(g);
  EXPECT_THAT(labels[0], HasSubstr("\"query\"+\"key\""));
  // Where their results meet in one operation, they are joined in another pass.
  Graph gated;
  const Tensor z = gated.input("x", DType::f32, {4, 8});
  const auto half = [&](const char* label) {
    const LabelScope scope(label);
    return matmul(z, Graph::constant(TensorData::of<float>(DType::f32, {8, 4}, std::vector<float>(32, 1))));
  };
  gated.output("y", silu(half("gate")) * half("up"));
  EXPECT_THAT(step_labels(gated)[0], testing::AllOf(HasSubstr("\"gate\""), HasSubstr("\"up\"")));
}

// A profile names the steps of a run as the schedule does, also on a GPU whose debugger would show these labels.
TEST(Labels, StandInProfiles) {
  for (const std::string& name : all_devices()) {
    Device device = device_named(name);
    if (device.is_gpu())
      device = gpu::Device::open({.adapter = std::to_string(device.gpu().adapter().index), .debug_labels = true});
    Graph g("encoder");
    Tensor y;
    {
      const LabelScope layer("layers.3.query");
      y = exp(matmul(g.input("x", DType::f32, {2, 4}), g.input("w", DType::f32, {4, 2})));
    }
    g.output("y", y);
    Executable exe = compile(g, device);
    const Tensor x(device, DType::f32, {2, 4}), w(device, DType::f32, {4, 2}), out(device, DType::f32, {2, 2});
    Profiler profiler(device);
    exe.run({{"x", x}, {"w", w}}, {{"y", out}});
    const Profile profile = profiler.finish();
    ASSERT_FALSE(profile.runs.empty()) << name;
    for (const KernelRun& run : profile.runs) EXPECT_THAT(run.step, HasSubstr("\"layers.3.query\"")) << name;
  }
}

TEST(Labels, StandInErrors) {
  Graph g("encoder");
  const Tensor a = g.input("a", DType::f32, {2, 3}), b = g.input("b", DType::f32, {4, 5});
  const std::string what = thrown_by([&] {
    const LabelScope layer("layers.0"), query("query");
    matmul(a, b);
  });
  EXPECT_THAT(what, testing::StartsWith("InvalidArgument: \"layers.0.query\": matmul: "));
  EXPECT_THAT(thrown_by([&] { exp(g.input("i", DType::i32, {1})); }), testing::Not(HasSubstr("\"")));
  Graph other;
  g.output("y", a + other.input("z", DType::f32, {2, 3}));
  EXPECT_EQ(
      thrown_by([&] { compile(g, Device::cpu()); }),
      "InvalidArgument: compiling graph \"encoder\": graph: output \"y\" of graph \"encoder\" needs input \"z\", which "
      "is another graph's; a graph computes of its own inputs alone");
}

// Work whose view is moved to its operands (passes/hoist_views.h) is made again, with its label.
TEST(Labels, SurviveViewsThatAreMoved) {
  Graph g;
  Tensor active = exp(g.input("x", DType::f32, {4, 8}));
  active.set_label("activation");
  Tensor y = -active.T();
  y.set_label("negated");
  g.output("y", y);
  const std::vector<std::string> labels = step_labels(g);
  ASSERT_EQ(labels.size(), 1u);
  EXPECT_THAT(labels[0], HasSubstr("\"activation\""));
  EXPECT_THAT(labels[0], HasSubstr("\"negated\""));
}

TEST(Labels, StandInWhatADeviceCannotRun) {
  for (const std::string& name : all_devices()) {
    if (name == "cpu") continue;
    Graph g("wide");
    Tensor y = exp(g.input("x", DType::f64, {2}));
    y.set_label("layers.3");
    g.output("y", y);
    const std::string what = thrown_by([&] { compile(g, device_named(name)); });
    EXPECT_THAT(what, testing::StartsWith("Unsupported: compiling graph \"wide\": "));
    EXPECT_THAT(what, HasSubstr("layers.3"));
  }
}

}  // namespace
}  // namespace weft::test
