#include "weft/profile.h"

#include <nlohmann/json.hpp>

#include "gpu/kernel.h"
#include "weft/compile.h"
#include "weft/error.h"
#include "weft/kernels.h"

namespace weft::test {
namespace {

class ProfilerTest : public testing::TestWithParam<std::string> {
 protected:
  gpu::Device& device = test::device(GetParam());
};

void expect_in_order(const Profile& p) {
  for (std::size_t i = 0; i < p.runs.size(); ++i) {
    EXPECT_GE(p.runs[i].start, 0) << i;
    EXPECT_GE(p.runs[i].seconds, 0) << i;
    EXPECT_LE(p.runs[i].start + p.runs[i].seconds, p.seconds * 1.01 + 1e-3) << i;
    if (i > 0) {
      EXPECT_GE(p.runs[i].start, p.runs[i - 1].start) << i;
    }
  }
}

TEST_P(ProfilerTest, EachDispatchOfEncoderAndRecordingIsTimed) {
  Buffer a = upload<std::uint32_t>(device, std::vector<std::uint32_t>(1 << 16, 1)), b = device.allocate(1 << 18);
  gpu::Recording recording(device);
  recording.begin_step("a step", 4096);
  for (int i = 0; i < 50; ++i) affine(recording, i % 2 ? b : a, i % 2 ? a : b, {1 << 16, 1, 1});
  Profiler profiler(device);
  profiler.span("encoding", [&] {
    gpu::Encoder encoder(device);
    affine(encoder, a, b, {1 << 16, 1, 1});
    encoder.replay(recording);
    gpu::Readback read = encoder.read(a, 0, 4);
    encoder.submit();
    EXPECT_EQ(as<std::uint32_t>(read.get())[0], 51u) << "profiled work computes the same";
  });
  const Profile p = profiler.finish();
  ASSERT_EQ(p.runs.size(), 51u);
  expect_in_order(p);
  EXPECT_EQ(p.runs[0].step, "");
  EXPECT_EQ(p.runs[0].kernel, "affine");
  EXPECT_EQ(p.runs[1].step, "a step");
  EXPECT_EQ(p.runs[1].live_bytes, 4096u);
  EXPECT_EQ(p.runs[1].workgroups, (std::array<std::uint32_t, 3>{1024, 1, 1}));
  double total = 0;
  for (const KernelRun& r : p.runs) total += r.seconds;
  EXPECT_GT(total, 0);
  EXPECT_LE(total, p.seconds * 1.05);
  ASSERT_EQ(p.host.size(), 1u);
  EXPECT_EQ(p.host[0].name, "encoding");
  EXPECT_FALSE(p.method.empty());
  EXPECT_TRUE(profiler.finish().runs.empty()) << "taken";
}

TEST_P(ProfilerTest, OneAtATimeAndNoneAfterwards) {
  Buffer a = upload<std::uint32_t>(device, {1, 2}), b = device.allocate(8);
  {
    const Profiler first(device);
    EXPECT_THROW(Profiler second{Device(device)}, InvalidArgument);
  }
  gpu::Encoder encoder(device);
  {
    Profiler gone(device);
    affine(encoder, a, b, {2, 3, 0});
  }
  affine(encoder, b, a, {2, 1, 1});
  gpu::Readback read = encoder.read(a, 0, 8);
  encoder.submit();
  EXPECT_EQ(as<std::uint32_t>(read.get()), (std::vector<std::uint32_t>{4, 7}));
}

TEST_P(ProfilerTest, KernelsSayWhatTheyDo) {
  const auto tensor = [&](const Shape& shape) {
    return View(device.allocate(static_cast<std::uint64_t>(element_count(shape)) * 4), 0, DType::f32, shape);
  };
  const View a = tensor({64, 32}), b = tensor({32, 16}), y = tensor({64, 16}), row = tensor({16});
  gpu::Recording recording(device);
  kernels::matmul(recording, a, b, y);
  kernels::binary(recording, ScalarOp::add, y, row, y);
  kernels::softmax(recording, y, y, -1);
  ASSERT_EQ(recording.dispatches().size(), 3u);
  const KernelRun& product = recording.dispatches()[0];
  EXPECT_EQ(product.work.flops, 2.0 * 64 * 32 * 16);
  EXPECT_EQ(product.work.bytes, 4u * (64 * 32 + 32 * 16 + 64 * 16));
  EXPECT_FALSE(product.variant.empty());
  EXPECT_FALSE(product.why.empty());
  const KernelRun& sum = recording.dispatches()[1];
  EXPECT_EQ(sum.work.flops, 64.0 * 16);
  EXPECT_EQ(sum.work.bytes, 4u * (2 * 64 * 16 + 16)) << "a broadcast row is read once";
  EXPECT_THAT(recording.dispatches()[2].why, testing::HasSubstr("64 rows of 16"));
}

// The count of operations is the same on every device and for every variant of the kernel.
TEST_P(ProfilerTest, EveryDeviceCountsTheSameOperations) {
  using Build = std::function<Tensor(Tensor)>;
  const Build builds[] = {
      [](const Tensor& x) {
        return gather(x, Graph::constant(TensorData::of<std::int32_t>(DType::i32, {2}, std::vector{0, 1})), 0);
      },
      [](const Tensor& x) { return gather(x, arange(0, 2), 0); },
      [](const Tensor& x) { return softmax(x, -1); },
      [](const Tensor& x) { return log_softmax(x * 2.0, -1) + 1.0; },
      [](const Tensor& x) { return layer_norm(x, {}, {}, 1e-5) * 0.5; },
      [](const Tensor& x) { return rms_norm(x + 1.0, {}, 1e-5); },
      [](const Tensor& x) { return reduce(ReduceKind::sum_squares, x, {0}); },
      [](const Tensor& x) { return sqrt(reduce(ReduceKind::log_sum_exp, x - 1.0, {-1})); },
      [](const Tensor& x) { return variance(x, {1}); },
      [](const Tensor& x) { return scan(ScanKind::sum, x, -1); },
      [](const Tensor& x) {
        const Tensor q = reshape(slice(x, 1, 0, 64), {1, 2, 8, 8});
        return attention(q, q, q, {}, {.causal = true});
      },
  };
  for (const Shape& shape : {Shape{2, 64}, {2, 70000}}) {
    for (std::size_t k = 0; k < std::size(builds); ++k) {
      const auto flops = [&](const Device& d) {
        Graph g;
        g.output("y", builds[k](g.input("x", DType::f32, shape)));
        const Executable exe = compile(g, d);
        double sum = 0;
        for (const KernelRun& run : exe.report().dispatches) sum += run.work.flops;
        return sum;
      };
      const double on_cpu = flops(Device::cpu());
      EXPECT_EQ(on_cpu > 0, k > 0) << k;
      EXPECT_EQ(flops(Device(device)), on_cpu) << k << " of " << to_string(shape);
    }
  }
}

TEST_P(ProfilerTest, StepsOfAGraph) {
  for (const Device& d : {Device(device), Device::cpu()}) {
    Graph g;
    const Tensor x = g.input("x", DType::f32, {32, 64});
    g.output("y", softmax(matmul(x, permute(x, {1, 0})), -1));
    Executable exe = compile(g, d);
    const Tensor in(d, DType::f32, {32, 64}), out(d, DType::f32, {32, 32});
    EXPECT_EQ(exe.report().dispatches.size(), 2u);
    exe.run({{"x", in}}, {{"y", out}});
    Profiler profiler(d);
    exe.run({{"x", in}}, {{"y", out}});
    const Profile p = profiler.finish();
    ASSERT_EQ(p.runs.size(), 2u) << d.name();
    expect_in_order(p);
    EXPECT_THAT(p.runs[0].step, testing::StartsWith("matmul"));
    EXPECT_THAT(p.runs[1].step, testing::StartsWith("softmax"));
    EXPECT_EQ(p.runs[0].work.flops, 2.0 * 32 * 32 * 64);
    EXPECT_EQ(p.runs[0].live_bytes, exe.report().steps[0].live_bytes);
    EXPECT_GE(p.runs[0].live_bytes, 32u * 32 * 4);
    const auto trace = nlohmann::json::parse(chrome_trace(p));
    int kernels = 0;
    for (const auto& event : trace["traceEvents"]) kernels += event.value("cat", "") == "kernel";
    EXPECT_EQ(kernels, 2);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, ProfilerTest, testing::ValuesIn(device_names()),
                         [](const auto& i) { return i.param; });

}  // namespace
}  // namespace weft::test
