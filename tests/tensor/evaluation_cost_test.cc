// What an evaluation does that was compiled before: how much memory it asks for, and that it wakes no thread. (Times
// are measured by bench/evaluations.cc.)
#include <gtest/gtest.h>

#include "core/parallel.h"
#include "support/allocations.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/compile.h"
#include "weft/evaluate.h"

namespace weft::test {
namespace {

class EvaluationCostTest : public testing::Test {
 protected:
  EvaluationCostTest() { set_default_device(Device::cpu()); }
  ~EvaluationCostTest() override { set_default_device(before_); }
  Device before_ = default_device();
};

struct Cost {
  const char* what;
  std::function<Tensor()> make;
  std::uint64_t recorded, evaluated;  // calls of operator new, at most
};

TEST_F(EvaluationCostTest, RepeatedEvaluationsAskForLittleMemoryAndWakeNoThread) {
  const Tensor x = full({10, 100}, 0.5f) * 1, y = full({10, 100}, 0.25f) * 1;
  eval({x, y});
  const auto chain = [&](int nodes) {
    Tensor z = x + y;
    for (int i = 1; i < nodes; ++i) z = i % 2 ? std::move(z) * y : std::move(z) + x;
    return z;
  };
  const Cost costs[] = {
      {"a node", [&] { return x + y; }, 2, 16},         {"a node with a number", [&] { return x * 0.5f; }, 6, 16},
      {"ten nodes", [&] { return chain(10); }, 20, 20}, {"a hundred nodes", [&] { return chain(100); }, 200, 30},
      {"a sum", [&] { return sum(x, {-1}); }, 8, 24},
  };
  for (const Cost& cost : costs) {
    for (int i = 0; i < 3; ++i) (void)cost.make().read<float>();
    const std::uint64_t loops = shared_loops();
    const auto before = allocations();
    const Tensor z = cost.make();
    const auto recorded = allocations();
    eval(z);
    const auto evaluated = allocations();
    const std::vector<float> values = z.read<float>();
    const auto read = allocations();
    EXPECT_EQ(shared_loops(), loops) << cost.what;
    if (!before) continue;
    EXPECT_LE(*recorded - *before, cost.recorded) << cost.what << ": recorded";
    EXPECT_LE(*evaluated - *recorded, cost.evaluated) << cost.what << ": evaluated";
    EXPECT_EQ(*read - *evaluated, 1u) << cost.what << ": read";
  }
}

// A prepared call runs on the memory that each run is given.
TEST_F(EvaluationCostTest, EachRunHasItsOwnMemory) {
  Graph graph;
  const Tensor a = graph.input("a", DType::f32, {3, 4}), b = graph.input("b", DType::f32, {4}),
               n = graph.number("n", DType::f32);
  graph.output("y", a * n + b);
  graph.output("z", (a - b).T());
  Executable exe = compile(graph, Device::cpu());
  for (int i = 0; i < 5; ++i) {
    const float k = static_cast<float>(i);
    const Tensor given = full({3, 4}, k) * 1, row = full({4}, 10 * k) * 1;
    eval({given, row});
    const Tensor y(Device::cpu(), DType::f32, {3, 4}), z(Device::cpu(), DType::f32, {4, 3});
    exe.run({{"a", given}, {"b", row}}, {{"y", y}, {"z", z}}, {{"n", 2 + k}});
    EXPECT_EQ(y.read<float>(), std::vector<float>(12, k * (2 + k) + 10 * k));
    EXPECT_EQ(z.read<float>(), std::vector<float>(12, k - 10 * k));
  }
}

}  // namespace
}  // namespace weft::test
