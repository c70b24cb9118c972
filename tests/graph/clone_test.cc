// Operations and parts of graphs made again on other operands.
#include "graph/clone.h"

#include <gtest/gtest.h>

#include "compiler/bound.h"
#include "core/visits.h"
#include "graph/walk.h"
#include "support/random_graph.h"
#include "weft/array.h"
#include "weft/compile.h"
#include "weft/error.h"
#include "weft/label.h"

namespace weft::test {
namespace {

std::vector<std::byte> bytes_of(const Tensor& x) {
  std::vector<std::byte> bytes(byte_size(x.type()));
  x.read_bytes(bytes);
  return bytes;
}

struct CloneTest : testing::Test {
  Graph from{"from"}, to{"to"};
  const Tensor x = from.input("x", DType::f32, {2, 3}), z = to.input("z", DType::f32, {2, 3});
};

TEST_F(CloneTest, HasTheOpTheLabelAndTheLine) {
  Tensor y = softmax(x, 1);
  y.set_label("weights");
  const Tensor again = clone(*y.node(), {z});
  EXPECT_NE(again.node(), y.node());
  EXPECT_EQ(again.node()->shared_op(), y.node()->shared_op());
  EXPECT_TRUE(same(again.node()->inputs()[0], z));
  EXPECT_EQ(again.type(), y.type());
  EXPECT_EQ(again.label(), "weights");
  EXPECT_STREQ(again.node()->line().file, y.node()->line().file);
  EXPECT_NE(y.node()->line().number, 0u);
  EXPECT_EQ(again.node()->line().number, y.node()->line().number);
}

// It has what the node has, and nothing of the place in the program where it is cloned.
TEST_F(CloneTest, HasNoLabelIfTheNodeHasNone) {
  const Tensor y = exp(x);
  const LabelScope scope("elsewhere");
  EXPECT_EQ(clone(*y.node(), {z}).label(), "");
  EXPECT_EQ(exp(z).label(), "elsewhere");
}

TEST_F(CloneTest, MayHaveAnotherOpInItsPlace) {
  Tensor y = exp(x);
  y.set_label("activation");
  const Tensor again = clone(*y.node(), tanh(x).node()->shared_op(), {z});
  EXPECT_EQ(again.label(), "activation");
  EXPECT_EQ(again.node()->op().identity(), tanh(z).node()->op().identity());
}

TEST_F(CloneTest, InfersTypesOfItsOwn) {
  const Tensor y = exp(x), wide = to.input("wide", DType::f32, {5, 7});
  EXPECT_EQ(clone(*y.node(), {wide}).shape(), (Shape{5, 7}));
  EXPECT_THROW(clone(*matmul(x, x.T()).node(), {z, z}), InvalidArgument);
  EXPECT_THROW(clone(*y.node(), {Tensor()}), InvalidArgument);
}

TEST_F(CloneTest, OfAPartSharesWhatDoesNotChange) {
  const Tensor constant = exp(Graph::scalar(2.0, DType::f32)), a = x * constant, b = -a,
               c = from.input("c", DType::f32, {3});
  const std::vector<Tensor> roots{b + c, constant, a};
  ResultMap now;
  now.set(x, z);
  const std::vector<Tensor> made = clone(roots, now);
  EXPECT_TRUE(same(made[1], constant));
  EXPECT_TRUE(same(made[0].node()->inputs()[1], c));
  EXPECT_TRUE(same(made[2], now.at(a)));
  EXPECT_TRUE(same(made[2].node()->inputs()[0], z));
  EXPECT_TRUE(same(made[0].node()->inputs()[0].node()->inputs()[0], made[2]));
  // A further call goes on from there.
  const Tensor more = tanh(b);
  const std::uint64_t before = Node::next_sequence();
  const Tensor more_made = clone(std::span(&more, 1), now)[0];
  EXPECT_EQ(Node::next_sequence(), before + 1);
  EXPECT_TRUE(same(more_made.node()->inputs()[0], now.at(b)));
}

// Values in the middle may be replaced too; what they were made of is not looked at.
TEST_F(CloneTest, OfAPartStopsAtWhatIsReplaced) {
  const Tensor a = exp(x), b = -a, y = b * b;
  ResultMap now;
  now.set(b, z);
  const Tensor made = clone(std::span(&y, 1), now)[0];
  EXPECT_TRUE(same(made.node()->inputs()[0], z));
  EXPECT_FALSE(now.contains(*a.node()));
  ResultMap none;
  EXPECT_TRUE(same(clone(std::span(&y, 1), none)[0], y));
}

TEST_F(CloneTest, OfDiamondsAndDeepPartsIsLinear) {
  Tensor y = x;
  for (int i = 0; i < 50'000; ++i) y = y * y;
  ResultMap now;
  now.set(x, z);
  const std::uint64_t looks = visits(), nodes = Node::next_sequence();
  const Tensor made = clone(std::span(&y, 1), now)[0];
  EXPECT_LE(visits() - looks, 200'000u);
  EXPECT_EQ(Node::next_sequence() - nodes, 50'000u);
  const Walk all = walk(std::span(&made, 1), at_leaves);
  EXPECT_EQ(all.nodes.size(), 50'001u);
  EXPECT_EQ(all.nodes.front(), z.node());
}

// The same graph again, on inputs of its own: equal, and with the same bits.
TEST(CloneGraph, ComputesTheSameBits) {
  const Device device = Device::cpu();
  for (unsigned seed = 1; seed <= 40; ++seed) {
    const RandomGraph g = random_graph(seed);
    Graph again;
    ResultMap now;
    for (const GraphPort& i : g.graph.impl().inputs) {
      now.set(i.value, again.input(i.name, i.value.dtype(), i.value.shape()));
    }
    std::vector<Tensor> outputs;
    for (const GraphPort& o : g.graph.impl().outputs) outputs.push_back(o.value);
    const std::vector<Tensor> made = clone(outputs, now);
    for (std::size_t i = 0; i < made.size(); ++i) again.output(g.graph.impl().outputs[i].name, made[i]);
    again.verify();
    EXPECT_TRUE(again.equals(g.graph)) << seed;
    EXPECT_EQ(again.hash(), g.graph.hash()) << seed;
    const Bound one(device, g.graph, g.inputs), other(device, again, g.inputs);
    Executable a = compile(g.graph, device), b = compile(again, device);
    one.run(a);
    other.run(b);
    for (std::size_t i = 0; i < one.outputs_.size(); ++i) {
      EXPECT_EQ(bytes_of(one.outputs_[i].second), bytes_of(other.outputs_[i].second)) << seed;
    }
  }
}

}  // namespace
}  // namespace weft::test
