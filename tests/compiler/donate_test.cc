// Outputs in the memory of inputs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "compiler/bound.h"
#include "support/devices.h"
#include "support/throws.h"
#include "weft/compile.h"
#include "weft/control_flow.h"
#include "weft/indexing.h"
#include "weft/interruption.h"
#include "weft/kernels.h"

namespace weft::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class DonateTest : public testing::TestWithParam<std::string> {
 protected:
  Device device = device_named(GetParam());
  Tensor tensor(const Shape& shape, const std::vector<float>& values) const {
    Tensor t(device, DType::f32, shape);
    t.write(std::as_bytes(std::span(values)));
    return t;
  }
  Tensor vector(const std::vector<float>& values) const {
    return tensor({static_cast<std::int64_t>(values.size())}, values);
  }
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  Executable compiled(const Graph& graph, const Pairs& pairs, bool fusion = true) const {
    CompileOptions options;
    options.donate = pairs;
    options.fusion = fusion;
    return compile(graph, device, options);
  }
  static std::uint64_t bytes(const Executable& exe) {
    std::uint64_t sum = 0;
    for (const KernelRun& run : exe.report().dispatches) sum += run.work.bytes;
    return sum;
  }
};

INSTANTIATE_TEST_SUITE_P(Devices, DonateTest, testing::ValuesIn(all_devices()), [](const auto& i) { return i.param; });

// The row that is written, and nothing else: counted in bytes, and seen in the rows around it.
TEST_P(DonateTest, OneRowOfACache) {
  const Shape shape{3, 16, 8};
  Graph graph;
  const Tensor cache = graph.input("cache", DType::f32, shape), row = graph.input("row", DType::f32, {3, 1, 8});
  graph.output("cache_out", dynamic_update_slice(cache, row, graph.number("at", DType::i32), {1}));
  Executable exe = compiled(graph, {{"cache", "cache_out"}});
  ASSERT_EQ(exe.report().donations.size(), 1u);
  EXPECT_TRUE(exe.report().donations[0].in_place) << exe.report().donations[0].reason;
  EXPECT_EQ(exe.report().steps.size(), 1u);
  EXPECT_EQ(exe.report().planned_bytes, 0u);
  EXPECT_LE(bytes(exe), 2 * 3 * 8 * 4u + 4u);

  std::vector<float> values(3 * 16 * 8);
  std::iota(values.begin(), values.end(), 0.0f);
  const Tensor memory = tensor(shape, values);
  for (const int at : {0, 7, 15, 40}) {
    const std::vector<float> written(3 * 8, static_cast<float>(-1 - at));
    exe.run({{"cache", memory}, {"row", tensor({3, 1, 8}, written)}}, {{"cache_out", memory}}, {{"at", at}});
    for (int head = 0; head < 3; ++head) {
      for (int k = 0; k < 8; ++k) values[(head * 16 + std::min(at, 15)) * 8 + k] = static_cast<float>(-1 - at);
    }
    EXPECT_EQ(memory.read<float>(), values);
  }
}

// Without donation the whole cache is copied.
TEST_P(DonateTest, WithoutItTheCacheIsCopied) {
  Graph graph;
  const Tensor cache = graph.input("cache", DType::f32, {16, 8}), row = graph.input("row", DType::f32, {1, 8});
  graph.output("cache_out", dynamic_update_slice(cache, row, graph.number("at", DType::i32), {0}));
  Executable exe = compiled(graph, {});
  EXPECT_GE(bytes(exe), 2 * 16 * 8 * 4u);
  const Tensor memory = tensor({16, 8}, std::vector<float>(128, 1)), other = tensor({16, 8}, std::vector<float>(128));
  exe.run({{"cache", memory}, {"row", tensor({1, 8}, std::vector<float>(8, 2))}}, {{"cache_out", other}}, {{"at", 3}});
  EXPECT_EQ(memory.read<float>(), std::vector<float>(128, 1));
  std::vector<float> expected(128, 1);
  std::fill_n(expected.begin() + 24, 8, 2.0f);
  EXPECT_EQ(other.read<float>(), expected);
}

// Attention over the cache that is written in the same run reads it after the write.
TEST_P(DonateTest, LaterStepsReadTheResult) {
  Graph graph;
  const Tensor cache = graph.input("cache", DType::f32, {4, 2}), row = graph.input("row", DType::f32, {1, 2});
  const Tensor next = dynamic_update_slice(cache, row, graph.number("at", DType::i32), {0});
  graph.output("sum", reduce(ReduceKind::sum, next, {0}));
  graph.output("cache_out", next);
  Executable exe = compiled(graph, {{"cache", "cache_out"}});
  EXPECT_TRUE(exe.report().donations[0].in_place);
  const Tensor memory = tensor({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), sum = vector({0, 0});
  exe.run({{"cache", memory}, {"row", tensor({1, 2}, {10, 20})}}, {{"sum", sum}, {"cache_out", memory}}, {{"at", 1}});
  EXPECT_THAT(sum.read<float>(), ElementsAre(23, 36));
  EXPECT_THAT(memory.read<float>(), ElementsAre(1, 2, 10, 20, 5, 6, 7, 8));
}

// A step of Adam over many parameters: no intermediate of a parameter's size, each tensor written where it lies.
TEST_P(DonateTest, AnOptimiserStep) {
  constexpr int kCount = 100;
  const auto name = [](const char* what, int i) { return std::format("{}{}", what, i); };
  Graph graph;
  Pairs pairs;
  const Tensor rate = graph.number("rate");
  for (int i = 0; i < kCount; ++i) {
    const Shape shape{i % 7 + 1, 33};
    const Tensor p = graph.input(name("p", i), DType::f32, shape), g = graph.input(name("g", i), DType::f32, shape);
    const Tensor m = graph.input(name("m", i), DType::f32, shape), v = graph.input(name("v", i), DType::f32, shape);
    const Tensor m2 = m * 0.9 + g * 0.1, v2 = v * 0.99 + g * g * 0.01;
    graph.output(name("p_out", i), p - rate * m2 / (sqrt(v2) + 1e-8));
    graph.output(name("m_out", i), m2);
    graph.output(name("v_out", i), v2);
    for (const char* what : {"p", "m", "v"}) pairs.emplace_back(name(what, i), name(what, i).insert(1, "_out"));
  }
  Executable exe = compiled(graph, pairs);
  for (const Donation& d : exe.report().donations) EXPECT_TRUE(d.in_place) << d.input << ": " << d.reason;
  EXPECT_EQ(exe.report().planned_bytes, 0u);
  EXPECT_LE(exe.report().steps.size(), 100u);
  std::uint64_t counted = 0;
  std::vector<Tensor> in, out;
  for (int i = 0; i < kCount; ++i) {
    const Shape shape{i % 7 + 1, 33};
    const auto n = static_cast<std::size_t>(element_count(shape));
    const Tensor p = tensor(shape, std::vector<float>(n, 1)), g = tensor(shape, std::vector<float>(n, 2));
    const Tensor m = tensor(shape, std::vector<float>(n, 0)), v = tensor(shape, std::vector<float>(n, 0));
    in.insert(in.end(), {p, g, m, v});
    out.insert(out.end(), {p, m, v});
    counted += n * 4 * 7;  // four read, three written
  }
  EXPECT_LE(bytes(exe), counted + 400u);
  exe.run(in, out, std::vector<Number>{0.5});
  for (int i = 0; i < kCount; ++i) {
    for (const float x : in[i * 4].read<float>()) ASSERT_NEAR(x, 1 - 0.5 * 0.2 / 0.2, 1e-5);
    for (const float x : in[i * 4 + 2].read<float>()) ASSERT_NEAR(x, 0.2, 1e-6);
    for (const float x : in[i * 4 + 3].read<float>()) ASSERT_NEAR(x, 0.04, 1e-6);
  }
}

// The writer moves behind a later reader of the input that does not need its result.
TEST_P(DonateTest, WritersWaitForReaders) {
  Graph graph;
  const Tensor x = graph.input("x", DType::f32, {4}), w = graph.input("w", DType::f32, {4, 4});
  const Tensor next = x + 1.0;
  const Tensor product = matmul(reshape(x, {1, 4}), w);
  graph.output("x_out", next);
  graph.output("product", product);
  Executable exe = compiled(graph, {{"x", "x_out"}}, false);
  EXPECT_TRUE(exe.report().donations[0].in_place) << exe.report().donations[0].reason;
  const Tensor memory = vector({1, 2, 3, 4}), y = tensor({1, 4}, std::vector<float>(4));
  std::vector<float> identity(16, 0);
  for (int i = 0; i < 4; ++i) identity[i * 5] = 1;
  exe.run({{"x", memory}, {"w", tensor({4, 4}, identity)}}, {{"x_out", memory}, {"product", y}});
  EXPECT_THAT(y.read<float>(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(memory.read<float>(), ElementsAre(2, 3, 4, 5));
}

// Where no order allows it, the result is copied at the end, and the report says why.
TEST_P(DonateTest, CopiesWhereItMust) {
  Graph graph;
  const Tensor a = graph.input("a", DType::f32, {2, 2}), b = graph.input("b", DType::f32, {2, 2});
  graph.output("product", matmul(a, b));  // reads a and b, computes nothing in place
  const Tensor c = graph.input("c", DType::f32, {2, 2}), d = graph.input("d", DType::f32, {2, 2});
  graph.output("c_out", d);  // an exchange
  graph.output("d_out", c);
  const Tensor e = graph.input("e", DType::f32, {2, 2});
  graph.output("turned", e.T() + 1.0);  // reads each element after it was overwritten
  const Tensor f = graph.input("f", DType::f32, {2, 2});
  graph.output("same", f);  // nothing to do
  Executable exe = compiled(graph, {{"a", "product"}, {"c", "c_out"}, {"d", "d_out"}, {"e", "turned"}, {"f", "same"}});
  const std::vector<Donation>& made = exe.report().donations;
  ASSERT_EQ(made.size(), 5u);
  EXPECT_FALSE(made[0].in_place);
  EXPECT_THAT(made[0].reason, HasSubstr("matmul"));
  EXPECT_THAT(made[0].reason, HasSubstr("does not compute in place"));
  EXPECT_NE(made[1].in_place, made[2].in_place) << "one of the two can go first";
  EXPECT_FALSE(made[3].in_place);
  EXPECT_TRUE(made[4].in_place);
  const Tensor ta = tensor({2, 2}, {1, 2, 3, 4}), tb = tensor({2, 2}, {0, 1, 1, 0}), tc = tensor({2, 2}, {5, 6, 7, 8});
  const Tensor td = tensor({2, 2}, {9, 10, 11, 12}), te = tensor({2, 2}, {1, 2, 3, 4}),
               tf = tensor({2, 2}, {1, 0, 1, 0});
  for (int turn = 0; turn < 2; ++turn) {
    exe.run({{"a", ta}, {"b", tb}, {"c", tc}, {"d", td}, {"e", te}, {"f", tf}},
            {{"product", ta}, {"c_out", tc}, {"d_out", td}, {"turned", te}, {"same", tf}});
  }
  EXPECT_THAT(ta.read<float>(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(tc.read<float>(), ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(td.read<float>(), ElementsAre(9, 10, 11, 12));
  EXPECT_THAT(te.read<float>(), ElementsAre(3, 4, 5, 6));
  EXPECT_THAT(tf.read<float>(), ElementsAre(1, 0, 1, 0));
}

// The first value of a loop is there already: no step writes it.
TEST_P(DonateTest, LoopsCarryIt) {
  Graph graph;
  const Tensor a = graph.input("a", DType::f32, {2, 2}), b = graph.input("b", DType::f32, {2, 2});
  graph.output("y", fori_loop(0, 3, [&](const Tensor&, const Tensor& v) { return matmul(v, b) + 1.0f; }, a));
  Executable exe = compiled(graph, {{"a", "y"}});
  const Tensor ta = tensor({2, 2}, {1, 2, 3, 4}), tb = tensor({2, 2}, {0, 1, 1, 0});
  exe.run({{"a", ta}, {"b", tb}}, {{"y", ta}});
  EXPECT_THAT(ta.read<float>(), ElementsAre(5, 4, 7, 6));
}

// An input whose memory an interrupted run has written to says so; another one is as it was.
TEST_P(DonateTest, InterruptedRuns) {
  struct Stop {};
  constexpr std::int64_t kLong = 100'000'000;
  Graph graph;
  const Tensor a = graph.input("a", DType::f32, {2, 2}), b = graph.input("b", DType::f32, {2, 2});
  graph.output("y", fori_loop(0, kLong, [&](const Tensor&, const Tensor& v) { return matmul(v, b) * 0.5f; }, a));
  Executable carried = compiled(graph, {{"a", "y"}});
  Graph other;
  const Tensor c = other.input("a", DType::f32, {2, 2}), d = other.input("b", DType::f32, {2, 2});
  other.output("y", fori_loop(0, kLong, [&](const Tensor&, const Tensor& v) { return matmul(v, c) * 0.5f; }, d));
  Executable read = compiled(other, {{"a", "y"}});
  const Tensor ta = tensor({2, 2}, {1, 2, 3, 4}), tb = tensor({2, 2}, {0, 1, 1, 0});
  const auto interrupted = [&](Executable& exe) {
    // The first time may be before the first turn, while kernels are compiled.
    const InterruptionScope scope([times = 0]() mutable {
      if (++times > 2) throw Stop();
    });
    EXPECT_THROW(exe.run({{"a", ta}, {"b", tb}}, {{"y", ta}}).get(), Stop);
  };
  interrupted(read);
  EXPECT_THAT(ta.read<float>(), ElementsAre(1, 2, 3, 4));
  interrupted(carried);
  EXPECT_THAT(thrown_by([&] { ta.read<float>(); }), HasSubstr("lost its values"));
  EXPECT_THAT(thrown_by([&] { (ta + 1).read<float>(); }), HasSubstr("lost its values"));
  EXPECT_THAT(thrown_by([&] { (void)ta.view(); }), HasSubstr("lost its values"));
  EXPECT_THAT(thrown_by([&] { ta[0].read<float>(); }), HasSubstr("lost its values"));
  EXPECT_THAT(thrown_by([&] { carried.run({{"a", ta}, {"b", tb}}, {{"y", ta}}); }), HasSubstr("lost its values"));
  EXPECT_THAT(tb.read<float>(), ElementsAre(0, 1, 1, 0));
}

// Another reader needs what the writer made: the input cannot wait.
TEST_P(DonateTest, ReadersThatNeedTheResult) {
  Graph graph;
  const Tensor x = graph.input("x", DType::f32, {3});
  const Tensor next = softmax(x, 0);
  graph.output("x_out", next);
  graph.output("both", x * next);
  Executable exe = compiled(graph, {{"x", "x_out"}}, false);
  EXPECT_FALSE(exe.report().donations[0].in_place);
  EXPECT_THAT(exe.report().donations[0].reason, HasSubstr("still reads the input"));
  const Tensor memory = vector({1, 1, 1}), y = vector({0, 0, 0});
  exe.run({{"x", memory}}, {{"x_out", memory}, {"both", y}});
  for (const float v : y.read<float>()) EXPECT_NEAR(v, 1.0 / 3, 1e-6);
  for (const float v : memory.read<float>()) EXPECT_NEAR(v, 1.0 / 3, 1e-6);
}

TEST_P(DonateTest, Refusals) {
  Graph graph;
  const Tensor x = graph.input("x", DType::f32, {3}), w = graph.input("w", DType::f32, {3});
  graph.output("y", x + w);
  graph.output("z", x * w);
  graph.output("h", cast(x, DType::f16));
  const auto refused = [&](const Pairs& pairs) { return refused_by([&] { compiled(graph, pairs); }); };
  EXPECT_THAT(refused({{"v", "y"}}), HasSubstr("donate: the graph has no input \"v\"; it has \"x\", \"w\""));
  EXPECT_THAT(refused({{"x", "v"}}), HasSubstr("donate: the graph has no output \"v\"; it has \"y\", \"z\", \"h\""));
  EXPECT_THAT(refused({{"x", "h"}}), HasSubstr("input \"x\" is f32 [3], output \"h\" is f16 [3]; expected one type"));
  EXPECT_THAT(refused({{"x", "y"}, {"x", "z"}}), HasSubstr("input \"x\" is given to two outputs"));
  EXPECT_THAT(refused({{"x", "y"}, {"w", "y"}}), HasSubstr("output \"y\" is given two inputs"));

  Executable exe = compiled(graph, {{"x", "y"}});
  const Tensor tx = vector({1, 2, 3}), tw = vector({1, 2, 3}), tz = vector({0, 0, 0});
  const Tensor th(device, DType::f16, {3});
  const auto run = [&](const Tensor& input, const Tensor& other, const Tensor& output) {
    return refused_by([&] { exe.run({{"x", input}, {"w", other}}, {{"y", output}, {"z", tz}, {"h", th}}); });
  };
  EXPECT_THAT(run(tx, tw, tw), HasSubstr("run: output \"y\" is another tensor than input \"x\", whose memory was "
                                         "donated for it; give the same for both"));
  EXPECT_THAT(run(tx, tx, tx), HasSubstr("run: output \"y\" lies in the same buffer as input \"w\""));
  EXPECT_THAT(run(tz, tw, tz), HasSubstr("lies in the same buffer as"));
  exe.run({{"x", tx}, {"w", tw}}, {{"y", tx}, {"z", tz}, {"h", th}});
  EXPECT_THAT(tx.read<float>(), ElementsAre(2, 4, 6));
  EXPECT_THAT(tz.read<float>(), ElementsAre(1, 4, 9));
}

}  // namespace
}  // namespace weft::test
