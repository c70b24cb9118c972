#include "graph/graph.h"
#include "support/throws.h"

#include "weft/compile.h"
#include "weft/error.h"

namespace weft {
namespace {

using testing::HasSubstr;

TensorData floats(const Shape& shape, float first = 0) {
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<float>(i);
  return TensorData::of<float>(DType::f32, shape, values);
}

struct GraphTest : testing::Test {
  Tensor f32(const Shape& shape) { return input(DType::f32, shape); }
  Tensor input(DType dtype, const Shape& shape) { return graph.input(std::format("x{}", next++), dtype, shape); }
  Graph graph;
  int next = 0;
};

TEST_F(GraphTest, InfersElementwise) {
  EXPECT_EQ((f32({2, 1}) + f32({3})).type(), (TensorType{DType::f32, {2, 3}}));
  EXPECT_EQ(binary(ScalarOp::less, f32({2}), f32({})).type(), (TensorType{DType::boolean, {2}}));
  EXPECT_EQ(select(input(DType::boolean, {4, 1}), f32({5}), f32({})).type(), (TensorType{DType::f32, {4, 5}}));
  EXPECT_EQ(cast(f32({2}), DType::i64).type(), (TensorType{DType::i64, {2}}));
  EXPECT_EQ((1.0 - f32({0, 3})).type(), (TensorType{DType::f32, {0, 3}}));
  const Tensor x = f32({2});
  EXPECT_TRUE(same(cast(x, DType::f32), x));
  EXPECT_EQ(test::refused_by([&] { f32({2, 3}) + f32({4}); }),
            "add: shapes [2, 3] and [4] do not broadcast: sizes 3 and 4 meet 1 from the end");
  // Operands are converted to the type that they have in common, and integers to floats where a function needs them.
  EXPECT_EQ((f32({2}) * input(DType::f16, {2})).type(), (TensorType{DType::f32, {2}}));
  EXPECT_EQ(unary(ScalarOp::log, input(DType::i32, {2})).type(), (TensorType{DType::f32, {2}}));
  EXPECT_EQ(test::refused_by([&] { input(DType::u64, {2}) * input(DType::i8, {2}); }),
            "mul: u64 and i8 have no type in common: cast one of them");
  EXPECT_THAT(test::refused_by([&] { unary(ScalarOp::cbrt, input(DType::c64, {2})); }),
              HasSubstr("cbrt takes float, got c64"));
  EXPECT_THAT(test::refused_by([&] { select(f32({2}), f32({2}), f32({2})); }),
              HasSubstr("select: the condition is f32 [2], expected bool"));
  EXPECT_THAT(test::refused_by([&] { f32({2}) + Tensor(); }), HasSubstr("undefined Tensor"));
}

TEST_F(GraphTest, InfersViews) {
  const Tensor x = f32({2, 3, 4});
  EXPECT_EQ(reshape(x, {6, -1}).shape(), (Shape{6, 4}));
  EXPECT_TRUE(same(reshape(x, {2, 3, 4}), x));
  EXPECT_EQ(permute(x, {2, 0, -2}).shape(), (Shape{4, 2, 3}));
  EXPECT_TRUE(same(permute(x, {0, 1, 2}), x));
  EXPECT_EQ(x.T().shape(), (Shape{2, 4, 3}));
  EXPECT_EQ(broadcast_to(f32({3, 1}), {2, 3, 4}).shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(slice(x, 1, 1, 3).shape(), (Shape{2, 2, 4}));
  EXPECT_EQ(slice(x, -1, 3, -1, -2).shape(), (Shape{2, 3, 2}));
  EXPECT_EQ(slice(x, 0, 1, 1).shape(), (Shape{0, 3, 4}));
  EXPECT_EQ(expand_dims(x, -1).shape(), (Shape{2, 3, 4, 1}));
  EXPECT_EQ(squeeze(f32({2, 1, 3}), 1).shape(), (Shape{2, 3}));
  EXPECT_EQ(test::refused_by([&] { reshape(x, {5, 5}); }), "reshape: [2, 3, 4] has 24 elements, [5, 5] has 25");
  EXPECT_THAT(test::refused_by([&] { reshape(x, {5, -1}); }), HasSubstr("no size in the place of -1 makes [5, -1]"));
  EXPECT_THAT(test::refused_by([&] { reshape(x, {-1, -1}); }), HasSubstr("more than one size of -1"));
  EXPECT_THAT(test::refused_by([&] { permute(x, {0, 1, 1}); }), HasSubstr("axis 1 is named twice"));
  EXPECT_THAT(test::refused_by([&] { f32({2}).T(); }), HasSubstr("no two axes"));
  EXPECT_THAT(test::refused_by([&] { broadcast_to(x, {2, 3, 5}); }), HasSubstr("broadcast_to: shapes"));
  EXPECT_THAT(test::refused_by([&] { broadcast_to(x, {3, 4}); }), HasSubstr("does not broadcast to [3, 4]"));
  EXPECT_EQ(test::refused_by([&] { slice(x, 1, 1, 4); }), "slice: from 1 to 4 by 1 leaves axis 1 of [2, 3, 4]");
  EXPECT_THAT(test::refused_by([&] { slice(x, 1, 0, 2, 0); }), HasSubstr("slice:"));
  EXPECT_THAT(test::refused_by([&] { slice(x, 3, 0, 1); }), HasSubstr("slice: axis 3 is outside"));
  EXPECT_THAT(test::refused_by([&] { squeeze(x, 0); }), HasSubstr("has size 2, not 1"));
}

TEST_F(GraphTest, InfersTheRest) {
  const Tensor x = f32({2, 3, 4});
  EXPECT_EQ(gather(x, input(DType::i64, {5, 6}), 1).shape(), (Shape{2, 5, 6, 4}));
  EXPECT_EQ(gather(x, input(DType::i32, {}), -1).shape(), (Shape{2, 3}));
  EXPECT_THAT(test::refused_by([&] { gather(x, f32({5})); }),
              HasSubstr("gather: indices are f32 [5]; expected integers"));
  EXPECT_THAT(test::refused_by([&] { gather(f32({0, 2}), input(DType::i32, {1})); }),
              HasSubstr("nothing to pick from"));

  const std::vector<Tensor> parts{x, f32({2, 5, 4})};
  EXPECT_EQ(concat(parts, 1).shape(), (Shape{2, 8, 4}));
  EXPECT_EQ(test::refused_by([&] { concat(parts, 0); }),
            "concat: f32 [2, 5, 4] does not continue f32 [2, 3, 4] along axis 0");

  EXPECT_EQ(reduce(ReduceKind::sum, x, {-1, 0}).shape(), (Shape{3}));
  EXPECT_EQ(reduce(ReduceKind::max, x, {1}, true).shape(), (Shape{2, 1, 4}));
  EXPECT_THAT(test::refused_by([&] { reduce(ReduceKind::mean, input(DType::i32, {2}), {0}); }),
              HasSubstr("reduce_mean: x is i32 [2]; expected floats"));
  EXPECT_EQ(reduce(ReduceKind::any, x, {0}).type(), (TensorType{DType::boolean, {3, 4}}));
  EXPECT_THAT(test::refused_by([&] { reduce(ReduceKind::sum, x, {0, -3}); }),
              HasSubstr("reduce_sum: an axis is named twice"));

  EXPECT_EQ(softmax(x).type(), x.type());
  EXPECT_THAT(test::refused_by([&] { softmax(x, 3); }), HasSubstr("softmax: axis 3"));
  EXPECT_THAT(test::refused_by([&] { softmax(input(DType::i8, {3})); }), HasSubstr("softmax: x is i8 [3]"));
  EXPECT_EQ(layer_norm(x, f32({4}), f32({4}), 1e-5).type(), x.type());
  EXPECT_EQ(layer_norm(x, {}, f32({3, 4}), 1e-5).type(), x.type());
  EXPECT_EQ(test::refused_by([&] { layer_norm(x, f32({4}), f32({3}), 1e-5); }),
            "layer_norm: bias is f32 [3], expected the shape [4] for x f32 [2, 3, 4]");
}

TEST_F(GraphTest, InfersProducts) {
  EXPECT_EQ(matmul(f32({5, 1, 2, 3}), f32({6, 3, 4})).shape(), (Shape{5, 6, 2, 4}));
  EXPECT_EQ(test::refused_by([&] { matmul(f32({2, 3}), f32({4, 5})); }),
            "matmul: a [2, 3] and b [4, 5]: inner sizes 3 and 4 differ");
  EXPECT_EQ(matmul(f32({3}), f32({7, 3, 5})).shape(), (Shape{7, 5}));
  EXPECT_EQ(matmul(f32({2, 3}), f32({3})).shape(), (Shape{2}));
  EXPECT_EQ(matmul(f32({3}), f32({3})).shape(), (Shape{}));
  EXPECT_EQ(test::refused_by([&] { matmul(f32({}), f32({3, 5})); }),
            "matmul: a is f32 [] and b is f32 [3, 5]; expected an axis at least");
  EXPECT_THAT(test::refused_by([&] { matmul(f32({2, 3, 4}), f32({5, 4, 6})); }),
              HasSubstr("leading dimensions: shapes [2] and [5]"));
  EXPECT_EQ(matmul(f32({2, 3}), input(DType::i32, {3, 2})).type(), (TensorType{DType::f32, {2, 2}}));

  const Tensor q = f32({2, 8, 5, 16});
  const Tensor k = f32({2, 4, 7, 16});
  const Tensor v = f32({2, 4, 7, 32});
  EXPECT_EQ(attention(q, k, v, f32({2, 1, 1, 7}), {}).shape(), (Shape{2, 8, 5, 32}));
  const Tensor lengths = graph.input("lengths", DType::i32, {2});
  EXPECT_EQ(attention(q, k, v, {}, {.window_left = 3}, lengths, lengths).shape(), (Shape{2, 8, 5, 32}));
  EXPECT_THAT(attention(q, k, v, {}, {.window_left = 3, .top_left = true}, {}, lengths).node()->op().to_string(),
              HasSubstr("window_left=3, top_left=true, key_lengths=true"));
  EXPECT_THAT(test::refused_by([&] { attention(q, k, v, {}, {}, f32({2})); }),
              HasSubstr("query_lengths are f32 [2]; expected i32 u32"));
  EXPECT_THAT(test::refused_by([&] { attention(k, q, v, {}, {}); }),
              HasSubstr("k and v have different numbers of heads"));
  EXPECT_THAT(test::refused_by([&] { attention(q, k, v, f32({3, 1, 1, 7}), {}); }),
              HasSubstr("mask [3, 1, 1, 7] does not broadcast"));
}

TEST_F(GraphTest, TellsItsPorts) {
  const Tensor x = f32({2, 3}), rate = graph.number("rate", DType::f16);
  graph.output("y", x * rate);
  graph.output("x", x);
  ASSERT_EQ(graph.inputs().size(), 1u);
  EXPECT_EQ(graph.inputs()[0].name, "x0");
  EXPECT_EQ(graph.inputs()[0].type, (TensorType{DType::f32, {2, 3}}));
  ASSERT_EQ(graph.numbers().size(), 1u);
  EXPECT_EQ(graph.numbers()[0].type, (TensorType{DType::f16, {}}));
  ASSERT_EQ(graph.outputs().size(), 2u);
  EXPECT_EQ(graph.outputs()[0].name, "y");
  EXPECT_EQ(graph.outputs()[1].type, x.type());
  EXPECT_TRUE(Graph().outputs().empty());
}

TEST_F(GraphTest, Prints) {
  const Tensor x = graph.input("x", DType::f32, {2, 3});
  const Tensor w = graph.constant(floats({4, 3}), "w");
  const Tensor product = matmul(x, w.T());
  const Tensor y = gelu(product + graph.scalar(0.5, DType::f32));
  graph.output("y", softmax(y));
  EXPECT_EQ(graph.to_string(),
            "%0 = input{name=\"x\"} : f32 [2, 3]\n"
            "%1 = constant : f32 [4, 3]\n"
            "%2 = permute{order=[1, 0]} %1 : f32 [3, 4]\n"
            "%3 = matmul %0, %2 : f32 [2, 4]\n"
            "%4 = constant{value=0.5} : f32 []\n"
            "%5 = map{y=(x0:f32, x1:f32) add(x0, x1)} %3, %4 : f32 [2, 4]\n"
            "%6 = map{y=(x0:f32) gelu_erf(x0)} %5 : f32 [2, 4]\n"
            "%7 = softmax{axis=1} %6 : f32 [2, 4]\n"
            "output \"y\" = %7\n");
  graph.verify();
  const std::string dot = graph.to_dot();
  EXPECT_THAT(dot, HasSubstr("n1 [label=\"matmul\\lf32 [2, 4]\\l· w f32 [4, 3]\\l\""));
  EXPECT_THAT(dot, HasSubstr("n0 [label=\"input x\\lf32 [2, 3]\\l\""));
  EXPECT_THAT(dot, HasSubstr("n0 -> n1"));
}

TEST_F(GraphTest, NamesAreUniqueAndInputsAreOneGraphs) {
  const Tensor x = graph.input("x", DType::f32, {2});
  graph.output("y", x);
  EXPECT_THAT(test::refused_by([&] { graph.input("x", DType::f32, {2}); }), HasSubstr("an input \"x\" already"));
  EXPECT_THAT(test::refused_by([&] { graph.output("y", x); }), HasSubstr("an output \"y\" already"));
  Graph other;
  const Tensor z = other.input("z", DType::f32, {2});
  Graph mixed = graph;
  mixed.output("z", x + z);
  EXPECT_THAT(test::refused_by([&] { (void)mixed.to_string(); }),
              HasSubstr("output \"z\" needs input \"z\", which is another graph's; a graph computes of its own"));
  EXPECT_THAT(test::refused_by([&] { compile(mixed, Device::cpu()); }), HasSubstr("another graph's"));
  Graph first("first"), second("second");
  const Tensor a = first.input("a", DType::f32, {2}), n = second.number("n");
  first.output("fine", a);
  first.output("sum", exp(a) + n);
  EXPECT_EQ(test::refused_by([&] { first.verify(); }),
            "graph: output \"sum\" of graph \"first\" needs number \"n\" of graph \"second\"; a graph computes of its "
            "own inputs alone");
  second.output("a", a);
  EXPECT_THAT(test::refused_by([&] { compile(second, Device::cpu()); }),
              HasSubstr("output \"a\" of graph \"second\" needs input \"a\" of graph \"first\""));
  EXPECT_THAT(test::refused_by([&] { graph.output("z", {}); }), HasSubstr("undefined Tensor"));
  EXPECT_THAT(test::refused_by([&] { graph.input("big", DType::f32, {1 << 30, 1 << 30, 1 << 30}); }),
              HasSubstr("2^63"));
  EXPECT_THAT(test::refused_by([&] { graph.constant({DType::f32, {3}, {}, nullptr}); }),
              HasSubstr("takes 12 bytes, 0 given"));
}

TEST(GraphHash, DependsOnStructureAndNotOnNamesOfConstants) {
  const TensorData weights = floats({4, 4, 4});
  const auto make = [&](double epsilon, ScalarOp op, const TensorData& w, DType dtype = DType::f32,
                        const char* output = "y") {
    Graph g;
    const Tensor x = g.input("x", dtype, {4, 4, 4});
    Tensor y = unary(op, layer_norm(x, {}, {}, epsilon));
    if (dtype == DType::f32) y = y * g.constant(w, "w") + g.scalar(1, DType::f32);
    g.output(output, y);
    return g.hash();
  };
  const std::uint64_t h = make(1e-5, ScalarOp::exp, weights);
  EXPECT_EQ(h, make(1e-5, ScalarOp::exp, weights));
  EXPECT_NE(h, make(1e-6, ScalarOp::exp, weights));
  EXPECT_NE(h, make(1e-5, ScalarOp::log, weights));
  EXPECT_NE(h, make(1e-5, ScalarOp::exp, floats({4, 4, 4})));  // equal bytes at another address: not identical
  EXPECT_NE(h, make(1e-5, ScalarOp::exp, weights, DType::f16));
  EXPECT_NE(h, make(1e-5, ScalarOp::exp, weights, DType::f32, "z"));
}

TEST(GraphHash, OperandOrderMatters) {
  const auto make = [](bool swap) {
    Graph g;
    const Tensor a = g.input("a", DType::f32, {4});
    const Tensor b = g.input("b", DType::f32, {4});
    g.output("y", swap ? b - a : a - b);
    return g.hash();
  };
  EXPECT_NE(make(false), make(true));
}

TEST(GraphHash, EqualGraphsAreEqual) {
  // Two nodes made in either order; y of `shared` reads one of them twice.
  const auto make = [](bool first, bool shared, std::string_view name = "y", double factor = 2) {
    Graph g;
    const Tensor x = g.input("x", DType::f32, {4});
    Tensor a, b;
    if (first) a = exp(x) * factor;
    b = exp(x) * factor;
    if (!first) a = exp(x) * factor;
    g.output(std::string(name), shared ? a - a : a - b);
    return g;
  };
  const Graph one = make(true, false);
  EXPECT_TRUE(one.equals(make(true, false)));
  EXPECT_TRUE(one.equals(make(false, false)));
  EXPECT_EQ(one.hash(), make(false, false).hash());
  EXPECT_FALSE(one.equals(make(true, true)));
  EXPECT_FALSE(make(true, true).equals(one));
  EXPECT_FALSE(one.equals(make(true, false, "z")));
  EXPECT_FALSE(one.equals(make(true, false, "y", 3)));
  Graph more = one;
  EXPECT_TRUE(more.equals(one));
  more.output("again", more.impl().outputs[0].value);
  EXPECT_FALSE(more.equals(one));
  EXPECT_EQ(one.impl().outputs.size(), 1u);
}

TEST(GraphHash, WhichInputIsWhichMatters) {
  const auto make = [](bool twice) {
    Graph g;
    const Tensor a = g.input("a", DType::f32, {4}), b = g.input("b", DType::f32, {4});
    g.output("y", matmul(reshape(a, {1, 4}), reshape(twice ? a : b, {4, 1})));
    return g;
  };
  EXPECT_FALSE(make(true).equals(make(false)));
  EXPECT_NE(make(true).hash(), make(false).hash());
}

// No walk over nodes recurses: this would overflow the stack.
TEST(GraphNodes, AMillionInARow) {
  Graph g;
  Tensor y = g.input("x", DType::f32, {2});
  for (int i = 0; i < 500'000; ++i) y = reshape(y + 1.0, i % 2 ? Shape{2} : Shape{1, 2});
  g.output("y", y);
  EXPECT_EQ(g.impl().nodes().size(), 1'500'001u) << "sums, views and the numbers that are added";
  EXPECT_TRUE(g.equals(Graph(g)));
  EXPECT_NE(g.hash(), 0u);
}

TEST(GraphNodes, AreSharedByGraphs) {
  Graph a, b;
  const Tensor w = exp(Graph::constant(TensorData::of<float>(DType::f32, {2}, std::vector<float>{0, 1})));
  a.output("y", a.input("x", DType::f32, {2}) + w);
  b.output("y", b.input("x", DType::f32, {2}) * w);
  a = Graph();
  b.verify();
  EXPECT_THAT(b.to_string(), HasSubstr("exp"));
}

TEST(GraphMoves, ValuesStayGood) {
  Graph a;
  const Tensor x = a.input("x", DType::f32, {2});
  Graph b = std::move(a);
  b.output("y", x + x);
  Graph c;
  c = std::move(b);
  EXPECT_EQ(c.to_string(),
            "%0 = input{name=\"x\"} : f32 [2]\n%1 = map{y=(x0:f32, x1:f32) add(x0, x1)} %0, %0 : f32 [2]\noutput \"y\" "
            "= %1\n");
  c.verify();
}

TEST(GraphMoves, WhatWasMovedFromIsRefused) {
  Graph a;
  const Tensor x = a.input("x", DType::f32, {2});
  Graph b = std::move(a);
  const std::pair<const char*, std::function<void()>> uses[] = {{"input", [&] { a.input("z", DType::f32, {2}); }},
                                                                {"hash", [&] { (void)a.hash(); }},
                                                                {"output", [&] { a.output("y", x); }},
                                                                {"to_string", [&] { (void)a.to_string(); }},
                                                                {"to_dot", [&] { (void)a.to_dot(); }},
                                                                {"verify", [&] { a.verify(); }},
                                                                {"compile", [&] { compile(a, Device::cpu()); }}};
  for (const auto& [what, use] : uses) EXPECT_THAT(test::refused_by(use), HasSubstr("it was moved from")) << what;
  a = Graph();
  a.output("y", a.input("x", DType::f32, {2}));
  a.verify();
}

// An op whose inferred types change, so that verify() must notice it.
class FickleOp final : public Op {
 public:
  explicit FickleOp(std::shared_ptr<Shape> shape) : shape_(std::move(shape)) {}
  std::string_view name() const override { return "fickle"; }
  std::vector<TensorType> infer(std::span<const TensorType>) const override { return {{DType::f32, *shape_}}; }

 private:
  std::shared_ptr<Shape> shape_;
};

TEST(GraphVerify, NoticesWrongTypes) {
  auto shape = std::make_shared<Shape>(Shape{2});
  Graph g;
  g.output("y", apply(make_op<FickleOp>(shape), {g.input("x", DType::f32, {2})}));
  g.verify();
  *shape = Shape{3};
  try {
    g.verify();
    FAIL() << "verify passed";
  } catch (const InternalError& e) {
    EXPECT_THAT(e.what(), HasSubstr("the recorded types are not the op's"));
  }
}

}  // namespace
}  // namespace weft
