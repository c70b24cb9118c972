// Figures and limits of devices' memory, and the devices of the machine.
#include "weft/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

#include "compiler/bound.h"
#include "support/devices.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/devices.h"
#include "weft/evaluate.h"
#include "weft/indexing.h"

namespace weft::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

class MemoryTest : public testing::TestWithParam<std::string> {
 protected:
  MemoryTest() { set_default_device(device); }
  ~MemoryTest() override {
    memory::set_limit(std::nullopt, device);
    set_default_device(before_);
  }
  Device before_ = default_device();
  Device device = device_named(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Devices, MemoryTest, testing::ValuesIn(all_devices()), [](const auto& i) { return i.param; });

constexpr std::int64_t kElements = 1 << 20;
constexpr std::uint64_t kCount = kElements;  // elements of four bytes

TEST_P(MemoryTest, Figures) {
  memory::clear_cache();  // evaluations keep memory for intermediates
  memory::reset_peak();
  const std::uint64_t before = memory::live();
  EXPECT_EQ(memory::peak(), before);
  {
    const Tensor a(device, DType::f32, {kElements}), b(device, DType::f32, {kElements});
    EXPECT_GE(memory::live(), before + 8 * kCount);
    EXPECT_LE(memory::live(), before + 9 * kCount);
  }
  EXPECT_EQ(memory::live(), before);
  EXPECT_GE(memory::peak(), before + 8 * kCount);
  EXPECT_GE(memory::cached(), device.is_gpu() ? 8 * kCount : 0);
  memory::clear_cache();
  EXPECT_EQ(memory::cached(), 0u);
  memory::reset_peak();
  EXPECT_EQ(memory::peak(), before);
  const Tensor c = full({kElements}, 2) + 1.0;
  eval(c);
  EXPECT_GE(memory::peak(), before + 4 * kCount) << "what is computed counts";
}

TEST_P(MemoryTest, Limits) {
  memory::clear_cache();
  const std::uint64_t before = memory::live();
  memory::set_limit(before + 6 * kCount);
  const Tensor a(device, DType::f32, {kElements});
  EXPECT_THROW(Tensor(device, DType::f32, {kElements}), OutOfMemory);
  EXPECT_LT(memory::live(), before + 6 * kCount) << "what was refused does not count";
  {
    const Tensor b = ones({kElements / 4});
    EXPECT_THAT((b + 1.0).read<float>(), Each(2));
  }
  EXPECT_THROW(eval(full({kElements}, 2) + 1.0), OutOfMemory);
  memory::set_limit(std::nullopt);
  EXPECT_THAT((full({kElements}, 2) + 1.0).read<float>(), Each(3));
}

// What evaluations keep for their intermediates is live, but it is no tensor's: it goes before an allocation fails.
TEST_P(MemoryTest, IdleIntermediatesGoBeforeAnAllocationFails) {
  memory::clear_cache();
  const std::uint64_t before = memory::live();
  Tensor x = contiguous(zeros({8 << 20}, DType::i8));
  x.set(5, 7);
  x.set(9, 1);
  eval(x);
  memory::set_limit(before + (20 << 20));
  const Tensor rolled = x.roll(1);
  eval(rolled);
  EXPECT_THAT(rolled[{slice(4, 12)}].read<std::int8_t>(), testing::ElementsAre(0, 0, 7, 0, 0, 0, 1, 0));
  EXPECT_THROW(eval(x.roll(2)), OutOfMemory) << "tensors that are held stay";
  EXPECT_EQ(x[5].item<int>(), 7);
}

TEST_P(MemoryTest, IdleIntermediatesGoForPlainTensorsAndOtherIntermediates) {
  memory::clear_cache();
  const std::uint64_t before = memory::live();
  const Tensor a = contiguous(ones({1024, 1024}));
  eval(a);
  const auto probabilities = [&] { return softmax(matmul(a, a)).sum().item<float>(); };
  EXPECT_NEAR(probabilities(), 1024, 1);
  const std::uint64_t kept = memory::live() - before - 4 * kCount;
  ASSERT_GE(kept, 4 * kCount) << "this tests nothing";
  memory::set_limit(memory::live() + kCount);
  {
    const Tensor b(device, DType::f32, {kElements});
    EXPECT_LT(memory::live(), before + 9 * kCount);
  }
  // The memory of a chain of other sizes than those that are kept.
  EXPECT_NEAR(probabilities(), 1024, 1);
  memory::set_limit(before + 4 * kCount + kept + kCount / 4);
  {
    const Tensor row = contiguous(ones({1, kElements / 2}));
    EXPECT_NEAR(softmax(cumulative_sum(row, 1) * 0.0).sum().item<float>(), 1, 1e-3);
  }
  EXPECT_NEAR(probabilities(), 1024, 1);
}

// Threads that evaluate, and so record, while others need what they keep.
TEST_P(MemoryTest, ThreadsThatMeetTheLimitGoOn) {
  memory::clear_cache();
  const Tensor a = contiguous(ones({512, 512}));
  eval(a);
  memory::set_limit(memory::live() + (12 << 20));
  std::atomic<int> computed = 0, refused = 0, wrong = 0;
  const auto work = [&](int thread) {
    for (int i = 0; i < 20; ++i) {
      try {
        const Tensor b = a * static_cast<float>(thread + i);
        const float sum = (i % 2 ? softmax(matmul(b, a)) : softmax(b.roll(i))).sum().item<float>();
        ++(std::abs(sum - 512) < 1 ? computed : wrong);
        const Tensor large(device, DType::f32, {kElements});
      } catch (const OutOfMemory&) {
        ++refused;
      }
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back(work, t);
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(computed, 0);
  memory::clear_cache();
  EXPECT_NEAR(softmax(a).sum().item<float>(), 512, 1) << refused << " were refused";
}

// Memory that runs on the cpu have of their own, because others use the intermediates', goes as well.
TEST(MemoryTestOfThreads, RunsAtOnceLeaveNothing) {
  const Device cpu = Device::cpu();
  memory::clear_cache(cpu);
  const Tensor a = to(contiguous(ones({1024, 1024})), cpu);
  const std::uint64_t before = memory::live(cpu);
  const auto work = [&] {
    for (int i = 0; i < 3; ++i) EXPECT_NEAR(softmax(matmul(a, a)).sum().item<float>(), 1024, 1);
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back(work);
  for (std::thread& t : threads) t.join();
  memory::clear_cache(cpu);
  EXPECT_LE(memory::live(cpu), before + 4096);
}

TEST(DevicesTest, AvailableDevices) {
  const std::vector<DeviceDescription> all = available_devices();
  const auto adapters = gpu::adapters();
  ASSERT_EQ(all.size(), adapters.size() + 1);
  for (std::size_t i = 0; i < adapters.size(); ++i) {
    EXPECT_EQ(all[i].open_as, std::to_string(i));
    EXPECT_EQ(all[i].name, adapters[i].name);
    EXPECT_THAT(all[i].description, AllOf(HasSubstr(all[i].name), HasSubstr(all[i].backend), HasSubstr(all[i].type)));
    EXPECT_EQ(all[i].type == "software", adapters[i].software());
    EXPECT_GT(all[i].memory.value_or(1 << 30), 1u << 20);
  }
  EXPECT_EQ(all.back().open_as, "cpu");
  EXPECT_EQ(Device::open(all.back().open_as), Device::cpu());
  EXPECT_GT(all.back().memory.value_or(0), 1u << 20);
}

TEST(DevicesTest, NamesAsPeopleKnowThem) {
  EXPECT_FALSE(Device::open("CPU").is_gpu());
  for (const gpu::AdapterInfo& a : gpu::adapters()) {
    EXPECT_EQ(Device::open(a.backend).gpu().adapter().backend, a.backend);
    EXPECT_EQ(Device::open(a.name).name(), a.name);
    EXPECT_EQ(Device::open(std::to_string(a.index)).gpu().adapter().index, a.index);
  }
  const std::string message = refused_by([] { Device::open("toaster"); });
  EXPECT_THAT(message, AllOf(HasSubstr("'toaster'"), HasSubstr("and cpu")));
  EXPECT_THAT(message, testing::Not(HasSubstr("there are 0"))) << "the number of a GPU reads as how many there are";
  for (const gpu::AdapterInfo& a : gpu::adapters()) EXPECT_THAT(message, HasSubstr(a.name));
}

}  // namespace
}  // namespace weft::test
