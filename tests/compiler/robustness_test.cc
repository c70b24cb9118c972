// Failures that a running program must survive: a lost device, exhausted memory.

#include <algorithm>

#include "support/data.h"
#include "support/dawn_counters.h"
#include "support/devices.h"
#include "support/quick.h"
#include "weft/compile.h"
#include "weft/error.h"
#include "weft/models.h"

namespace weft::test {
namespace {

TensorData tensor_of(const Shape& shape, float first) {
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<float>(i % 17) * 0.125f;
  return TensorData::of<float>(DType::f32, shape, values);
}

// y = softmax(x · (w1 + w2)ᵀ + b): one constant that is uploaded as it is, and one that is folded.
Graph small_graph() {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {8, 32});
  const Tensor w = g.constant(tensor_of({16, 32}, -1)) + g.constant(tensor_of({16, 32}, 0.5f));
  g.output("y", softmax(matmul(x, permute(w, {1, 0})) + g.constant(tensor_of({16}, 2)), -1));
  return g;
}

std::vector<float> run(Executable& exe, const Device& device) {
  Tensor x(device, DType::f32, {8, 32}), y(device, DType::f32, {8, 16});
  x.write(tensor_of({8, 32}, -0.5f).bytes);
  exe.run({{"x", x}}, {{"y", y}});
  return y.read<float>();
}

class RobustnessTest : public testing::TestWithParam<std::string> {
 protected:
  void TearDown() override { fail_next_buffers(0); }
  // Another device of this kind.
  static gpu::Device fresh() {
    const gpu::Device& kind = device(GetParam());
    gpu::DeviceOptions options;
    options.adapter = std::to_string(kind.adapter().index);
    options.minimum = kind.capabilities().minimum;
    return gpu::Device::open(options);
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, RobustnessTest, testing::ValuesIn(device_names()),
                         [](const auto& i) { return i.param; });

TEST_P(RobustnessTest, AfterALossTheSameExecutableRunsOnANewDevice) {
  gpu::Device first = fresh();
  std::string told;
  int calls = 0;
  const auto kept = first.on_lost([&](const std::string& reason) {
    told = reason;
    ++calls;
  });
  const auto store = make_constant_store(first);
  Executable exe, sibling;
  {
    const Graph g = small_graph();  // the sources outlive the graph
    exe = compile(g, first, {.constants = store});
    sibling = compile(g, first, {.constants = store});
  }
  const std::vector<float> expected = run(exe, first);
  Tensor x(first, DType::f32, {8, 32}), y(first, DType::f32, {8, 16});
  EXPECT_FALSE(first.lost());
  exe.run({{"x", x}}, {{"y", y}});  // work is in progress
  first.webgpu().ForceLoss(wgpu::DeviceLostReason::Unknown, "pulled out for the test");
  EXPECT_THROW(
      {
        exe.run({{"x", x}}, {{"y", y}});
        y.read<float>();
      },
      DeviceLost);
  EXPECT_TRUE(first.lost());
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(told, testing::HasSubstr("pulled out for the test"));
  int late = 0;
  const auto told_at_once = first.on_lost([&](const std::string&) { ++late; });
  EXPECT_EQ(late, 1);
  EXPECT_THROW(exe.restore(Device::cpu()), InvalidArgument);

  const gpu::Device second = fresh();
  exe.restore(second);
  EXPECT_EQ(exe.device(), Device(second));
  EXPECT_EQ(run(exe, second), expected);
  EXPECT_EQ(run(sibling, second), expected) << "an executable of the same store moves with it";
  EXPECT_THROW(run(exe, fresh()), InvalidArgument) << "a tensor of a third device";
  EXPECT_EQ(calls, 1);
}

// Their scratch memory is among the storages of one plan, and not of the next one.
TEST_P(RobustnessTest, KernelsWithScratchMemoryAreRestored) {
  const Device first = fresh(), second = fresh();
  constexpr int kKernels = 16;
  Graph g;
  const Tensor x = g.input("x", DType::f32, {1, 12'000});
  Tensor y = x;
  for (int i = 0; i < kKernels; ++i) y = sort(y, -1, i % 2 == 0);
  g.output("y", y);
  const auto run_on = [](Executable& exe, const Device& device) {
    Tensor in(device, DType::f32, {1, 12'000}), out(device, DType::f32, {1, 12'000});
    in.write(tensor_of({1, 12'000}, -0.5f).bytes);
    exe.run({{"x", in}}, {{"y", out}});
    return out.read<float>();
  };
  Executable exe = compile(g, first);
  const std::vector<float> expected = run_on(exe, first);
  EXPECT_TRUE(std::is_sorted(expected.begin(), expected.end()));
  for (const Device& next : {second, first}) {
    exe.restore(next);
    EXPECT_EQ(exe.report().steps.size(), static_cast<std::size_t>(kKernels));
    EXPECT_EQ(run_on(exe, next), expected);
  }
}

TEST_P(RobustnessTest, WhatCannotBeRestoredSaysSo) {
  const Device device = fresh(), other = fresh();
  Executable kept_nothing = compile(small_graph(), device, {.restorable = false});
  EXPECT_THROW(kept_nothing.restore(other), InvalidArgument);
  EXPECT_EQ(run(kept_nothing, device).size(), 128u) << "it still runs where it was";
  Graph g;
  const std::vector<float> borrowed(32, 1.0f);
  const Tensor x = g.input("x", DType::f32, {8, 32});
  g.output("y", x + g.constant({DType::f32, {32}, std::as_bytes(std::span(borrowed)), nullptr}));
  Executable unowned = compile(g, device);
  EXPECT_THROW(unowned.restore(other), InvalidArgument);
  EXPECT_THROW(Executable().restore(device), InvalidArgument);
}

TEST_P(RobustnessTest, AnEncoderGoesOnAfterALoss) {
  gpu::Device device = fresh();
  auto encoder = models::load(data_path("encoders/bert_cls"), device);
  const std::vector<text::Ids> ids{{1, 5, 6, 2}, {1, 7, 2}};
  const std::vector<float> expected = encoder.embed_ids(ids).read<float>();
  device.webgpu().ForceLoss(wgpu::DeviceLostReason::Unknown, "again");
  EXPECT_THROW(encoder.embed_ids(ids).read<float>(), DeviceLost);
  encoder.restore(fresh());
  EXPECT_EQ(encoder.embed_ids(ids).read<float>(), expected);
}

// Each allocation of a program fails together with its retry; a few fail once.
TEST_P(RobustnessTest, OutOfMemoryAtEachAllocation) {
  const std::vector<text::Ids> ids{{1, 5, 6, 2}, {1, 7, 2}, {1, 8, 9, 10, 11, 12, 13, 2}};
  const auto work = [&](const gpu::Device& device) {
    auto encoder = models::load(data_path("encoders/bert_cls"), device, {.batch = 2});
    Executable exe = compile(small_graph(), device);
    std::vector<float> all = encoder.embed_ids(ids).read<float>();
    for (const float v : run(exe, device)) all.push_back(v);
    return all;
  };
  std::vector<float> expected;
  std::uint64_t buffers = 0;
  {
    const gpu::Device device = fresh();
    const DawnCounters before = DawnCounters::now();
    expected = work(device);
    buffers = (DawnCounters::now() - before).buffers;
  }
  ASSERT_GT(buffers, 10u);
  // If memory fails during a device's self-tests, it uses the portable functions there, which round differently.
  const auto expect_same = [&](const std::vector<float>& got, const std::string& what) {
    ASSERT_EQ(got.size(), expected.size()) << what;
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 2e-6) << what << ", element " << i;
  };
  int tried = 0, failed = 0;
  const bool every = GetParam() == device_names()[0] && !quick();
  for (const int in_a_row : {1, 2}) {
    // The pool retries an allocation, so most single failures are survived: only a few of those are tested. Allocations
    // hardly depend on the device, so each of them fails on one device only.
    for (std::uint64_t n = 0; n < buffers; n += (in_a_row == 1 ? 5 : 1) * (every ? 1 : 7), tried += in_a_row == 2) {
      const gpu::Device device = fresh();
      fail_next_buffers(in_a_row, static_cast<int>(n));
      bool threw = false;
      try {
        expect_same(work(device), std::format("failure {}", n));
      } catch (const OutOfMemory&) {
        threw = true;
      }
      failed += threw;
      fail_next_buffers(0);
      device.wait();
      EXPECT_EQ(device.memory().live, 0u) << "leaked after failure " << n;
      expect_same(work(device), std::format("after failure {}", n));
      EXPECT_EQ(device.memory().live, 0u);
    }
  }
  EXPECT_GT(failed, tried / 2);
}

}  // namespace
}  // namespace weft::test
