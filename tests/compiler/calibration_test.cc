#include "weft/calibration.h"

#include <fstream>
#include <random>

#include "support/devices.h"
#include "support/temp_dir.h"
#include "weft/custom_op.h"
#include "weft/error.h"
#include "weft/flags.h"

namespace weft::test {
namespace {

// Measuring takes two seconds on an idle machine, but tests run in parallel.
constexpr double kLongest = 20;

class CalibrationTest : public testing::Test {
 protected:
  void SetUp() override { set_flag(Flag::cache_dir, directory.path().string()); }
  void TearDown() override { reset_flags(); }
  TempDir directory;
};

Graph chain(std::int64_t size) {
  Graph g;
  Tensor x = g.input("x", DType::f32, {size, size});
  for (int i = 0; i < 4; ++i) x = relu(matmul(x, x));
  g.output("y", x);
  return g;
}

TEST_F(CalibrationTest, TheCpuIsMeasuredOnceAndKept) {
  const Device cpu = Device::cpu();
  EXPECT_FALSE(Calibration::load(cpu));
  const Calibration c = Calibration::load_or_measure(cpu);
  EXPECT_GT(c.copy_bandwidth, 1e8);
  EXPECT_LT(c.copy_bandwidth, 1e13);
  EXPECT_GT(c.f32_rate, 1e8);
  EXPECT_GT(c.f16_rate, 0);
  EXPECT_EQ(c.matrix_rate, 0);
  EXPECT_GT(c.dispatch_seconds, 0);
  EXPECT_GT(c.round_trip_seconds, 0);
  EXPECT_GT(c.upload_rate, 1e8);
  EXPECT_GT(c.measured_seconds, 0);
  EXPECT_LT(c.measured_seconds, kLongest);
  const auto kept = Calibration::load(cpu);
  ASSERT_TRUE(kept);
  EXPECT_EQ(to_json(*kept), to_json(c));
  EXPECT_EQ(to_json(Calibration::load_or_measure(cpu)), to_json(c));
}

TEST_F(CalibrationTest, AGpuIsMeasured) {
  if (devices().empty()) GTEST_SKIP() << "no adapter here";
  const Device gpu = devices().front().device;
  const Calibration c = Calibration::load_or_measure(gpu);
  EXPECT_GT(c.copy_bandwidth, 1e7);
  EXPECT_GT(c.f32_rate, 1e7);
  EXPECT_GT(c.dispatch_seconds, 0);
  EXPECT_GE(c.barrier_seconds, 0);
  EXPECT_GT(c.round_trip_seconds, c.dispatch_seconds / 100);
  EXPECT_GT(c.download_rate, 1e6);
  EXPECT_LT(c.measured_seconds, kLongest);
  EXPECT_TRUE(Calibration::load(gpu));
}

TEST_F(CalibrationTest, BadFilesCountAsAbsent) {
  const Device cpu = Device::cpu();
  Calibration good;
  good.copy_bandwidth = good.f32_rate = 1e9;
  const auto path = Calibration::file_of(cpu);
  std::filesystem::create_directories(path.parent_path());
  const auto write = [&](const std::string& text) { std::ofstream(path) << text; };
  const Calibration mine = Calibration::load_or_measure(cpu);
  const std::string whole = to_json(mine);
  write(whole);
  ASSERT_TRUE(Calibration::load(cpu));
  std::string foreign = whole, negative = whole, renamed = whole;
  foreign.replace(foreign.find(mine.device), mine.device.size(), "another device");
  renamed.replace(renamed.find("f32_rate"), 8, "f33_rate");
  negative.insert(negative.find(": ", negative.find("upload_rate")) + 2, "-");
  for (const std::string& bad : {std::string(), std::string("{"), std::string("[1]"), std::string("\xff\xfe\0", 3),
                                 whole.substr(0, whole.size() / 2), foreign, negative, renamed, to_json(good)}) {
    write(bad);
    EXPECT_FALSE(Calibration::load(cpu)) << bad;
  }
  // If nothing can be written, calibration is only measured.
  std::filesystem::remove_all(path.parent_path());
  std::ofstream(path.parent_path()) << "a file where the directory should be";
  EXPECT_GT(Calibration::load_or_measure(cpu).copy_bandwidth, 0);
  set_flag(Flag::cache_dir, "off");
  EXPECT_TRUE(Calibration::file_of(cpu).empty());
  EXPECT_FALSE(Calibration::load(cpu));
}

TEST_F(CalibrationTest, EstimatesGrowWithTheWork) {
  Calibration fast, slow;
  fast.copy_bandwidth = 4e12, fast.f32_rate = 4e13, fast.dispatch_seconds = 2e-6, fast.barrier_seconds = 1e-6;
  fast.round_trip_seconds = 50e-6, fast.upload_rate = fast.download_rate = 1e10, fast.encode_seconds = 1e-6;
  slow.copy_bandwidth = 1e10, slow.f32_rate = 1e11, slow.dispatch_seconds = 2e-7,
  slow.upload_rate = slow.download_rate = 1e10;
  EXPECT_DOUBLE_EQ(fast.limit_seconds({.bytes = 4'000'000'000'000, .flops = 1}), 1);
  EXPECT_DOUBLE_EQ(fast.limit_seconds({.bytes = 1, .flops = 4e13}), 1);
  EXPECT_DOUBLE_EQ(fast.rate(Arithmetic::matrix), 4e13) << "what it lacks runs as f32";
  // What fits in the caches may move faster; what does not gains nothing.
  Calibration cached = fast;
  cached.cache_bandwidth = 8e12, cached.cache_bytes = 1e6;
  EXPECT_DOUBLE_EQ(cached.limit_seconds({.bytes = 1'000'000}), 1e6 / 8e12);
  EXPECT_DOUBLE_EQ(cached.limit_seconds({.bytes = 1'000'001}), 1'000'001 / 4e12);
  // Functions take their time after the bytes, or overlap with them.
  Calibration c = fast;
  c.function_rate = 1e12, c.dispatch_seconds = c.barrier_seconds = 0;
  const Work work{.bytes = 4'000'000'000'000, .functions = 2e12};
  EXPECT_DOUBLE_EQ(c.limit_seconds(work), 2);
  EXPECT_DOUBLE_EQ(c.estimate_seconds(work), 3);
  c.overlap = 1;
  EXPECT_DOUBLE_EQ(c.estimate_seconds(work), 2);
  const Device cpu = Device::cpu();
  const auto seconds = [&](std::int64_t size, const Calibration& c) { return estimate(chain(size), cpu, c).seconds(); };
  EXPECT_LT(seconds(8, slow), seconds(8, fast)) << "a tiny graph is better where nothing has to travel";
  EXPECT_GT(seconds(2048, slow), seconds(2048, fast));
  EXPECT_GT(seconds(2048, slow), seconds(1024, slow));
}

// The cost of an operation in addition to its bytes.
TEST_F(CalibrationTest, FunctionsCost) {
  Calibration c;
  c.copy_bandwidth = c.upload_rate = c.download_rate = 1e10, c.f32_rate = 1e11, c.function_rate = 1e9;
  const auto seconds = [&](DType type, const std::function<Tensor(Tensor)>& f) {
    Graph g;
    g.output("y", f(g.input("x", type, {1000, 1000})));
    return estimate(g, Device::cpu(), c).kernels;
  };
  const auto relu_of = [](const Tensor& x) { return relu(x); };
  const auto lgamma_of = [](const Tensor& x) { return unary(ScalarOp::lgamma, x); };
  EXPECT_NEAR(seconds(DType::f32, relu_of), 0.8e-3 + 0.08e-3, 1e-5);
  EXPECT_NEAR(seconds(DType::f32, lgamma_of), 0.8e-3 + 6.6e-3, 1e-5);
  EXPECT_GT(seconds(DType::f64, lgamma_of), 60e-3) << "one by one";
  EXPECT_GT(seconds(DType::f32, [](const Tensor& x) { return softmax(x); }), seconds(DType::f32, relu_of));
  EXPECT_NEAR(seconds(DType::f32, [&](const Tensor& x) { return reduce(ReduceKind::sum, lgamma_of(x), {1}); }),
              0.4e-3 + 6.7e-3, 1e-4)
      << "work that went into a reduction";
}

TEST_F(CalibrationTest, RangeHoldsTheEstimateAndWhatABusyMachineHid) {
  const Estimate e{.kernels = 3, .transfers = 1};
  Calibration idle, busy;
  busy.busy = 0.4;
  const EstimateRange range = estimate_range(e, idle), wider = estimate_range(e, busy);
  EXPECT_DOUBLE_EQ(range.low, 3);     // 3 / 1.5 + 1
  EXPECT_DOUBLE_EQ(range.high, 5.5);  // 3 · 1.5 + 1
  EXPECT_DOUBLE_EQ(wider.low, 0.6 * 3) << "the whole machine is faster than what was left of it";
  EXPECT_DOUBLE_EQ(wider.high, range.high);
  busy.busy = 0.95;
  EXPECT_DOUBLE_EQ(estimate_range(e, busy).low, 0.5 * 3);
}

TEST_F(CalibrationTest, RanksDevices) {
  std::vector<Device> all{Device::cpu()};
  if (!devices().empty()) all.emplace_back(devices().front().device);
  const auto ranked = rank_devices(chain(8), all);
  ASSERT_EQ(ranked.size(), all.size());
  EXPECT_EQ(ranked.front().device, Device::cpu()) << "eight by eight";
  for (std::size_t i = 1; i < ranked.size(); ++i) {
    EXPECT_GE(ranked[i].estimate.seconds(), ranked[i - 1].estimate.seconds());
  }
}

TEST_F(CalibrationTest, RanksOnlyDevicesThatCanRunTheGraph) {
  if (devices().empty()) GTEST_SKIP() << "no adapter here";
  const Device gpu(devices().front().device);
  const std::vector<Device> all{Device::cpu(), gpu};
  Graph doubles;
  doubles.output("y", unary(ScalarOp::exp, doubles.input("x", DType::f64, {8, 8})));
  auto ranked = rank_devices(doubles, all);
  ASSERT_EQ(ranked.size(), 1u);
  EXPECT_EQ(ranked[0].device, Device::cpu());
  EXPECT_THROW(rank_devices(doubles, std::vector{gpu}), Unsupported);

  auto kernel = std::make_shared<CustomKernel>();
  kernel->name = "twice";
  kernel->inputs = {"x"};
  kernel->outputs = {"y"};
  kernel->wgsl = "fn kernel(i: u32) { store_y(i, 2.0 * load_x(i)); }";
  kernel->infer = [](std::span<const TensorType> in) { return std::vector{in[0]}; };
  Graph own;
  own.output("y", custom(kernel, std::vector{own.input("x", DType::f32, {8, 8})})[0]);
  ranked = rank_devices(own, all);
  ASSERT_EQ(ranked.size(), 1u);
  EXPECT_EQ(ranked[0].device, gpu);
}

}  // namespace
}  // namespace weft::test
