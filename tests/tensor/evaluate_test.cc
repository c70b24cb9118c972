// Tensors that are computed when their values are wanted.
#include "weft/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "compiler/bound.h"
#include "support/dawn_counters.h"
#include "support/devices.h"
#include "support/throws.h"
#include "tensor/pending_graph.h"
#include "weft/array.h"
#include "weft/compile.h"
#include "weft/indexing.h"
#include "weft/memory.h"
#include "weft/traced.h"

namespace weft::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;

float sum_of(std::span<const Tensor> parts) { return concat(parts, 0).sum().item<float>(); }

class EvaluateTest : public testing::TestWithParam<std::string> {
 protected:
  EvaluateTest() { set_default_device(device); }
  ~EvaluateTest() override { set_default_device(before_); }
  Device before_ = default_device();
  Device device = device_named(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Devices, EvaluateTest, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

TEST_P(EvaluateTest, TellsTheDevice) {
  const Tensor x = tensor({2}, {1, 2}), y = x + 1;
  EXPECT_EQ(device_of(x), device);
  EXPECT_EQ(device_of(y.reshape({2, 1})), device);
  EXPECT_FALSE(y.has_data());
  EXPECT_EQ(device_of(zeros({3})), device);
  const Tensor on_cpu = to(x, Device::cpu());
  EXPECT_EQ(device_of(on_cpu * 2), Device::cpu());
  if (device.is_gpu()) {
    EXPECT_THROW(device_of(on_cpu + x), DeviceError);
  }
  EXPECT_EQ(refused_by([] { device_of(Tensor()); }), "device_of: the operand is an undefined Tensor");
}

TEST_P(EvaluateTest, AThreadMayHaveADefaultDevice) {
  {
    const DefaultDeviceScope scope(Device::cpu());
    EXPECT_EQ(default_device(), Device::cpu());
    EXPECT_EQ(tensor({1}, {1}).device(), Device::cpu());
    {
      const DefaultDeviceScope inner(device);
      EXPECT_EQ(default_device(), device);
    }
    EXPECT_EQ(default_device(), Device::cpu());
    std::thread([&] { EXPECT_EQ(default_device(), device); }).join();
  }
  EXPECT_EQ(default_device(), device);
}

TEST_P(EvaluateTest, NothingRunsUntilSomebodyReads) {
  const Tensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor y = (x + 1.0) * 2.0, total = reduce(ReduceKind::sum, y, {0, 1});
  EXPECT_TRUE(x.has_data());
  EXPECT_FALSE(y.has_data());
  EXPECT_FALSE(total.has_data());
  EXPECT_THAT(total.read<float>(), ElementsAre(54));
  EXPECT_TRUE(total.has_data());
  EXPECT_TRUE(y.has_data()) << "somebody holds it, so it was kept";
  EXPECT_THAT(y.read<float>(), ElementsAre(4, 6, 8, 10, 12, 14));
}

// C++ keeps what the calls of a statement returned until its end. Nobody can ask for it, so it is not stored.
TEST_P(EvaluateTest, TheTemporariesOfAStatementAreNotStored) {
  const Tensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6}), h = x + 1.0;
  const auto results = [](const Tensor& t) {
    return PendingGraph(std::span(&t, 1), PendingGraph::Use::look).result_types().size();
  };
  EXPECT_EQ(results((exp(x) * 2 + 1).sum()), 1u);
  EXPECT_EQ(results(2.0 - -(x / 3 - minimum(x * 2, 1)).T()), 1u) << "of a view what it shows";
  EXPECT_EQ(
      results(softmax(matmul(x.T(), where(x > 1, fma(x, x, 2), x.sum({1}, true))) * 0.5f)[0].reshape({3, 1}).max()),
      1u);
  EXPECT_EQ(results(layer_norm(exp(x), {}, {}, 1e-5).cast(DType::f16).mean({0})), 1u);
  EXPECT_EQ(results((exp(h) * 2).argmax()), 2u) << "h has a name";
  EXPECT_EQ((exp(x * 0.0) * 2 + 1).sum().item<float>(), 18);
  // What a name was moved out of is a temporary, too.
  Tensor moved = x * 7.0;
  EXPECT_EQ(results(std::move(moved) + 1.0), 1u);
  EXPECT_FALSE(moved.defined());
}

TEST_P(EvaluateTest, ConstantsViewsAndEmptyTensors) {
  EXPECT_THAT(full({2, 2}, 7).read<float>(), Each(7));
  EXPECT_THAT(ones({3}, DType::i64).read<std::int64_t>(), Each(1));
  EXPECT_THAT(full({2}, std::int64_t{1} << 62, DType::i64).read<std::int64_t>(), Each(std::int64_t{1} << 62));
  EXPECT_TRUE(zeros({0, 3}).read<float>().empty());
  const Tensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(x.T().read<float>(), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(slice(x, 1, 2, -1, -1).read<float>(), ElementsAre(3, 2, 1, 6, 5, 4));
  const Tensor y = x * 10.0, columns = y.T();
  eval(columns);
  EXPECT_TRUE(y.has_data()) << "a view has no memory of its own";
  EXPECT_THAT(columns.read<float>(), ElementsAre(10, 40, 20, 50, 30, 60));
  EXPECT_THAT((columns + 1.0).read<float>(), ElementsAre(11, 41, 21, 51, 31, 61));
  EXPECT_THAT(eye(2, 2, DType::f32).read<float>(), ElementsAre(1, 0, 0, 1));
  EXPECT_TRUE((zeros({0}) + 1.0).read<float>().empty());
}

TEST_P(EvaluateTest, SeveralAtOnceAndSeveralResults) {
  const Tensor x = tensor({4}, {4, 2, 3, 1});
  const Tensor a = exp(x), b = a - x, c = b * b;
  eval({b, c});
  EXPECT_TRUE(b.has_data() && c.has_data());
  EXPECT_THAT(b.read<float>()[1], FloatNear(std::exp(2.0f) - 2, 1e-5f));
  EXPECT_THAT(c.read<float>()[1], FloatNear((std::exp(2.0f) - 2) * (std::exp(2.0f) - 2), 1e-4f));
  const auto best = top_k(x, 2, 0);
  EXPECT_THAT(best.values.read<float>(), ElementsAre(4, 3));
  EXPECT_TRUE(best.indices.has_data()) << "both results of a node come at once";
  EXPECT_THAT((best.values + 1.0).read<float>(), ElementsAre(5, 4));
}

// Other tensors and other numbers are the same executable: from the second turn on nothing is made.
TEST_P(EvaluateTest, RepeatedExpressionsMakeNothing) {
  Tensor x = tensor({1000}, std::vector<float>(1000, 1));
  const auto step = [&](int i) {
    const Tensor y = sqrt(x * (1.0 + i) + 2.0) / 3.0;
    x = y + reduce(ReduceKind::max, y, {0}, true);
    eval(x);
  };
  for (int i = 0; i < 3; ++i) step(i);
  const DawnCounters before = DawnCounters::now();
  for (int i = 3; i < 40; ++i) step(i);
  const DawnCounters made = DawnCounters::now() - before;
  EXPECT_EQ(made.pipelines + made.buffers, 0u) << made.text();
  double expected = 1;
  for (int i = 0; i < 40; ++i) expected = 2 * std::sqrt(expected * (1.0 + i) + 2.0) / 3.0;
  EXPECT_THAT(x.read<float>(), Each(FloatNear(static_cast<float>(expected), 1e-4f * static_cast<float>(expected))));
}

// What was computed lets go of what it came from.
TEST_P(EvaluateTest, MemoryDoesNotGrow) {
  Tensor x = tensor({4096}, std::vector<float>(4096, 1));
  std::uint64_t live = 0;
  for (int i = 0; i < 300; ++i) {
    const Tensor old = x;
    x = x * 0.5 + 1.0;
    (void)reduce(ReduceKind::sum, x, {0}).read<float>();
    if (device.is_gpu() && i == 10) live = device.gpu().memory().live;
  }
  if (device.is_gpu()) {
    EXPECT_LE(device.gpu().memory().live, live);
  }
  EXPECT_THAT(x.read<float>(), Each(FloatNear(2, 1e-5f)));
}

TEST_P(EvaluateTest, AGraphTakesWhatWasComputed) {
  const Tensor x = tensor({2}, {3, 4}), y = x * 2.0;
  eval(y);
  Graph graph;
  graph.output("z", y + graph.input("a", DType::f32, {2}));
  graph.output("w", exp(y) * 0.0 + x);
  Executable exe = compile(graph, device);
  const Tensor a = tensor({2}, {1, 1}), z = tensor({2}, {0, 0}), w = tensor({2}, {0, 0});
  exe.run({{"a", a}}, {{"z", z}, {"w", w}});
  EXPECT_THAT(z.read<float>(), ElementsAre(7, 9));
  EXPECT_THAT(w.read<float>(), ElementsAre(3, 4));
}

TEST_P(EvaluateTest, MovesBetweenDevices) {
  const Tensor x = tensor({2, 2}, {1, 2, 3, 4}), turned = (x + 1.0).T();
  const Tensor there = to(turned, Device::cpu());
  EXPECT_EQ(there.device(), Device::cpu());
  EXPECT_THAT(there.read<float>(), ElementsAre(2, 4, 3, 5));
  const Tensor back = to(there * 2.0, device);
  EXPECT_EQ(back.device(), device);
  EXPECT_THAT((back + x).read<float>(), ElementsAre(5, 10, 9, 14));
  EXPECT_TRUE(same(to(back, device), back));
  EXPECT_THAT(to(zeros({2}), Device::cpu()).read<float>(), Each(0));
}

// Also of tensors whose own type could hold them.
TEST_P(EvaluateTest, PositionsAreI32) {
  const auto x = arange(4);
  for (const DType type : {DType::u32, DType::i64, DType::u64, DType::f32}) {
    const Tensor t = (3 - x).cast(type);
    EXPECT_EQ(argsort(t).dtype(), DType::i32);
    EXPECT_THAT(argsort(t).read<std::int32_t>(), ElementsAre(3, 2, 1, 0)) << name(type);
    EXPECT_THAT(top_k(t, 2).indices.read<std::int32_t>(), ElementsAre(0, 1)) << name(type);
    EXPECT_THAT(argmax(t).read<std::int32_t>(), ElementsAre(0)) << name(type);
    EXPECT_THAT(argmin(t).read<std::int32_t>(), ElementsAre(3)) << name(type);
  }
}

TEST_P(EvaluateTest, Refusals) {
  Graph graph;
  const Tensor a = graph.input("a", DType::f32, {2}), n = graph.number("n");
  EXPECT_THAT(refused_by([&] { (a + 1.0).read<float>(); }), HasSubstr("eval: input \"a\" of a Graph is needed"));
  EXPECT_THAT(refused_by([&] { eval(n * 2.0); }), HasSubstr("number \"n\" of a Graph is needed"));
  EXPECT_THAT(refused_by([&] { eval(Tensor()); }), HasSubstr("undefined Tensor"));
  EXPECT_THAT(refused_by([&] { tensor({3}, {1, 2}); }), HasSubstr("8 bytes"));
  const Tensor x = tensor({2}, {3, 4});
  EXPECT_THAT(refused_by([&] { (x + 1.0).read<double>(); }),
              HasSubstr("read as f64; to_vector() converts, read() does not"));
  EXPECT_THAT(refused_by([&] { (x + 1.0).view(); }), HasSubstr("still to be computed"));
  if (!device.is_gpu()) return;
  const Tensor other(Device::cpu(), DType::f32, {2});
  EXPECT_THAT(refused_by([&] { eval(x + other); }), HasSubstr("move one of them"));
}

// A new value in a handle: others keep the old one, and memory that nobody else holds is used again.
TEST_P(EvaluateTest, UpdatesInPlaceWhereNobodyElseHoldsTheMemory) {
  Tensor x = tensor({4, 3}, std::vector<float>(12, 1));
  const void* memory = x.view().buffer.identity();
  x.set({1}, 5);
  x.add_at({slice(2, none), 0}, 2);
  EXPECT_THAT(x.read<float>(), ElementsAre(1, 1, 1, 5, 5, 5, 3, 1, 1, 3, 1, 1));
  EXPECT_EQ(x.view().buffer.identity(), memory);
  const Tensor row = x[1], old = x;
  x.set({1, slice(none, none, -1)}, tensor({3}, {7, 8, 9}));
  EXPECT_THAT(x.read<float>(), ElementsAre(1, 1, 1, 9, 8, 7, 3, 1, 1, 3, 1, 1));
  EXPECT_NE(x.view().buffer.identity(), memory);
  EXPECT_THAT(row.read<float>(), ElementsAre(5, 5, 5));
  EXPECT_THAT(old[1].read<float>(), ElementsAre(5, 5, 5));
  // A view that is made before, and read after.
  Tensor y = tensor({4}, {1, 2, 3, 4});
  const Tensor head = y[slice(0, 2)];
  y.set({0}, -1);
  eval(y);
  EXPECT_THAT(head.read<float>(), ElementsAre(1, 2));
  EXPECT_THAT(y.read<float>(), ElementsAre(-1, 2, 3, 4));
  // The value is made of the memory that it goes to.
  Tensor z = tensor({4}, {1, 2, 3, 4});
  z.set({slice(1, 4)}, z[slice(0, 3)] * 10);
  EXPECT_THAT(z.read<float>(), ElementsAre(1, 10, 20, 30));
  // A caller's memory is not written to.
  const Tensor theirs = tensor({2}, {1, 2});
  Tensor w(device, theirs.view());
  w.set({0}, 9);
  EXPECT_THAT(w.read<float>(), ElementsAre(9, 2));
  EXPECT_THAT(theirs.read<float>(), ElementsAre(1, 2));
  // Indices in tensors, and a graph that retains the operands.
  Tensor t = tensor({4}, {0, 0, 0, 0});
  const Tensor sum = at_add(t, {tensor({3}, {1, 1, 3}).cast(DType::i32)}, 1);
  Graph graph;
  graph.output("sum", sum);
  t = Tensor();
  EXPECT_THAT(sum.read<float>(), ElementsAre(0, 2, 0, 1));
  Executable exe = compile(graph, device);
  const Tensor again(device, DType::f32, {4});
  exe.run({}, {{"sum", again}});
  EXPECT_THAT(again.read<float>(), ElementsAre(0, 2, 0, 1));
}

// Memory that somebody reads in another way than by a handle is not written to.
TEST_P(EvaluateTest, CapturedTensorsKeepTheirValues) {
  Tensor w = ones({4}) * 1, v = w + 1;
  eval({w, v});
  Graph graph;
  graph.output("y", graph.input("x", DType::f32, {4}) + w);
  Executable exe = compile(graph, device);
  const auto f = compile([&](Tensor x) { return x * v; });
  const Tensor x = full({4}, 3) + 0, y(device, DType::f32, {4});
  EXPECT_THAT(f(x).read<float>(), Each(6));
  w.set({0}, 100);
  v.set({0}, 100);
  eval({w, v});
  exe.run({{"x", x}}, {{"y", y}});
  EXPECT_THAT(y.read<float>(), Each(4));
  EXPECT_THAT(w.read<float>(), ElementsAre(100, 1, 1, 1));
  EXPECT_THAT(v.read<float>(), ElementsAre(100, 2, 2, 2));
  // Somebody's view of it.
  Tensor z = ones({2}) + 0;
  eval(z);
  const Tensor same_memory(device, z.view());
  z.set({0}, 9);
  EXPECT_THAT(z.read<float>(), ElementsAre(9, 1));
  EXPECT_THAT(same_memory.read<float>(), Each(1));
}

// What is written into a tensor is no part of expressions that were described before: they are refused, not wrong.
TEST_P(EvaluateTest, WritesAfterTheDescription) {
  const auto write = [](Tensor& t, std::vector<float> values) { t.write(std::as_bytes(std::span(values))); };
  Tensor x = tensor({2}, {1, 2});
  const Tensor computed = x + 1, pending = x * 2, view = x.reshape({2, 1}), far = exp(view) + pending;
  eval(computed);
  write(x, {10, 20});
  EXPECT_THAT(computed.read<float>(), ElementsAre(2, 3)) << "evaluated before";
  EXPECT_THAT(x.read<float>(), ElementsAre(10, 20));
  const std::string message = refused_by([&] { eval(pending); });
  EXPECT_THAT(message, HasSubstr("written after"));
  EXPECT_THROW((void)view.read<float>(), Error);
  EXPECT_THROW(eval(far), Error);
  EXPECT_THAT((x * 2).read<float>(), ElementsAre(20, 40)) << "described afterwards";
  EXPECT_THAT(x.reshape({2, 1}).read<float>(), ElementsAre(10, 20));

  // The first thing that is put into a tensor replaces nothing.
  Tensor empty(device, DType::f32, {2});
  const Tensor twice = empty * 2;
  write(empty, {3, 4});
  EXPECT_THAT(twice.read<float>(), ElementsAre(6, 8));

  // A run of an executable writes, too.
  Graph graph;
  graph.output("y", graph.input("x", DType::f32, {2}) + 1);
  Executable exe = compile(graph, device);
  Tensor out(device, DType::f32, {2});
  exe.run({{"x", x}}, {{"y", out}});
  const Tensor before = out * 2;
  exe.run({{"x", empty}}, {{"y", out}});
  EXPECT_THROW(eval(before), Error);
  EXPECT_THAT((out * 2).read<float>(), ElementsAre(8, 10));

  // What changes a handle writes nothing.
  Tensor h = tensor({2}, {1, 2});
  const Tensor old = h * 2;
  h.set({0}, 5);
  eval(h);
  EXPECT_THAT(old.read<float>(), ElementsAre(2, 4));
  EXPECT_THAT(h.read<float>(), ElementsAre(5, 2));
}

// A constant that was read is still one, also on another device.
TEST_P(EvaluateTest, ConstantsBelongToNoDevice) {
  const Tensor zero = zeros({2}), three = full({}, 3);
  EXPECT_THAT(zero.read<float>(), Each(0));
  EXPECT_EQ(three.item<int>(), 3);
  const Tensor there = to(tensor({2}, {1, 2}), Device::cpu());
  EXPECT_THAT((there + zero * three).read<float>(), ElementsAre(1, 2));
  Graph graph;
  graph.output("y", graph.input("x", DType::f32, {2}) * three + zero);
  const Tensor y(Device::cpu(), DType::f32, {2});
  compile(graph, Device::cpu()).run({{"x", there}}, {{"y", y}});
  EXPECT_THAT(y.read<float>(), ElementsAre(3, 6));
}

// A graph that took an expression before it was computed lets it go when it is gone itself.
TEST_P(EvaluateTest, GraphsLetGoOfWhatTheyPinned) {
  Tensor x = ones({1 << 16}) + 0;
  eval(x);
  const std::uint64_t before = memory::live();
  for (int i = 0; i < 50; ++i) {
    x = x + 1;
    Graph graph;
    graph.output("y", x);
    eval(x);
  }
  EXPECT_LE(memory::live(), before + 4 * (4u << 16));
  EXPECT_EQ(x[0].item<float>(), 51);
}

TEST_P(EvaluateTest, LongExpressionsOfManyResults) {
  Tensor x = tensor({2}, {1, 2});
  std::vector<Tensor> all;
  for (int i = 0; i < 6000; ++i) {
    x = x + 1;
    all.push_back(x * 2);
  }
  eval(all);
  for (int i = 0; i < 6000; i += 500) {
    EXPECT_THAT(all[static_cast<std::size_t>(i)].read<float>(), ElementsAre(2.0f * (i + 2), 2.0f * (i + 3)));
  }
}

TEST_P(EvaluateTest, RemembersWhatWasRead) {
  Tensor x = tensor({3}, {1, 2, 3}), y = x + 1;
  EXPECT_FALSE(y.on_host());
  eval(y);
  EXPECT_EQ(y.on_host(), !device.is_gpu()) << "evaluated and not read is the normal state";
  EXPECT_THAT(y.read<float>(), ElementsAre(2, 3, 4));
  EXPECT_TRUE(y.on_host());
  EXPECT_THAT(y.read<float>(), ElementsAre(2, 3, 4));
  EXPECT_THAT(y.async_to_vector<int>().get(), ElementsAre(2, 3, 4));
  const std::vector<float> other{7, 8, 9};
  y.write(std::as_bytes(std::span(other)));
  EXPECT_EQ(y.on_host(), !device.is_gpu());
  EXPECT_THAT(y.read<float>(), ElementsAre(7, 8, 9));
  // A run that writes to it.
  Graph graph;
  graph.output("y", graph.input("x", DType::f32, {3}) * 2.0);
  compile(graph, device).run({{"x", x}}, {{"y", y}});
  EXPECT_THAT(y.read<float>(), ElementsAre(2, 4, 6));
  EXPECT_THAT(y.to_vector<std::int64_t>(), ElementsAre(2, 4, 6));
  EXPECT_EQ(y.sum().item<double>(), 12);
  EXPECT_EQ(y.sum().async_item<int>().get(), 12);
  EXPECT_TRUE((y > 0).all().item<bool>());
  EXPECT_THROW((void)y.item<float>(), ShapeError);
}

// Other rows of a tensor are the same expression.
TEST_P(EvaluateTest, PartsOfDataAreInputs) {
  std::vector<float> values(64 * 100);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const Tensor x = tensor({64, 100}, values);
  const auto sum = [&](int i) { return (x[i] * 2 + x[{slice(i, i + 1)}].sum()).sum().item<float>(); };
  (void)sum(0);
  const std::uint64_t before = DawnCounters::now().pipelines;
  for (int i = 0; i < 64; ++i) {
    const double row = 100.0 * i * 100 + 4950;
    EXPECT_FLOAT_EQ(sum(i), static_cast<float>(row * 2 + row * 100));
  }
  EXPECT_EQ(DawnCounters::now().pipelines, before);
}

// A loop that nobody evaluates is evaluated in pieces that are equal.
TEST_P(EvaluateTest, LongExpressionsInPieces) {
  Tensor x = tensor({2}, {1, 2}), total = tensor({2}, {0, 0});
  constexpr int kTurns = 3000;
  for (int i = 0; i < kTurns; ++i) {
    x = x[slice(none, none, -1)] * 0.5 + 1;
    total = total + x * (i % 2 ? 1.0 : -1.0);
  }
  eval({x, total});
  double a = 1, b = 2, sum = 0;
  for (int i = 0; i < kTurns; ++i) {
    const double old = a;
    a = b * 0.5 + 1;
    b = old * 0.5 + 1;
    sum += i % 2 ? a : -a;
  }
  EXPECT_THAT(x.read<float>(),
              ElementsAre(FloatNear(static_cast<float>(a), 1e-5f), FloatNear(static_cast<float>(b), 1e-5f)));
  EXPECT_THAT(total.read<float>()[0], FloatNear(static_cast<float>(sum), 1e-3f));
  // Many operands are no long expression.
  std::vector<Tensor> parts(5000, tensor({1}, {1}));
  EXPECT_THAT(sum_of(parts), 5000);
}

TEST_P(EvaluateTest, GraphShowsWhatWouldRun) {
  const Tensor x = tensor({2}, {1, 2}), y = exp(x) * 2 + 1;
  const std::string text = y.graph().to_string();
  EXPECT_THAT(text, HasSubstr("exp"));
  EXPECT_FALSE(y.has_data());
  EXPECT_THAT(y.graph().to_dot(), HasSubstr("digraph"));
  eval(y);
  EXPECT_THAT(y.graph().to_string(), HasSubstr("input"));
}

TEST_P(EvaluateTest, AfterTheDeviceIsLost) {
  if (!device.is_gpu()) GTEST_SKIP() << "the cpu is not lost";
  Tensor kept, gone, recipe;
  {
    const Device doomed = gpu::Device::open({.adapter = device.gpu().adapter().name});
    set_default_device(doomed);
    kept = tensor({2}, {1, 2}) + 1;
    gone = tensor({2}, {1, 2}) * 3;
    eval({kept, gone});
    (void)kept.read<float>();
    recipe = ones({2}) * 4;
    doomed.gpu().webgpu().Destroy();
    EXPECT_THROW((void)gone.read<float>(), DeviceLost);
  }
  set_default_device(device);
  EXPECT_THAT(kept.read<float>(), ElementsAre(2, 3));
  EXPECT_THAT((kept + recipe).read<float>(), ElementsAre(6, 7));
  EXPECT_THAT(to(kept, device).read<float>(), ElementsAre(2, 3));
  try {
    (gone + kept).read<float>();
    ADD_FAILURE() << "values that are lost were read";
  } catch (const DeviceLost& e) {
    EXPECT_THAT(e.what(), HasSubstr("which is lost, and its values were never read"));
  }
}

TEST_P(EvaluateTest, AfterMemoryRanOut) {
  if (!device.is_gpu()) GTEST_SKIP() << "a limit of the pool";
  const Device small = gpu::Device::open({.adapter = device.gpu().adapter().name, .memory_limit = 8u << 20});
  set_default_device(small);
  const Tensor x = ones({1 << 20});
  eval(x);
  Tensor y = x + 1;
  {
    const Tensor filler(small, DType::f32, {1'900'000});
    EXPECT_THROW(eval(y), OutOfMemory);
  }
  EXPECT_EQ(y.sum().item<float>(), 2 << 20);
}

TEST_P(EvaluateTest, ThreadsEvaluateTheSameAndOthers) {
  const Tensor x = tensor({64}, std::vector<float>(64, 2));
  for (int turn = 0; turn < 10; ++turn) {
    const Tensor shared = exp(x * 0.0) + static_cast<double>(turn);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        try {
          Tensor own = shared * static_cast<double>(i);
          own.set({0}, 1);
          own.set({0}, shared[0] * static_cast<double>(i));
          EXPECT_THAT(own.read<float>(), Each(static_cast<float>(i * (1 + turn))));
          EXPECT_THAT(shared.read<float>(), Each(static_cast<float>(1 + turn)));
        } catch (const std::exception& e) {
          ADD_FAILURE() << e.what();
        }
      });
    }
    for (std::thread& t : threads) t.join();
  }
}

}  // namespace
}  // namespace weft::test
