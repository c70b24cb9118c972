// Placed schedules: which results are computed in place, and that the verifier finds errors.
#include "compiler/schedule.h"

#include "compiler/bound.h"
#include "compiler/evaluate.h"
#include "compiler/plan_check.h"
#include "compiler/verify_schedule.h"
#include "support/random_graph.h"
#include "weft/error.h"

namespace weft {
namespace {

using compiler::PlannedSchedule;
using compiler::Schedule;
using test::Bound;
using test::noise;
using testing::HasSubstr;

constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 62;
constexpr std::uint64_t kBytes = 64 * 64 * 4;  // of the tensors here

// A kernel that nothing fuses with and that cannot work in location.
Tensor moved(const Tensor& x, int axis) {
  std::array<std::int64_t, 2> shifts{};
  shifts[static_cast<std::size_t>(axis)] = 5;
  return roll(x, shifts);
}

struct InPlaceTest : testing::TestWithParam<std::string> {
  // Compiles, runs and compares with single nodes on the CPU; returns the bytes of intermediates.
  std::uint64_t planned(const Graph& g, const std::map<std::string, TensorData>& data) {
    exe = compile(g, device);
    const Bound bound(device, g, data);
    bound.run(exe);
    bound.compare(compiler::evaluate(g, data), exe.report().graph);
    return exe.report().planned_bytes;
  }
  Device device = test::device_named(GetParam());
  Executable exe;
};
INSTANTIATE_TEST_SUITE_P(Devices, InPlaceTest, testing::ValuesIn(test::all_devices()),
                         [](const auto& info) { return info.param; });

TEST_P(InPlaceTest, AResultTakesThePlaceOfWhatDiesThere) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {64, 64}), row = g.input("row", DType::f32, {64});
  const Tensor a = moved(x, 0);
  g.output("y", moved(exp(a) * row + a, 1));
  EXPECT_EQ(planned(g, {{"x", noise({64, 64}, 1)}, {"row", noise({64}, 2)}}), kBytes) << exe.report().graph;
}

TEST_P(InPlaceTest, TwoResultsTakeThePlacesOfTwo) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {64, 64});
  const Tensor a = moved(x, 0), b = moved(x, 1);
  const Tensor sum = a + b, difference = a - b;
  g.output("y", moved(sum, 0));
  g.output("z", moved(difference, 1));
  EXPECT_EQ(planned(g, {{"x", noise({64, 64}, 1)}}), 2 * kBytes) << exe.report().graph;
  EXPECT_EQ(exe.report().steps.size(), 5u) << exe.report().graph;
}

TEST_P(InPlaceTest, WhatLivesOnOrLiesOtherwiseStays) {
  const std::map<std::string, TensorData> data{{"x", noise({64, 64}, 1)}};
  {
    Graph g;  // read again later
    const Tensor a = moved(g.input("x", DType::f32, {64, 64}), 0);
    const Tensor b = exp(a);
    g.output("y", moved(b, 1));
    g.output("z", moved(b, 0) + moved(a, 1));
    EXPECT_GE(planned(g, data), 2 * kBytes) << exe.report().graph;
  }
  {
    Graph g;  // read in two ways
    const Tensor a = moved(g.input("x", DType::f32, {64, 64}), 0);
    g.output("y", moved(exp(a) + a.T(), 1));
    EXPECT_EQ(planned(g, data), 2 * kBytes) << exe.report().graph;
  }
  {
    Graph g;  // read in another order
    const Tensor a = moved(g.input("x", DType::f32, {64, 64}), 0);
    g.output("y", moved(exp(slice(a, 0, 63, -1, -1)), 1));
    EXPECT_EQ(planned(g, data), 2 * kBytes) << exe.report().graph;
  }
  {
    Graph g;  // of another type
    const Tensor a = moved(g.input("x", DType::f32, {64, 64}), 0);
    const Tensor i = cast(a * 100.0, DType::i32);
    g.output("y", cast(scan(ScanKind::sum, i, 1), DType::f32));
    EXPECT_GE(planned(g, data), 2 * kBytes) << exe.report().graph;
  }
}

// Inputs belong to the caller, constants are shared, and outputs must hold what was written to them.
TEST_P(InPlaceTest, WhatComesFromOutsideIsNotOverwritten) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {64, 64});
  const TensorData w = noise({64, 64}, 2);
  g.output("y", moved(exp(x) * g.constant(w), 0));
  const std::map<std::string, TensorData> data{{"x", noise({64, 64}, 1)}};
  exe = compile(g, device);
  const Bound bound(device, g, data);
  const auto expected = compiler::evaluate(g, data);
  for (int i = 0; i < 2; ++i) {
    bound.run(exe);
    bound.compare(expected, std::format("run {}", i));
  }
  EXPECT_EQ(bound.inputs_[0].second.read<float>(),
            std::vector<float>(test::floats_of(data.at("x")).begin(), test::floats_of(data.at("x")).end()));
}

// Compares with lower bounds: the bytes alive at once, or more where no step may read and write one buffer. Without
// in-place results a(10) → b(10) → c(2) → d(40) takes 50, because a and b cannot both be where d will be; a(36) → b(12)
// → c(8) → d(33) takes 56, because d shares a buffer neither with c nor, unless the plan takes 69, with b.
TEST(Schedule, IntermediatesTakeLittleMoreThanTheyMust) {
  int graphs = 0, within_live = 0;
  for (unsigned seed = 1; graphs < 50; ++seed) {
    const Graph graph = test::random_graph(seed).graph;
    const CompileReport report = compile(graph, Device::cpu()).report();
    // Offsets are multiples of 256 bytes, which matters in very small graphs.
    if (report.liveness_bound < 4096) continue;
    ++graphs;
    const compiler::PlannedSchedule p =
        compiler::plan_schedule(compiler::make_schedule(optimized(graph, Device::cpu())), std::uint64_t{1} << 62);
    ASSERT_EQ(p.plan.bytes(), report.planned_bytes) << "seed " << seed;
    const auto planned = static_cast<double>(report.planned_bytes);
    const std::uint64_t least = test::least_bytes(p.items, p.steps);
    EXPECT_LE(planned, 1.1 * static_cast<double>(least)) << "seed " << seed;
    // The bytes alive at once may not be enough for any plan, because a step reads and writes different buffers.
    const bool within = planned <= 1.1 * static_cast<double>(report.liveness_bound);
    EXPECT_TRUE(within || report.planned_bytes == least) << "seed " << seed;
    within_live += within;
  }
  // Transforms and decompositions read and write different buffers.
  EXPECT_GE(within_live, 40) << "of 50, alive at once alone";
}

// ---- The verifier, on corrupted schedules.
struct VerifierTest : testing::Test {
  VerifierTest() {
    Graph g;
    const Tensor x = g.input("x", DType::f32, {64, 64});
    const Tensor a = moved(x, 0), b = moved(a, 1);
    g.output("y", moved(b, 0) + a);
    schedule = compiler::make_schedule(optimized(g, Device::cpu()));
    planned = compiler::plan_schedule(schedule, kNoLimit);
  }
  // The verifier's message, or "nothing".
  std::string said() const {
    try {
      compiler::verify_schedule(schedule, planned);
    } catch (const InternalError& e) {
      return e.what();
    }
    return "nothing";
  }
  // The place of the storage that step `s` writes.
  compiler::Location& written(std::size_t s) {
    return planned.plan.locations[static_cast<std::size_t>(planned.item_of[storage(s)])];
  }
  std::size_t storage(std::size_t s) const { return static_cast<std::size_t>(schedule.calls[s].outputs[0].storage); }
  Schedule schedule;
  PlannedSchedule planned;
};

TEST_F(VerifierTest, IsContentWithThePlan) {
  ASSERT_EQ(schedule.calls.size(), 4u);
  EXPECT_EQ(said(), "nothing");
}

TEST_F(VerifierTest, FindsWhatIsOverwrittenTooSoon) {
  // Step 2 overwrites step 0's result, which step 3 reads.
  written(2) = written(0);
  EXPECT_THAT(said(), HasSubstr("is not written yet, or was overwritten"));
}

TEST_F(VerifierTest, FindsABufferReadAndWritten) {
  compiler::Location& location = written(1);
  location.buffer = written(0).buffer;
  location.offset = planned.plan.buffers[static_cast<std::size_t>(location.buffer)];
  planned.plan.buffers[static_cast<std::size_t>(location.buffer)] += kBytes;
  EXPECT_THAT(said(), HasSubstr("is read and written"));
}

TEST_F(VerifierTest, FindsAnOpThatCannotWorkInPlace) {
  written(1) = written(0);
  EXPECT_THAT(said(), HasSubstr("is read and written"));
}

TEST_F(VerifierTest, FindsViewsThatDiffer) {
  // The addition in place of its first operand, which is a reversed view.
  Graph g;
  const Tensor a = moved(g.input("x", DType::f32, {64, 64}), 0);
  g.output("y", moved(exp(a), 1));
  schedule = compiler::make_schedule(optimized(g, Device::cpu()));
  planned = compiler::plan_schedule(schedule, kNoLimit);
  ASSERT_EQ(planned.item_of[storage(0)], planned.item_of[storage(1)]) << "in place";
  EXPECT_EQ(said(), "nothing");
  compiler::StoredView& x = schedule.calls[1].inputs[0];
  x.layout.strides = {1, 64};
  EXPECT_THAT(said(), HasSubstr("is read and written"));
}

TEST_F(VerifierTest, FindsWhatLeavesItsBuffer) {
  written(1).offset += 256;
  EXPECT_THAT(said(), HasSubstr("leaves its buffer"));
}

TEST_F(VerifierTest, FindsWhatIsReadBeforeItIsWritten) {
  std::swap(schedule.calls[1], schedule.calls[2]);
  EXPECT_THAT(said(), HasSubstr("not written yet"));
}

TEST_F(VerifierTest, FindsInputsThatAreWritten) {
  schedule.calls[0].outputs[0].storage = schedule.calls[0].inputs[0].storage;
  EXPECT_THAT(said(), HasSubstr("which comes from outside"));
}

TEST_F(VerifierTest, FindsOutputsThatNobodyWrites) {
  schedule.calls.pop_back();
  EXPECT_THAT(said(), HasSubstr("is not written"));
}

}  // namespace
}  // namespace weft
