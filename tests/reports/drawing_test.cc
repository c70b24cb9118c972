// Drawings of graphs: what is a box, what is a line of one, what is on an edge, and what is closed.
#include "reports/drawing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "compiler/bound.h"
#include "kernels/family.h"
#include "support/data.h"
#include "weft/compile.h"

namespace weft::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const DrawnBox& box(const Drawing& d, std::string_view title) {
  const auto it = std::ranges::find(d.boxes, title, &DrawnBox::title);
  if (it == d.boxes.end()) throw std::runtime_error("no box " + std::string(title));
  return *it;
}

TensorData zeros(const Shape& shape) {
  const auto memory = std::make_shared<std::vector<float>>(static_cast<std::size_t>(element_count(shape)));
  return {DType::f32, shape, std::as_bytes(std::span(*memory)), memory};
}

// Two layers of a product and a norm, the second of which takes the first one's result.
Graph layers() {
  Graph g("layers");
  Tensor x = g.input("x", DType::f32, {2, 4});
  for (int i = 0; i < 2; ++i) {
    const std::string layer = std::format("layers.{}", i);
    const LabelScope scope(layer);
    const LabelScope dense("dense");
    x = matmul(x, Graph::constant(zeros({4, 4}), layer + ".dense").T()) +
        Graph::constant(zeros({4}), layer + ".dense.bias");
    x.set_label("sum");
    const Tensor normed = layer_norm(x, {}, {}, 1e-5);
    x = normed;
  }
  g.output("y", x);
  return g;
}

TEST(Drawing, ConstantsAreNamedLinesOfWhatReadsThem) {
  const Drawing d = draw(layers());
  for (const DrawnBox& b : d.boxes) EXPECT_NE(b.kind, DrawnBox::Kind::constant);
  EXPECT_THAT(box(d, "matmul").constants, ElementsAre("dense f32 [4, 4]"));
  EXPECT_THAT(box(d, "add").constants, ElementsAre("bias f32 [4]"));
  Graph g;
  g.output("y", exp(g.input("x", DType::f32, {2}) * 0.5));
  g.output("c", Graph::constant(zeros({3}), "alone"));
  const Drawing other = draw(g);
  EXPECT_THAT(box(other, "mul").constants, ElementsAre("0.5 f32 []"));
  EXPECT_EQ(box(other, "alone").kind, DrawnBox::Kind::constant) << "nothing but an output reads it";
}

TEST(Drawing, ViewsAreWordsOnEdges) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {4, 6});
  g.output("y", exp(reshape(slice(x, 1, 0, 2), {2, 4}).T()) + exp(x).sum());
  const Drawing d = draw(g);
  for (const DrawnBox& b : d.boxes) EXPECT_THAT(b.title, testing::AnyOf("x", "exp", "y", HasSubstr("sum"), "add"));
  std::vector<std::string> views;
  for (const DrawnEdge& e : d.edges) views.insert(views.end(), e.views.begin(), e.views.end());
  EXPECT_THAT(views, ElementsAre("slice, reshape, transpose [4, 2]"));
  // The compiler merges views into strides, which are described like the views.
  Graph strided;
  const Tensor a = strided.input("a", DType::f32, {4, 6}), b = strided.input("b", DType::f32, {4});
  strided.output("y",
                 matmul(slice(a, 0, 0, 2).T(), slice(a, 0, 2, 4)) + exp(reshape(b, {4, 1}) * slice(a, 1, 0, 1)).sum());
  const std::string dot = to_dot(optimized(strided, Device::cpu()));
  EXPECT_THAT(dot, AllOf(HasSubstr("slice"), Not(HasSubstr("strides="))));
}

TEST(Drawing, LabelsAreGroupsUnlessTheyHoldOneBox) {
  const Drawing d = draw(layers());
  std::vector<std::string> groups;
  for (const DrawnGroup& g : d.groups) groups.push_back(g.name);
  EXPECT_THAT(groups, ElementsAre("", "layers.0", "dense", "layers.1", "dense"));
  EXPECT_EQ(d.groups[2].level, 2);
  EXPECT_EQ(d.summaries()[1], "matmul, add, layer_norm");
  EXPECT_EQ(box(d, "add").name, "sum") << "alone with its label";
  Graph g;
  const Tensor x = g.input("x", DType::f32, {2});
  Tensor y;
  {
    const LabelScope scope("encoder.layer.3.query");
    y = exp(x);
  }
  g.output("y", neg(y));
  const Drawing single = draw(g);
  EXPECT_EQ(single.groups.size(), 1u);
  EXPECT_EQ(box(single, "exp").name, "encoder.layer.3.query");
}

TEST(Drawing, OpensToADepth) {
  const Graph g = layers();
  EXPECT_EQ(depth_of_boxes(g, 100), 2);
  EXPECT_EQ(depth_of_boxes(g, 4), 1) << "two groups in the layers, the input and the output";
  EXPECT_EQ(depth_of_boxes(g, 3), 0) << "nothing fits";
  const std::string closed = to_dot(g, {.depth = 0}), open = to_dot(g, {.depth = 1}), all = g.to_dot();
  EXPECT_THAT(closed, AllOf(HasSubstr("label=\"layers.0\\lmatmul, add, layer_norm\\l\", shape=folder"),
                            Not(HasSubstr("subgraph")), HasSubstr("g1 -> g3"), HasSubstr("a layer, closed")));
  EXPECT_THAT(open, AllOf(HasSubstr("subgraph cluster_1"), HasSubstr("label=\"dense\\l"), HasSubstr("a frame")));
  EXPECT_THAT(all, AllOf(HasSubstr("subgraph cluster_2"), Not(HasSubstr("shape=folder"))));
  for (const std::string& dot : {closed, open, all}) EXPECT_THAT(dot, HasSubstr("<td align=\"left\">matmul</td>"));
}

TEST(Drawing, NamesCannotBreakOut) {
  Graph g("odd");
  const Tensor x = g.input("\"</script><!--\\", DType::f32, {2});
  Tensor y = exp(x);
  y.set_label("a\"];}\\");
  g.output("<y>", y * Graph::constant(zeros({2}), "\"c\""));
  const std::string dot = g.to_dot();
  EXPECT_THAT(dot,
              AllOf(HasSubstr("input \\\"</script><!--\\\\\\l"), HasSubstr("a\\\"];}\\\\\\l"), HasSubstr("\\\"c\\\"")));
  const std::string page = graph_page(g, "</script>");
  EXPECT_EQ(page.find("</script>"), page.rfind("</script>"));
  EXPECT_THAT(page, Not(HasSubstr("<!--")));
}

TEST(Drawing, APageHoldsTheDrawing) {
  const std::string page = graph_page(layers(), "two layers", {.depth = 1});
  EXPECT_THAT(page, AllOf(testing::StartsWith("<!doctype html>"), Not(HasSubstr("http")), Not(HasSubstr("/*DATA*/")),
                          HasSubstr("--f0: " + kernels::family_colour(kernels::kernel_families()[0], false))));
  const std::size_t begin = page.find("const G = ") + 10;
  const auto data = nlohmann::json::parse(page.substr(begin, page.find(";\n", begin) - begin));
  EXPECT_EQ(data["title"], "two layers");
  EXPECT_EQ(data["depth"], 1);
  EXPECT_EQ(data["boxes"].size(), 8u);
  EXPECT_EQ(data["groups"][1]["summary"], "matmul, add, layer_norm");
  EXPECT_EQ(data["boxes"][1]["family"], "matmul");
  EXPECT_THAT(std::string(data["boxes"][1]["text"]), HasSubstr("%"));
  for (const auto& e : data["edges"]) EXPECT_LT(int(e["from"]), int(e["to"])) << "in an order that can be computed";
}

}  // namespace
}  // namespace weft::test
