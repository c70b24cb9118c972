// The walk over nodes, and tables of nodes. What is looked at is counted (core/visits.h): a walk that followed each
// path would not end here, and one that recursed would overflow the stack.
#include "graph/walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "graph/graph.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/device.h"
#include "weft/error.h"
#include "weft/evaluate.h"

namespace weft::test {
namespace {

using testing::ElementsAre;

struct WalkTest : testing::Test {
  Graph graph;
  Tensor x = graph.input("x", DType::f32, {4});

  // Walks, and holds the walk against what every walk must be: each node once, after its operands, and two looks for
  // each operand at most.
  template <class Stop>
  Walk checked(std::span<const Tensor> roots, Stop&& stop) {
    const std::uint64_t before = visits();
    Walk all = walk(roots, stop);
    const std::uint64_t looks = visits() - before;
    std::size_t operands = 0;
    for (std::size_t k = 0; k < all.nodes.size(); ++k) {
      const Node& node = *all.nodes[k];
      EXPECT_EQ(all.indices.find(node), static_cast<int>(k));
      if (stop(node)) continue;
      operands += node.inputs().size();
      for (const Tensor& v : node.inputs()) {
        const int index = all.indices.find(*v.node());
        if (index < 0 || index >= static_cast<int>(k)) ADD_FAILURE() << "operand at " << index << ", user at " << k;
      }
    }
    EXPECT_EQ(looks, all.nodes.size() + operands);
    return all;
  }
};

TEST_F(WalkTest, LooksAtASharedNodeOnce) {
  Tensor y = x;
  for (int i = 0; i < 40; ++i) y = y * y;  // 2^40 paths
  EXPECT_EQ(checked(std::span(&y, 1), at_leaves).nodes.size(), 41u);
}

TEST_F(WalkTest, FiftyThousandDeep) {
  Tensor y = x;
  for (int i = 0; i < 50'000; ++i) y = i % 2 ? y + x : -y;
  const Walk all = checked(std::span(&y, 1), at_leaves);
  EXPECT_EQ(all.nodes.size(), 50'001u);
  EXPECT_EQ(all.nodes.front(), x.node());
  EXPECT_EQ(all.nodes.back(), y.node());
}

TEST_F(WalkTest, FiftyThousandWide) {
  std::vector<Tensor> parts;
  for (int i = 0; i < 50'000; ++i) parts.push_back(-x);
  const Tensor joined = concat(parts, 0);
  EXPECT_EQ(checked(std::span(&joined, 1), at_leaves).nodes.size(), 50'002u);
  EXPECT_EQ(checked(parts, at_leaves).nodes.size(), 50'001u);
}

TEST_F(WalkTest, IsInTheOrderOfRecordingWhateverTheRoots) {
  const Tensor a = -x, b = exp(x), c = a + b, d = b * c;
  const std::vector<Tensor> roots{a, d, Tensor(), c, d}, others{d};
  const auto order = ElementsAre(x.node(), a.node(), b.node(), c.node(), d.node());
  EXPECT_THAT(checked(roots, at_leaves).nodes, order);
  EXPECT_THAT(checked(others, at_leaves).nodes, order);
  const std::vector<const Node*> nodes{d.node(), a.node()};
  EXPECT_THAT(walk(nodes, at_leaves).nodes, order);
  EXPECT_TRUE(walk(std::span<const Tensor>(), at_leaves).nodes.empty());
}

TEST_F(WalkTest, StopsWhereItIsTold) {
  const Tensor a = -x, b = exp(a), c = b + a, d = tanh(c);
  const auto at = [](const Tensor& v) { return [&v](const Node& node) { return &node == v.node(); }; };
  EXPECT_THAT(checked(std::span(&d, 1), at(c)).nodes, ElementsAre(c.node(), d.node()));
  // The other way to a.
  EXPECT_THAT(checked(std::span(&d, 1), at(b)).nodes, ElementsAre(x.node(), a.node(), b.node(), c.node(), d.node()));
  EXPECT_THAT(checked(std::span(&d, 1), at(d)).nodes, ElementsAre(d.node()));
  int asked = 0;
  walk(std::span(&d, 1), [&](const Node&) { return ++asked, false; });
  EXPECT_EQ(asked, 5);
}

// A node that was evaluated has data; while something pins its operands it has these too.
TEST_F(WalkTest, DataAndOperandsAreTwoQuestions) {
  Tensor data(Device::cpu(), DType::f32, {4});
  const float values[] = {1, 2, 3, 4};
  data.write(std::as_bytes(std::span(values)));
  const Tensor a = data * 3.0, b = exp(a);
  RetainedInputs retained;
  {
    const std::unique_lock lock(Node::graph_mutex());
    retained.retain(std::vector<const Node*>{a.node()});
  }
  eval(a);
  ASSERT_TRUE(a.node()->has_data());
  ASSERT_FALSE(a.node()->inputs().empty());
  EXPECT_THAT(checked(std::span(&b, 1), at_data).nodes, ElementsAre(a.node(), b.node()));
  const Walk all = checked(std::span(&b, 1), at_leaves);
  EXPECT_TRUE(all.indices.contains(*data.node()));
  EXPECT_EQ(all.nodes.back(), b.node());
  EXPECT_TRUE(at_data(*a.node()));
  EXPECT_FALSE(at_leaves(*a.node()));
  EXPECT_TRUE(at_leaves(*data.node()));
  EXPECT_FALSE(at_data(*b.node()));
}

// What an earlier search has seen is left out, and linear searches of many roots stay linear together.
TEST_F(WalkTest, SearchesGoOnFromEachOther) {
  NodeIds seen;
  Tensor y = x;
  const std::uint64_t before = visits();
  for (int i = 0; i < 1000; ++i) {
    y = y * y;
    const std::vector<const Node*> found = reach(std::span(&y, 1), seen, at_leaves);
    ASSERT_EQ(found.size(), i == 0 ? 2u : 1u);
    ASSERT_EQ(found[0], y.node());
  }
  EXPECT_LT(visits() - before, 4000u);
  EXPECT_TRUE(reach(std::span(&y, 1), seen, at_leaves).empty());
}

// Which was recorded first is no part of the order in which a search finds nodes.
TEST_F(WalkTest, SearchesFindEqualGraphsInOneOrder) {
  const auto names = [](const Tensor& root) {
    NodeIds seen;
    std::string text;
    for (const Node* node : reach(std::span(&root, 1), seen, at_leaves)) text += node->op().to_string() + ";";
    return text;
  };
  const Tensor a = -x, b = exp(x), one = a + b;
  const Tensor d = exp(x), c = -x, other = c + d;
  EXPECT_EQ(names(one), names(other));
}

// Errors name the input of another graph, and which output needs it.
TEST_F(WalkTest, GraphsFindWhatIsNotTheirs) {
  Graph other("other");
  const Tensor z = other.input("z", DType::f32, {4});
  graph.output("mine", -x);
  graph.output("mixed", x + exp(z));
  EXPECT_EQ(
      thrown_by([&] { (void)graph.impl().nodes(); }),
      "InvalidArgument: graph: output \"mixed\" needs input \"z\" of graph \"other\"; a graph computes of its own "
      "inputs alone");
}

TEST(NodeMap, HasAnEntryForEachNode) {
  Graph g;
  Tensor y = g.input("x", DType::f32, {2});
  NodeMap<int> map;
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.find(*y.node()), nullptr);
  std::vector<Tensor> all;
  for (int i = 0; i < 1000; ++i) {
    all.push_back(y = -y);
    map[*y.node()] = i;
  }
  int& first = map[*all[0].node()];
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(*map.find(*all[static_cast<std::size_t>(i)].node()), i);
  const Tensor more = exp(y);
  EXPECT_FALSE(map.contains(*more.node()));
  EXPECT_EQ(map[*more.node()], 0);
  EXPECT_EQ(&first, &map[*all[0].node()]);
}

TEST(ResultMap, HasAnEntryForEachResult) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {8});
  const Tensor sums = x.sum(), largest = x.max();
  ResultMap map;
  EXPECT_FALSE(map.find(x).defined());
  EXPECT_TRUE(same(map.at(x), x));
  map.set(x, sums);
  map.set(sums, largest);
  EXPECT_TRUE(same(map.at(x), sums));
  EXPECT_TRUE(same(map.find(sums), largest));
  EXPECT_FALSE(map.contains(*largest.node()));
  map.set(x, largest);
  EXPECT_TRUE(same(map.at(x), largest));
  const std::vector<Tensor> of{x, largest, sums};
  const std::vector<Tensor> now = map.at(of);
  EXPECT_TRUE(same(now[0], largest) && same(now[1], largest) && same(now[2], largest));
}

}  // namespace
}  // namespace weft::test
