// What a graph makes of tensors that have data, or need some.
#include <gtest/gtest.h>

#include "core/visits.h"
#include "graph/graph.h"
#include "weft/array.h"
#include "weft/device.h"
#include "weft/evaluate.h"
#include "weft/label.h"

namespace weft::test {
namespace {

Tensor data() {
  Tensor t(Device::cpu(), DType::f32, {4});
  const float values[] = {1, 2, 3, 4};
  t.write(std::as_bytes(std::span(values)));
  return t;
}
const Tensor& output(const Graph& g, std::size_t i) { return g.impl().outputs[i].value; }

TEST(Capture, MakesLeavesOfNodesWithData) {
  const Tensor a = data() * 2.0, b = -data();
  Tensor sum = a + exp(b), rest = tanh(b);
  sum.set_label("sum");
  eval(a);
  Graph g;
  {
    const LabelScope scope("elsewhere");
    g.output("sum", sum);
  }
  g.output("rest", rest);
  g.output("data", a);
  // What needs `a` is made again, on its data; everything else is shared.
  const Node& made = *output(g, 0).node();
  EXPECT_NE(&made, sum.node());
  EXPECT_EQ(made.line().number, sum.node()->line().number);
  EXPECT_EQ(output(g, 0).label(), "sum");
  EXPECT_NE(made.inputs()[0].node()->op().data_op(), nullptr);
  EXPECT_TRUE(same(made.inputs()[1], sum.node()->inputs()[1]));
  EXPECT_TRUE(same(output(g, 1), rest));
  EXPECT_TRUE(same(output(g, 2), made.inputs()[0]));
  EXPECT_EQ(g.impl().captured().size(), 2u);
  g.verify();
}

// A node that had no data when the graph took it in keeps its operands, whatever it is evaluated to later.
TEST(Capture, KeepsOperandsOfWhatIsEvaluatedLater) {
  const Tensor a = data() * 2.0, b = exp(a);
  Graph g;
  g.output("b", b);
  eval(a);
  EXPECT_TRUE(a.node()->has_data());
  EXPECT_FALSE(a.node()->inputs().empty());
  EXPECT_TRUE(same(output(g, 0), b));
  g.verify();
  const Graph copy = g;
  g = Graph();
  EXPECT_FALSE(a.node()->inputs().empty());
  copy.verify();
}

// Each output looks at what is new alone, with data beneath or without.
TEST(Capture, OfManyOutputsIsLinear) {
  for (const bool evaluated : {false, true}) {
    Tensor y = data() + 1.0;
    if (evaluated) eval(y);
    std::vector<Tensor> all;
    for (int i = 0; i < 5000; ++i) {
      y = y * y;
      all.push_back(y);
    }
    Graph g;
    const std::uint64_t before = visits();
    for (const Tensor& v : all) g.output(std::to_string(g.impl().outputs.size()), v);
    EXPECT_LT(visits() - before, 20'000u);
    EXPECT_EQ(same(output(g, 4999), y), !evaluated);
  }
}

// A copy of a graph, and the graph itself, go on taking tensors in.
TEST(Capture, GoesOnInCopies) {
  const Tensor a = data() * 2.0, b = a + 1.0, c = b * b, d = c - a;
  eval(a);
  Graph g;
  g.output("b", b);
  Graph copy = g;
  copy.output("c", c);
  g.output("c", c);
  g.output("d", d);
  copy.output("d", d);
  g.verify();
  copy.verify();
  EXPECT_EQ(g.impl().captured().size(), 1u);
  // `b` stands for itself in neither, and is made once for the graph that goes on.
  EXPECT_TRUE(same(output(g, 1).node()->inputs()[0], output(g, 0)));
  EXPECT_FALSE(same(output(copy, 1), c));
  EXPECT_TRUE(same(output(copy, 2).node()->inputs()[0], output(copy, 1)));
}

}  // namespace
}  // namespace weft::test
