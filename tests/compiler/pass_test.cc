// Tests each pass on small graphs: the graph that it produces, as text, and patterns that it must not change.
#include <cstring>

#include "compiler/passes/common_subexpressions.h"
#include "compiler/passes/fold_constants.h"
#include "compiler/passes/fuse.h"
#include "compiler/passes/fuse_attention.h"
#include "compiler/passes/fuse_elementwise.h"
#include "compiler/passes/hoist_views.h"
#include "compiler/passes/literals.h"
#include "compiler/passes/merge_products.h"
#include "compiler/passes/resolve_views.h"
#include "support/pass_test.h"
#include "weft/call.h"
#include "weft/pooling.h"

namespace weft::compiler {
namespace {

TensorData floats(const Shape& shape, float first = 0) {
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<float>(i);
  return TensorData::of<float>(DType::f32, shape, values);
}

TEST_F(PassTest, DeadCodeKeepsInputs) {
  const Tensor x = f32({2});
  const Tensor unused = f32({3});
  exp(unused);
  graph.output("y", exp(x));
  EXPECT_EQ(graph.to_string(),
            "%0 = input{name=\"x0\"} : f32 [2]\n"
            "%1 = input{name=\"x1\"} : f32 [3]\n"
            "%2 = map{y=(x0:f32) exp(x0)} %0 : f32 [2]\n"
            "output \"y\" = %2\n");
}

TEST_F(PassTest, LiteralsGoIntoExpressions) {
  const Tensor x = f32({2});
  const Tensor half = graph.scalar(0.5, DType::f32);
  graph.output("y", half * x);
  // Here the constant gives the result its rank, so it stays.
  graph.output("z", x + graph.constant(floats({1, 1})));
  EXPECT_EQ(after(literals),
            "%1 = constant{value=0} : f32 [1, 1]\n"
            "%2 = map{y=(x0:f32) mul(0.5:f32, x0)} %0 : f32 [2]\n"
            "%3 = map{y=(x0:f32, x1:f32) add(x0, x1)} %0, %1 : f32 [1, 2]\n"
            "output \"y\" = %2\n"
            "output \"z\" = %3\n");
}

TEST_F(PassTest, FoldsWhatDependsOnConstantsAlone) {
  const Tensor a = graph.constant(floats({2, 40}));
  const Tensor b = graph.constant(floats({3, 40}, 100));
  const std::vector<Tensor> parts{a, b};
  graph.output("y", exp(concat(parts, 0)).T() * f32({5}));
  EXPECT_EQ(after(fold_constants),
            "%1 = constant : f32 [5, 40]\n"
            "%2 = permute{order=[1, 0]} %1 : f32 [40, 5]\n"
            "%3 = map{y=(x0:f32, x1:f32) mul(x0, x1)} %2, %0 : f32 [40, 5]\n"
            "output \"y\" = %3\n");
}

TEST_F(PassTest, DoesNotFoldWhatGrows) {
  const Tensor row = graph.constant(floats({1, 512}));
  const Tensor column = graph.constant(floats({512, 1}));
  graph.output("y", row + column);
  EXPECT_EQ(after(fold_constants),
            "%0 = constant : f32 [1, 512]\n"
            "%1 = constant : f32 [512, 1]\n"
            "%2 = map{y=(x0:f32, x1:f32) add(x0, x1)} %0, %1 : f32 [512, 512]\n"
            "output \"y\" = %2\n");
}

TEST_F(PassTest, ComputesEqualThingsOnce) {
  const Tensor x = f32({4});
  const TensorData w = floats({4, 20});
  const Tensor a = exp(x);
  const Tensor b = exp(x);
  const Tensor row_a = reshape(a, {1, 4});
  const Tensor row_b = reshape(b, {1, 4});
  const Tensor p = matmul(row_a, graph.constant(w, "first"));
  const Tensor q = matmul(row_b, graph.constant(w, "second"));
  const Tensor r = softmax(q, 0);
  graph.output("y", p + q);
  graph.output("z", softmax(p, 1) + r);
  EXPECT_EQ(after(common_subexpressions),
            "%1 = map{y=(x0:f32) exp(x0)} %0 : f32 [4]\n"
            "%2 = constant : f32 [4, 20]\n"
            "%3 = reshape{shape=[1, 4]} %1 : f32 [1, 4]\n"
            "%4 = matmul %3, %2 : f32 [1, 20]\n"
            "%5 = softmax{axis=0} %4 : f32 [1, 20]\n"
            "%6 = map{y=(x0:f32, x1:f32) add(x0, x1)} %4, %4 : f32 [1, 20]\n"
            "%7 = softmax{axis=1} %4 : f32 [1, 20]\n"
            "%8 = map{y=(x0:f32, x1:f32) add(x0, x1)} %7, %5 : f32 [1, 20]\n"
            "output \"y\" = %6\n"
            "output \"z\" = %8\n");
}

TEST_F(PassTest, ComputesOnceWhateverTheOrderAndTheNumberOfResults) {
  const Tensor x = f32({4});
  const Tensor y = f32({4});
  const TopK first = top_k(x + y, 2);
  const TopK second = top_k(y + x, 2);
  graph.output("values", first.values * second.values);
  graph.output("indices", second.indices);
  const Tensor ahead = x - y;
  const Tensor behind = y - x;
  graph.output("ratio", ahead / behind);
  EXPECT_EQ(after(common_subexpressions),
            "%2 = map{y=(x0:f32, x1:f32) add(x0, x1)} %0, %1 : f32 [4]\n"
            "%3 = top_k{axis=0, k=2, largest=true} %2 : f32 [2], i32 [2]\n"
            "%4 = map{y=(x0:f32, x1:f32) mul(x0, x1)} %3, %3 : f32 [2]\n"
            "%5 = map{y=(x0:f32, x1:f32) sub(x0, x1)} %0, %1 : f32 [4]\n"
            "%6 = map{y=(x0:f32, x1:f32) sub(x0, x1)} %1, %0 : f32 [4]\n"
            "%7 = map{y=(x0:f32, x1:f32) div(x0, x1)} %5, %6 : f32 [4]\n"
            "output \"values\" = %4\n"
            "output \"indices\" = %3.1\n"
            "output \"ratio\" = %7\n");
}

// A derivative's residuals are further results of the operation whose derivative it is.
TEST_F(PassTest, WhatGivesMoreResultsIsComputedAlone) {
  const Tensor q = f32({1, 2, 3, 4});
  const Tensor image = f32({1, 1, 4, 4});
  graph.output("twice", attention(q, q, q, {}, {}) + attention(q, q, q, {}, {}));
  graph.output("other", attention(q, q, q, {}, {.causal = true}));
  graph.output("log sums", call("attention_with_log_sums", {q, q, q})[1]);
  graph.output("greatest", max_pool(image, {.window = {2, 2}}));
  graph.output("where", max_pool_with_indices(image, {.window = {2, 2}}).indices);
  EXPECT_EQ(after(common_subexpressions),
            "%2 = attention_with_log_sums{scale=1} %0, %0, %0 : f32 [1, 2, 3, 4], f32 [1, 2, 3]\n"
            "%3 = map{y=(x0:f32, x1:f32) add(x0, x1)} %2, %2 : f32 [1, 2, 3, 4]\n"
            "%4 = attention{scale=1, causal=true} %0, %0, %0 : f32 [1, 2, 3, 4]\n"
            "%5 = max_pool_with_indices{window=[2, 2]} %1 : f32 [1, 1, 2, 2], i32 [1, 1, 2, 2]\n"
            "output \"twice\" = %3\n"
            "output \"other\" = %4\n"
            "output \"log sums\" = %2.1\n"
            "output \"greatest\" = %5\n"
            "output \"where\" = %5.1\n");
}

TEST_F(PassTest, AnElementwiseChainWithBroadcastsIsOneMap) {
  const Tensor a = f32({2, 3});
  const Tensor b = f32({3});
  const Tensor c = f32({2, 1});
  graph.output("y", sqrt(a * b + c));
  EXPECT_EQ(after(fuse_elementwise),
            "%3 = map{y=(x0:f32, x1:f32, x2:f32) sqrt(add(mul(x0, x1), x2))} %0, %1, %2 : f32 [2, 3]\n"
            "output \"y\" = %3\n");
}

TEST_F(PassTest, ExpensiveWorkIsNotRepeated) {
  const Tensor x = f32({4});
  const Tensor a = f32({4, 1});
  const Tensor b = f32({4, 1});
  const Tensor both = exp(x);
  const Tensor cheap = a + 1.0;
  const Tensor column = exp(b);
  graph.output("y", both + x);
  graph.output("z", (both - cheap) * column);
  EXPECT_EQ(after(fuse_elementwise),
            "%3 = map{y=(x0:f32) exp(x0)} %0 : f32 [4]\n"
            "%4 = map{y=(x0:f32) exp(x0)} %2 : f32 [4, 1]\n"
            "%5 = map{y=(x0:f32, x1:f32) add(x0, x1)} %3, %0 : f32 [4]\n"
            "%6 = map{y=(x0:f32, x1:f32, x2:f32) mul(sub(x0, add(x1, 1:f32)), x2)} %3, %1, %4 : f32 [4, 4]\n"
            "output \"y\" = %5\n"
            "output \"z\" = %6\n");
}

TEST_F(PassTest, ViewsMoveAboveElementwiseWork) {
  const Tensor a = f32({1, 6});
  const Tensor b = f32({4, 1});
  const Tensor shared = a + b;
  graph.output("y", exp(reshape(shared, {4, 1, 1, 6})));
  graph.output("z", sqrt(shared.T()));
  const Graph hoisted = hoist_views(graph, context);
  hoisted.verify();
  EXPECT_EQ(fuse_elementwise(hoisted, context).to_string(),
            "%0 = input{name=\"x0\"} : f32 [1, 6]\n"
            "%1 = input{name=\"x1\"} : f32 [4, 1]\n"
            "%2 = broadcast{shape=[4, 6]} %0 : f32 [4, 6]\n"
            "%3 = reshape{shape=[4, 1, 1, 6]} %2 : f32 [4, 1, 1, 6]\n"
            "%4 = broadcast{shape=[4, 6]} %1 : f32 [4, 6]\n"
            "%5 = reshape{shape=[4, 1, 1, 6]} %4 : f32 [4, 1, 1, 6]\n"
            "%6 = map{y=(x0:f32, x1:f32) exp(add(x0, x1))} %3, %5 : f32 [4, 1, 1, 6]\n"
            "%7 = broadcast{shape=[4, 6]} %0 : f32 [4, 6]\n"
            "%8 = permute{order=[1, 0]} %7 : f32 [6, 4]\n"
            "%9 = broadcast{shape=[4, 6]} %1 : f32 [4, 6]\n"
            "%10 = permute{order=[1, 0]} %9 : f32 [6, 4]\n"
            "%11 = map{y=(x0:f32, x1:f32) sqrt(add(x0, x1))} %8, %10 : f32 [6, 4]\n"
            "output \"y\" = %6\n"
            "output \"z\" = %11\n");
}

TEST_F(PassTest, ViewsStayWhereTheySaveWork) {
  const Tensor a = f32({4, 6});
  const Tensor e = exp(a);  // expensive, and used twice
  graph.output("y", sqrt(e.T()) + 1.0);
  graph.output("z", e);
  graph.output("grown", tanh(broadcast_to(exp(f32({6})), {4, 6})));
  graph.output("product", matmul(exp(f32({2, 3})).T(), f32({2, 4})));  // not read by elementwise work
  EXPECT_EQ(hoist_views(graph, context).to_string(), graph.to_string());
}

TEST_F(PassTest, FusionStaysWithinTheDevicesBuffers) {
  context.target.max_operands = 4;
  Tensor sum = f32({4});
  for (int i = 0; i < 6; ++i) sum = sum + f32({4});
  graph.output("y", sum);
  const Graph result = fuse_elementwise(graph, context);
  int maps = 0;
  for (const auto& node : result.impl().nodes()) {
    if (node->op().name() != "map") continue;
    ++maps;
    EXPECT_LE(node->inputs().size(), 3u) << to_string(*node);
  }
  EXPECT_EQ(maps, 3);  // seven operands, three for each kernel
}

TEST_F(PassTest, ElementwiseWorkGoesIntoTheProduct) {
  const Tensor x = f32({2, 5, 8});
  const Tensor w = f32({8, 4});
  const Tensor b = f32({4});
  const Tensor residual = f32({2, 5, 4});
  graph.output("y", gelu(matmul(x, w) + b) + residual);
  const Graph fused = fuse_elementwise(graph, context);
  const Graph result = fuse<FusionStage::product>(fused, context);
  EXPECT_THAT(
      result.to_string(),
      testing::HasSubstr("matmul{epilogue=(x0:f32, x1:f32, x2:f32) add(gelu_erf(add(x0, x1)), x2)} %0, %1, %2, %3 "
                         ": f32 [2, 5, 4]\noutput"));
  EXPECT_EQ(result.impl().nodes().back()->op().label(result.impl().nodes().back()->input_types()),
            "matmul+bias+gelu_erf+residual");
}

TEST_F(PassTest, AProductWithTwoUsesOrALargerResultKeepsToItself) {
  const Tensor a = f32({2, 3});
  const Tensor b = f32({3, 4});
  const Tensor p = matmul(a, b);
  graph.output("y", exp(p));
  graph.output("z", sqrt(p));
  const Tensor row = exp(matmul(f32({1, 3}), b));
  graph.output("w", row + f32({2, 4}));
  const std::string text = after(fuse<FusionStage::product>);
  EXPECT_EQ(text.find("epilogue=(x0:f32, x1"), std::string::npos) << text;
  EXPECT_THAT(text, testing::HasSubstr("matmul %0, %1 : f32 [2, 4]"));
  EXPECT_THAT(text, testing::HasSubstr("matmul{epilogue=(x0:f32) exp(x0)}"));
}

TEST_F(PassTest, ThePrecisionOfANarrowProductStays) {
  const Tensor x = graph.input("x", DType::f16, {2, 3});
  const Tensor w = graph.input("w", DType::f16, {3, 4});
  graph.output("y", cast(relu(matmul(x, w)), DType::f32));
  const Graph result = fuse<FusionStage::product>(fuse_elementwise(graph, context), context);
  EXPECT_THAT(result.to_string(),
              testing::HasSubstr("matmul{epilogue=(x0:f32) cast<f32>(relu(cast<f16>(x0)))} %0, %1"));
}

TEST_F(PassTest, AttentionWrittenOutIsRecognised) {
  const Tensor q = f32({2, 4, 5, 8});
  const Tensor k = f32({2, 4, 7, 8});
  const Tensor v = f32({2, 4, 7, 16});
  const Tensor mask = f32({2, 1, 1, 7});
  graph.output("y", matmul(softmax(matmul(q, k.T()) / 4.0 + mask), v));
  EXPECT_EQ(after(fuse_attention),
            "%4 = attention{scale=0.25, empty_is_nan=true} %0, %1, %2, %3 : f32 [2, 4, 5, 16]\n"
            "output \"y\" = %4\n");
}

TEST_F(PassTest, AttentionHasManyForms) {
  const float inf = std::numeric_limits<float>::infinity();
  int found = 0;
  const auto expect = [&](bool attention,
                          const std::function<Tensor(Graph&, const Tensor& q, const Tensor& k, const Tensor& v)>& build,
                          std::string_view what) {
    Graph g;
    const Tensor q = g.input("q", DType::f32, {3, 5, 8});
    const Tensor k = g.input("k", DType::f32, {3, 5, 8});
    const Tensor v = g.input("v", DType::f32, {3, 5, 5});
    g.output("y", build(g, q, k, v));
    const std::string text = fuse_attention(literals(g, context), context).to_string();
    EXPECT_EQ(text.find("attention") != std::string::npos, attention) << what << "\n" << text;
    ++found;
  };
  expect(
      true,
      [](Graph&, const Tensor& q, const Tensor& k, const Tensor& v) { return matmul(softmax(matmul(q, k.T())), v); },
      "plain, rank 3");
  expect(
      true,
      [](Graph& g, const Tensor& q, const Tensor& k, const Tensor& v) {
        return matmul(softmax(g.scalar(0.5, DType::f32) * matmul(q, k.T()) * 0.5), v);
      },
      "two scales");
  expect(
      true,
      [](Graph& g, const Tensor& q, const Tensor& k, const Tensor& v) {
        return matmul(softmax(g.input("m", DType::f32, {3, 1, 5}) + matmul(q, k.T()) * 0.5), v);
      },
      "mask first");
  expect(
      true,
      [&](Graph& g, const Tensor& q, const Tensor& k, const Tensor& v) {
        const Tensor m = g.input("m", DType::boolean, {5, 5});
        return matmul(softmax(select(m, matmul(q, k.T()), g.scalar(-inf, DType::f32))), v);
      },
      "boolean mask");
  expect(
      false,
      [](Graph& g, const Tensor& q, const Tensor& k, const Tensor& v) {
        return matmul(softmax((matmul(q, k.T()) + g.input("m", DType::f32, {3, 1, 5})) * 0.5), v);
      },
      "the mask is scaled");
  expect(
      false,
      [](Graph&, const Tensor& q, const Tensor& k, const Tensor& v) { return matmul(softmax(matmul(q, k.T()), 1), v); },
      "another axis");
  expect(
      false,
      [](Graph& g, const Tensor& q, const Tensor& k, const Tensor& v) {
        const Tensor s = softmax(matmul(q, k.T()));
        g.output("s", s);
        return matmul(s, v);
      },
      "the weights are wanted");
  expect(
      false,
      [](Graph&, const Tensor& q, const Tensor& k, const Tensor& v) {
        const Tensor s = matmul(q, k.T());
        return matmul(softmax(s), v) + s;
      },
      "the scores are wanted");
  expect(
      false,
      [](Graph&, const Tensor& q, const Tensor& k, const Tensor& v) {
        return matmul(softmax(exp(matmul(q, k.T()))), v);
      },
      "something in between");
  EXPECT_EQ(found, 9);
  // The kernel takes no f64.
  const Tensor x = graph.input("x", DType::f64, {3, 5, 8});
  graph.output("y", matmul(softmax(matmul(x, x.T())), x));
  EXPECT_EQ(after(fuse_attention).find("attention"), std::string::npos);
}

// Grouped queries, as frameworks write them: k and v are not copied for the attention.
TEST_F(PassTest, SharedHeadsOfKeysStayShared) {
  int found = 0;
  const auto expect =
      [&](std::string_view what, const Shape& q, const Shape& kv, const std::string& shapes,
          const std::function<Tensor(Graph&, const Tensor& q, const Tensor& k, const Tensor& v)>& build) {
        Graph g;
        const Tensor y =
            build(g, g.input("q", DType::f32, q), g.input("k", DType::f32, kv), g.input("v", DType::f32, kv));
        g.output("y", y);
        const Graph result = fuse_attention(literals(g, context), context);
        result.verify();
        std::string seen = "none";
        for (const auto& node : result.impl().nodes()) {
          const std::string_view name = node->op().name();
          EXPECT_FALSE(name == "repeat" || name == "matmul") << what << "\n" << result.to_string();
          if (name != "attention") continue;
          seen = node->op().to_string();
          for (const Tensor& v : node->inputs()) seen += " " + to_string(v.shape());
        }
        EXPECT_EQ(seen, shapes) << what << "\n" << result.to_string();
        ++found;
      };
  const auto plain = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    return matmul(softmax(matmul(q, k.T()) * 0.25), v);
  };
  const auto rows = [](const Tensor& v, std::int64_t count) {  // each head `count` times, as views
    Shape five = v.shape(), four = v.shape();
    five.insert(2, count);
    four[1] *= count;
    return reshape(broadcast_to(expand_dims(v, 2), five), four);
  };
  const std::string grouped = "attention{scale=0.25, empty_is_nan=true} [1, 8, 5, 16] [1, 2, 7, 16] [1, 2, 7, 16]";
  expect("a size of 1", {3, 8, 5, 16}, {3, 1, 7, 16},
         "attention{scale=0.25, empty_is_nan=true} [3, 8, 5, 16] [3, 1, 7, 16] [3, 1, 7, 16]",
         [&](Graph&, const Tensor& q, const Tensor& k, const Tensor& v) { return plain(q, k, v); });
  expect("broadcast from 1", {3, 8, 5, 16}, {3, 1, 7, 16},
         "attention{scale=0.25, empty_is_nan=true} [3, 8, 5, 16] [3, 1, 7, 16] [3, 1, 7, 16]",
         [&](Graph&, const Tensor& q, const Tensor& k, const Tensor& v) {
           return plain(q, repeat(k, 8, 1), repeat(v, 8, 1));
         });
  expect("repeat", {1, 8, 5, 16}, {1, 2, 7, 16}, grouped,
         [&](Graph&, const Tensor& q, const Tensor& k, const Tensor& v) {
           return plain(q, repeat(k, 4, 1), repeat(v, 4, 1));
         });
  expect("broadcast and reshape, with a mask", {1, 8, 5, 16}, {1, 2, 7, 16}, grouped + " [1, 8, 5, 7]",
         [&](Graph& g, const Tensor& q, const Tensor& k, const Tensor& v) {
           const Tensor m = g.input("m", DType::f32, {1, 8, 5, 7});
           return matmul(softmax(matmul(q, rows(k, 4).T()) * 0.25 + m), rows(v, 4));
         });
  expect("repeated where the heads are not yet in front", {1, 8, 5, 16}, {1, 7, 2, 16}, grouped,
         [&](Graph&, const Tensor& q, const Tensor& k, const Tensor& v) {
           return plain(q, permute(repeat(k, 4, 2), {0, 2, 1, 3}), permute(repeat(v, 4, 2), {0, 2, 1, 3}));
         });
  expect("rank 3", {8, 5, 16}, {2, 7, 16},
         "attention{scale=0.25, empty_is_nan=true} [2, 4, 5, 16] [2, 1, 7, 16] [2, 1, 7, 16]",
         [&](Graph&, const Tensor& q, const Tensor& k, const Tensor& v) {
           return plain(q, repeat(k, 4, 0), repeat(v, 4, 0));
         });
  expect("rank 5", {1, 8, 5, 16}, {1, 2, 7, 16}, grouped,
         [&](Graph&, const Tensor& q, const Tensor& k, const Tensor& v) {
           const Tensor y = plain(reshape(q, {1, 2, 4, 5, 16}), expand_dims(k, 2), expand_dims(v, 2));
           return reshape(y, {1, 8, 5, 16});
         });
  // Axes 0 and 1 are contiguous with each other here, 1 and 2 are not.
  expect("rank 5, all heads of their own", {3, 2, 5, 4, 16}, {3, 2, 5, 4, 16},
         "attention{scale=0.25, empty_is_nan=true} [6, 4, 5, 16] [6, 4, 5, 16] [6, 4, 5, 16]",
         [&](Graph&, const Tensor& q, const Tensor& k, const Tensor& v) {
           const auto heads = [](const Tensor& x) { return permute(x, {0, 1, 3, 2, 4}); };
           return plain(heads(q), heads(k), heads(v));
         });
  expect("one batch of keys for all", {3, 8, 5, 16}, {1, 8, 7, 16},
         "attention{scale=0.25, empty_is_nan=true} [3, 8, 5, 16] [3, 8, 7, 16] [3, 8, 7, 16]",
         [&](Graph&, const Tensor& q, const Tensor& k, const Tensor& v) { return plain(q, k, v); });
  expect("powers of two before the product", {1, 8, 5, 16}, {1, 2, 7, 16}, grouped,
         [&](Graph&, const Tensor& q, const Tensor& k, const Tensor& v) {
           return matmul(softmax(matmul(q / 2.0, repeat(k * 0.5, 4, 1).T())), repeat(v, 4, 1));
         });
  EXPECT_EQ(found, 10);

  // Not exact, or not in the order in which the kernel counts heads.
  for (const bool tiled : {false, true}) {
    Graph g;
    const Tensor q = g.input("q", DType::f32, {1, 8, 5, 16}), k = g.input("k", DType::f32, {1, 2, 7, 16});
    const std::int64_t counts[] = {1, 4, 1, 1};
    const Tensor many = tiled ? tile(k, counts) : repeat(k, 4, 1);
    g.output("y", plain(tiled ? q : q / 3.0, many, many));
    const std::string text = fuse_attention(literals(g, context), context).to_string();
    EXPECT_NE(text.find(tiled ? "tile" : "div"), std::string::npos) << text;
  }
}

// A mask of queries × keys from a predicate; `hidden` is what it adds to hidden scores.
TensorData mask_of(std::int64_t queries, std::int64_t keys, const std::function<bool(std::int64_t, std::int64_t)>& sees,
                   float hidden = -std::numeric_limits<float>::infinity()) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < queries; ++i) {
    for (std::int64_t j = 0; j < keys; ++j) values.push_back(sees(i, j) ? 0.0f : hidden);
  }
  return TensorData::of<float>(DType::f32, {queries, keys}, values);
}

TEST_F(PassTest, ConstantMasksThatAreWindowsBecomeWindows) {
  const auto expect = [&](std::string_view fields, std::int64_t queries, std::int64_t keys,
                          const std::function<Tensor(Graph&, const Tensor& scores)>& masked) {
    Graph g;
    const Tensor q = g.input("q", DType::f32, {2, 4, queries, 8}), k = g.input("k", DType::f32, {2, 4, keys, 8});
    const Tensor v = g.input("v", DType::f32, {2, 4, keys, 8});
    g.output("y", matmul(softmax(masked(g, matmul(q, k.T()) * 0.5)), v));
    const std::string text = fuse_attention(literals(g, context), context).to_string();
    const std::string wanted = std::format("attention{{scale=0.5{}, empty_is_nan=true}}", fields);
    EXPECT_NE(text.find(wanted), std::string::npos) << fields << "\n" << text;
  };
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  const auto causal = [](std::int64_t i, std::int64_t j) { return j <= i + 2; };  // 5 queries, 7 keys
  expect(", causal=true", 5, 7, [&](Graph& g, const Tensor& s) { return s + g.constant(mask_of(5, 7, causal)); });
  expect(", causal=true", 5, 7,
         [&](Graph& g, const Tensor& s) { return s + g.constant(mask_of(5, 7, causal, kLowest)); });
  // Before the scale, and behind views and casts.
  expect(", causal=true", 5, 7, [&](Graph& g, const Tensor& s) {
    const Tensor m = g.constant(mask_of(5, 7, causal));
    return (s * 2.0 + broadcast_to(reshape(m, {1, 1, 5, 7}), {2, 4, 5, 7})) * 0.5;
  });
  const auto truth = [](Graph& g, const TensorData& m) {
    return binary(ScalarOp::equal, g.constant(m), g.scalar(0, DType::f32));
  };
  for (const double below : {-std::numeric_limits<double>::infinity(), static_cast<double>(kLowest)}) {
    expect(", causal=true", 5, 7, [&](Graph& g, const Tensor& s) {
      return select(truth(g, mask_of(5, 7, causal)), s, g.scalar(below, DType::f32));
    });
  }
  expect(", causal=true, top_left=true", 5, 7, [&](Graph& g, const Tensor& s) {
    return s + g.constant(mask_of(5, 7, [](std::int64_t i, std::int64_t j) { return j <= i; }));
  });
  expect(", causal=true, window_left=2", 6, 6, [&](Graph& g, const Tensor& s) {
    return s + g.constant(mask_of(6, 6, [](std::int64_t i, std::int64_t j) { return j <= i && j >= i - 2; }));
  });
  expect(", window_left=1, window_right=2", 6, 6, [&](Graph& g, const Tensor& s) {
    return s + g.constant(mask_of(6, 6, [](std::int64_t i, std::int64_t j) { return j <= i + 2 && j >= i - 1; }));
  });
  expect("", 3, 4,
         [&](Graph& g, const Tensor& s) { return s + g.constant(mask_of(3, 4, [](auto, auto) { return true; })); });
  // With another mask, which remains.
  expect(", causal=true", 5, 7, [&](Graph& g, const Tensor& s) {
    return s + g.constant(mask_of(5, 7, causal)) + g.input("m", DType::f32, {2, 1, 1, 7});
  });
}

TEST_F(PassTest, OtherMasksStay) {
  const auto stays = [&](std::string_view what, const TensorData& mask) {
    Graph g;
    const Tensor q = g.input("q", DType::f32, {2, 4, 6, 8});
    const Tensor m = g.constant(mask);
    g.output("y", attention(q, q, q, m, {.scale = 0.5f}));
    const std::string text = fuse_attention(g, context).to_string();
    EXPECT_NE(text.find("attention{scale=0.5} %0, %0, %0, %1"), std::string::npos) << what << "\n" << text;
  };
  const auto causal = [](std::int64_t i, std::int64_t j) { return j <= i; };
  stays("a hole", mask_of(6, 6, [&](std::int64_t i, std::int64_t j) { return causal(i, j) && (i != 4 || j != 2); }));
  stays("one key more",
        mask_of(6, 6, [&](std::int64_t i, std::int64_t j) { return causal(i, j) || (i == 2 && j == 3); }));
  stays("strictly before", mask_of(6, 6, [](std::int64_t i, std::int64_t j) { return j < i; }));
  stays("too little", mask_of(6, 6, causal, -1e4f));
  TensorData slopes = mask_of(6, 6, causal);
  std::vector<float> values(36);
  std::memcpy(values.data(), slopes.bytes.data(), 36 * 4);
  values[6] = -0.5f;
  stays("a slope", TensorData::of<float>(DType::f32, {6, 6}, values));
  // A query that sees nothing: -inf hides all keys, a finite number gives their mean.
  const auto late = [](std::int64_t i, std::int64_t j) { return i < 3 && j <= i; };
  stays("queries without keys", mask_of(6, 6, late, std::numeric_limits<float>::lowest()));
  // A different mask for each of two batches.
  std::vector<float> two(72);
  for (std::size_t i = 0; i < 36; ++i) two[i] = i % 6 <= i / 6 ? 0 : -INFINITY;
  stays("one for each batch", TensorData::of<float>(DType::f32, {2, 1, 6, 6}, two));

  const Tensor x = f32({2, 4, 6, 8});
  graph.output("y", attention(x, x, x, graph.constant(mask_of(6, 6, causal)), {.scale = 0.5f}));
  EXPECT_EQ(after(fuse_attention),
            "%1 = attention{scale=0.5, causal=true} %0, %0, %0 : f32 [2, 4, 6, 8]\n"
            "output \"y\" = %1\n");
}

TEST_F(PassTest, ProductsOfOneOperandAreMerged) {
  const Tensor x = f32({2, 5, 8});
  std::vector<Tensor> parts;
  for (int i = 0; i < 3; ++i) {
    const Tensor w = graph.constant(floats({4 + i, 8}, static_cast<float>(i)));
    const Tensor b = graph.constant(floats({4 + i}, static_cast<float>(i)));
    parts.push_back(matmul(x, w.T()) + b);
  }
  graph.output("y", concat(parts, 2));
  graph.output("other", matmul(x, f32({8, 4})));
  const Graph merged = merge_products(fuse<FusionStage::product>(graph, context), context);
  const Graph folded = fold_constants(merged, context);
  folded.verify();
  EXPECT_EQ(folded.to_string(),
            "%0 = input{name=\"x0\"} : f32 [2, 5, 8]\n"
            "%1 = input{name=\"x1\"} : f32 [8, 4]\n"
            "%2 = constant : f32 [15, 8]\n"
            "%3 = permute{order=[1, 0]} %2 : f32 [8, 15]\n"
            "%4 = constant : f32 [15]\n"
            "%5 = matmul{epilogue=(x0:f32, x1:f32) add(x0, x1)} %0, %3, %4 : f32 [2, 5, 15]\n"
            "%6 = slice{axis=2, begin=0, end=4} %5 : f32 [2, 5, 4]\n"
            "%7 = slice{axis=2, begin=4, end=9} %5 : f32 [2, 5, 5]\n"
            "%8 = slice{axis=2, begin=9, end=15} %5 : f32 [2, 5, 6]\n"
            "%9 = concat{axis=2} %6, %7, %8 : f32 [2, 5, 15]\n"
            "%10 = matmul %0, %1 : f32 [2, 5, 4]\n"
            "output \"y\" = %9\n"
            "output \"other\" = %10\n");
}

TEST_F(PassTest, ViewsBecomeStrides) {
  const Tensor x = f32({2, 6});
  const Tensor y = reshape(x, {2, 3, 2});
  graph.output("y", exp(slice(permute(y, {2, 0, 1}), 0, 1, 2)));
  EXPECT_EQ(after(resolve_views),
            "%1 = strided{offset=1, shape=[1, 2, 3], strides=[1, 6, 2]} %0 : f32 [1, 2, 3]\n"
            "%2 = map{y=(x0:f32) exp(x0)} %1 : f32 [1, 2, 3]\n"
            "output \"y\" = %2\n");
}

TEST_F(PassTest, AReshapeThatStridesCannotSayIsACopy) {
  const Tensor x = f32({2, 6});
  graph.output("y", exp(reshape(x.T(), {3, 4})));
  EXPECT_EQ(after(resolve_views),
            "%1 = strided{offset=0, shape=[6, 2], strides=[1, 6]} %0 : f32 [6, 2]\n"
            "%2 = map{y=(x0:f32) x0} %1 : f32 [6, 2]\n"
            "%3 = strided{offset=0, shape=[3, 4], strides=[4, 1]} %2 : f32 [3, 4]\n"
            "%4 = map{y=(x0:f32) exp(x0)} %3 : f32 [3, 4]\n"
            "output \"y\" = %4\n");
}

TEST_F(PassTest, AKernelStoresWhatAReshapeNeeds) {
  const Tensor x = f32({2, 4, 5, 8});
  const Tensor y = softmax(x);
  const Tensor merged = reshape(permute(y, {0, 2, 1, 3}), {2, 5, 32});
  graph.output("y", exp(merged));
  graph.output("z", reduce(ReduceKind::sum, y, {3}));
  EXPECT_EQ(after(resolve_views),
            "%1 = softmax{axis=3} %0 : f32 [2, 4, 5, 8] stored=[0, 2, 1, 3]\n"
            "%2 = strided{offset=0, shape=[2, 5, 32], strides=[160, 32, 1]} %1 : f32 [2, 5, 32]\n"
            "%3 = map{y=(x0:f32) exp(x0)} %2 : f32 [2, 5, 32]\n"
            "%4 = strided{offset=0, shape=[2, 4, 5, 8], strides=[160, 8, 32, 1]} %1 : f32 [2, 4, 5, 8]\n"
            "%5 = reduce_sum{axes=[3]} %4 : f32 [2, 4, 5]\n"
            "output \"y\" = %3\n"
            "output \"z\" = %5\n");
}

TEST_F(PassTest, EachOutputIsOneKernelsWholeResult) {
  const Tensor x = f32({2, 3});
  const Tensor y = exp(x);
  graph.output("reshaped", reshape(y, {6}));
  graph.output("again", y);
  graph.output("transposed", softmax(x).T());
  graph.output("part", slice(exp(x), 0, 0, 1));
  graph.output("input", x);
  graph.output("constant", graph.constant(floats({2})));
  EXPECT_EQ(after(resolve_views),
            "%1 = constant : f32 [2]\n"
            "%2 = map{y=(x0:f32) exp(x0)} %0 : f32 [2, 3]\n"
            "%3 = softmax{axis=1} %0 : f32 [2, 3] stored=[1, 0]\n"
            "%4 = map{y=(x0:f32) exp(x0)} %0 : f32 [2, 3]\n"
            "%5 = strided{offset=0, shape=[6], strides=[1]} %2 : f32 [6]\n"
            "%6 = map{y=(x0:f32) x0} %2 : f32 [2, 3]\n"
            "%7 = strided{offset=0, shape=[3, 2], strides=[2, 1]} %3 : f32 [3, 2]\n"
            "%8 = strided{offset=0, shape=[1, 3], strides=[3, 1]} %4 : f32 [1, 3]\n"
            "%9 = map{y=(x0:f32) x0} %8 : f32 [1, 3]\n"
            "%10 = map{y=(x0:f32) x0} %0 : f32 [2, 3]\n"
            "%11 = map{y=(x0:f32) x0} %1 : f32 [2]\n"
            "output \"reshaped\" = %5\n"
            "output \"again\" = %6\n"
            "output \"transposed\" = %7\n"
            "output \"part\" = %9\n"
            "output \"input\" = %10\n"
            "output \"constant\" = %11\n");
}

}  // namespace
}  // namespace weft::compiler
