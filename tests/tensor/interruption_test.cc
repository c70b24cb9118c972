// What takes long is given up when a program asks for it, and all else works afterwards.
#include "weft/interruption.h"

#include <gtest/gtest.h>

#include <thread>

#include "compiler/bound.h"
#include "weft/control_flow.h"
#include "weft/evaluate.h"
#include "weft/graph.h"
#include "weft/random.h"

namespace weft::test {
namespace {

struct Stopped {};

class InterruptionTest : public testing::TestWithParam<std::string> {
 protected:
  InterruptionTest() { set_default_device(device_named(GetParam())); }
  ~InterruptionTest() override { set_default_device(before_); }

  // Of work that takes minutes; the check asks for its end at once.
  template <class F>
  void expect_stopped(const F& work) {
    int checks = 0;
    {
      const InterruptionScope scope([&] {
        ++checks;
        throw Stopped();
      });
      EXPECT_THROW(work(), Stopped);
    }
    EXPECT_EQ(checks, 1);
  }

  Device before_ = default_device();
  Tensor x_ = random::normal({32, 32}, 0, 1, DType::f32, random::key(1));
};

INSTANTIATE_TEST_SUITE_P(Devices, InterruptionTest, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

TEST_P(InterruptionTest, LoopsEnd) {
  const auto turn = [&](const Tensor& y) { return tanh(matmul(y, x_) * 0.1f); };
  expect_stopped(
      [&] { fori_loop(0, 100'000'000, [&](const Tensor&, const Tensor& y) { return turn(y); }, x_).read<float>(); });
  expect_stopped([&] { while_loop([](const Tensor& y) { return y.max() < 1e9f; }, turn, x_).read<float>(); });
  EXPECT_EQ((x_ - x_).sum().item<float>(), 0);
}

TEST_P(InterruptionTest, TheInnermostScopeCounts) {
  int outer = 0, inner = 0;
  const InterruptionScope outside([&] { ++outer; });
  // Longer than the interval of checks on any machine.
  const auto work = [&] {
    return fori_loop(0, 30000, [&](const Tensor&, const Tensor& y) { return tanh(matmul(y, x_)); }, x_).read<float>();
  };
  std::vector<float> values;
  {
    const InterruptionScope inside([&] { ++inner; });
    values = work();
  }
  EXPECT_EQ(outer, 0);
  EXPECT_GT(inner, 0);
  EXPECT_EQ(work(), values);
  EXPECT_GT(outer, 0);
}

TEST_P(InterruptionTest, OtherThreadsAreNotAsked) {
  const InterruptionScope scope([] { throw Stopped(); });
  std::thread other([&] {
    EXPECT_NO_THROW(
        fori_loop(0, 1000, [&](const Tensor&, const Tensor& y) { return tanh(matmul(y, x_)); }, x_).read<float>());
  });
  other.join();
}

}  // namespace
}  // namespace weft::test
