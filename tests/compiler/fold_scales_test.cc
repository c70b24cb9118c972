// Scales and shifts of channels in constant weights: the graph after the pass, and its numbers on every device.
#include "compiler/passes/fold_scales.h"

#include "bound.h"
#include "compiler/passes/fold_constants.h"
#include "graph/leaf.h"
#include "support/pass_test.h"
#include "weft/array.h"
#include "weft/convolution.h"

namespace weft::compiler {
namespace {

// The pass on folded constants, and what it makes folded.
Graph folded_scales(const Graph& graph, const PassContext& context) {
  return fold_constants(fold_scales(fold_constants(graph, context), context), context);
}

struct FoldScales : PassTest {
  static Tensor constant(const Shape& shape, unsigned seed, float low = -1, float high = 1) {
    const TensorData data = test::noise(shape, seed, (high - low) / 2);
    std::vector<float> values(test::floats_of(data).begin(), test::floats_of(data).end());
    for (float& v : values) v += (low + high) / 2;
    return Graph::constant(TensorData::of<float>(DType::f32, shape, values));
  }
  // Batch norm with statistics of that many channels.
  static Tensor norm(const Tensor& y, int axis, std::int64_t channels) {
    return batch_norm(y, constant({channels}, 1), constant({channels}, 2, 0.2f, 2), constant({channels}, 3, 0.5f, 2),
                      constant({channels}, 4), 1e-3, axis);
  }
  // How many of a text's lines hold a word.
  static int count(const std::string& text, const std::string& word) {
    int n = 0;
    for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at) ++n;
    return n;
  }
  // True if the pass leaves the graph as it is.
  bool unchanged() {
    return after(fold_scales) == after(+[](const Graph& g, const PassContext&) { return g; });
  }
};

TEST_F(FoldScales, BatchNormBecomesABias) {
  const Tensor x = f32({1, 8, 8, 3});
  graph.output("y", relu(norm(conv(x, constant({16, 3, 3, 3}, 5), {}, {.channels_last = true}), 3, 16)));
  // The filter is stored with the channels of its elements adjacent.
  EXPECT_EQ(after(folded_scales),
            "%1 = constant : f32 [16]\n"
            "%2 = constant : f32 [16, 3, 3, 3]\n"
            "%3 = permute{order=[0, 3, 1, 2]} %2 : f32 [16, 3, 3, 3]\n"
            "%4 = conv{channels_last=true} "
            "%0, %3 : f32 [1, 6, 6, 16]\n"
            "%5 = map{y=(x0:f32, x1:f32) add(x0, x1)} %4, %1 : f32 [1, 6, 6, 16]\n"
            "%6 = map{y=(x0:f32) relu(x0)} %5 : f32 [1, 6, 6, 16]\n"
            "output \"y\" = %6\n");
}

TEST_F(FoldScales, ProductsStayTransposed) {
  const Tensor x = f32({4, 8});
  graph.output("y", (matmul(x, constant({6, 8}, 1).T()) + constant({6}, 2)) * 0.5 * constant({6}, 3));
  EXPECT_EQ(after(folded_scales),
            "%1 = constant : f32 [6]\n"
            "%2 = constant : f32 [6, 8]\n"
            "%3 = permute{order=[1, 0]} %2 : f32 [8, 6]\n"
            "%4 = matmul %0, %3 : f32 [4, 6]\n"
            "%5 = map{y=(x0:f32, x1:f32) add(x0, x1)} %4, %1 : f32 [4, 6]\n"
            "output \"y\" = %5\n");
}

TEST_F(FoldScales, WhatStays) {
  const auto stays = [&](const std::function<Tensor()>& build) {
    graph = Graph();
    next = 0;
    graph.output("y", build());
    return unchanged();
  };
  const Tensor w = constant({8, 8}, 1), scale = constant({8}, 2);
  const auto product = [&] { return matmul(f32({4, 8}), w); };
  EXPECT_FALSE(stays([&] { return product() * scale; }));
  EXPECT_TRUE(stays([&] { return product() + scale; })) << "a bias needs no pass";
  EXPECT_TRUE(stays([&] { return product() * 2.0 + 1.0; })) << "one number for all channels";
  EXPECT_TRUE(stays([&] { return product() * constant({4, 1}, 3); })) << "a scale of rows";
  EXPECT_TRUE(stays([&] { return product() * constant({4, 8}, 3); }));
  EXPECT_TRUE(stays([&] { return product() * f32({8}); })) << "no constant";
  EXPECT_TRUE(stays([&] { return matmul(f32({4, 8}), f32({8, 8})) * scale; }));
  EXPECT_TRUE(stays([&] { return matmul(w, f32({8, 8})) * scale; })) << "the weights are the right operand";
  EXPECT_TRUE(stays([&] { return exp(product()) * scale; }));
  EXPECT_TRUE(stays([&] { return product() * (scale * INFINITY); })) << "0 · ∞";
  const auto shared = [&](const Tensor& y) { return y * scale + exp(y); };
  EXPECT_TRUE(stays([&] { return shared(product()); })) << "the product has another use";
  context.options.fusion = false;
  EXPECT_TRUE(stays([&] { return product() * scale; }));
}

TEST_F(FoldScales, NarrowWeightsThatWouldLeaveTheirRange) {
  const auto folds = [&](float scale) {
    graph = Graph();
    next = 0;
    const Tensor x = graph.input("x", DType::f16, {4, 8});
    const Tensor y =
        matmul(x, cast(constant({8, 8}, 1), DType::f16)).cast(DType::f32) * constant({8}, 2, scale, scale * 1.5f);
    graph.output("y", y.cast(DType::f16));
    return count(after(folded_scales), "mul(") == 0;
  };
  EXPECT_TRUE(folds(1));
  EXPECT_TRUE(folds(2e-3f));
  EXPECT_FALSE(folds(1e5f));
  EXPECT_FALSE(folds(1e-5f));
}

// Results of a graph beside those without the pass.
void expect_close(const Graph& graph, const std::map<std::string, TensorData>& data, float tolerance,
                  std::size_t steps) {
  for (const std::string& name : test::all_devices()) {
    SCOPED_TRACE(name);
    const Device device = test::device_named(name);
    Executable plain = compile(graph, device, {.fusion = false}), folded = compile(graph, device);
    EXPECT_EQ(folded.report().steps.size(), steps);
    EXPECT_LT(folded.report().steps.size(), plain.report().steps.size());
    const test::Bound a(device, graph, data), b(device, graph, data);
    a.run(plain);
    b.run(folded);
    std::map<std::string, TensorData> expected;
    for (const auto& [output, t] : a.outputs_) {
      expected[output] = TensorData::of<float>(DType::f32, t.shape(), t.read<float>());
    }
    b.compare(expected, name, tolerance);
  }
}

TEST_F(FoldScales, NumbersOfConvolutions) {
  struct Case {
    std::int64_t channels, outputs, groups;
    bool last, transposed, bias;
  };
  for (const Case& c :
       {Case{6, 16, 1, true, false, false}, Case{6, 16, 1, false, false, true}, Case{8, 8, 8, true, false, false},
        Case{8, 12, 4, false, false, false}, Case{6, 10, 1, false, true, true}, Case{6, 10, 1, true, true, false}}) {
    SCOPED_TRACE(std::format("{} to {} channels, {} groups, last {}, transposed {}", c.channels, c.outputs, c.groups,
                             c.last, c.transposed));
    graph = Graph();
    const Shape shape = c.last ? Shape{2, 7, 9, c.channels} : Shape{2, c.channels, 7, 9};
    const Tensor x = graph.input("x", DType::f32, shape);
    const Tensor bias = c.bias ? constant({c.outputs}, 9) : Tensor();
    Tensor y;
    if (c.transposed) {
      ConvTransposeOptions options;
      options.channels_last = c.last;
      y = conv_transpose(x, constant({c.channels, c.outputs, 3, 3}, 8), bias, options);
    } else {
      y = conv(x, constant({c.outputs, c.channels / c.groups, 3, 3}, 8), bias,
               {.padding = {1, 1}, .groups = c.groups, .channels_last = c.last});
    }
    graph.output("y", relu(norm(y, c.last ? 3 : 1, c.outputs)));
    expect_close(graph, {{"x", test::noise(shape, 7)}}, 2e-6f, 1);
  }
}

TEST_F(FoldScales, NumbersOfProducts) {
  const Tensor x = f32({5, 40});
  const Tensor y = matmul(x, constant({24, 40}, 1).T()) + constant({24}, 2);
  graph.output("y", norm(y, 1, 24) / constant({24}, 5, 1, 2) - 0.25);
  expect_close(graph, {{"x0", test::noise({5, 40}, 3)}}, 2e-6f, 1);
}

// A graph of f16: the weights are rounded once more, the result once less.
TEST_F(FoldScales, NumbersOfNarrowWeights) {
  const Tensor x = f32({2, 7, 9, 8});
  const Tensor w = cast(constant({16, 8, 3, 3}, 1), DType::f16);
  graph.output("y", cast(norm(conv(cast(x, DType::f16), w, {}, {.channels_last = true}), 3, 16), DType::f32));
  // A step for the input's conversion.
  expect_close(graph, {{"x0", test::noise({2, 7, 9, 8}, 3)}}, 2e-3f, 2);
}

}  // namespace
}  // namespace weft::compiler
