// Wrong use of objects of the public API: empty ones, of different owners, with arguments that do not fit. Each throws
// a typed error that says what is wrong.
#include "compiler/bound.h"
#include "support/throws.h"
#include "weft/compile.h"
#include "weft/error.h"

namespace weft {
namespace {

using testing::HasSubstr;

TEST(HostileApi, EmptyObjects) {
  Graph graph;
  const Tensor x = graph.input("x", DType::f32, {2, 3});
  EXPECT_THROW(neg(Tensor()), InvalidArgument);
  EXPECT_THROW(x + Tensor(), InvalidArgument);
  EXPECT_THROW(Tensor() + x, InvalidArgument);
  EXPECT_THROW(Tensor() + 1.0, InvalidArgument);
  EXPECT_THROW(select(Tensor(), x, x), InvalidArgument);
  EXPECT_THROW(matmul(x, Tensor()), InvalidArgument);
  EXPECT_THROW(attention(x, x, Tensor(), Tensor(), {}), InvalidArgument);
  EXPECT_THROW(layer_norm(Tensor(), Tensor(), Tensor(), 1e-5), InvalidArgument);
  EXPECT_THROW(group_norm(Tensor(), x, x, 1, 1e-5), InvalidArgument);
  EXPECT_THROW(concat(std::span<const Tensor>(), 0), InvalidArgument);
  EXPECT_THROW(concat(std::array{x, Tensor()}, 0), InvalidArgument);
  EXPECT_THROW(reshape(Tensor(), {6}), InvalidArgument);
  EXPECT_THROW(slice(Tensor(), 0, 0, 1), InvalidArgument);
  EXPECT_THROW(softmax(Tensor()), InvalidArgument);
  EXPECT_THROW(scatter(ScatterKind::add, x, Tensor(), x), InvalidArgument);
  EXPECT_THROW(sort(Tensor()), InvalidArgument);
  EXPECT_THROW(random_bits(Tensor(), DType::u32, {2}), InvalidArgument);
  EXPECT_THROW(elementwise("relu", {Tensor()}), InvalidArgument);
  EXPECT_THROW(Tensor().T(), InvalidArgument);
  EXPECT_THROW((void)Tensor().shape(), InvalidArgument);
  EXPECT_THROW(graph.output("y", Tensor()), InvalidArgument);
  EXPECT_THROW(graph.input("x", DType::f32, {2}), InvalidArgument);
  EXPECT_THROW(graph.input("negative", DType::f32, {2, -1}), InvalidArgument);
  EXPECT_THROW(graph.constant(TensorData{DType::f32, {2}, {}, {}}), InvalidArgument);
  EXPECT_THROW(Tensor().read<float>(), Error);
  EXPECT_THROW(Tensor().write(std::vector<std::byte>(4)), Error);
  EXPECT_THROW((void)x.read<float>(), InvalidArgument);
  EXPECT_THROW((void)x.device(), InvalidArgument);
  EXPECT_THROW((void)Tensor(x).write({}), InvalidArgument);
  EXPECT_FALSE(x.has_data());
  EXPECT_THROW(Tensor(Device::cpu(), View()), InvalidArgument);
  EXPECT_THROW(Tensor(Device::cpu(), DType::f32, {std::int64_t{1} << 62}), Error);
  EXPECT_THROW(Tensor(Device::cpu(), DType::f32, {std::int64_t{1} << 60}), Error);
  EXPECT_THROW((void)Executable().report(), InvalidArgument);
  EXPECT_THROW((void)Executable().device(), InvalidArgument);
  EXPECT_THROW(Executable().run({}, {}), InvalidArgument);
}

class HostileRun : public testing::TestWithParam<std::string> {
 protected:
  Device device = test::device_named(GetParam());
  Tensor tensor(const Shape& shape, DType type = DType::f32) const { return {device, type, shape}; }
  static void write(Tensor& t, const std::vector<float>& values) { t.write(std::as_bytes(std::span(values))); }
};
INSTANTIATE_TEST_SUITE_P(Devices, HostileRun, testing::ValuesIn(test::all_devices()),
                         [](const auto& i) { return i.param; });

TEST_P(HostileRun, TensorsThatDoNotFit) {
  Graph graph;
  const Tensor left = graph.input("a", DType::f32, {2, 3}), right = graph.input("b", DType::f32, {3});
  graph.output("y", left + right);
  Executable exe = compile(graph, device);
  const Tensor a = tensor({2, 3}), b = tensor({3}), y = tensor({2, 3}), wrong = tensor({3, 2}),
               half = tensor({2, 3}, DType::f16);
  const auto says = [&](std::initializer_list<NamedTensor> in, std::initializer_list<NamedTensor> out) {
    const std::string what = test::thrown_by([&] { exe.run(in, out); });
    EXPECT_THAT(what, testing::StartsWith("InvalidArgument: "));
    return what;
  };
  EXPECT_THAT(says({{"a", a}}, {{"y", y}}), HasSubstr("b"));
  EXPECT_THAT(says({{"a", a}, {"b", b}, {"c", b}}, {{"y", y}}), HasSubstr("c"));
  EXPECT_THAT(says({{"a", a}, {"a", a}, {"b", b}}, {{"y", y}}), HasSubstr("a"));
  EXPECT_THAT(says({{"a", wrong}, {"b", b}}, {{"y", y}}), HasSubstr("[3, 2]"));
  EXPECT_THAT(says({{"a", half}, {"b", b}}, {{"y", y}}), HasSubstr("f16"));
  EXPECT_THAT(says({{"a", a}, {"b", b}}, {}), HasSubstr("y"));
  EXPECT_THAT(says({{"a", a}, {"b", b}}, {{"z", y}}), HasSubstr("z"));
  EXPECT_THAT(says({{"a", a}, {"b", b}}, {{"y", a}}), HasSubstr("y"));
  EXPECT_THAT(says({{"a", a}, {"b", b}}, {{"y", Tensor()}}), HasSubstr("output \"y\" is an undefined Tensor"));
  const Tensor recipe = neg(a);
  EXPECT_THAT(says({{"a", recipe}, {"b", b}}, {{"y", y}}), HasSubstr("input \"a\" is f32 [2, 3] without data"));
  EXPECT_THAT(test::thrown_by([&] { exe.run(std::array{a}, std::array{y}); }), HasSubstr("1 inputs, the graph has 2"));
  EXPECT_THAT(test::thrown_by([&] { exe.run(std::array{b, a}, std::array{y}); }), HasSubstr("input \"a\" is f32 [3]"));
  EXPECT_NO_THROW(exe.run({{"a", a}, {"b", b}}, {{"y", y}}));
}

TEST_P(HostileRun, PortsByIndex) {
  Graph graph;
  const Tensor a = graph.input("a", DType::f32, {2}), b = graph.input("b", DType::f32, {2});
  graph.output("difference", a - b);
  graph.output("quotient", a / b);
  Executable exe = compile(graph, device);
  Tensor x = tensor({2}), y = tensor({2});
  const Tensor difference = tensor({2}), quotient = tensor({2});
  write(x, {6.0f, 9.0f});
  write(y, {2.0f, 3.0f});
  exe.run(std::array{x, y}, std::array{difference, quotient});
  EXPECT_EQ(difference.read<float>(), (std::vector{4.0f, 6.0f}));
  EXPECT_EQ(quotient.read<float>(), (std::vector{3.0f, 3.0f}));
}

// Tensors with data may be operands: each run reads them as they are then.
TEST_P(HostileRun, DataInAGraph) {
  Tensor weight = tensor({2});
  const Tensor other = tensor({2}), y = tensor({2});
  const auto graph_of = [&](const Tensor& a, const Tensor& b) {
    Graph g;
    g.output("y", g.input("x", DType::f32, {2}) * exp(a) + b);
    return g;
  };
  const Graph graph = graph_of(weight, weight);
  EXPECT_TRUE(graph.equals(graph_of(other, other)));
  EXPECT_EQ(graph.hash(), graph_of(other, other).hash());
  EXPECT_FALSE(graph.equals(graph_of(weight, other)));
  Executable exe = compile(graph, device);
  Tensor x = tensor({2});
  write(x, {2.0f, 3.0f});
  for (const float w : {0.0f, 1.0f}) {
    write(weight, {w, 0.0f});
    exe.run({{"x", x}}, {{"y", y}});
    EXPECT_NEAR(y.read<float>()[0], 2 * std::exp(w) + w, 1e-5);
    EXPECT_EQ(y.read<float>()[1], 3);
  }
  EXPECT_THAT(test::thrown_by([&] { exe.run({{"x", x}}, {{"y", weight}}); }),
              HasSubstr("output \"y\" lies in the same buffer as a tensor that the graph reads"));
}

TEST_P(HostileRun, GraphsWithoutWork) {
  EXPECT_THAT(test::thrown_by([&] { compile(Graph(), device); }), HasSubstr("compile: the graph has no output"));
  Graph passes;
  passes.output("y", passes.input("x", DType::f32, {3}));
  const Tensor x = tensor({3}), y = tensor({3});
  const std::vector<float> numbers{1, 2, 3};
  Tensor(x).write(std::as_bytes(std::span(numbers)));
  Executable exe = compile(passes, device);
  exe.run({{"x", x}}, {{"y", y}});
  EXPECT_EQ(y.read<float>(), numbers);
  Graph empty;
  empty.output("y", softmax(empty.input("x", DType::f32, {0, 3})));
  const Tensor none = tensor({0, 3}), result = tensor({0, 3});
  EXPECT_NO_THROW(compile(empty, device).run({{"x", none}}, {{"y", result}}));
  EXPECT_TRUE(result.read<float>().empty());
}

}  // namespace
}  // namespace weft
