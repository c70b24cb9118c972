// Numbers that change from run to run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "compiler/bound.h"
#include "support/dawn_counters.h"
#include "support/devices.h"
#include "support/throws.h"
#include "weft/compile.h"
#include "weft/kernels.h"

namespace weft::test {
namespace {

using testing::HasSubstr;

class NumberTest : public testing::TestWithParam<std::string> {
 protected:
  Device device = device_named(GetParam());
  Tensor tensor(const std::vector<float>& values) const {
    Tensor t(device, DType::f32, {static_cast<std::int64_t>(values.size())});
    t.write(std::as_bytes(std::span(values)));
    return t;
  }
};

INSTANTIATE_TEST_SUITE_P(Devices, NumberTest, testing::ValuesIn(all_devices()), [](const auto& i) { return i.param; });

// 0, 1, 0.5 and 0.25 would be simplified away if they were literals.
TEST_P(NumberTest, AThousandRatesMakeNothingNew) {
  Graph graph;
  const Tensor a = graph.input("a", DType::f32, {5}), b = graph.input("b", DType::f32, {5});
  graph.output("y", a - b * graph.number("rate"));
  Executable exe = compile(graph, device);
  const std::vector<float> x{1, -2, 3, 0, 5}, g{2, 3, -4, 1, 0};
  const Tensor ta = tensor(x), tb = tensor(g), y = tensor({0, 0, 0, 0, 0});
  const auto check = [&](float rate) {
    exe.run({{"a", ta}, {"b", tb}}, {{"y", y}}, {{"rate", rate}});
    const std::vector<float> got = y.read<float>();
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(got[i], x[i] - g[i] * rate, 1e-6 * (1 + std::abs(rate)));
  };
  check(0.125);
  check(0.375);
  const DawnCounters before = DawnCounters::now();
  for (const float rate : {0.0f, 1.0f, 0.5f, 0.25f, -1.0f}) check(rate);
  for (int i = 0; i < 200; ++i) check(0.001f * static_cast<float>(i * i));
  const DawnCounters made = DawnCounters::now() - before;
  EXPECT_EQ(made.created(), 0u) << made.text();
}

// One graph in which numbers meet every place that elementwise work is fused into.
TEST_P(NumberTest, WhereverKernelsTakeWork) {
  Graph graph;
  const Tensor x = graph.input("x", DType::f32, {6, 40}), w = graph.input("w", DType::f32, {40, 24});
  const Tensor s = graph.number("s"), t = graph.number("t"), k = graph.number("k", DType::i32);
  const auto out = [&](const char* name, const Tensor& v) { graph.output(name, v); };
  out("product", matmul(x, w) * s + t);
  out("softmax", softmax(x * s) + t);
  out("norm", layer_norm(x + t, {}, {}, 1e-5) * s);
  out("sum", reduce(ReduceKind::sum, x * s, {1}) + t);
  out("column sum", reduce(ReduceKind::sum, x * s, {0}) - t);
  out("scan", cumsum(x * s, 1));
  out("row", gather(x, reshape(k, {1}), 0));
  out("wide", broadcast_to(s, {3, 7}) + 1.0);
  out("strided", x.T() * s);
  out("alone", s * t);
  out("itself", t);
  out("compared", cast(greater(x, broadcast_to(s, {6, 40})), DType::f32));
  const TensorData data = noise({6, 40}, 3), weights = noise({40, 24}, 4);
  Executable exe = compile(graph, device);
  for (const auto& [a, b, row] : {std::tuple(0.5f, -2.0f, 3), std::tuple(1.0f, 0.0f, 5), std::tuple(-3.0f, 7.0f, 0)}) {
    // The same graph with literals, on the cpu.
    Graph literal;
    const Tensor lx = literal.input("x", DType::f32, {6, 40}), lw = literal.input("w", DType::f32, {40, 24});
    const Tensor ls = Graph::scalar(a, DType::f32), lt = Graph::scalar(b, DType::f32);
    literal.output("product", matmul(lx, lw) * ls + lt);
    literal.output("softmax", softmax(lx * ls) + lt);
    literal.output("norm", layer_norm(lx + lt, {}, {}, 1e-5) * ls);
    literal.output("sum", reduce(ReduceKind::sum, lx * ls, {1}) + lt);
    literal.output("column sum", reduce(ReduceKind::sum, lx * ls, {0}) - lt);
    literal.output("scan", cumsum(lx * ls, 1));
    literal.output("row", slice(lx, 0, row, row + 1));
    literal.output("wide", broadcast_to(ls, {3, 7}) + 1.0);
    literal.output("strided", lx.T() * ls);
    literal.output("alone", ls * lt);
    literal.output("itself", lt);
    literal.output("compared", cast(greater(lx, broadcast_to(ls, {6, 40})), DType::f32));
    const auto run = [&](const Graph& g, Executable& e, const Device& d, std::span<const NamedNumber> numbers) {
      Tensor tx(d, DType::f32, {6, 40}), tw(d, DType::f32, {40, 24});
      tx.write(data.bytes);
      tw.write(weights.bytes);
      std::vector<Tensor> results;
      std::vector<NamedTensor> outputs;
      for (const GraphPort& o : g.impl().outputs) results.emplace_back(d, o.value.dtype(), o.value.shape());
      for (std::size_t i = 0; i < results.size(); ++i) outputs.push_back({g.impl().outputs[i].name, results[i]});
      const std::array<NamedTensor, 2> inputs{NamedTensor{"x", tx}, NamedTensor{"w", tw}};
      e.run(inputs, outputs, numbers);
      std::vector<std::vector<float>> values;
      for (const Tensor& r : results) values.push_back(r.read<float>());
      return values;
    };
    const std::array<NamedNumber, 3> numbers{NamedNumber{"s", a}, NamedNumber{"t", b}, NamedNumber{"k", row}};
    Executable expected = compile(literal, Device::cpu());
    const auto got = run(graph, exe, device, numbers), want = run(literal, expected, Device::cpu(), {});
    for (std::size_t o = 0; o < want.size(); ++o) {
      ASSERT_EQ(got[o].size(), want[o].size());
      for (std::size_t i = 0; i < want[o].size(); ++i) {
        // Sums of 40 products, in another order.
        EXPECT_NEAR(got[o][i], want[o][i], 4e-5 * (1 + std::abs(want[o][i]))) << graph.impl().outputs[o].name << i;
      }
    }
  }
}

TEST_P(NumberTest, OfEveryType) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::i8, DType::u8, DType::i16, DType::u16,
                           DType::i32, DType::u32, DType::i64, DType::u64, DType::boolean}) {
    Graph graph;
    const Tensor n = graph.number("n", type);
    const bool truth = type == DType::boolean;
    graph.output("y", cast(broadcast_to(n, {9}), truth ? DType::i32 : type));
    Executable exe = compile(graph, device);
    const DType stored = truth ? DType::i32 : type;
    const Tensor y(device, stored, {9});
    exe.run({}, {{"y", y}}, {{"n", truth ? 1 : 100}});
    std::vector<std::byte> bytes(9 * static_cast<std::size_t>(bits(stored)) / 8);
    y.read_bytes(bytes);
    const std::uint64_t expected = Number(truth ? 1 : 100).bits(stored);
    for (std::size_t i = 0; i < 9; ++i) {
      std::uint64_t got = 0;
      std::memcpy(&got, bytes.data() + i * bytes.size() / 9, bytes.size() / 9);
      EXPECT_EQ(got, expected) << name(type) << " " << i;
    }
  }
}

// Kernels that move elements take numbers, too: those of 64 bits whole, and in shapes with axes of one element.
TEST_P(NumberTest, AreMoved) {
  for (const DType type : {DType::f16, DType::i32, DType::i64, DType::u64}) {
    Graph graph;
    const Tensor n = graph.number("n", type), x = graph.input("x", type, {3, 3, 1});
    const Tensor grid = reshape(broadcast_to(n, {3, 3}), {3, 3, 1});
    graph.output("joined", concat(std::array{grid, x}, 2));
    graph.output("least", minimum(grid, x));
    Executable exe = compile(graph, device);
    Tensor a(device, type, {3, 3, 1});
    const Tensor joined(device, type, {3, 3, 2}), least(device, type, {3, 3, 1});
    a.write(std::vector<std::byte>(9 * static_cast<std::size_t>(bits(type)) / 8));
    exe.run({{"x", a}}, {{"joined", joined}, {"least", least}}, {{"n", 7}});
    EXPECT_THAT(least.to_vector<int>(), testing::Each(0));
    const auto got = joined.to_vector<int>();
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], i % 2 ? 0 : 7) << name(type) << " " << i;
  }
}

TEST_P(NumberTest, WrongNumbersAreRefused) {
  Graph graph;
  const Tensor x = graph.input("x", DType::f32, {2}), scale = graph.number("scale"), shift = graph.number("shift");
  graph.output("y", x * scale + shift);
  EXPECT_THAT(refused_by([&] { graph.number("scale"); }), HasSubstr("a number \"scale\" already"));
  EXPECT_THAT(refused_by([&] { graph.number("small", DType::i4); }), HasSubstr("numbers have 8 bits or more"));
  Executable exe = compile(graph, device);
  const Tensor a = tensor({1, 2}), y = tensor({0, 0});
  const auto says = [&](std::initializer_list<NamedNumber> numbers) {
    return thrown_by([&] { exe.run({{"x", a}}, {{"y", y}}, numbers); });
  };
  EXPECT_EQ(says({{"scale", 1}}), "InvalidArgument: run: number \"shift\" (f32) is missing");
  EXPECT_EQ(says({{"scale", 1}, {"shift", 1}, {"scale", 2}}), "InvalidArgument: run: number \"scale\" is given twice");
  EXPECT_EQ(says({{"scale", 1}, {"shift", 1}, {"size", 2}}),
            "InvalidArgument: run: the graph has no number \"size\"; it has \"scale\", \"shift\"");
  EXPECT_THAT(thrown_by([&] { exe.run(std::array{a}, std::array{y}, std::array{Number(1)}); }),
              HasSubstr("1 numbers, the graph has 2"));
  exe.run(std::array{a}, std::array{y}, std::array{Number(3), Number(4)});
  EXPECT_EQ(y.read<float>(), (std::vector<float>{7, 10}));
}

// Kernels alone take them too.
TEST_P(NumberTest, InAKernelCall) {
  if (!device.is_gpu()) GTEST_SKIP() << "a number is memory there";
  const Tensor x = tensor({1, 2, 3}), y = tensor({0, 0, 0}), z = tensor({0, 0, 0});
  const Buffer number = Buffer::number();
  const View n(number, 0, DType::f32, {});
  gpu::Encoder encoder(device.gpu());
  const float first = 2, second = 5;
  std::memcpy(number.data(), &first, sizeof first);
  kernels::binary(encoder, ScalarOp::mul, x.view(), n, y.view());
  std::memcpy(number.data(), &second, sizeof second);
  kernels::binary(encoder, ScalarOp::mul, x.view(), n, z.view());
  EXPECT_THAT(thrown_by([&] { kernels::copy(encoder, n, n); }), HasSubstr("cannot be written"));
  encoder.submit();
  EXPECT_EQ(y.read<float>(), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(z.read<float>(), (std::vector<float>{5, 10, 15}));
}

}  // namespace
}  // namespace weft::test
