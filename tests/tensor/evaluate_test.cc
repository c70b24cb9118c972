// Tensors that are computed when their values are wanted.
#include "weft/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "compiler/bound.h"
#include "support/dawn_counters.h"
#include "support/devices.h"
#include "support/throws.h"
#include "weft/compile.h"

namespace weft::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;

class EvaluateTest : public testing::TestWithParam<std::string> {
 protected:
  EvaluateTest() { set_default_device(device); }
  ~EvaluateTest() override { set_default_device(before_); }
  Device before_ = default_device();
  Device device = device_named(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Devices, EvaluateTest, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

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

TEST_P(EvaluateTest, Refusals) {
  Graph graph;
  const Tensor a = graph.input("a", DType::f32, {2}), n = graph.number("n");
  EXPECT_THAT(refused_by([&] { (a + 1.0).read<float>(); }), HasSubstr("eval: input \"a\" of a Graph is needed"));
  EXPECT_THAT(refused_by([&] { eval(n * 2.0); }), HasSubstr("number \"n\" of a Graph is needed"));
  EXPECT_THAT(refused_by([&] { eval(Tensor()); }), HasSubstr("undefined Tensor"));
  EXPECT_THAT(refused_by([&] { tensor({3}, {1, 2}); }), HasSubstr("8 bytes"));
  const Tensor x = tensor({2}, {3, 4});
  EXPECT_THAT(refused_by([&] { (x + 1.0).read<double>(); }), HasSubstr("read as elements of 8 bytes"));
  EXPECT_THAT(refused_by([&] { (x + 1.0).view(); }), HasSubstr("still to be computed"));
  if (!device.is_gpu()) return;
  const Tensor other(Device::cpu(), DType::f32, {2});
  EXPECT_THAT(refused_by([&] { eval(x + other); }), HasSubstr("move one of them"));
}

TEST_P(EvaluateTest, ThreadsEvaluateTheSameAndOthers) {
  const Tensor x = tensor({64}, std::vector<float>(64, 2));
  for (int turn = 0; turn < 10; ++turn) {
    const Tensor shared = exp(x * 0.0) + static_cast<double>(turn);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        try {
          const Tensor own = shared * static_cast<double>(i);
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
