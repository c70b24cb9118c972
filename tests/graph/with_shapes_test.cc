// Graphs on inputs of other shapes are what their functions record for these shapes; what holds sizes says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "compiler/bound.h"
#include "graph/graph.h"
#include "ops/view.h"
#include "support/temp_dir.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/control_flow.h"
#include "weft/convolution.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/error.h"
#include "weft/fft.h"
#include "weft/graph.h"
#include "weft/graph_file.h"
#include "weft/indexing.h"
#include "weft/label.h"
#include "weft/linalg.h"
#include "weft/losses.h"
#include "weft/numeric.h"
#include "weft/pooling.h"
#include "weft/segments.h"
#include "weft/statistics.h"

namespace weft {
namespace {

using test::message_of;
using testing::HasSubstr;

using Function = std::function<Tensor(const Tensor&)>;

Graph recorded(const Function& f, const Shape& shape, DType type = DType::f32) {
  Graph graph("g");
  graph.output("y", f(graph.input("x", type, shape)));
  return graph;
}

// By the operations' own rules, on the cpu.
TensorData value_of(const Graph& graph, const TensorData& x) {
  Executable exe = compile(graph, Device::cpu());
  Tensor in(Device::cpu(), x.dtype, x.shape);
  in.write(x.bytes);
  const TensorType type = graph.outputs()[0].type;
  const Tensor out(Device::cpu(), type.dtype, type.shape);
  exe.run({{"x", in}}, {{"y", out}}).get();
  auto bytes = std::make_shared<std::vector<std::byte>>(byte_size(type));
  out.read_bytes(*bytes);
  return {type.dtype, type.shape, *bytes, bytes};
}

// The graph that was recorded for one shape gives for others the bits of one that was recorded for them.
void expect_same(const Function& f, const Shape& shape, std::initializer_list<Shape> others, const char* what) {
  const Graph graph = recorded(f, shape);
  for (const Shape& other : others) {
    SCOPED_TRACE(std::format("{}: {} as {}", what, to_string(shape), to_string(other)));
    const Graph now = graph.with_shapes({{"x", other}}), own = recorded(f, other);
    now.verify();
    EXPECT_EQ(now.name(), "g");
    ASSERT_EQ(now.outputs()[0].type, own.outputs()[0].type);
    const TensorData x = test::noise(other, 7);
    const TensorData got = value_of(now, x), expected = value_of(own, x);
    EXPECT_TRUE(std::ranges::equal(got.bytes, expected.bytes));
    // And back.
    const Graph back = now.with_shapes({{"x", shape}});
    EXPECT_EQ(back.outputs()[0].type, graph.outputs()[0].type);
  }
}

Tensor weights(const Shape& shape, unsigned seed) { return Graph::constant(test::noise(shape, seed, 0.3f), "w"); }

Tensor mlp(const Tensor& x) {
  const Tensor hidden = gelu(matmul(x, weights({16, 24}, 1)) + weights({24}, 2));
  return softmax(matmul(hidden, weights({24, 5}, 3)) + weights({5}, 4));
}

// A layer of a transformer, with heads by permuting axes.
Tensor encoder_layer(const Tensor& x) {
  const auto heads = [&](unsigned seed) {
    return permute(unflatten(matmul(x, weights({16, 16}, seed)) + weights({16}, seed + 1), -1, {4, -1}), {0, 2, 1, 3});
  };
  const Tensor mixed = attention(heads(1), heads(3), heads(5), {}, {.scale = 0.5f});
  const Tensor joined = matmul(flatten_axes(permute(mixed, {0, 2, 1, 3}), 2), weights({16, 16}, 7));
  const Tensor inner = layer_norm(x + joined, weights({16}, 8), weights({16}, 9), 1e-5);
  const Tensor fed = matmul(gelu(matmul(inner, weights({16, 40}, 10))), weights({40, 16}, 11));
  return layer_norm(inner + fed, weights({16}, 12), weights({16}, 13), 1e-5);
}

TEST(WithShapes, Networks) {
  expect_same(mlp, {2, 16}, {{1, 16}, {3, 16}, {0, 16}, {2, 16}}, "mlp");
  expect_same(encoder_layer, {2, 6, 16}, {{1, 6, 16}, {3, 9, 16}, {0, 6, 16}, {2, 1, 16}, {5, 17, 16}},
              "encoder layer");
  // Recorded for one, where broadcasts and sizes of 1 look alike.
  expect_same(encoder_layer, {1, 1, 16}, {{1, 6, 16}, {3, 9, 16}}, "encoder layer");
  const Function images = [](const Tensor& x) {
    const Tensor y = relu(conv(x, weights({4, 3, 3, 3}, 1), {}, {.padding = {1, 1}}));
    return flatten_axes(mean(max_pool(y, {.window = {2, 2}}), {2, 3}, true), 1);
  };
  expect_same(images, {2, 3, 8, 8}, {{1, 3, 8, 8}, {3, 3, 12, 10}}, "images");
}

TEST(WithShapes, Rules) {
  const std::pair<const char*, Function> functions[] = {
      {"expand_dims", [](const Tensor& x) { return expand_dims(x, 1) * 2; }},
      {"expand_dims of several", [](const Tensor& x) { return exp(expand_dims(x, {0, -1})); }},
      {"squeeze", [](const Tensor& x) { return squeeze(sum(x, {1}, true), 1) + 1; }},
      {"expand_dims and squeeze", [](const Tensor& x) { return squeeze(expand_dims(x, 1), 1) + 1; }},
      {"heads", [](const Tensor& x) { return permute(unflatten(x, 1, {3, -1}), {1, 0, 2}); }},
      {"heads and back", [](const Tensor& x) { return flatten_axes(exp(unflatten(x, 1, {3, -1})), 1, 2); }},
      {"flatten", [](const Tensor& x) { return flatten(x) * 3; }},
      {"flatten_axes", [](const Tensor& x) { return flatten_axes(expand_dims(x, 0), 1) * 3; }},
      {"reshape with -1", [](const Tensor& x) { return reshape(x, {-1, 3}) * 3; }},
      {"two reshapes", [](const Tensor& x) { return unflatten(reshape(x, {-1, 3, 2}), 1, {1, 3}) * 3; }},
      {"flip", [](const Tensor& x) { return flip(x, {0}) + x; }},
      {"flip all", [](const Tensor& x) { return flip(x); }},
      {"from the second", [](const Tensor& x) { return x[{slice(1, none)}] * 2; }},
      {"up to the last", [](const Tensor& x) { return x[{slice(none, -1)}] * 2; }},
      {"the last two", [](const Tensor& x) { return x[{slice(-2, none)}] * 2; }},
      {"the last", [](const Tensor& x) { return x[{-1}] * 2; }},
      {"the last of columns", [](const Tensor& x) { return x[{ellipsis, -1, newaxis}] + x; }},
      {"every second", [](const Tensor& x) { return x[{slice(none, none, 2)}] * 2; }},
      {"every second from the end", [](const Tensor& x) { return x[{slice(none, none, -2)}] * 2; }},
      {"backwards in part", [](const Tensor& x) { return x[{slice(-2, none, -1)}] * 2; }},
      {"far beyond the end", [](const Tensor& x) { return x[{slice(1, 1000)}] * 2; }},
      {"the first two", [](const Tensor& x) { return x[{slice(0, 2)}] * 2; }},
      {"a column", [](const Tensor& x) { return x[{all, 2}] * 2; }},
      {"diff", [](const Tensor& x) { return diff(x, 0); }},
      {"roll of columns", [](const Tensor& x) { return roll(x, {2}, 1); }},
      {"mean", [](const Tensor& x) { return mean(x); }},
      {"variance", [](const Tensor& x) { return variance(x, {0}, 1); }},
      {"mean squared error", [](const Tensor& x) { return mse_loss(x, x * 2); }},
      {"cumulative sum", [](const Tensor& x) { return cumsum(x, 0); }},
      {"sort", [](const Tensor& x) { return sort(x, 0); }},
      {"argmax", [](const Tensor& x) { return cast(argmax(x, {0}), DType::f32); }},
      {"top_k", [](const Tensor& x) { return top_k(x, 2, 0).values; }},
      {"concat", [](const Tensor& x) { return concat({x, x * 2}, 0); }},
      {"stack", [](const Tensor& x) { return stack({x, x * 2}, 1); }},
      {"pad", [](const Tensor& x) { return pad(x, std::vector<std::int64_t>{1, 0}, std::vector<std::int64_t>{2, 0}); }},
      {"product", [](const Tensor& x) { return matmul(x, x.T()); }},
      {"scan over rows",
       [](const Tensor& x) {
         return scan([](const Tensor& carry, const Tensor& row) { return std::pair(carry + row, carry * row); },
                     sum(x, {0}), x)
             .second;
       }},
      {"scan from the end",
       [](const Tensor& x) {
         return scan([](const Tensor& carry, const Tensor& row) { return std::pair(carry * 0.5 + row, carry); },
                     x[{-1}], x, true)
             .first;
       }},
      {"fori_loop",
       [](const Tensor& x) { return fori_loop(0, 3, [](const Tensor&, const Tensor& y) { return y * y; }, x); }},
      {"while_loop",
       [](const Tensor& x) {
         return while_loop([](const Tensor& y) { return all(y.sum() < 100); },
                           [](const Tensor& y) { return y * 2 + 1; }, x);
       }},
      {"cond",
       [](const Tensor& x) {
         return cond(
             all(x.sum() > 0), [](const Tensor& y) { return y + flip(y, {0}); }, [](const Tensor& y) { return -y; }, x);
       }},
      {"a loop in a branch in a loop",
       [](const Tensor& x) {
         const auto twice = [](const Tensor& y) {
           return fori_loop(0, 2, [](const Tensor&, const Tensor& z) { return z * 0.5 + flip(z, {0}); }, y);
         };
         return scan(
                    [&](const Tensor& carry, const Tensor& row) {
                      const Tensor next =
                          cond(all(row.sum() > 0), twice, [](const Tensor& y) { return y; }, carry + row);
                      return std::pair(next, expand_dims(next, 0));
                    },
                    x[{0}], x)
             .second;
       }},
      {"a gradient for views",
       [](const Tensor& x) {
         const auto views = [](const Tensor& v) { return squeeze(expand_dims(v, 0), 0) * 2.0; };
         return vjp(views)(x).second(sin(x));
       }},
  };
  for (const auto& [what, f] : functions) expect_same(f, {4, 6}, {{7, 6}, {2, 6}, {5, 6}, {4, 6}}, what);
}

// Functions made of others are right at other shapes, or refused. (Those that compute with sizes, which graph.h names,
// are neither.)
TEST(WithShapes, FunctionsMadeOfOthers) {
  const std::pair<const char*, Function> functions[] = {
      {"roll", [](const Tensor& x) { return roll(x, {1}, 0); }},
      {"roll of all", [](const Tensor& x) { return roll(x, 3); }},
      {"tile", [](const Tensor& x) { return tile(x, {2, 1}); }},
      {"repeat", [](const Tensor& x) { return repeat(x, 2, 0); }},
      {"repeat flattened", [](const Tensor& x) { return repeat(x, 2); }},
      {"reflected",
       [](const Tensor& x) {
         return pad(x, std::vector<std::int64_t>{1, 1}, std::vector<std::int64_t>{1, 1}, PadMode::reflect);
       }},
      {"nanmean", [](const Tensor& x) { return nanmean(x, {0}); }},
      {"nanvar", [](const Tensor& x) { return nanvar(x, {0}, 1); }},
      {"average", [](const Tensor& x) { return average(x, exp(x), {0}); }},
      {"ptp", [](const Tensor& x) { return ptp(x, {0}); }},
      {"convolve", [](const Tensor& x) { return convolve(flatten(x), weights({3}, 1)); }},
      {"diagonal", [](const Tensor& x) { return diagonal(x); }},
      {"trace", [](const Tensor& x) { return trace(x); }},
      {"tril", [](const Tensor& x) { return tril(x); }},
      {"triu", [](const Tensor& x) { return triu(x, 1); }},
      {"kron", [](const Tensor& x) { return kron(x, x); }},
      {"unstack", [](const Tensor& x) { return unstack(x, 1)[2] + 1; }},
      {"softmax over the first", [](const Tensor& x) { return softmax(x, 0); }},
      {"cumulative_sum with the initial one", [](const Tensor& x) { return cumulative_sum(x, 0, {}, true); }},
      {"cumulative_sum of all", [](const Tensor& x) { return cumulative_sum(flatten(x)); }},
      {"count_nonzero", [](const Tensor& x) { return cast(count_nonzero(x > 0, {0}), DType::f32); }},
      {"argsort", [](const Tensor& x) { return cast(argsort(x, 0), DType::f32); }},
      {"histogram", [](const Tensor& x) { return cast(histogram(x, 4).counts, DType::f32); }},
      {"interp", [](const Tensor& x) { return interp(x, arange(0, 4, 1, DType::f32), arange(0, 4, 1, DType::f32)); }},
      {"segment_sum", [](const Tensor& x) { return segment_sum(x, argsort(x[{all, 0}]) / 2, 9); }},
      {"one_hot", [](const Tensor& x) { return one_hot(argmax(x, {1}), 6); }},
      {"vector_norm", [](const Tensor& x) { return vector_norm(x, 2, {0}); }},
      {"matrix_norm", [](const Tensor& x) { return matrix_norm(x); }},
      {"inv", [](const Tensor& x) { return inv(matmul(x.T(), x) + eye(6)); }},
      {"svdvals", [](const Tensor& x) { return svdvals(x); }},
      {"qr", [](const Tensor& x) { return qr(x).r; }},
      {"cross_entropy", [](const Tensor& x) { return cross_entropy(x, argmax(x, {1})); }},
      {"kl_div", [](const Tensor& x) { return kl_div(log_softmax(x), softmax(x)); }},
      {"batch_norm",
       [](const Tensor& x) {
         return batch_norm(x, mean(x, {0}), variance(x, {0}), weights({6}, 1), weights({6}, 2), 1e-5);
       }},
      {"group_norm", [](const Tensor& x) { return group_norm(x, weights({6}, 1), weights({6}, 2), 2, 1e-5); }},
      {"zeros_like", [](const Tensor& x) { return concat({zeros_like(x), x}, 1); }},
      {"where a mask holds", [](const Tensor& x) { return where(x > 0, x, 0); }},
      {"a vmap", [](const Tensor& x) { return vmap([](const Tensor& row) { return softmax(row) * flip(row); })(x); }},
      {"a gradient", [](const Tensor& x) { return grad([](const Tensor& v) { return (v * v).sum(); })(x); }},
      {"a gradient of a mean", [](const Tensor& x) { return grad([](const Tensor& v) { return mean(v * v); })(x); }},
      {"a gradient of a product",
       [](const Tensor& x) {
         return grad([&](const Tensor& w) { return exp(matmul(x, w)).sum(); })(weights({6, 3}, 1) + x.sum());
       }},
      {"a gradient of a scan",
       [](const Tensor& x) {
         return grad([](const Tensor& v) {
           return scan([](const Tensor& c, const Tensor& row) { return std::pair(c * row, c); }, full({6}, 1.0f), v)
               .first.sum();
         })(x);
       }},
  };
  int same = 0;
  for (const auto& [what, f] : functions) {
    const Graph graph = recorded(f, {4, 6});
    for (const Shape& other : {Shape{7, 6}, Shape{3, 6}, Shape{1, 6}}) {
      SCOPED_TRACE(std::format("{} at {}", what, to_string(other)));
      std::optional<Graph> now;
      try {
        now = graph.with_shapes({{"x", other}});
      } catch (const ShapeError&) {
        continue;
      }
      const Graph own = recorded(f, other);
      EXPECT_EQ(now->outputs()[0].type, own.outputs()[0].type);
      if (now->outputs()[0].type != own.outputs()[0].type) continue;
      const TensorData x = test::noise(other, 7);
      EXPECT_TRUE(std::ranges::equal(value_of(*now, x).bytes, value_of(own, x).bytes));
      ++same;
    }
  }
  EXPECT_GT(same, 60) << "most of them have rules";
}

// Several inputs, of which some keep their shapes, numbers and labels.
TEST(WithShapes, PortsAndLabels) {
  Graph graph("step");
  const Tensor x = graph.input("x", DType::f32, {2, 3}), y = graph.input("y", DType::f32, {3});
  const Tensor unused = graph.input("unused", DType::i32, {2}), rate = graph.number("rate");
  Tensor scaled;
  {
    const LabelScope scope("layer");
    scaled = x * rate;
  }
  graph.output("sum", scaled + y);
  graph.output("y", exp(y));
  graph.output("x", x);
  const LabelScope other("not this one");
  const Graph now = graph.with_shapes({{"x", {5, 3}}});
  now.verify();
  EXPECT_EQ(now.inputs()[0].type, (TensorType{DType::f32, {5, 3}}));
  EXPECT_EQ(now.inputs()[1].name, "y");
  EXPECT_EQ(now.inputs()[2].type, (TensorType{DType::i32, {2}}));
  EXPECT_EQ(now.numbers()[0].name, "rate");
  EXPECT_EQ(now.outputs()[0].type.shape, (Shape{5, 3}));
  EXPECT_EQ(now.outputs()[2].type.shape, (Shape{5, 3}));
  EXPECT_THAT(now.to_string(), HasSubstr("\"layer\""));
  EXPECT_THAT(now.to_string(), testing::Not(HasSubstr("not this one")));
  // What depends on no input that changes is the graph's own.
  EXPECT_EQ(now.impl().outputs[1].value.node(), graph.impl().outputs[1].value.node());
  EXPECT_TRUE(graph.with_shapes({}).equals(graph));
  EXPECT_TRUE(graph.with_shapes({{"x", {2, 3}}}).equals(graph));
  EXPECT_TRUE(now.with_shapes({{"x", {2, 3}}}).equals(graph));
}

TEST(WithShapes, FilesOfGraphs) {
  const test::TempDir directory;
  const auto path = directory.path() / "g.safetensors";
  const Function last = [](const Tensor& x) {
    return scan([](const Tensor& c, const Tensor& row) { return std::pair(c + row, flip(row)); }, x[{-1}], x).second;
  };
  for (const Function& f : {Function(mlp), last}) {
    const Shape shape{2, 16}, other{3, 16};
    save(path, recorded(f, shape));
    const Graph now = load_graph(path).with_shapes({{"x", other}});
    const TensorData x = test::noise(other, 3);
    EXPECT_TRUE(std::ranges::equal(value_of(now, x).bytes, value_of(recorded(f, other), x).bytes));
    save(path, now);
    EXPECT_EQ(load_graph(path).inputs()[0].type.shape, other);
  }
}

TEST(WithShapes, NamesAndShapesThatDoNotFit) {
  const Graph graph = recorded([](const Tensor& x) { return x * 2; }, {2, 3});
  EXPECT_THROW(graph.with_shapes({{"z", {2, 3}}}), InvalidArgument);
  EXPECT_EQ(message_of([&] { graph.with_shapes({{"z", {2, 3}}}); }),
            "with_shapes: no input is called \"z\"; there are \"x\"");
  EXPECT_EQ(message_of([&] { graph.with_shapes({{"x", {2, 3}}, {"x", {2, 3}}}); }),
            "with_shapes: input \"x\" is given twice");
  EXPECT_THROW(graph.with_shapes({{"x", {2, 3, 4}}}), ShapeError);
  EXPECT_EQ(message_of([&] { graph.with_shapes({{"x", {2}}}); }),
            "with_shapes: input \"x\" is [2], expected 2 axes as in f32 [2, 3]");
  EXPECT_THROW(graph.with_shapes({{"x", {-1, 3}}}), ShapeError);
}

// Operations that hold sizes name themselves, and say what to do.
TEST(WithShapes, SizesInGraphs) {
  const std::pair<const char*, Function> functions[] = {
      {"reshape", [](const Tensor& x) { return reshape(x, {2, 2, 6}); }},
      {"reshape in parts", [](const Tensor& x) { return unflatten(x, 0, {2, 2}); }},
      {"broadcast", [](const Tensor& x) { return x + broadcast_to(Graph::scalar(1, DType::f32), x.shape()); }},
      {"zeros_like", [](const Tensor& x) { return x + zeros_like(x); }},
      {"arange", [](const Tensor& x) { return x + arange(0, x.shape()[0], 1, DType::f32)[{all, newaxis}]; }},
      {"slice", [](const Tensor& x) { return slice(x, 0, 1, 4); }},
      {"constant", [](const Tensor& x) { return x * weights({4, 6}, 1); }},
      {"of a gradient", [](const Tensor& x) { return grad([](const Tensor& v) { return (exp(v) * v).sum(); })(x); }},
      {"in a loop",
       [](const Tensor& x) {
         return fori_loop(0, 2, [](const Tensor&, const Tensor& y) { return y + zeros_like(y); }, x);
       }},
      {"in a branch",
       [](const Tensor& x) {
         return cond(
             all(x.sum() > 0), [](const Tensor& y) { return reshape(exp(reshape(y, {24})), {4, 6}); },
             [](const Tensor& y) { return y; }, x);
       }},
  };
  for (const auto& [what, f] : functions) {
    SCOPED_TRACE(what);
    Graph graph;
    Tensor y;
    {
      const LabelScope scope("here");
      y = f(graph.input("x", DType::f32, {4, 6}));
    }
    graph.output("y", y);
    EXPECT_THROW(graph.with_shapes({{"x", {3, 6}}}), ShapeError);
    const std::string message = message_of([&] { graph.with_shapes({{"x", {3, 6}}}); });
    EXPECT_THAT(message, testing::StartsWith("with_shapes: "));
    EXPECT_THAT(message, HasSubstr("here"));
    EXPECT_THAT(message, HasSubstr("flatten_axes(), unflatten()"));
    // One row would broadcast to what has as many as there were.
    if (what != std::string_view("slice")) {
      EXPECT_THROW(graph.with_shapes({{"x", {1, 6}}}), ShapeError);
    }
  }
  const Graph graph = recorded([](const Tensor& x) { return reshape(x, {2, 2, 6}); }, {4, 6});
  EXPECT_THAT(message_of([&] { graph.with_shapes({{"x", {3, 6}}}); }),
              HasSubstr("reshape{shape=[2, 2, 6]} (recorded at with_shapes_test.cc:"));
  EXPECT_THAT(message_of([&] { graph.with_shapes({{"x", {3, 6}}}); }),
              HasSubstr("was recorded for f32 [4, 6], and does not take f32 [3, 6]: reshape: [3, 6] has 18 elements, "
                        "[2, 2, 6] has 24"));
  // What the compiler made for its shapes.
  const Graph views =
      optimized(recorded([](const Tensor& x) { return x.T()[{slice(1, none)}] + 1; }, {4, 6}), Device::cpu());
  EXPECT_THROW(views.with_shapes({{"x", {5, 6}}}), Unsupported);
}

// Rules that a file says, and that fit no tensor.
TEST(WithShapes, BadRules) {
  const Tensor x = Graph().input("x", DType::f32, {4, 6});
  EXPECT_THROW(unflatten(x, 2, {2, 2}), InvalidArgument);
  EXPECT_THROW(unflatten(x, 0, {3, -1}), ShapeError);
  EXPECT_THROW(unflatten(x, 0, {2, 3}), ShapeError);
  EXPECT_THROW(unflatten(x, 0, {-1, -1}), ShapeError);
  EXPECT_THROW(flatten_axes(x, 1, 0), ShapeError);
  EXPECT_THROW(flatten_axes(x, 0, 2), InvalidArgument);
  const auto made = [&](const Shape& shape, std::vector<int> kept) {
    return [=] { return apply(make_op<ReshapeOp>(ReshapeAttributes{shape, kept}), {x}); };
  };
  EXPECT_THROW(made({-1, -1}, {0, 0})(), ShapeError);
  EXPECT_THROW(made({-1, -1}, {0})(), ShapeError);
  EXPECT_THROW(made({-1, -1}, {0, 2})(), ShapeError);
  EXPECT_THROW(made({-1, -1}, {0, -2})(), ShapeError);
  EXPECT_THROW(made({-1, 5}, {0, -1})(), ShapeError);
  EXPECT_EQ(made({-1, 2, -1}, {0, -1, -1})().shape(), (Shape{4, 2, 3}));
  // Of no elements.
  const Tensor none = Graph().input("x", DType::f32, {2, 0, 6});
  EXPECT_EQ(flatten_axes(unflatten(reshape(none, {0, 6}), 1, {2, -1}), 1).shape(), (Shape{0, 6}));
  EXPECT_EQ(unflatten(reshape(none, {0, 6}), 1, {2, -1}).shape(), (Shape{0, 2, 3}));
  EXPECT_EQ(made({-1, 2, -1}, {1, -1, -1})().shape(), (Shape{6, 2, 2}));
}

}  // namespace
}  // namespace weft
