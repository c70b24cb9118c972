// The interface of ops: tested by ops that Weft does not have yet (subgraphs, operands in groups), and by interfaces
// that its ops do not implement yet (derivatives and batching).
#include "graph/op.h"

#include <gmock/gmock.h>

#include "compiler/passes/common_subexpressions.h"
#include "compiler/passes/literals.h"
#include "compiler/passes/simplify.h"
#include "compiler/rewrite.h"
#include "graph/graph.h"
#include "support/throws.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Body = std::shared_ptr<const Graph>;

// Applies a function to its operand the given number of times.
class LoopOp final : public Op, public ControlFlowInterface {
 public:
  LoopOp(Body body, int times) : body_{std::move(body)}, times_(times) {}
  std::string_view name() const override { return "loop"; }
  void visit(AttributeVisitor& v) const override {
    int times = times_;
    v("times", times, "how often");
  }
  std::vector<TensorType> infer(std::span<const TensorType> in) const override { return {in[0]}; }
  const ControlFlowInterface* control_flow() const override { return this; }
  std::span<const Body> subgraphs() const override { return body_; }
  ControlFlow control() const override { return {ControlForm::turns, times_}; }
  std::vector<Tensor> expanded(std::span<const Tensor>) const override { return {}; }
  OpPtr with_subgraphs(std::vector<Body> graphs) const override { return make_op<LoopOp>(graphs[0], times_); }

 private:
  std::array<Body, 1> body_;
  int times_;
};

Body body(const std::function<Tensor(Tensor)>& f) {
  auto graph = std::make_shared<Graph>();
  graph->output("y", f(graph->input("x", DType::f32, {3})));
  return graph;
}

Tensor loop(Body body, const Tensor& x) { return apply(make_op<LoopOp>(std::move(body), 2), {x}); }

// The sum of groups of operands.
class GroupedOp final : public Op {
 public:
  explicit GroupedOp(std::vector<int> groups) : groups_(std::move(groups)) {}
  std::string_view name() const override { return "grouped"; }
  std::vector<TensorType> infer(std::span<const TensorType> in) const override { return {in[0]}; }
  std::vector<int> operand_groups() const override { return groups_; }

 private:
  std::vector<int> groups_;
};

struct OpTest : testing::Test {
  Graph graph;
  Tensor x = graph.input("x", DType::f32, {3});
};
using SubgraphTest = OpTest;

TEST_F(OpTest, AnOpHasNoRulesUnlessItSaysSo) {
  const GroupedOp op({});
  const std::array<Tensor, 1> in{x}, out{x};
  const std::array<int, 1> axes{0};
  const std::array<char, 1> wanted{1};
  EXPECT_FALSE(op.derivatives().vjp({in, out, wanted}, out));
  EXPECT_FALSE(op.derivatives().jvp({in, out, wanted}, in));
  EXPECT_FALSE(op.batching().vmap(in, axes));
  EXPECT_TRUE(op.decomposed(in).empty());
}

TEST_F(OpTest, IntegersByName) {
  const Tensor y = permute(broadcast_to(x, {2, 3}), {1, 0});
  const Op& op = y.node()->op();
  EXPECT_EQ(op.integers("order"), (Dims{1, 0}));
  EXPECT_EQ(op.integers("axis"), std::nullopt);
  EXPECT_EQ(softmax(x).node()->op().integers("axis"), Dims{0});
}

TEST_F(OpTest, OperandsInGroups) {
  const Tensor y = apply(make_op<GroupedOp>(std::vector{2, 1}), {x, x, exp(x)});
  const auto groups = y.node()->input_groups();
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].size(), 2u);
  EXPECT_TRUE(same(groups[1][0], y.node()->inputs()[2]));
  EXPECT_EQ((x + x).node()->input_groups().size(), 2u);
  graph.verify();
  graph.output("y", apply(make_op<GroupedOp>(std::vector{2, 2}), {x, x, x}));
  EXPECT_THAT(test::thrown_by([&] { graph.verify(); }), HasSubstr("its groups of operands are not its operands"));
}

TEST_F(SubgraphTest, ArePrinted) {
  graph.output("y", loop(body([](const Tensor& v) { return exp(v); }), x));
  EXPECT_EQ(graph.to_string(),
            "%0 = input{name=\"x\"} : f32 [3]\n"
            "%1 = loop{times=2} %0 : f32 [3]\n"
            "  {\n"
            "    %0 = input{name=\"x\"} : f32 [3]\n"
            "    %1 = map{y=(x0:f32) exp(x0)} %0 : f32 [3]\n"
            "    output \"y\" = %1\n"
            "  }\n"
            "output \"y\" = %1\n");
}

TEST_F(SubgraphTest, AreVerified) {
  graph.output("y", loop(body([](const Tensor& v) { return apply(make_op<GroupedOp>(std::vector{3}), {v}); }), x));
  EXPECT_THAT(test::thrown_by([&] { graph.verify(); }), AllOf(HasSubstr("loop{times=2}"), HasSubstr("grouped")));
}

TEST_F(SubgraphTest, TellOpsApart) {
  const auto hash = [](Body of) {
    Graph g;
    g.output("y", loop(std::move(of), g.input("x", DType::f32, {3})));
    return g.hash();
  };
  const auto exponential = [](const Tensor& v) { return exp(v); };
  const auto logarithm = [](const Tensor& v) { return log(v); };
  EXPECT_EQ(hash(body(exponential)), hash(body(exponential)));
  EXPECT_NE(hash(body(exponential)), hash(body(logarithm)));

  graph.output("a", loop(body(exponential), x));
  graph.output("b", loop(body(exponential), x));
  graph.output("c", loop(body(logarithm), x));
  const Graph shared = compiler::common_subexpressions(graph, {});
  const auto& outputs = shared.impl().outputs;
  EXPECT_TRUE(same(outputs[0].value, outputs[1].value));
  EXPECT_FALSE(same(outputs[0].value, outputs[2].value));
}

TEST_F(SubgraphTest, AreRewritten) {
  const Body inner = body([](const Tensor& v) {
    cos(v);  // not used
    return sin(v) * 1.0;
  });
  graph.output("y", loop(body([&](const Tensor& v) { return loop(inner, v); }), x));
  const Graph literal = compiler::run({"literals", compiler::literals}, graph, {});
  EXPECT_THAT(literal.to_string(), AllOf(Not(HasSubstr("cos")), HasSubstr("mul(x0, 1:f32)")));
  const Graph simple = compiler::run({"simplified", compiler::simplify}, literal, {});
  simple.verify();
  EXPECT_THAT(simple.to_string(), AllOf(HasSubstr("sin"), Not(HasSubstr("cos")), Not(HasSubstr("mul"))));
}

}  // namespace
}  // namespace weft
