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
  Graph graph, other;
  const Value x = graph.input("x", DType::f32, {2, 3}), foreign = other.input("x", DType::f32, {2, 3});
  EXPECT_THROW(neg(Value()), InvalidArgument);
  EXPECT_THROW(x + Value(), InvalidArgument);
  EXPECT_THROW(Value() + x, InvalidArgument);
  EXPECT_THROW(Value() + 1.0, InvalidArgument);
  EXPECT_THROW(x + foreign, InvalidArgument);
  EXPECT_THROW(select(Value(), x, x), InvalidArgument);
  EXPECT_THROW(matmul(x, Value()), InvalidArgument);
  EXPECT_THROW(attention(x, x, Value(), Value(), {}), InvalidArgument);
  EXPECT_THROW(layer_norm(Value(), Value(), Value(), 1e-5), InvalidArgument);
  EXPECT_THROW(group_norm(Value(), x, x, 1, 1e-5), InvalidArgument);
  EXPECT_THROW(concat(std::span<const Value>(), 0), InvalidArgument);
  EXPECT_THROW(concat(std::array{x, Value()}, 0), InvalidArgument);
  EXPECT_THROW(concat(std::array{x, foreign}, 0), InvalidArgument);
  EXPECT_THROW(reshape(Value(), {6}), InvalidArgument);
  EXPECT_THROW(slice(Value(), 0, 0, 1), InvalidArgument);
  EXPECT_THROW(softmax(Value()), InvalidArgument);
  EXPECT_THROW(scatter(ScatterKind::add, x, Value(), x), InvalidArgument);
  EXPECT_THROW(sort(Value()), InvalidArgument);
  EXPECT_THROW(random_bits(Value(), DType::u32, {2}), InvalidArgument);
  EXPECT_THROW(elementwise("relu", {Value()}), InvalidArgument);
  EXPECT_THROW(elementwise("add", {x, foreign}), InvalidArgument);
  EXPECT_THROW(Value().T(), InvalidArgument);
  EXPECT_THROW((void)Value().shape(), InvalidArgument);
  EXPECT_THROW(graph.output("y", Value()), InvalidArgument);
  EXPECT_THROW(graph.output("y", foreign), InvalidArgument);
  EXPECT_THROW(graph.input("x", DType::f32, {2}), InvalidArgument);
  EXPECT_THROW(graph.input("negative", DType::f32, {2, -1}), InvalidArgument);
  EXPECT_THROW(graph.constant(TensorData{DType::f32, {2}, {}, {}}), InvalidArgument);
  EXPECT_THROW(DeviceTensor().read<float>(), Error);
  EXPECT_THROW(DeviceTensor().write(std::vector<std::byte>(4)), Error);
  EXPECT_THROW(DeviceTensor(Device::cpu(), View()), InvalidArgument);
  EXPECT_THROW(DeviceTensor(Device::cpu(), DType::f32, {std::int64_t{1} << 62}), Error);
  EXPECT_THROW(DeviceTensor(Device::cpu(), DType::f32, {std::int64_t{1} << 60}), Error);
  EXPECT_THROW((void)Executable().report(), InvalidArgument);
  EXPECT_THROW((void)Executable().device(), InvalidArgument);
  EXPECT_THROW(Executable().run({}, {}), InvalidArgument);
}

class HostileRun : public testing::TestWithParam<std::string> {
 protected:
  Device device = test::device_named(GetParam());
  DeviceTensor tensor(const Shape& shape, DType type = DType::f32) const { return {device, type, shape}; }
};
INSTANTIATE_TEST_SUITE_P(Devices, HostileRun, testing::ValuesIn(test::all_devices()),
                         [](const auto& i) { return i.param; });

TEST_P(HostileRun, TensorsThatDoNotFit) {
  Graph graph;
  graph.output("y", graph.input("a", DType::f32, {2, 3}) + graph.input("b", DType::f32, {3}));
  Executable exe = compile(graph, device);
  const DeviceTensor a = tensor({2, 3}), b = tensor({3}), y = tensor({2, 3}), wrong = tensor({3, 2}),
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
  EXPECT_THAT(says({{"a", a}, {"b", b}}, {{"y", DeviceTensor()}}), HasSubstr("y"));
  EXPECT_NO_THROW(exe.run({{"a", a}, {"b", b}}, {{"y", y}}));
}

TEST_P(HostileRun, GraphsWithoutWork) {
  EXPECT_NO_THROW(compile(Graph(), device).run({}, {}));
  Graph passes;
  passes.output("y", passes.input("x", DType::f32, {3}));
  const DeviceTensor x = tensor({3}), y = tensor({3});
  const std::vector<float> numbers{1, 2, 3};
  DeviceTensor(x).write(std::as_bytes(std::span(numbers)));
  Executable exe = compile(passes, device);
  exe.run({{"x", x}}, {{"y", y}});
  EXPECT_EQ(y.read<float>(), numbers);
  Graph empty;
  empty.output("y", softmax(empty.input("x", DType::f32, {0, 3})));
  const DeviceTensor none = tensor({0, 3}), result = tensor({0, 3});
  EXPECT_NO_THROW(compile(empty, device).run({{"x", none}}, {{"y", result}}));
  EXPECT_TRUE(result.read<float>().empty());
}

}  // namespace
}  // namespace weft
