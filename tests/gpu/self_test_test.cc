// Self-tests of fast paths: each runs once, its verdict is stored, and a form that failed is not used.
#include "gpu/self_test.h"

#include <gmock/gmock.h>

#include "gpu/device_impl.h"
#include "support/devices.h"
#include "support/temp_dir.h"
#include "weft/error.h"
#include "weft/kernels.h"
#include "weft/small_float.h"

namespace weft::test {
namespace {

class SelfTestTest : public testing::Test {
 protected:
  void SetUp() override {
    if (devices().empty()) GTEST_SKIP() << "no adapter here";
  }
  gpu::Device fresh() const {
    gpu::DeviceOptions options;
    options.adapter = std::to_string(devices().front().device.adapter().index);
    options.cache_dir = directory.path().string();
    return gpu::Device::open(options);
  }
  TempDir directory;
};

TEST_F(SelfTestTest, IsAskedOnceAndKept) {
  int asked = 0;
  const auto says = [&](bool verdict) {
    return [&asked, verdict] {
      ++asked;
      return verdict;
    };
  };
  {
    const gpu::Device device = fresh();
    EXPECT_TRUE(gpu::passes_self_test(device, "good", says(true)));
    EXPECT_FALSE(gpu::passes_self_test(device, "bad", says(false)));
    EXPECT_TRUE(gpu::passes_self_test(device, "good", says(false)));
    EXPECT_FALSE(gpu::passes_self_test(device, "bad", says(true)));
    EXPECT_EQ(asked, 2);
  }
  const gpu::Device another = fresh();  // as in a later process, through the cache on disk
  EXPECT_TRUE(gpu::passes_self_test(another, "good", says(false)));
  EXPECT_FALSE(gpu::passes_self_test(another, "bad", says(true)));
  EXPECT_EQ(asked, 2);
  EXPECT_TRUE(gpu::passes_self_test(another, "other", says(true)));
  EXPECT_EQ(asked, 3);
}

TEST_F(SelfTestTest, WhatThrowsHasFailed) {
  const gpu::Device device = fresh();
  EXPECT_FALSE(
      gpu::passes_self_test(device, "throws", []() -> bool { throw ValidationError("a shader that is refused"); }));
  EXPECT_FALSE(gpu::passes_self_test(fresh(), "throws", [] { return true; })) << "kept";
  // Neither a temporary shortage of memory nor a lost device says anything about this kind of device.
  EXPECT_FALSE(gpu::passes_self_test(device, "short", []() -> bool { throw OutOfMemory("none left"); }));
  EXPECT_TRUE(gpu::passes_self_test(fresh(), "short", [] { return true; }));
  EXPECT_THROW(gpu::passes_self_test(device, "lost", []() -> bool { throw DeviceLost("gone"); }), DeviceLost);
  EXPECT_TRUE(gpu::passes_self_test(device, "lost", [] { return true; }));
}

// The product takes another form on a device whose cooperative matrices gave wrong results.
TEST_F(SelfTestTest, AFormThatFailedIsNotUsed) {
  if (devices().front().device.capabilities().matrix_shapes.empty()) GTEST_SKIP() << "no cooperative matrices here";
  const auto product = [](gpu::Device& device, std::string& form) {
    device.impl().context->capabilities.software = false;  // a software device does not use them
    constexpr std::int64_t kSize = 64;
    std::vector<std::uint16_t> values;
    for (int i = 0; i < kSize * kSize; ++i) values.push_back(float16(static_cast<float>(i % 13 - 6)).bits);
    const View a(device.allocate(kSize * kSize * 2), 0, DType::f16, {kSize, kSize});
    const View y(device.allocate(kSize * kSize * 4), 0, DType::f32, {kSize, kSize});
    device.upload(a.buffer, 0, std::as_bytes(std::span(values)));
    gpu::Recording recording(device);
    kernels::matmul(recording, a, a, y);
    form = recording.dispatches()[0].variant;
    gpu::Encoder encoder(device);
    encoder.replay(recording);
    gpu::Readback read = encoder.read(y.buffer, 0, kSize * kSize * 4);
    encoder.submit();
    return read.get();
  };
  gpu::Device right = fresh(), wrong = fresh();
  std::string fast, slow;
  const auto expected = product(right, fast);
  EXPECT_THAT(fast, testing::StartsWith("subgroup_matrix"));
  ASSERT_FALSE(right.impl().verdicts.empty());
  for (const auto& [key, verdict] : right.impl().verdicts) {
    EXPECT_TRUE(verdict) << key;
    wrong.impl().verdicts.emplace(key, false);
  }
  EXPECT_EQ(product(wrong, slow), expected);
  EXPECT_THAT(slow, testing::Not(testing::StartsWith("subgroup_matrix")));
}

}  // namespace
}  // namespace weft::test
