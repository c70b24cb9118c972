// Figures and limits of devices' memory, and the devices of the machine.
#include "weft/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/bound.h"
#include "support/devices.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/devices.h"

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
