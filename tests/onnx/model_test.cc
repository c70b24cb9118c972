// Models of ONNX: stages of what depends on data, loops and branches, shapes that are kept, weights, and what is
// refused. The operators themselves are held to ONNX's own test data (weft check onnx).
#include "weft/onnx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <format>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <thread>

#include "gpu/device_impl.h"
#include "gpu/wait.h"
#include "support/on_device.h"
#include "support/onnx_writer.h"
#include "support/temp_dir.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/graph.h"
#include "weft/memory.h"
#include "weft/random.h"
#include "weft/traced.h"

namespace weft::test {
namespace {

using onnx::ElementType;
using testing::ElementsAre;
using testing::HasSubstr;
using G = OnnxGraph;

std::span<const std::byte> bytes_in(const std::string& text) { return std::as_bytes(std::span(text)); }

WireWriter raw_weight(std::string_view name, std::initializer_list<std::int64_t> dims,
                      const std::vector<float>& values) {
  return onnx_tensor<float>(name, ElementType::f32, std::span(dims.begin(), dims.size()), values);
}

class OnnxModel : public OnDevice {
 protected:
  onnx::Model model(const OnnxGraph& graph, std::int64_t opset = 21) const {
    return onnx::Model::from_bytes(bytes_in(onnx_model(graph, opset)), {.device = device});
  }
  static Tensor only(const onnx::Model& m, std::initializer_list<NamedTensor> inputs) {
    std::vector<Tensor> all = m.run(inputs);
    EXPECT_EQ(all.size(), 1u);
    return all[0];
  }
  static WireWriter floats(std::string_view name, std::initializer_list<std::int64_t> dims, std::vector<float> values) {
    return onnx_tensor<float>(name, ElementType::f32, std::span(dims.begin(), dims.size()), values);
  }
  static WireWriter integers(std::string_view name, std::initializer_list<std::int64_t> dims,
                             std::vector<std::int64_t> values) {
    return onnx_tensor<std::int64_t>(name, ElementType::i64, std::span(dims.begin(), dims.size()), values);
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, OnnxModel, testing::ValuesIn(all_devices()), [](const auto& i) { return i.param; });

TEST_P(OnnxModel, WeightsAndShapes) {
  // relu(x @ w + b), with the rows flattened by arithmetic of shapes as exporters write it.
  G g;
  g.input("x", ElementType::f32, {-1, 2, 2}).output("y", ElementType::f32, {-1, 3});
  g.initializer(floats("w", {4, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1, -1, -1, -1}))
      .initializer(floats("b", {3}, {0.5f, 0, -0.5f}));
  g.initializer(integers("first", {1}, {0})).initializer(integers("rest", {1}, {-1}));
  g.node("Shape", {"x"}, {"shape"}).node("Gather", {"shape", "first"}, {"n"});
  g.node("Concat", {"n", "rest"}, {"to"}, {G::integer("axis", 0)}).node("Reshape", {"x", "to"}, {"flat"});
  g.node("MatMul", {"flat", "w"}, {"xw"}).node("Add", {"xw", "b"}, {"z"}).node("Relu", {"z"}, {"y"});
  const onnx::Model m = model(g);
  EXPECT_EQ(m.inputs().size(), 1u);
  EXPECT_EQ(m.inputs()[0].shape->at(0).name, "n");
  EXPECT_EQ(m.description().parameters, 17u);
  const Tensor x = arange(0, 8, 1, DType::f32).reshape({2, 2, 2});
  EXPECT_THAT(only(m, {{"x", x}}).to_vector<float>(), ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_THAT(only(m, {{"x", -x}}).to_vector<float>(), ElementsAre(3.5f, 2, 0.5f, 3.5f, 2, 0.5f));
  EXPECT_EQ(m.compilations(), 1u) << "the same shape compiles nothing";
  EXPECT_EQ(only(m, {{"x", zeros({5, 2, 2})}}).shape(), (Shape{5, 3}));
  EXPECT_EQ(m.compilations(), 2u);
  EXPECT_EQ(m.reads(), 0u);
  EXPECT_EQ(only(m, {{"x", zeros({0, 2, 2})}}).shape(), (Shape{0, 3}));
}

// What depends on data is read once, and forms of what was read are kept.
TEST_P(OnnxModel, StagesOfWhatDependsOnData) {
  G g;
  g.input("x", ElementType::f32, {-1}).input("to", ElementType::i64, {2}).output("y", ElementType::f32, {-2, -3});
  g.node("Exp", {"x"}, {"e"}).node("Reshape", {"e", "to"}, {"r"}).node("Add", {"r", "r"}, {"y"});
  const onnx::Model m = model(g);
  const Tensor x = zeros({6});
  const auto shape = [](std::int64_t a, std::int64_t b) { return tensor({a, b}, DType::i64); };
  EXPECT_EQ(only(m, {{"x", x}, {"to", shape(2, 3)}}).shape(), (Shape{2, 3}));
  EXPECT_EQ(only(m, {{"x", x}, {"to", shape(3, 2)}}).shape(), (Shape{3, 2}));
  const std::size_t forms = m.compilations();
  const Tensor y = only(m, {{"x", x}, {"to", shape(2, 3)}});
  EXPECT_EQ(m.compilations(), forms);
  EXPECT_EQ(m.reads(), 3u);
  EXPECT_THAT(y.to_vector<float>(), testing::Each(2.0f));
  EXPECT_THROW(m.run({{"x", x}, {"to", shape(4, 2)}}), Error);
}

// if x > 0: branches of one type are in the graph, others are chosen by a read.
TEST_P(OnnxModel, Branches) {
  const auto graph = [](bool same) {
    G then, otherwise, g;
    then.output("a", ElementType::f32, {-1}).node("Add", {"x", "x"}, {"a"});
    otherwise.output("b", ElementType::f32, {-1});
    if (same)
      otherwise.node("Neg", {"x"}, {"b"});
    else
      otherwise.node("Concat", {"x", "x"}, {"b"}, {G::integer("axis", 0)});
    g.input("x", ElementType::f32, {2}).output("y", ElementType::f32, {-1});
    g.initializer(floats("zero", {}, {0}));
    g.node("ReduceSum", {"x"}, {"s"}, {G::integer("keepdims", 0)}).node("Greater", {"s", "zero"}, {"c"});
    g.node("If", {"c"}, {"i"}, {G::graph("then_branch", then), G::graph("else_branch", otherwise)});
    g.node("Mul", {"i", "i"}, {"y"});
    return g;
  };
  const Tensor up = tensor({1.0f, 2.0f}), down = tensor({-1.0f, -2.0f});
  const onnx::Model same = model(graph(true));
  EXPECT_THAT(only(same, {{"x", up}}).to_vector<float>(), ElementsAre(4, 16));
  EXPECT_THAT(only(same, {{"x", down}}).to_vector<float>(), ElementsAre(1, 4));
  EXPECT_EQ(same.reads(), 0u);
  const onnx::Model other = model(graph(false));
  EXPECT_THAT(only(other, {{"x", up}}).to_vector<float>(), ElementsAre(4, 16));
  EXPECT_THAT(only(other, {{"x", down}}).to_vector<float>(), ElementsAre(1, 4, 1, 4));
  EXPECT_EQ(other.reads(), 2u);
}

// Loop: of known length with scanned outputs; until a condition; carries that grow.
TEST_P(OnnxModel, Loops) {
  G body;
  body.input("i", ElementType::i64, {}).input("go", ElementType::boolean, {}).input("c", ElementType::f32, {2});
  body.output("go_on", ElementType::boolean, {})
      .output("next", ElementType::f32, {2})
      .output("seen", ElementType::f32, {2});
  body.node("Identity", {"go"}, {"go_on"}).node("Add", {"c", "x"}, {"next"}).node("Mul", {"next", "next"}, {"seen"});
  for (const std::int64_t turns : {0, 3, 9}) {
    G g;
    g.input("x", ElementType::f32, {2}).output("last", ElementType::f32, {2}).output("all", ElementType::f32, {-1, 2});
    g.initializer(integers("turns", {}, {turns}));
    g.node("Loop", {"turns", "", "x"}, {"last", "all"}, {G::graph("body", body)});
    const onnx::Model m = model(g);
    const std::vector<Tensor> y = m.run({{"x", tensor({1.0f, -1.0f})}});
    const auto n = static_cast<float>(turns);
    EXPECT_THAT(y[0].to_vector<float>(), ElementsAre(n + 1, -n - 1)) << turns;
    ASSERT_EQ(y[1].shape(), (Shape{turns, 2}));
    const std::vector<float> all = y[1].to_vector<float>();
    if (turns) {
      EXPECT_EQ(all[all.size() - 2], (n + 1) * (n + 1));
    }
    EXPECT_EQ(m.reads(), 0u);
  }
  // c = 2 c while c < 100.
  G doubles;
  doubles.input("i", ElementType::i64, {}).input("go", ElementType::boolean, {}).input("c", ElementType::f32, {});
  doubles.output("less", ElementType::boolean, {}).output("next", ElementType::f32, {});
  doubles.node("Add", {"c", "c"}, {"next"}).node("Less", {"next", "limit"}, {"less"});
  G g;
  g.input("x", ElementType::f32, {}).output("y", ElementType::f32, {});
  g.initializer(floats("limit", {}, {100}));
  g.node("Less", {"x", "limit"}, {"begins"}).node("Loop", {"", "begins", "x"}, {"y"}, {G::graph("body", doubles)});
  const onnx::Model m = model(g);
  EXPECT_EQ(only(m, {{"x", full({}, 3.0f)}}).item<float>(), 192);
  EXPECT_EQ(only(m, {{"x", full({}, 300.0f)}}).item<float>(), 300) << "no turn";
  EXPECT_EQ(m.reads(), 0u);
  // One that is turned while the graph is made, and tests a condition of the data.
  doubles.output("seen", ElementType::f32, {});
  doubles.node("Identity", {"c"}, {"seen"});
  G turned;
  turned.input("x", ElementType::f32, {}).output("y", ElementType::f32, {}).output("all", ElementType::f32, {-1});
  turned.initializer(floats("limit", {}, {100}));
  turned.node("Loop", {"", "", "x"}, {"y", "all"}, {G::graph("body", doubles)});
  const std::vector<Tensor> y = model(turned).run({{"x", full({}, 20.0f)}});
  EXPECT_EQ(y[0].item<float>(), 160);
  EXPECT_THAT(y[1].to_vector<float>(), ElementsAre(20, 40, 80));
  // A carry that grows in each turn is turned while the graph is made.
  G grows;
  grows.input("i", ElementType::i64, {}).input("go", ElementType::boolean, {}).input("c", ElementType::f32, {-1});
  grows.output("go_on", ElementType::boolean, {}).output("next", ElementType::f32, {-2});
  grows.node("Identity", {"go"}, {"go_on"}).node("Concat", {"c", "x"}, {"next"}, {G::integer("axis", 0)});
  G longer;
  longer.input("x", ElementType::f32, {1}).input("n", ElementType::i64, {}).output("y", ElementType::f32, {-1});
  longer.node("Loop", {"n", "", "x"}, {"y"}, {G::graph("body", grows)});
  const onnx::Model l = model(longer);
  for (const std::int64_t n : {2, 7}) {
    EXPECT_EQ(only(l, {{"x", ones({1})}, {"n", full({}, n, DType::i64)}}).shape(), (Shape{n + 1}));
  }
}

// Indices of what is not zero: their number depends on the data, and what comes behind has other shapes.
TEST_P(OnnxModel, NumbersOfResultsThatDependOnData) {
  G g;
  g.input("x", ElementType::f32, {-1}).output("y", ElementType::f32, {-2});
  g.node("Sin", {"x"}, {"s"}).node("NonZero", {"s"}, {"at"}).node("Squeeze", {"at"}, {"i"});
  g.node("Gather", {"s", "i"}, {"chosen"}).node("Sum", {"chosen", "chosen"}, {"y"});
  const onnx::Model m = model(g, 11);
  const float one = std::sin(1.0f);
  EXPECT_THAT(only(m, {{"x", tensor({0.0f, 1.0f, 0.0f, 1.0f})}}).to_vector<float>(),
              testing::Pointwise(testing::FloatNear(1e-6f), {2 * one, 2 * one}));
  EXPECT_EQ(only(m, {{"x", tensor({1.0f, 1.0f, 0.0f, 1.0f})}}).shape(), (Shape{3}));
  EXPECT_EQ(m.reads(), 2u);
}

// Only a count is read, and another operand with as many results is no new form.
TEST_P(OnnxModel, CountsAreRead) {
  G g;
  g.input("x", ElementType::f32, {-1, -2}).input("c", ElementType::boolean, {-3});
  for (const char* name : {"at", "rows", "flat"}) g.output(name, ElementType::i64, {-4});
  // (Nodes need no names.)
  g.node("NonZero", {"x"}, {"at"}).node("Compress", {"x", "c"}, {"rows"}, {G::integer("axis", 0)});
  g.node("Compress", {"x", "c"}, {"flat"});
  const onnx::Model m = model(g);
  const auto run = [&](std::vector<float> x, std::vector<int> c) {
    const auto rows = static_cast<std::int64_t>(x.size() / 2);
    return m.run({{"x", tensor(x).reshape({rows, 2})}, {"c", tensor(c).cast(DType::boolean)}});
  };
  const std::vector<Tensor> y = run({0, 1, 2, 0, 0, 3}, {0, 1, 1});
  EXPECT_EQ(y[0].shape(), (Shape{2, 3}));
  EXPECT_THAT(y[0].to_vector<std::int64_t>(), ElementsAre(0, 1, 2, 1, 0, 1));
  EXPECT_THAT(y[1].to_vector<float>(), ElementsAre(2, 0, 0, 3));
  EXPECT_THAT(y[2].to_vector<float>(), ElementsAre(1, 2));
  EXPECT_EQ(m.reads(), 3u);
  const std::size_t forms = m.compilations();
  const std::vector<Tensor> z = run({4, 0, 0, 5, 6, 0}, {1, 0, 1});
  EXPECT_THAT(z[0].to_vector<std::int64_t>(), ElementsAre(0, 1, 2, 0, 1, 0));
  EXPECT_THAT(z[1].to_vector<float>(), ElementsAre(4, 0, 6, 0));
  EXPECT_EQ(m.compilations(), forms);
  EXPECT_EQ(run({0, 0}, {0})[0].shape(), (Shape{2, 0}));
  EXPECT_THAT(refused_by([&] { run({1, 1}, {1, 0, 1}); }), HasSubstr("the condition is true behind the end of axis 0"));
}

// The same as numpy.unique() of [[3, 1, 1], [2, nan, -0], [3, 1, 1], [2, nan, 0], [2, 5, 0]].
TEST_P(OnnxModel, Unique) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x =
      tensor({3.0f, 1.0f, 1.0f, 2.0f, nan, -0.0f, 3.0f, 1.0f, 1.0f, 2.0f, nan, 0.0f, 2.0f, 5.0f, 0.0f}).reshape({5, 3});
  const auto unique = [&](std::initializer_list<G::Attribute> attributes) {
    G g;
    g.input("x", ElementType::f32, {-1, -2}).output("y", ElementType::f32, {-3});
    for (const char* name : {"first", "inverse", "counts"}) g.output(name, ElementType::i64, {-4});
    g.node("Abs", {"x"}, {"a"}).node("Unique", {"a"}, {"y", "first", "inverse", "counts"}, attributes);
    const onnx::Model m = model(g);
    std::vector<Tensor> y = m.run({{"x", x}});
    EXPECT_EQ(m.reads(), 1u);
    return y;
  };
  const auto is_nan = testing::NanSensitiveFloatEq(nan);
  const std::vector<Tensor> flat = unique({});
  EXPECT_THAT(flat[0].to_vector<float>(), ElementsAre(0, 1, 2, 3, 5, is_nan));
  EXPECT_THAT(flat[1].to_vector<int>(), ElementsAre(5, 1, 3, 0, 13, 4));
  EXPECT_THAT(flat[2].to_vector<int>(), ElementsAre(3, 1, 1, 2, 5, 0, 3, 1, 1, 2, 5, 0, 2, 4, 0));
  EXPECT_THAT(flat[3].to_vector<int>(), ElementsAre(3, 4, 3, 2, 1, 2));
  const std::vector<Tensor> coming = unique({G::integer("sorted", 0)});
  EXPECT_THAT(coming[0].to_vector<float>(), ElementsAre(3, 1, 2, is_nan, 0, 5));
  EXPECT_THAT(coming[1].to_vector<int>(), ElementsAre(0, 1, 3, 4, 5, 13));
  EXPECT_THAT(coming[2].to_vector<int>(), ElementsAre(0, 1, 1, 2, 3, 4, 0, 1, 1, 2, 3, 4, 2, 5, 4));
  EXPECT_THAT(coming[3].to_vector<int>(), ElementsAre(2, 4, 3, 2, 3, 1));
  const std::vector<Tensor> rows = unique({G::integer("axis", 0)});
  EXPECT_EQ(rows[0].shape(), (Shape{3, 3}));
  EXPECT_THAT(rows[1].to_vector<int>(), ElementsAre(4, 1, 0));
  EXPECT_THAT(rows[2].to_vector<int>(), ElementsAre(2, 1, 2, 1, 0));
  EXPECT_THAT(rows[3].to_vector<int>(), ElementsAre(1, 2, 2));
  const std::vector<Tensor> columns = unique({G::integer("axis", 1), G::integer("sorted", 0)});
  EXPECT_THAT(columns[1].to_vector<int>(), ElementsAre(0, 1, 2));
  EXPECT_THAT(columns[2].to_vector<int>(), ElementsAre(0, 1, 2));
}

// Without a seed each run draws other numbers, which follow from the default generator; with one the runs of each
// loaded model do. Turns of a loop differ, too.
TEST_P(OnnxModel, RandomNumbers) {
  const auto make = [&](bool seeded) {
    std::vector<G::Attribute> a = {G::integers("shape", {3})};
    G body, g;
    body.input("i", ElementType::i64, {}).input("go", ElementType::boolean, {});
    body.output("go_on", ElementType::boolean, {}).output("r", ElementType::f32, {3});
    body.node("Identity", {"go"}, {"go_on"});
    if (seeded)
      body.node("RandomUniform", {}, {"r"}, {a[0], G::number("seed", 5)});
    else
      body.node("RandomUniform", {}, {"r"}, {a[0]});
    g.output("a", ElementType::f32, {3}).output("b", ElementType::f32, {3}).output("turns", ElementType::f32, {9, 3});
    g.initializer(integers("count", {}, {9}));
    for (const char* y : {"a", "b"}) {
      if (seeded)
        g.node("RandomNormal", {}, {y}, {a[0], G::number("seed", 7)});
      else
        g.node("RandomNormal", {}, {y}, {a[0]});
    }
    g.node("Loop", {"count", ""}, {"turns"}, {G::graph("body", body)});
    return model(g);
  };
  using Numbers = std::vector<std::vector<float>>;
  const auto draw = [](const onnx::Model& m) {
    Numbers all;
    for (const Tensor& t : m.run({})) all.push_back(t.to_vector<float>());
    for (std::size_t i = 3; i < all[2].size(); ++i) EXPECT_NE(all[2][i], all[2][i - 3]) << "turns draw other numbers";
    return all;
  };
  const onnx::Model m = make(false), s = make(true);
  random::seed(3);
  const Numbers first = draw(m), second = draw(m);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NE(first[i], second[i]);
  EXPECT_NE(first[0], first[1]);
  random::seed(3);
  EXPECT_EQ(draw(m), first);
  EXPECT_EQ(m.compilations(), 1u);
  const Numbers seeded = draw(s), next = draw(s);
  EXPECT_EQ(seeded[0], seeded[1]) << "of the same seed";
  EXPECT_NE(seeded[0], next[0]);
  EXPECT_NE(seeded[2], next[2]);
  const onnx::Model again = make(true);
  EXPECT_EQ(draw(again), seeded);
  EXPECT_EQ(draw(again), next);
}

// A model is a function of tensors like others.
TEST_P(OnnxModel, DerivativesAndTraces) {
  G g;
  g.input("x", ElementType::f32, {-1}).input("to", ElementType::i64, {2}).output("y", ElementType::f32, {-2, -3});
  g.initializer(floats("w", {}, {3}));
  g.node("Mul", {"x", "x"}, {"xx"}).node("Mul", {"xx", "w"}, {"s"}).node("Reshape", {"s", "to"}, {"y"});
  const onnx::Model m = model(g);
  const Tensor x = tensor({1.0f, -2.0f, 3.0f, 4.0f}), to = tensor({2, 2}, DType::i64);
  const auto loss = [&](const Tensor& v) { return sum(m.run({{"x", v}, {"to", to}})[0]); };
  EXPECT_THAT(grad(loss)(x).to_vector<float>(), ElementsAre(6, -12, 18, 24));
  EXPECT_EQ(m.compilations(), 0u);
  auto twice = compile([&](const Tensor& v) { return loss(v) * 2; });
  EXPECT_EQ(twice(x).item<float>(), 180);
  EXPECT_EQ(twice(x + 1).item<float>(), 6 * (4 + 1 + 16 + 25));
  // What such a trace cannot read is an error.
  auto reads = compile([&](const Tensor& v, const Tensor& shape) { return m.run({{"x", v}, {"to", shape}})[0]; });
  EXPECT_THROW(reads(x, to), InvalidArgument);
}

// clip counts for the sums of the gates, not for what the cell shows, as in ONNX Runtime.
TEST_P(OnnxModel, LstmClips) {
  G g;
  g.input("x", ElementType::f32, {1, 1, 1}).input("c", ElementType::f32, {1, 1, 1});
  g.output("y", ElementType::f32, {1, 1, 1, 1})
      .output("h", ElementType::f32, {1, 1, 1})
      .output("c1", ElementType::f32, {1, 1, 1});
  g.initializer(floats("w", {1, 4, 1}, {5, 5, 5, 5})).initializer(floats("r", {1, 4, 1}, {0, 0, 0, 0}));
  g.initializer(floats("h0", {1, 1, 1}, {0}));
  g.node("LSTM", {"x", "w", "r", "", "", "h0", "c"}, {"y", "h", "c1"},
         {G::integer("hidden_size", 1), G::number("clip", 0.5f)});
  const std::vector<Tensor> y = model(g).run({{"x", ones({1, 1, 1})}, {"c", full({1, 1, 1}, 3.0f)}});
  const double gate = 1 / (1 + std::exp(-0.5)), cell = gate * 3 + gate * std::tanh(0.5);
  EXPECT_NEAR(y[2].item<float>(), cell, 1e-6);
  EXPECT_NEAR(y[1].item<float>(), gate * std::tanh(cell), 1e-6);
}

// Sequences of different lengths behind each other in a batch: what is behind the end of one counts for none of its
// queries, and queries behind the end see what the last one sees.
TEST_P(OnnxModel, GroupQueryAttentionOfPaddedSequences) {
  G g;
  g.input("q", ElementType::f32, {2, 4, 32})
      .input("k", ElementType::f32, {2, 4, 16})
      .input("v", ElementType::f32, {2, 4, 16});
  g.input("lengths", ElementType::i32, {2}).output("y", ElementType::f32, {2, 4, 32});
  g.output("k1", ElementType::f32, {2, 1, 4, 16}).output("v1", ElementType::f32, {2, 1, 4, 16});
  g.initializer(
      onnx_tensor<std::int32_t>("total", ElementType::i32, std::vector<std::int64_t>{}, std::vector<std::int32_t>{4}));
  g.node("GroupQueryAttention", {"q", "k", "v", "", "", "lengths", "total"}, {"y", "k1", "v1"},
         {G::integer("num_heads", 2), G::integer("kv_num_heads", 1)}, "com.microsoft");
  const onnx::Model m = model(g);
  const auto values = [](std::int64_t width, double step) {
    return sin(arange(0, 8 * width, 1, DType::f32) * step).reshape({2, 4, width});
  };
  const Tensor q = values(32, 0.7), k = values(16, 0.3), v = values(16, 0.5), lengths = tensor({3, 1}, DType::i32);
  const Tensor y = m.run({{"q", q}, {"k", k}, {"v", v}, {"lengths", lengths}})[0];
  // The second sequence has two keys; others may be anything.
  const Tensor other = concat({slice(k, 1, 0, 2), full({2, 2, 16}, 100.0f)}, 1);
  const Tensor z = m.run({{"q", q}, {"k", other}, {"v", v}, {"lengths", lengths}})[0];
  EXPECT_EQ(slice(y, 0, 1, 2).to_vector<float>(), slice(z, 0, 1, 2).to_vector<float>());
  EXPECT_NE(slice(y, 0, 0, 1).to_vector<float>(), slice(z, 0, 0, 1).to_vector<float>());
}

// What stands between QuantizeLinear and DequantizeLinear becomes a convolution of integers: its result is exact,
// however the sums of floats would round.
TEST_P(OnnxModel, QuantizedConvolutionsAreOfIntegers) {
  constexpr std::int64_t channels = 256, size = 6;
  G g;
  g.input("x", ElementType::f32, {1, channels, size, size}).output("y", ElementType::u8, {1, 8, size, size});
  std::vector<std::int8_t> w(8 * channels * 9);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = static_cast<std::int8_t>(i * 37 % 255 - 127);
  g.initializer(onnx_tensor<std::int8_t>("w", ElementType::i8, std::vector<std::int64_t>{8, channels, 3, 3}, w));
  g.initializer(floats("xs", {}, {0.1f}))
      .initializer(floats("ws", {8}, {1, 2, 3, 4, 5, 6, 7, 8}))
      .initializer(floats("ys", {}, {3000}));
  g.initializer(onnx_tensor("xz", ElementType::u8, std::vector<std::int64_t>{}, std::string_view("\x80", 1)));
  g.initializer(
      onnx_tensor("wz", ElementType::i8, std::vector<std::int64_t>{8}, std::string_view("\0\0\0\0\0\0\0\0", 8)));
  g.node("QuantizeLinear", {"x", "xs", "xz"}, {"xq"}).node("DequantizeLinear", {"xq", "xs", "xz"}, {"xd"});
  g.node("DequantizeLinear", {"w", "ws", "wz"}, {"wd"}, {G::integer("axis", 0)});
  g.node("Conv", {"xd", "wd"}, {"s"}, {G::integers("pads", {1, 1, 1, 1})});
  g.node("QuantizeLinear", {"s", "ys", "xz"}, {"y"});
  const onnx::Model m = model(g);
  std::vector<float> x(channels * size * size);
  std::vector<int> q(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    q[i] = static_cast<int>(i * 101 % 256), x[i] = static_cast<float>(q[i] - 128) * 0.1f;
  const Tensor y = only(m, {{"x", tensor(x).reshape({1, channels, size, size})}});
  const std::vector<int> given = y.to_vector<int>();
  for (std::int64_t o = 0; o < 8; ++o) {
    for (std::int64_t i = 0; i < size * size; ++i) {
      std::int64_t sum = 0;
      for (std::int64_t c = 0; c < channels; ++c) {
        for (std::int64_t t = 0; t < 9; ++t) {
          const std::int64_t a = i / size + t / 3 - 1, b = i % size + t % 3 - 1;
          if (a < 0 || a >= size || b < 0 || b >= size) continue;
          sum += static_cast<std::int64_t>(q[static_cast<std::size_t>((c * size + a) * size + b)] - 128) *
                 w[static_cast<std::size_t>((o * channels + c) * 9 + t)];
        }
      }
      const float scaled = static_cast<float>(sum) * (0.1f * static_cast<float>(o + 1));
      const float rounded = std::nearbyint(scaled / 3000.0f) + 128;
      EXPECT_EQ(given[static_cast<std::size_t>(o * size * size + i)], std::clamp(static_cast<int>(rounded), 0, 255))
          << o << " " << i;
    }
  }
}

// Counts of n-grams, with and without words between, times weights.
TEST_P(OnnxModel, TfIdf) {
  const auto counts = [&](std::string_view mode, std::int64_t skips) {
    G g;
    g.input("x", ElementType::i64, {-1, -2}).output("y", ElementType::f32, {-1, -3});
    WireWriter weights;
    for (const float w : {1.0f, 2.0f, 3.0f, 4.0f}) weights.number(7, w);
    g.node("TfIdfVectorizer", {"x"}, {"y"},
           {G::text("mode", mode),
            G::integer("min_gram_length", 1),
            G::integer("max_gram_length", 2),
            G::integer("max_skip_count", skips),
            G::integers("pool_int64s", {2, 3, 5, 4, 5, 6}),
            G::integers("ngram_counts", {0, 2}),
            G::integers("ngram_indexes", {3, 0, 1, 2}),
            {"weights", weights.integer(20, 6)}});
    return only(model(g), {{"x", tensor({2, 5, 9, 4, 5, 6, 3, 3, 5, 5, 4, 4}, DType::i64).reshape({2, 6})}})
        .to_vector<float>();
  };
  EXPECT_THAT(counts("TF", 0), ElementsAre(0, 0, 1, 1, 2, 1, 0, 0));
  EXPECT_THAT(counts("TF", 1), ElementsAre(0, 1, 1, 1, 2, 3, 0, 0));
  EXPECT_THAT(counts("TFIDF", 0), ElementsAre(0, 0, 4, 1, 4, 3, 0, 0));
  EXPECT_THAT(counts("IDF", 0), ElementsAre(0, 0, 4, 1, 2, 3, 0, 0));
}

// The input and, in each step, the state are rounded to 8 bits.
TEST_P(OnnxModel, DynamicQuantizeLstm) {
  constexpr std::int64_t hidden = 2;
  G g;
  g.input("x", ElementType::f32, {2, 1, 1}).output("y", ElementType::f32, {2, 1, 1, hidden});
  std::vector<std::int8_t> w{50, -60, 70, 80, -90, 100, 110, -120},
      r{10, 20, -30, 40, 50, -60, 70, 80, 90, 100, -110, 120, 13, 24, 35, -46};
  g.initializer(onnx_tensor<std::int8_t>("w", ElementType::i8, std::vector<std::int64_t>{1, 1, 8}, w));
  g.initializer(onnx_tensor<std::int8_t>("r", ElementType::i8, std::vector<std::int64_t>{1, hidden, 8}, r));
  g.initializer(floats("s", {1}, {0.01f}));
  g.initializer(onnx_tensor("z", ElementType::i8, std::vector<std::int64_t>{1}, std::string_view("\0", 1)));
  g.node("DynamicQuantizeLSTM", {"x", "w", "r", "", "", "", "", "", "s", "z", "s", "z"}, {"y"},
         {G::integer("hidden_size", hidden)}, "com.microsoft");
  const std::vector<float> y = only(model(g), {{"x", tensor({1.3f, -0.7f}).reshape({2, 1, 1})}}).to_vector<float>();
  const auto rounded = [](std::vector<double> v) {
    const double low = std::min(0.0, *std::ranges::min_element(v)), high = std::max(0.0, *std::ranges::max_element(v));
    const double scale = (high - low) / 255, zero = std::nearbyint(-low / scale);
    for (double& e : v) e = (std::clamp(std::nearbyint(e / scale) + zero, 0.0, 255.0) - zero) * scale;
    return high > low ? v : std::vector<double>(v.size());
  };
  const std::vector<double> x = rounded({1.3, -0.7});
  std::vector<double> h(hidden), c(hidden);
  const auto sigmoid_of = [](double v) { return 1 / (1 + std::exp(-v)); };
  for (std::size_t t = 0; t < 2; ++t) {
    const std::vector<double> state = rounded(h);
    std::vector<double> next(hidden);
    for (std::size_t j = 0; j < hidden; ++j) {
      const auto gate = [&](std::size_t i) {
        const std::size_t row = i * hidden + j;
        return (x[t] * w[row] + state[0] * r[row] + state[1] * r[8 + row]) * 0.01;
      };
      c[j] = sigmoid_of(gate(2)) * c[j] + sigmoid_of(gate(0)) * std::tanh(gate(3));
      next[j] = sigmoid_of(gate(1)) * std::tanh(c[j]);
      EXPECT_NEAR(y[t * hidden + j], next[j], 2e-6) << t << " " << j;
    }
    h = next;
  }
}

// Nodes that the device cannot compute run on another one, if they may; else one error names all of them.
TEST_P(OnnxModel, Fallback) {
  const auto widen = [](G& g, std::string_view from, std::string_view to) -> G& {
    return g.node("Cast", {from}, {to}, {G::integer("to", static_cast<std::int64_t>(ElementType::f64))});
  };
  const auto narrow = [](G& g, std::string_view from, std::string_view to) -> G& {
    return g.node("Cast", {from}, {to}, {G::integer("to", static_cast<std::int64_t>(ElementType::f32))});
  };
  const auto with_fallback = [&](const G& g) {
    return onnx::Model::from_bytes(bytes_in(onnx_model(g)), {.device = device, .fallback = Device::cpu()});
  };
  G g;
  g.input("x", ElementType::f32, {-1}).output("y", ElementType::f32, {-1}).output("z", ElementType::f64, {-1});
  g.node("Exp", {"x"}, {"e"});
  widen(g, "e", "d").node("Add", {"d", "d"}, {"z"}).node("Sqrt", {"z"}, {"r"});
  narrow(g, "r", "f").node("Mul", {"f", "e"}, {"y"});
  const onnx::Model m = with_fallback(g);
  const std::vector<Tensor> y = m.run({{"x", zeros({3})}});
  EXPECT_THAT(y[0].to_vector<float>(), testing::Each(testing::FloatNear(std::sqrt(2.0f), 1e-6f)));
  EXPECT_THAT(y[1].to_vector<double>(), testing::Each(2.0));
  EXPECT_EQ(device_of(y[1]), device);
  const std::size_t compiled = m.compilations();
  EXPECT_THAT(m.run({{"x", ones({3})}})[1].to_vector<double>(),
              testing::Each(testing::DoubleNear(2 * std::exp(1.0), 1e-6)));
  EXPECT_EQ(m.compilations(), compiled) << "the stages of a shape are kept";
  EXPECT_EQ(m.reads(), 0u);
  std::vector<std::string> ops;
  for (const onnx::FallbackNode& n : m.on_fallback()) ops.push_back(n.op);
  if (!device.is_gpu()) {
    EXPECT_THAT(ops, testing::IsEmpty());
    EXPECT_EQ(compiled, 1u);
    return;
  }
  EXPECT_THAT(ops, testing::IsSupersetOf({"Add", "Sqrt"}));
  EXPECT_THAT(ops, testing::Not(testing::Contains(testing::AnyOf("Exp", "Mul"))));
  const std::string refused = refused_by([&] { model(g).run({{"x", zeros({3})}}); });
  EXPECT_THAT(refused,
              testing::AllOf(HasSubstr("node 'z' (Add): "), HasSubstr("node 'r' (Sqrt): "), HasSubstr("f64 [3]")));
  EXPECT_THAT(refused, testing::Not(testing::AnyOf(HasSubstr("'e'"), HasSubstr("'y'"))));

  // Between the two: elements that are read, sequences, loops.
  G read;
  read.input("x", ElementType::f32, {-1}).output("y", ElementType::f32, {-2, -3});
  widen(read, "x", "d").node("ReduceSum", {"d"}, {"s"}, {G::integer("keepdims", 1)});
  read.node("Cast", {"s"}, {"i"}, {G::integer("to", static_cast<std::int64_t>(ElementType::i64))});
  read.initializer(integers("one", {1}, {1})).node("Concat", {"one", "i"}, {"to"}, {G::integer("axis", 0)});
  read.node("Reshape", {"x", "to"}, {"r"}).node("Neg", {"r"}, {"y"});
  const onnx::Model reading = with_fallback(read);
  EXPECT_EQ(only(reading, {{"x", ones({6})}}).shape(), (Shape{1, 6}));
  EXPECT_GE(reading.reads(), 1u);
  G body, sequence;
  body.input("a", ElementType::f64, {1}).output("b", ElementType::f64, {1}).node("Add", {"a", "a"}, {"b"});
  sequence.input("x", ElementType::f32, {3}).output("y", ElementType::f32, {3});
  widen(sequence, "x", "d").node("SplitToSequence", {"d"}, {"parts"});
  sequence.node("SequenceMap", {"parts"}, {"twice"}, {G::graph("body", body)});
  sequence.node("ConcatFromSequence", {"twice"}, {"all"}, {G::integer("axis", 0)});
  narrow(sequence, "all", "f").node("Neg", {"f"}, {"y"});
  EXPECT_THAT(only(with_fallback(sequence), {{"x", tensor({1.0f, 2.0f, 3.0f})}}).to_vector<float>(),
              ElementsAre(-2, -4, -6));
  G turn, loop;
  turn.input("i", ElementType::i64, {}).input("go", ElementType::boolean, {}).input("c", ElementType::f64, {2});
  turn.output("go_on", ElementType::boolean, {}).output("next", ElementType::f64, {2});
  turn.node("Identity", {"go"}, {"go_on"}).node("Add", {"c", "c"}, {"next"});
  loop.input("x", ElementType::f32, {2}).output("y", ElementType::f32, {2}).initializer(integers("turns", {}, {10}));
  widen(loop, "x", "d").node("Loop", {"turns", "", "d"}, {"last"}, {G::graph("body", turn)});
  narrow(loop, "last", "y");
  EXPECT_THAT(only(with_fallback(loop), {{"x", tensor({1.0f, 2.0f})}}).to_vector<float>(), ElementsAre(1024, 2048));
}

// Outputs in tensors of the program's own, for all handles to them.
TEST_P(OnnxModel, OutputsOfTheProgram) {
  G g;
  g.input("x", ElementType::f32, {-1}).output("y", ElementType::f32, {-1}).output("z", ElementType::f32, {-1});
  g.node("Mul", {"x", "x"}, {"y"}).node("Neg", {"x"}, {"z"});
  const onnx::Model m = model(g);
  const auto made = [&](const Tensor& x) {
    Tensor own = x;
    eval(own);
    return own;
  };
  Tensor z = made(ones({3}) * 7);
  const Tensor other_handle = z;
  const std::vector<Tensor> all = m.run({{"x", tensor({1.0f, 2.0f, 3.0f})}}, {{"z", z}});
  EXPECT_TRUE(same(all[1], z));
  EXPECT_THAT(all[0].to_vector<float>(), ElementsAre(1, 4, 9));
  EXPECT_THAT(other_handle.to_vector<float>(), ElementsAre(-1, -2, -3));
  const std::size_t forms = m.compilations();
  m.run({{"x", tensor({4.0f, 5.0f, 6.0f})}}, {{"z", z}});
  EXPECT_THAT(z.to_vector<float>(), ElementsAre(-4, -5, -6));
  EXPECT_EQ(m.compilations(), forms);
  // An input that is an output, too, is donated; so is one that another run gave.
  Tensor y = made(ones({3}) * 7);
  m.run({{"x", z}}, {{"z", z}, {"y", y}});
  EXPECT_THAT(z.to_vector<float>(), ElementsAre(4, 5, 6));
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(16, 25, 36));

  const Tensor x = tensor({1.0f, 2.0f, 3.0f});
  const auto refused = [&](std::initializer_list<NamedTensor> outputs) {
    return refused_by([&] { m.run({{"x", x}}, outputs); });
  };
  EXPECT_THAT(refused({{"w", z}}), HasSubstr("no output is called 'w'; there are 'y', 'z'"));
  EXPECT_THAT(refused({{"z", z}, {"z", y}}), HasSubstr("output 'z' is given twice"));
  EXPECT_THAT(refused({{"z", Tensor()}}), HasSubstr("output 'z' is given an undefined Tensor"));
  EXPECT_THAT(refused({{"z", z + 1}}), HasSubstr("output 'z' is given a tensor that is not evaluated"));
  EXPECT_THAT(refused({{"z", zeros({3})}}), HasSubstr("output 'z' is given"));
  EXPECT_THAT(refused({{"z", made(ones({4}) * 2)}}),
              HasSubstr("output 'z' is f32 [3], and the tensor that is given for it f32 [4]"));
  EXPECT_THAT(refused({{"z", made(full({3}, 1, DType::i32) + 1)}}), HasSubstr("i32 [3]"));
  EXPECT_THAT(refused({{"z", z}, {"y", z}}), HasSubstr("outputs 'z' and 'y' are given one tensor"));
  EXPECT_THAT(z.to_vector<float>(), ElementsAre(4, 5, 6)) << "what was refused changed nothing";
  if (device.is_gpu()) {
    const Tensor elsewhere = to(x, Device::cpu());
    EXPECT_THAT(refused({{"z", elsewhere}}), HasSubstr("output 'z' is given a tensor on cpu"));
  }
  const auto traced = compile([&](const Tensor& v) {
    m.run({{"x", v}}, {{"z", z}});
    return v;
  });
  EXPECT_THROW(traced(x), InvalidArgument);
}

// A cache of keys that each run adds a row to, in its place; behind a value that is read, too.
TEST_P(OnnxModel, StateIsDonated) {
  for (const bool reads : {false, true}) {
    G g;
    g.input("row", ElementType::f32, {1, 4})
        .input("past", ElementType::f32, {8, 4})
        .input("at", ElementType::i64, {1, 1});
    g.output("present", ElementType::f32, {8, 4}).output("sum", ElementType::f32, {4});
    g.node("ScatterND", {"past", "at", "row"}, {"present"});
    if (reads) {
      g.input("to", ElementType::i64, {2});
      g.node("Reshape", {"present", "to"}, {"p"});
    } else {
      g.node("Identity", {"present"}, {"p"});
    }
    g.initializer(integers("axes", {1}, {0}));
    g.node("ReduceSum", {"p", "axes"}, {"sum"}, {G::integer("keepdims", 0)});
    const onnx::Model m = model(g);
    Tensor cache = zeros({8, 4}) + 0, sums = zeros({4}) + 0;
    eval({cache, sums});
    std::uint64_t live = 0;
    for (int i = 0; i < 8; ++i) {
      const Tensor row = full({1, 4}, static_cast<float>(i + 1)), at = tensor({{i}}, DType::i64);
      const Tensor to = tensor({8, 4}, DType::i64);
      std::vector<NamedTensor> inputs{{"row", row}, {"past", cache}, {"at", at}};
      if (reads) inputs.push_back({"to", to});
      const std::vector<NamedTensor> outputs{{"present", cache}, {"sum", sums}};
      m.run(inputs, outputs);
      EXPECT_THAT(sums.to_vector<float>(), testing::Each(static_cast<float>((i + 1) * (i + 2) / 2)));
      if (i == 4) live = memory::live(device);
    }
    EXPECT_LE(memory::live(device), live + 1024);
    EXPECT_EQ(cache.to_vector<float>()[4 * 7], 8.0f);
    EXPECT_EQ(cache.to_vector<float>()[4 * 2], 3.0f);
    EXPECT_LE(m.compilations(), 2u);
  }
}

// What was described of the old state cannot be had any more, and says so.
TEST_P(OnnxModel, WhatWasDescribedOfADonatedStateIsRefused) {
  G g;
  g.input("x", ElementType::f32, {3}).input("state", ElementType::f32, {3}).output("next", ElementType::f32, {3});
  g.node("Add", {"x", "state"}, {"next"});
  const onnx::Model m = model(g);
  Tensor state = zeros({3}) + 0;
  eval(state);
  const Tensor later = state + 10;
  m.run({{"x", ones({3})}, {"state", state}}, {{"next", state}});
  EXPECT_THAT(message_of([&] { (void)later.to_vector<float>(); }), HasSubstr("something else was written"));
  EXPECT_THAT((state + 10).to_vector<float>(), ElementsAre(11, 11, 11));
  m.run({{"x", ones({3})}, {"state", state}}, {{"next", state}});
  EXPECT_THAT(state.to_vector<float>(), ElementsAre(2, 2, 2));
}

// Starts are clamped to the elements, ends to one in front of them.
TEST_P(OnnxModel, SlicesBackFromFarInFront) {
  for (const auto& [start, end, step, expected] :
       {std::tuple{-8, -10, -1, std::vector<float>{10}}, std::tuple{9, -9, -2, std::vector<float>{30, 10}},
        std::tuple{-8, 1, 1, std::vector<float>{10}}, std::tuple{7, 9, 1, std::vector<float>{}},
        std::tuple{-1, -8, -1, std::vector<float>{30, 20, 10}}, std::tuple{0, 2, -1, std::vector<float>{}}}) {
    G g;
    g.input("x", ElementType::f32, {-1}).output("y", ElementType::f32, {-2});
    g.initializer(integers("s", {1}, {start})).initializer(integers("e", {1}, {end}));
    g.initializer(integers("a", {1}, {0})).initializer(integers("p", {1}, {step}));
    g.node("Slice", {"x", "s", "e", "a", "p"}, {"y"});
    EXPECT_EQ(model(g).run({{"x", tensor({10.0f, 20.0f, 30.0f})}})[0].to_vector<float>(), expected)
        << start << " to " << end;
    EXPECT_EQ(model(g).run({{"x", zeros({0})}})[0].shape(), Shape{0});
  }
}

TEST_P(OnnxModel, HardmaxOfNothing) {
  G g;
  g.input("x", ElementType::f32, {2, 0}).output("y", ElementType::f32, {2, 0}).node("Hardmax", {"x"}, {"y"});
  EXPECT_EQ(model(g).run({{"x", zeros({2, 0})}})[0].shape(), (Shape{2, 0}));
}

// What is read on the way is told with the node that needs it.
TEST_P(OnnxModel, ReadbacksAreTold) {
  G g;
  g.input("x", ElementType::f32, {-1}).input("to", ElementType::i64, {2}).output("y", ElementType::i64, {-2, -3});
  g.node("Reshape", {"x", "to"}, {"r"}).node("NonZero", {"r"}, {"y"});
  const onnx::Model m = model(g);
  EXPECT_TRUE(m.readbacks().empty());
  for (int i = 0; i < 3; ++i) m.run({{"x", ones({6})}, {"to", tensor({2, 3}, DType::i64)}});
  const std::vector<onnx::Readback> all = m.readbacks();
  ASSERT_EQ(all.size(), 2u);
  const auto of = [&](std::string_view op) {
    const auto it = std::ranges::find(all, op, &onnx::Readback::op);
    return it == all.end() ? onnx::Readback() : *it;
  };
  EXPECT_EQ(of("Reshape").value, "to");
  EXPECT_EQ(of("Reshape").bytes, 16u);
  EXPECT_EQ(of("Reshape").count, 3u);
  EXPECT_EQ(of("NonZero").count, 3u);
  EXPECT_EQ(m.reads(), 6u);
}

// A new shape makes again neither constants nor pipelines.
TEST_P(OnnxModel, NewShapesShareWhatIsThere) {
  constexpr std::int64_t kWidth = 256;
  G g;
  g.input("x", ElementType::f32, {-1, -2, kWidth}).output("y", ElementType::f32, {-1, -2, kWidth});
  std::string last = "x";
  std::vector<float> weights(kWidth * kWidth);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 31) / 256 - 0.06f;
  for (int layer = 0; layer < 4; ++layer) {
    const auto name = [&](const char* what) { return std::format("{}{}", what, layer); };
    g.initializer(raw_weight(name("w"), {kWidth, kWidth}, weights));
    g.initializer(raw_weight(name("s"), {kWidth}, std::vector<float>(kWidth, 1)));
    g.node("MatMul", {last, name("w")}, {name("m")}).node("Relu", {name("m")}, {name("r")});
    g.node("Add", {name("r"), last}, {name("a")});
    g.node("LayerNormalization", {name("a"), name("s")}, {layer == 3 ? std::string("y") : name("n")});
    last = name("n");
  }
  const onnx::Model m = model(g);
  const auto run = [&](std::int64_t batch, std::int64_t length) {
    const Tensor x = full({batch, length, kWidth}, 0.5f);
    EXPECT_EQ(only(m, {{"x", x}}).to_vector<float>().size(), static_cast<std::size_t>(batch * length * kWidth));
  };
  const std::uint64_t before = memory::live(device);
  run(4, 65);
  run(3, 64);
  const std::uint64_t held = memory::live(device);
  if (device.is_gpu()) {  // (The cpu takes them from the file.)
    EXPECT_GE(held - before, 4 * kWidth * kWidth * sizeof(float));
  }
  const auto pipelines = [&] { return device.is_gpu() ? device.gpu().impl().pipelines.size() : 0; };
  const std::size_t made = pipelines();
  run(2, 63);
  run(2, 64);
  EXPECT_LE(memory::live(device), held + kWidth * kWidth * sizeof(float) / 8) << "no weight is there twice";
  EXPECT_EQ(pipelines(), made) << "what was compiled serves other sizes";
  EXPECT_EQ(m.compilations(), 4u);
}

// The values of all nodes; and of each on the operands that something else computed.
TEST_P(OnnxModel, ValuesOfNodes) {
  G g;
  g.input("x", ElementType::f32, {-1}).input("to", ElementType::i64, {2}).output("y", ElementType::f32, {-2, -3});
  g.node("Neg", {"x"}, {"n"})
      .node("Reshape", {"n", "to"}, {"r"})
      .node("Add", {"r", "r"}, {"a"})
      .node("Neg", {"a"}, {"y"});
  const onnx::Model m = model(g);
  const Tensor x = tensor({1.0f, 2.0f}), to = tensor({std::int64_t{2}, std::int64_t{1}}, DType::i64);
  const std::vector<onnx::NamedValue> inputs{{"x", {.tensor = x}}, {"to", {.tensor = to}}};
  const auto names = [](const std::vector<onnx::NodeValue>& values) {
    std::vector<std::string> all;
    for (const onnx::NodeValue& v : values) all.push_back(v.op + " " + v.name);
    return all;
  };
  const std::vector<onnx::NodeValue> values = m.node_values(inputs);
  EXPECT_THAT(names(values), ElementsAre("Neg n", "Reshape r", "Add a", "Neg y"));
  EXPECT_THAT(values[0].value.to_vector<float>(), ElementsAre(-1, -2));
  EXPECT_THAT(values[3].value.to_vector<float>(), ElementsAre(2, 4));
  EXPECT_EQ(values[3].value.shape(), (Shape{2, 1}));
  const std::vector<onnx::NodeValue> instead{{.node = {}, .op = {}, .name = "a", .value = tensor({{5.0f}, {6.0f}})}};
  const std::vector<onnx::NodeValue> own = m.node_values(inputs, instead);
  EXPECT_THAT(names(own), ElementsAre("Neg n", "Reshape r", "Add a", "Neg y"));
  EXPECT_THAT(own[2].value.to_vector<float>(), ElementsAre(-2, -4)) << "what the node computes";
  EXPECT_THAT(own[3].value.to_vector<float>(), ElementsAre(-5, -6)) << "on what was given";
  EXPECT_EQ(only(m, {{"x", x}, {"to", to}}).shape(), (Shape{2, 1}));
}

TEST_P(OnnxModel, ManyThreads) {
  G g;
  g.input("x", ElementType::f32, {-1}).output("y", ElementType::f32, {-1});
  g.node("Mul", {"x", "x"}, {"y"});
  const onnx::Model m = model(g);
  std::vector<std::thread> threads;
  for (int t = 1; t <= 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        const Tensor y = only(m, {{"x", full({t + i % 3}, static_cast<float>(t))}});
        EXPECT_THAT(y.to_vector<float>(), testing::Each(static_cast<float>(t * t)));
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_LE(m.compilations(), 6u);
}

// A model that comes in pieces of these sizes.
template <class Size>
void take_all(const std::string& bytes, const Size& size, const std::function<void(std::span<const std::byte>)>& take) {
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t part = std::min<std::size_t>(size(), bytes.size() - at);
    take(bytes_in(bytes).subspan(at, part));
    at += part;
  }
}

// Weights that products and lookups take, ones that the host needs too, small and transposed ones.
G many_weights(const std::function<WireWriter(std::string_view, std::initializer_list<std::int64_t>,
                                              const std::vector<float>&)>& weight) {
  std::vector<float> large(64 * 80);
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<float>(i % 17) / 16 - 0.5f;
  G g;
  g.input("x", ElementType::i64, {-1}).output("y", ElementType::f32, {-1, 64});
  g.node("Gather", {"table", "x"}, {"rows"}).node("MatMul", {"rows", "w"}, {"a"}).node("Add", {"a", "bias"}, {"b"});
  g.node("Transpose", {"also"}, {"t"}, {G::integers("perm", {1, 0})})
      .node("MatMul", {"b", "t"}, {"c"})
      .node("Mul", {"c", "both"}, {"d"});
  g.node("MatMul", {"d", "both"}, {"y"});
  g.initializer(weight("table", {80, 64}, large)).initializer(weight("w", {64, 80}, large));
  g.initializer(weight("also", {64, 80}, large)).initializer(weight("bias", {80}, std::vector<float>(80, 0.25f)));
  g.initializer(weight("both", {64, 64}, {large.begin(), large.begin() + 64 * 64}));
  return g;
}
TEST_P(OnnxModel, InPieces) {
  const std::string bytes = onnx_model(many_weights(raw_weight));
  const Tensor rows = arange(64).cast(DType::i64);
  const auto expected =
      onnx::Model::from_bytes(bytes_in(bytes), {.device = device}).run({{"x", rows}})[0].to_vector<float>();
  const std::function<std::size_t()> pieces[] = {[] { return std::size_t{1} << 30; }, [] { return std::size_t{1}; },
                                                 [] { return std::size_t{997}; }};
  for (const auto& piece : pieces) {
    onnx::Loader loader({.device = device});
    take_all(bytes, piece, [&](auto part) { loader.take(part); });
    EXPECT_THAT(loader.files(), testing::IsEmpty());
    EXPECT_THROW(loader.take(bytes_in("x")), InvalidArgument);
    const onnx::Model m = loader.finish();
    EXPECT_EQ(m.description().parameters, 3 * 80 * 64 + 80 + 64 * 64u);
    const auto got = m.run({{"x", rows}})[0].to_vector<float>();
    EXPECT_THAT(got, testing::Pointwise(testing::FloatNear(1e-3f), expected));
    EXPECT_THROW(m.run({{"x", arange(5).cast(DType::i64)}}), Error) << "five rows do not fit [64, 64]";
    EXPECT_EQ(m.reads(), 0u);
  }
}

TEST_P(OnnxModel, InPiecesWithOtherFiles) {
  // Two files; a weight at an odd place, and one that others share.
  std::string first(3, 'x'), second;
  const auto graph = many_weights([&](auto name, auto dims, const std::vector<float>& values) {
    std::string& file = name == "bias" || name == "w" ? second : first;
    const auto entry = [](std::string_view key, std::string_view value) {
      return WireWriter().text(1, key).text(2, value);
    };
    WireWriter w;
    for (const std::int64_t d : dims) w.integer(1, d);
    w.integer(2, 1).text(8, name).integer(14, 1).message(
        13, entry("location", &file == &first ? "a/first.bin" : "second.bin"));
    const bool again = name == "also";
    w.message(13, entry("offset", again ? "3" : std::to_string(file.size())));
    if (!again) file.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    return w;
  });
  const std::string bytes = onnx_model(graph);
  const std::string whole = onnx_model(many_weights(raw_weight));
  const Tensor rows = arange(64).cast(DType::i64);
  const auto expected =
      onnx::Model::from_bytes(bytes_in(whole), {.device = device}).run({{"x", rows}})[0].to_vector<float>();
  const auto load = [&](const std::string& a, const std::string& b) {
    onnx::Loader loader({.device = device}, "https://example.org/m.onnx");
    loader.take(bytes_in(bytes));
    EXPECT_THAT(loader.files(), ElementsAre("a/first.bin", "second.bin"));
    take_all(b, [] { return std::size_t{1000}; }, [&](auto part) { loader.take("second.bin", part); });
    take_all(a, [] { return std::size_t{777}; }, [&](auto part) { loader.take("a/first.bin", part); });
    EXPECT_THROW(loader.take("third.bin", {}), InvalidArgument);
    return loader.finish();
  };
  EXPECT_THAT(load(first, second).run({{"x", rows}})[0].to_vector<float>(),
              testing::Pointwise(testing::FloatNear(1e-3f), expected));
  EXPECT_THAT(load(first + "more", second).run({{"x", rows}})[0].to_vector<float>(),
              testing::Pointwise(testing::FloatNear(1e-3f), expected));
  EXPECT_THAT(refused_by([&] { load(first, second.substr(0, second.size() - 1)); }),
              testing::AllOf(HasSubstr("'https://example.org/m.onnx'"),
                             HasSubstr("'second.bin' has 20799 bytes; the model has 320 from 20480 on")));
}

// Runs that never wait: conditions and shapes are read between the steps.
TEST_P(OnnxModel, Steps) {
  G then, otherwise, body, g;
  then.output("a", ElementType::f32, {-1}).node("Add", {"r", "r"}, {"a"});
  otherwise.output("b", ElementType::f32, {-1}).node("Neg", {"r"}, {"b"});
  body.input("i", ElementType::i64, {}).input("go", ElementType::boolean, {}).input("c", ElementType::f32, {2, 3});
  body.output("less", ElementType::boolean, {}).output("next", ElementType::f32, {2, 3});
  body.node("Add", {"c", "c"}, {"next"})
      .node("ReduceMax", {"next"}, {"top"}, {G::integer("keepdims", 0)})
      .node("Less", {"top", "limit"}, {"less"});
  g.input("x", ElementType::f32, {6}).input("to", ElementType::i64, {2}).output("y", ElementType::f32, {-1, -2});
  g.initializer(floats("zero", {}, {0})).initializer(floats("limit", {}, {20}));
  g.node("Reshape", {"x", "to"}, {"r"})
      .node("ReduceSum", {"r"}, {"s"}, {G::integer("keepdims", 0)})
      .node("Greater", {"s", "zero"}, {"c"});
  g.node("If", {"c"}, {"i"}, {G::graph("then_branch", then), G::graph("else_branch", otherwise)});
  g.node("ReduceMax", {"i"}, {"first"}, {G::integer("keepdims", 0)}).node("Less", {"first", "limit"}, {"begins"});
  g.node("Loop", {"", "begins", "i"}, {"y"}, {G::graph("body", body)});
  const onnx::Model m = model(g);
  const Tensor to = tensor({2, 3}, DType::i64);
  for (const float sign : {1.0f, -1.0f}) {
    const Tensor x = full({6}, sign);
    Future<std::vector<float>> y;
    {
      const gpu::NoWaiting guard;
      const onnx::NamedValue inputs[] = {{"x", {.tensor = x}}, {"to", {.tensor = to}}};
      onnx::RunSteps steps = m.run_steps(inputs);
      EXPECT_THROW(steps.results(), InvalidArgument);
      while (!steps.done()) {
        Future<void> step = steps.next();
        while (!step.ready()) {
        }
        step.get();
      }
      EXPECT_THROW(steps.next(), InvalidArgument);
      y = steps.results()[0].tensor.async_read<float>();
      EXPECT_THAT(guard.places(), testing::IsEmpty());
    }
    EXPECT_THAT(y.get(), testing::Each(32.0f)) << sign;
  }
  EXPECT_THAT(only(m, {{"x", full({6}, 1.0f)}, {"to", to}}).to_vector<float>(), testing::Each(32.0f));
}

// Steps with nodes on another device: what goes there and back is read without a wait.
TEST_P(OnnxModel, StepsWithAFallback) {
  G g;
  g.input("x", ElementType::f32, {-1}).output("y", ElementType::f32, {-1}).output("z", ElementType::f64, {-1});
  g.node("Exp", {"x"}, {"e"});
  g.node("Cast", {"e"}, {"d"}, {G::integer("to", static_cast<std::int64_t>(ElementType::f64))});
  g.node("Add", {"d", "d"}, {"z"}).node("Sqrt", {"z"}, {"r"});
  g.node("Cast", {"r"}, {"f"}, {G::integer("to", static_cast<std::int64_t>(ElementType::f32))});
  g.node("Mul", {"f", "e"}, {"y"});
  const onnx::Model m = onnx::Model::from_bytes(bytes_in(onnx_model(g)), {.device = device, .fallback = Device::cpu()});
  for (int turn = 0; turn < 2; ++turn) {
    Future<std::vector<float>> y;
    Future<std::vector<double>> z;
    {
      const Tensor x = zeros({3});
      const gpu::NoWaiting guard;
      const onnx::NamedValue inputs[] = {{"x", {.tensor = x}}};
      onnx::RunSteps steps = m.run_steps(inputs);
      while (!steps.done()) {
        Future<void> step = steps.next();
        while (!step.ready()) {
        }
        step.get();
      }
      EXPECT_EQ(device_of(steps.results()[0].tensor), device);
      y = steps.results()[0].tensor.async_read<float>();
      z = steps.results()[1].tensor.async_read<double>();
      EXPECT_THAT(guard.places(), testing::IsEmpty());
    }
    EXPECT_THAT(y.get(), testing::Each(testing::FloatNear(std::sqrt(2.0f), 1e-6f)));
    EXPECT_THAT(z.get(), testing::Each(2.0));
  }
  EXPECT_EQ(m.on_fallback().empty(), !device.is_gpu());
  const std::string refused = refused_by([&] {
    const Tensor x = zeros({3});
    const onnx::NamedValue inputs[] = {{"x", {.tensor = x}}};
    onnx::RunSteps steps = model(g).run_steps(inputs);
    while (!steps.done()) steps.next().get();
  });
  if (device.is_gpu()) {
    EXPECT_THAT(refused, testing::AllOf(HasSubstr("node 'z' (Add): "), HasSubstr("node 'r' (Sqrt): ")));
  }
  // The same form runs into tensors of the program, too.
  if (!device.is_gpu()) return;
  const Tensor own = to(tensor(std::vector<double>{7, 7, 7}), device);
  m.run({{"x", zeros({3})}}, {{"z", own}});
  EXPECT_THAT(own.to_vector<double>(), testing::Each(2.0));
}

TEST(OnnxFiles, InPiecesAreRefusedWhereTheyAreWrong) {
  const std::string bytes = onnx_model(many_weights(raw_weight));
  const auto refusal = [&](const std::string& file) {
    return refused_by([&] {
      onnx::Loader loader({.device = Device::cpu()}, "m.onnx");
      take_all(file, [] { return std::size_t{5000}; }, [&](auto part) { loader.take(part); });
      (void)loader.finish();
    });
  };
  EXPECT_THAT(refusal(""), HasSubstr("'m.onnx': onnx: it is no model of ONNX: it is empty"));
  EXPECT_THAT(refusal("<!doctype html>"), HasSubstr("field 7 is of kind 4"));
  for (std::size_t size = 0; size < bytes.size(); size += size < 3000 ? 1 : 4999)
    EXPECT_THAT(refusal(bytes.substr(0, size)), HasSubstr("FormatError")) << size;
  // With any byte of the structure changed: an error or a model.
  for (std::size_t i = 0; i < 3000; ++i) {
    for (const int bit : {0, 3, 7}) {
      std::string spoilt = bytes;
      spoilt[i] = static_cast<char>(spoilt[i] ^ 1 << bit);
      try {
        onnx::Loader loader({.device = Device::cpu()});
        loader.take(bytes_in(spoilt));
        (void)loader.finish();
      } catch (const Error&) {
      }
    }
  }
  G twice = many_weights(raw_weight);
  twice.initializer(raw_weight("w", {64, 80}, std::vector<float>(64 * 80)));
  EXPECT_THAT(refusal(onnx_model(twice)), HasSubstr("two initializers are called 'w'"));
  G unknown = many_weights(raw_weight);
  unknown.node("Nothing", {"y"}, {"z"});
  EXPECT_THAT(refusal(onnx_model(unknown)), HasSubstr("'z' (Nothing)"));
}

// Numbers of typed fields become elements once, which all that is made of the file shares.
TEST(OnnxFiles, TypedFields) {
  WireWriter t;
  t.integer(1, 2).integer(2, static_cast<std::int64_t>(ElementType::f32)).text(8, "w");
  t.text(4, std::string("\0\0\x80\x3f\0\0\0\x40", 8));
  G g;
  g.output("w", ElementType::f32, {2}).node("Constant", {}, {"w"}, {G::tensor("value", t)});
  const onnx::ModelProto model = onnx::parse_model(bytes_in(onnx_model(g)));
  const onnx::NodeProto node = model.graph.nodes.at(0);
  const auto& packed = model.graph.nodes.at(0).attribute("value")->tensors.at(0).packed;
  ASSERT_TRUE(packed);
  EXPECT_EQ(packed->size(), 8u);
  EXPECT_EQ(node.attribute("value")->tensors.at(0).packed, packed);
}

TEST(OnnxFiles, ExternalData) {
  const TempDir dir;
  std::filesystem::create_directory(dir.path() / "model");
  std::ofstream(dir.path() / "model" / "weights.bin", std::ios::binary)
      << std::string(8, '\0') << std::string("\0\0\x80\x3f\0\0\0\x40", 8);
  std::ofstream(dir.path() / "secret.bin") << std::string(16, 'x');
  const auto load = [&](std::string_view location, std::string_view offset, std::string_view length) {
    const auto entry = [](std::string_view key, std::string_view value) {
      return WireWriter().text(1, key).text(2, value);
    };
    WireWriter w;
    w.integer(1, 2).integer(2, 1).text(8, "w").integer(14, 1);
    w.message(13, entry("location", location))
        .message(13, entry("offset", offset))
        .message(13, entry("length", length));
    G g;
    g.input("x", ElementType::f32, {2})
        .output("y", ElementType::f32, {2})
        .initializer(w)
        .node("Add", {"x", "w"}, {"y"});
    const auto path = dir.path() / "model" / "m.onnx";
    std::ofstream(path, std::ios::binary) << onnx_model(g);
    return onnx::Model::load(path, {.device = Device::cpu()});
  };
  const DefaultDeviceScope cpu(Device::cpu());
  EXPECT_THAT(load("weights.bin", "8", "8").description().files, ElementsAre("weights.bin"));
  EXPECT_THAT(load("weights.bin", "8", "8").run({{"x", zeros({2})}})[0].to_vector<float>(), ElementsAre(1, 2));
  EXPECT_THAT(refused_by([&] { load("weights.bin", "12", "8"); }),
              HasSubstr("is said to be 8 bytes from 12 on of 'weights.bin', which has 16"));
  EXPECT_THAT(refused_by([&] { load("weights.bin", "0", "4"); }), HasSubstr("takes 8 bytes"));
  for (const char* outside : {"../secret.bin", "/etc/passwd", "", "a/../../secret.bin"}) {
    EXPECT_THROW(load(outside, "0", "8"), FormatError) << outside;
  }
  std::filesystem::create_symlink(dir.path() / "secret.bin", dir.path() / "model" / "link.bin");
  EXPECT_THROW(load("link.bin", "0", "8"), FormatError);
  EXPECT_THROW(load("none.bin", "0", "8"), IoError);
}

// What a model has that does not run, before it is loaded.
TEST(OnnxFiles, AreDescribed) {
  const TempDir dir;
  G g;
  g.input("x", ElementType::f64, {2}).output("y", ElementType::f32, {2}).input("s", ElementType::string, {1});
  g.node("Gelu", {"x"}, {"a"}).node("Tree", {"a"}, {"b"}, {}, "ai.onnx.ml").node("Col2Im", {"b"}, {"y"});
  std::ofstream(dir.path() / "m.onnx", std::ios::binary) << onnx_model(g, 19);
  const onnx::Description d = onnx::describe(dir.path() / "m.onnx");
  std::map<std::string, onnx::OperatorUse> by_name;
  for (const onnx::OperatorUse& use : d.operators) by_name.emplace(use.name, use);
  EXPECT_FALSE(by_name.at("Gelu").supported);
  EXPECT_EQ(by_name.at("Gelu").reason, "Weft has it from version 20 of the domain on, and the model is of version 19");
  EXPECT_THAT(by_name.at("Tree").reason, HasSubstr("no operators of ai.onnx.ml"));
  EXPECT_TRUE(by_name.at("Col2Im").supported);
  EXPECT_THAT(by_name.at("Col2Im").reason, HasSubstr("no integers of 64 bits"));
  EXPECT_THAT(d.problems, ElementsAre("input 's' is a tensor(string), a type that Weft lacks"));
  EXPECT_THAT(d.remarks, ElementsAre(HasSubstr("float64")));
}

TEST(OnnxFiles, AreRefusedWhereTheyAreWrong) {
  const onnx::Options cpu{.device = Device::cpu()};
  G g;
  g.input("x", ElementType::f32, {-1, 3}).input("z", ElementType::f32, {-1}).output("y", ElementType::f32, {-1, 3});
  g.node("Relu", {"x"}, {"y"});
  const std::string file = onnx_model(g);
  const auto load = [&](const std::string& bytes) { return onnx::Model::from_bytes(bytes_in(bytes), cpu); };
  (void)load(file);
  // Cut off anywhere, and with any byte changed: an error or a model, never a crash.
  for (std::size_t size = 0; size < file.size(); ++size) {
    try {
      (void)load(file.substr(0, size));
    } catch (const Error&) {
    }
  }
  for (std::size_t i = 0; i < file.size(); ++i) {
    for (const int bit : {0, 3, 7}) {
      std::string spoilt = file;
      spoilt[i] = static_cast<char>(spoilt[i] ^ 1 << bit);
      try {
        const onnx::Model m = load(spoilt);
        (void)m.run({{"x", zeros({2, 3})}, {"z", zeros({2})}});
      } catch (const Error&) {
      }
    }
  }
  EXPECT_THROW(load("no model"), FormatError);
  EXPECT_THROW(load(""), FormatError);
  EXPECT_THAT(refused_by([&] { load(onnx_model(g, 99)); }), HasSubstr("the model is of opset 99"));
  const auto refused = [&](const OnnxGraph& graph) {
    return refused_by([&] {
      const DefaultDeviceScope scope(Device::cpu());
      (void)load(onnx_model(graph)).run({{"x", zeros({2})}});
    });
  };
  const auto graph = [] {
    G made;
    made.input("x", ElementType::f32, {-1}).output("y", ElementType::f32, {-1});
    return made;
  };
  EXPECT_THAT(refused(graph().node("Nothing", {"x"}, {"y"}).node("None", {"x"}, {"z"}, {}, "my.domain")),
              HasSubstr("operators that Weft does not have, by nodes: 'y' (Nothing), 'z' (my.domain.None)"));
  EXPECT_THAT(refused(graph().node("Relu", {"nowhere"}, {"y"})),
              HasSubstr("node 'y' (Relu, opset 21): 'nowhere' has no value"));
  EXPECT_THAT(refused(graph().node("Relu", {"b"}, {"y"}).node("Relu", {"y"}, {"b"})),
              HasSubstr("no node before this one makes it"));
  EXPECT_THAT(refused(graph().node("Relu", {"x"}, {"z"})), HasSubstr("output 'y' of graph '' has no value"));
  EXPECT_THAT(refused(graph().node("Relu", {}, {"y"})), HasSubstr("operand 0 is missing"));
  EXPECT_THAT(refused(graph().node("Concat", {"x", "x"}, {"y"})), HasSubstr("the attribute axis is missing"));
  EXPECT_THAT(refused(graph().node("Concat", {"x", "x"}, {"y"}, {G::text("axis", "0")})),
              HasSubstr("the attribute axis is a text, expected an integer"));
  EXPECT_THAT(refused(graph().node("Concat", {"x", "x"}, {"y"}, {G::integer("axis", 1)})),
              HasSubstr("axis 1 of a tensor of rank 1"));
  // Inputs.
  const onnx::Model m = load(file);
  const DefaultDeviceScope scope(Device::cpu());
  const Tensor x = zeros({2, 3}), z = zeros({2});
  EXPECT_THAT(refused_by([&] { m.run({{"x", x}}); }), HasSubstr("input 'z' is missing"));
  EXPECT_THAT(refused_by([&] { m.run({{"x", x}, {"z", z}, {"w", z}}); }),
              HasSubstr("no input is called 'w'; there are 'x', 'z'"));
  EXPECT_THAT(refused_by([&] { m.run({{"x", x}, {"x", x}, {"z", z}}); }), HasSubstr("given twice"));
  EXPECT_THAT(refused_by([&] { m.run({{"x", zeros({2, 3}, DType::i32)}, {"z", z}}); }),
              HasSubstr("input 'x' is i32, expected f32"));
  EXPECT_THAT(refused_by([&] { m.run({{"x", zeros({2, 4})}, {"z", z}}); }),
              HasSubstr("input 'x' is [2, 4], expected [n, 3]"));
  EXPECT_THAT(refused_by([&] { m.run({{"x", x}, {"z", zeros({5})}}); }), HasSubstr("n is 2 in 'x'"));
}

// What rows lack is told of all nodes at once, those with graphs and functions inside too.
TEST(OnnxFiles, AllThatIsLackingIsNamed) {
  const auto node = [](std::string_view op, std::string_view in, std::string_view out) {
    WireWriter w;
    if (!in.empty()) w.text(1, in);
    return w.text(2, out).text(4, op);
  };
  const auto function = [](std::string_view name, std::initializer_list<WireWriter> nodes) {
    WireWriter w;
    w.text(1, name).text(10, "my").text(4, "a").text(5, "b");
    for (const WireWriter& n : nodes) w.message(7, n);
    return w.message(9, WireWriter().text(1, "").integer(2, 21));
  };
  WireWriter text = node("Constant", "", "t");
  text.text(5, WireWriter().text(1, "value_string").text(4, "a").integer(20, 3).bytes());
  G g;
  g.input("x", ElementType::f32, {2}).output("y", ElementType::f32, {2});
  g.node("Constant", {}, {"c"}, {G::text("value_string", "a")}).node("Texts", {"x"}, {"w"}, {}, "my");
  g.node("Neg", {"c"}, {"behind"}).node("Fine", {"x"}, {"f"}, {}, "my").node("Neg", {"f"}, {"y"});
  WireWriter more;
  more.message(25, function("Texts", {text, node("Neg", "a", "b")}))
      .message(25, function("Fine", {node("Neg", "a", "b")}));
  more.message(8, WireWriter().text(1, "my").integer(2, 1));
  const DefaultDeviceScope scope(Device::cpu());
  const onnx::Model m = onnx::Model::from_bytes(bytes_in(onnx_model(g, 21, more)), {.device = Device::cpu()});
  EXPECT_THAT(message_of([&] { m.run({{"x", ones({2})}}); }),
              testing::AllOf(HasSubstr("2 of 5 nodes of '' need what Weft does not have:"),
                             HasSubstr("\n  node 'c' (Constant): texts"),
                             HasSubstr("\n  node 'w' (my.Texts): node 't' (Constant, opset 21): texts")));
}

// Deep graphs, long ones, and functions that call themselves.
TEST(OnnxFiles, AreBounded) {
  const onnx::Options cpu{.device = Device::cpu()};
  const DefaultDeviceScope scope(Device::cpu());
  G chain;
  chain.input("x", ElementType::f32, {1});
  std::string last = "x";
  for (int i = 0; i < 20000; ++i) {
    const std::string next = std::format("v{}", i);
    chain.node("Neg", {last}, {next});
    last = next;
  }
  chain.output(last, ElementType::f32, {1});
  const std::string file = onnx_model(chain);
  EXPECT_EQ(onnx::Model::from_bytes(bytes_in(file), cpu).run({{"x", ones({1})}})[0].item<float>(), 1);
  // Sizes whose product is past 64 bits.
  G wide;
  wide.input("x", ElementType::f32, {2}).output("y", ElementType::f32, {-1});
  wide.initializer(onnx_tensor<std::int64_t>("to", ElementType::i64, std::array<std::int64_t, 1>{3},
                                             std::vector<std::int64_t>{1LL << 38, 1LL << 38, -1}));
  wide.node("Reshape", {"x", "to"}, {"y"});
  EXPECT_THAT(refused_by([&] { onnx::Model::from_bytes(bytes_in(onnx_model(wide)), cpu).run({{"x", ones({2})}}); }),
              HasSubstr("leaves no size for -1"));
  G inner;
  inner.output("a", ElementType::f32, {1}).node("Neg", {"x"}, {"a"});
  for (int i = 0; i < 150; ++i) {
    G outer;
    outer.output("a", ElementType::f32, {1});
    outer.node("If", {"c"}, {"a"}, {G::graph("then_branch", inner), G::graph("else_branch", inner)});
    inner = i < 6 ? outer
                  : G().output("a", ElementType::f32, {1}).node("If", {"c"}, {"a"}, {G::graph("then_branch", inner)});
  }
  G deep;
  deep.input("x", ElementType::f32, {1}).input("c", ElementType::boolean, {}).output("y", ElementType::f32, {1});
  deep.node("If", {"c"}, {"y"}, {G::graph("then_branch", inner), G::graph("else_branch", inner)});
  EXPECT_THROW(onnx::Model::from_bytes(bytes_in(onnx_model(deep)), cpu), FormatError);
  // A function that calls itself.
  WireWriter call, function;
  call.text(1, "a").text(2, "b").text(4, "Again").text(7, "my");
  function.text(1, "Again").text(10, "my").text(4, "a").text(5, "b").message(7, call);
  function.message(9, WireWriter().text(1, "my").integer(2, 1));
  G g;
  g.input("x", ElementType::f32, {1}).output("y", ElementType::f32, {1}).node("Again", {"x"}, {"y"}, {}, "my");
  const std::string own =
      onnx_model(g, 21, WireWriter().message(25, function).message(8, WireWriter().text(1, "my").integer(2, 1)));
  EXPECT_THROW(onnx::Model::from_bytes(bytes_in(own), cpu), FormatError);
}

}  // namespace
}  // namespace weft::test
