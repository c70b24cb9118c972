// Self-tests of fast paths: each runs once, its verdict is stored, and a form that failed is not used.
#include "gpu/self_test.h"

#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "gpu/device_impl.h"
#include "gpu/wait.h"
#include "kernels/device_math.h"
#include "support/devices.h"
#include "support/temp_dir.h"
#include "weft/compile.h"
#include "weft/error.h"
#include "weft/kernels.h"
#include "weft/small_float.h"

namespace weft::test {
namespace {

Future<bool> says_yes() {
  return Future<bool>({}, [] { return true; });
}

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
      return Future<bool>({}, [verdict] { return verdict; });
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
  EXPECT_FALSE(gpu::passes_self_test(device, "throws",
                                     []() -> Future<bool> { throw ValidationError("a shader that is refused"); }));
  EXPECT_FALSE(gpu::passes_self_test(fresh(), "throws", says_yes)) << "kept";
  // Neither a temporary shortage of memory nor a lost device says anything about this kind of device.
  EXPECT_FALSE(gpu::passes_self_test(device, "short", []() -> Future<bool> { throw OutOfMemory("none left"); }));
  EXPECT_TRUE(gpu::passes_self_test(fresh(), "short", says_yes));
  EXPECT_THROW(gpu::passes_self_test(device, "lost", []() -> Future<bool> { throw DeviceLost("gone"); }), DeviceLost);
  EXPECT_TRUE(gpu::passes_self_test(device, "lost", says_yes));
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

// A result that comes when the test says so.
class Later final : public Completion {
 public:
  bool ready() override { return there; }
  void wait() override { there = true; }
  void when_ready(std::function<void()>) override { FAIL() << "the device asks by itself"; }
  bool there = false;
};

TEST_F(SelfTestTest, WhereNothingMayWaitTheAnswerIsNoUntilItIsThere) {
  const gpu::Device device = fresh();
  const gpu::Context& context = *device.impl().context;
  const auto later = std::make_shared<Later>();
  int asked = 0;
  const auto ask = [&](std::string_view key, bool verdict) {
    return gpu::passes_self_test(device, key, [&] {
      ++asked;
      return Future<bool>(later, [verdict] { return verdict; });
    });
  };
  const gpu::NoWaiting guard;
  const gpu::Undecided undecided(context);
  EXPECT_FALSE(undecided.since());
  EXPECT_FALSE(ask("good", true));
  EXPECT_FALSE(ask("bad", false));
  const std::optional<std::uint64_t> since = undecided.since();
  ASSERT_TRUE(since);
  EXPECT_FALSE(ask("good", true));
  EXPECT_EQ(asked, 2);
  EXPECT_FALSE(gpu::settle_self_tests(device));
  EXPECT_FALSE(gpu::Undecided::outdated(context, since));
  bool called = false, called_too = false;
  gpu::self_tests_settled(device).then([&](Future<void>) { called = true; });
  gpu::self_tests_settled(device).then([&](Future<void>) { called_too = true; });
  device.poll();
  EXPECT_FALSE(called);
  later->there = true;
  device.poll();
  EXPECT_TRUE(called);
  EXPECT_TRUE(called_too);
  EXPECT_TRUE(gpu::settle_self_tests(device));
  EXPECT_TRUE(gpu::Undecided::outdated(context, since));
  const gpu::Undecided decided(context);
  EXPECT_TRUE(ask("good", true));
  EXPECT_FALSE(ask("bad", false));
  EXPECT_EQ(asked, 2);
  EXPECT_FALSE(decided.since());
  EXPECT_TRUE(guard.places().empty());
}

// A callback that waits for the tests does not keep their results from a thread that waits meanwhile, and holds
// callbacks back.
TEST_F(SelfTestTest, WaitsForATestThatACallbackWaitsFor) {
  const gpu::Device device = fresh();
  const Buffer buffer = device.allocate(16);
  const std::array values{1, 2, 3, 4};
  device.upload(buffer, 0, std::as_bytes(std::span(values)));
  const auto ask = [&] {
    return gpu::passes_self_test(device, "read", [&] {
      return device.read(buffer, 0, 16).map([](const gpu::ReadBytes& read) { return read.span()[4] == std::byte{2}; });
    });
  };
  bool called = false;
  {
    const gpu::CallbacksHeld held;
    {
      const std::lock_guard lock(device.impl().context->lock);
      const gpu::AvoidWaiting no_wait;
      ask();
      gpu::self_tests_settled(device).then([&](Future<void>) { called = true; });
    }
    EXPECT_TRUE(ask());
  }
  device.poll();
  EXPECT_TRUE(called);
}

TEST_F(SelfTestTest, ADeviceThatClosesCallsWhatWaitsForItsTests) {
  bool called = false;
  {
    const gpu::Device device = fresh();
    const gpu::NoWaiting guard;
    gpu::passes_self_test(device, "never", [] { return Future<bool>(std::make_shared<Later>(), [] { return true; }); });
    for (int i = 0; i < 2; ++i)
      gpu::self_tests_settled(device).then([&](Future<void> done) {
        done.get();
        called = true;
      });
    device.poll();
    EXPECT_FALSE(called);
  }
  EXPECT_TRUE(called);
}

// Executables and plans that were made before the test had answered are made again with the form that has passed.
TEST_F(SelfTestTest, WhatWasMadeWithoutAFormIsMadeAgain) {
  if (devices().front().device.capabilities().matrix_shapes.empty()) GTEST_SKIP() << "no cooperative matrices here";
  Graph graph;
  const Tensor a = graph.input("a", DType::f16, {64, 64});
  graph.output("y", matmul(a, a));
  const auto form = [](const Executable& e) { return std::string(e.report().dispatches.front().variant); };
  const std::vector<float16> ones(64 * 64, float16(1));
  for (const bool asynchronously : {false, true}) {
    TempDir empty;
    gpu::DeviceOptions options;
    options.adapter = std::to_string(devices().front().device.adapter().index);
    options.cache_dir = empty.path().string();
    gpu::Device gpu = gpu::Device::open(options);
    gpu.impl().context->capabilities.software = false;
    const Device device = gpu;
    Tensor x(device, DType::f16, {64, 64}), y(device, DType::f16, {64, 64});
    x.write(std::as_bytes(std::span(ones)));
    Executable executable;
    Future<Executable> later;
    {
      const gpu::NoWaiting guard;
      if (asynchronously) {
        later = compile_async(graph, device);
      } else {
        executable = compile(graph, device);
        executable.run(std::vector{x}, std::vector{y});
      }
      EXPECT_TRUE(guard.places().empty());
    }
    if (asynchronously) executable = later.get();
    device.wait();
    const gpu::NoWaiting guard;
    executable.run(std::vector{x}, std::vector{y});
    EXPECT_THAT(form(executable), testing::StartsWith("subgroup_matrix"));
    Future<std::vector<float16>> values = y.async_read<float16>();
    while (!values.ready()) {
    }
    for (const float16 v : values.get()) ASSERT_EQ(static_cast<float>(v), 64);
    EXPECT_TRUE(guard.places().empty());
  }
}

// The tests of a device's own functions say the same whether they are waited for or not.
TEST_F(SelfTestTest, TheDevicesOwnFunctions) {
  const auto ask = [](const gpu::Device& device) {
    const kernels::DeviceForms forms = kernels::device_forms(device);
    return std::vector<bool>{!kernels::f16_packing(device).empty(), kernels::device_exp2(device), forms("min_f32"),
                             forms("exp_narrow"), forms("lgamma_f32")};
  };
  const auto opened = [] {
    gpu::DeviceOptions options;
    options.adapter = std::to_string(devices().front().device.adapter().index);
    options.cache_dir = "off";
    gpu::Device device = gpu::Device::open(options);
    device.impl().context->capabilities.software = false;
    return device;
  };
  const gpu::Device waits = opened(), asks_again = opened();
  const std::vector<bool> verdicts = ask(waits);
  EXPECT_FALSE(waits.impl().verdicts.empty());
  for (int round = 0; round < 4; ++round) {  // some are asked for only where others have passed
    {
      const gpu::NoWaiting guard;
      ask(asks_again);
      EXPECT_TRUE(guard.places().empty());
    }
    gpu::self_tests_settled(asks_again).get();
  }
  const gpu::NoWaiting guard;
  EXPECT_EQ(ask(asks_again), verdicts);
  EXPECT_EQ(asks_again.impl().verdicts, waits.impl().verdicts);
  EXPECT_TRUE(guard.places().empty());
}

TEST(NanIsKept, ByTheText) {
  EXPECT_EQ(kernels::with_nan_kept("let a = exp(x);"), "let a = select(x, exp(x), (x) == (x));");
  EXPECT_EQ(kernels::with_nan_kept("exp2(a - b) + exp_f32(c) * my_exp(d) + expo(e) + exp; log2(f)"),
            "select(a - b, exp2(a - b), (a - b) == (a - b)) + exp_f32(c) * my_exp(d) + expo(e) + exp; select(f, "
            "log2(f), (f) == (f))");
  EXPECT_EQ(kernels::with_nan_kept("exp(exp2(x))"),
            "select(select(x, exp2(x), (x) == (x)), exp(select(x, exp2(x), (x) == (x))), "
            "(select(x, exp2(x), (x) == (x))) == (select(x, exp2(x), (x) == (x))))");
  EXPECT_EQ(kernels::with_nan_kept(""), "");
}

// What is computed on a device that is said to lose NaN in exponentials: the same, numbers of two elements and of four.
TEST_F(SelfTestTest, ExponentialsLoseNan) {
  gpu::DeviceOptions options;
  options.adapter = std::to_string(devices().front().device.adapter().index);
  options.cache_dir = "off";
  const gpu::Device device = gpu::Device::open(options);
  device.impl().verdicts["exponentials and logarithms of NaN"] = false;
  ASSERT_FALSE(kernels::keeps_nan(device));
  for (const std::int64_t n : {6, 5000, 70001}) {
    std::vector<float> x(static_cast<std::size_t>(3 * n));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) / 3;
    x[1] = NAN;
    x[static_cast<std::size_t>(n)] = INFINITY;
    gpu::Encoder encoder(device);
    const View in(device.allocate(x.size() * 4), 0, DType::f32, {3, n}),
        out(device.allocate(x.size() * 4), 0, DType::f32, {3, n});
    device.upload(in.buffer, 0, std::as_bytes(std::span(x)));
    kernels::softmax(encoder, in, out, 1);
    gpu::Readback read = encoder.read(out.buffer, 0, x.size() * 4);
    encoder.submit();
    const gpu::ReadBytes bytes = read.get();
    std::vector<float> y(x.size());
    std::memcpy(y.data(), bytes.span().data(), bytes.size());
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (i < static_cast<std::size_t>(2 * n)) {
        ASSERT_TRUE(std::isnan(y[i])) << n << ": " << i;
      } else {
        sum += y[i];
      }
    }
    EXPECT_NEAR(sum, 1, 1e-5) << n;
  }
}

}  // namespace
}  // namespace weft::test
