#include "gpu/device_impl.h"
#include "gpu/kernel.h"
#include "support/dawn_counters.h"
#include "weft/error.h"

namespace weft::test {
namespace {

class SteadyStateTest : public testing::TestWithParam<std::string> {
 protected:
  gpu::Device& device = test::device(GetParam());
};

TEST_P(SteadyStateTest, ReplaysMakeNothing) {
  Buffer in = Buffer::placeholder(16), out = Buffer::placeholder(16), middle = device.allocate(16);
  gpu::Recording recording(device);
  for (std::uint32_t i = 0; i < 40; ++i) {
    affine(recording, i == 0 ? in : i % 2 ? middle : out, i % 2 ? out : middle, {4, 1, i});
  }
  // 0: in → middle, 1: middle → out, 2: out → middle, …
  Buffer a[2] = {upload<std::uint32_t>(device, {1, 2, 3, 4}), upload<std::uint32_t>(device, {5, 6, 7, 8})};
  Buffer b[2] = {device.allocate(16), device.allocate(16)};
  gpu::Encoder encoder(device);
  const auto run = [&](int i) {
    const std::uint32_t fill[4] = {10u * i, 1, 2, 3};
    device.upload(a[i % 2], 0, std::as_bytes(std::span(fill)));
    const gpu::Substitution substitutions[] = {{in, a[i % 2]}, {out, b[i / 2 % 2]}};
    encoder.replay(recording, substitutions);
    gpu::Readback read = encoder.read(b[i / 2 % 2], 0, 4);
    encoder.submit();
    return as<std::uint32_t>(read.get())[0];
  };
  for (int i = 0; i < 4; ++i) run(i);
  const DawnCounters before = DawnCounters::now();
  for (int i = 0; i < 12; ++i) EXPECT_EQ(run(i), 10u * i + 780);
  const DawnCounters made = DawnCounters::now() - before;
  EXPECT_EQ(made.created(), 0u) << made.text();
  EXPECT_EQ(made.dispatches, 12u * 40);
  EXPECT_EQ(made.submits, 12u * 2) << "the first 32 dispatches, then the rest";
  EXPECT_EQ(made.passes, 12u * 2);
  EXPECT_EQ(made.writes, 12u) << "the inputs; parameters were written once";
}

TEST_P(SteadyStateTest, RecordingAgainMakesNothingEither) {
  Buffer a = upload<std::uint32_t>(device, {1, 2, 3, 4});
  const auto run = [&] {
    gpu::Encoder encoder(device);
    Buffer x = device.allocate(16), y = device.allocate(16);
    affine(encoder, a, x, {4, 2, 0});
    affine(encoder, x, y, {4, 2, 1});
    gpu::Readback read = encoder.read(y, 0, 16);
    encoder.submit();
    return as<std::uint32_t>(read.get());
  };
  run();
  run();
  const DawnCounters before = DawnCounters::now();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(run(), (std::vector<std::uint32_t>{5, 9, 13, 17}));
  const DawnCounters made = DawnCounters::now() - before;
  EXPECT_EQ(made.created(), 0u) << made.text();
}

TEST_P(SteadyStateTest, ACallersBuffersAreLetGo) {
  auto& groups = device.impl().bind_groups;
  Buffer result = device.allocate(16);
  const auto let_time_pass = [&] {
    for (std::uint64_t i = 0; i < 3 * gpu::BindGroupCache::kForeignAge; ++i) {
      gpu::Encoder encoder(device);
      affine(encoder, result, upload<std::uint32_t>(device, {1, 1, 1, 1}), {4, 1, 0});
      encoder.submit();
    }
  };
  groups.clear();  // those of earlier tests would be dropped for their age in between
  const std::size_t before = groups.size();
  for (int i = 0; i < 40; ++i) {
    wgpu::BufferDescriptor descriptor;
    descriptor.size = 16;
    descriptor.usage = wgpu::BufferUsage::Storage;
    gpu::Encoder encoder(device);
    affine(encoder, Buffer(device.webgpu().CreateBuffer(&descriptor)), result, {4, 1, 0});
    encoder.submit();
  }
  EXPECT_GE(groups.size(), before + 40);
  let_time_pass();
  EXPECT_LE(groups.size(), before + 2);
}

TEST_P(SteadyStateTest, TrimmedBuffersLeaveTheBindGroups) {
  auto& groups = device.impl().bind_groups;
  device.trim();
  groups.clear();  // as above
  const std::size_t before = groups.size();
  {
    Buffer x = upload<std::uint32_t>(device, std::vector<std::uint32_t>(100'000, 1)), y = device.allocate(400'000);
    gpu::Encoder encoder(device);
    affine(encoder, x, y, {100'000, 1, 0});
    encoder.submit();
  }
  EXPECT_EQ(groups.size(), before + 1);
  device.trim();
  EXPECT_EQ(groups.size(), before);
}

TEST_P(SteadyStateTest, ManyDispatchesGoInSeveralSubmitsInOrder) {
  Buffer a = upload<std::uint32_t>(device, {0, 0, 0, 0}), b = device.allocate(16);
  gpu::Encoder encoder(device);
  const DawnCounters before = DawnCounters::now();
  for (std::uint32_t i = 0; i < 1000; ++i) affine(encoder, i % 2 ? b : a, i % 2 ? a : b, {4, 3, i});
  gpu::Readback read = encoder.read(a, 0, 4);
  encoder.submit();
  std::uint32_t expected = 0;
  for (std::uint32_t i = 0; i < 1000; ++i) expected = expected * 3 + i;
  EXPECT_EQ(as<std::uint32_t>(read.get())[0], expected);
  EXPECT_GT((DawnCounters::now() - before).submits, 2u);
}

TEST_P(SteadyStateTest, ARecordingGrowsAfterItWasReplayed) {
  Buffer in = Buffer::placeholder(16), x = device.allocate(16), y = device.allocate(16);
  Buffer a = upload<std::uint32_t>(device, {1, 2, 3, 4});
  const gpu::Substitution substitutions[] = {{in, a}};
  gpu::Recording recording(device);
  gpu::Encoder encoder(device);
  std::uint32_t expected = 1;
  for (std::uint32_t i = 0; i < 30; ++i) {
    affine(recording, i == 0 ? in : i % 2 ? x : y, i % 2 ? y : x, {4, 3, i});
    expected = expected * 3 + i;
    encoder.replay(recording, substitutions);
    gpu::Readback read = encoder.read(i % 2 ? y : x, 0, 4);
    encoder.submit();
    ASSERT_EQ(as<std::uint32_t>(read.get())[0], expected) << i;
  }
}

TEST_P(SteadyStateTest, ARecordingMayGoBeforeItsSubmit) {
  Buffer a = upload<std::uint32_t>(device, {1, 1, 1, 1}), result = device.allocate(16);
  gpu::Encoder encoder(device);
  {
    Buffer middle = device.allocate(16);
    gpu::Recording recording(device);
    affine(recording, a, middle, {4, 1, 1});
    for (int i = 0; i < 99; ++i) affine(recording, i % 2 ? middle : result, i % 2 ? result : middle, {4, 1, 0});
    affine(recording, a, middle, {4, 1, 1});
    affine(recording, middle, result, {4, 1, 5});
    encoder.replay(recording);
  }
  Buffer other = upload<std::uint32_t>(device, {9, 9, 9, 9});  // must not get the recording's memory yet
  encoder.submit();
  EXPECT_EQ(as<std::uint32_t>(device.read(result, 0, 4).get())[0], 7u);
  EXPECT_EQ(as<std::uint32_t>(device.read(other, 0, 4).get())[0], 9u);
}

TEST_P(SteadyStateTest, TwoEncodersAtOnce) {
  Buffer a = upload<std::uint32_t>(device, {1, 2, 3, 4}), b = device.allocate(16), c = device.allocate(16);
  gpu::Encoder first(device), second(device);
  for (std::uint32_t i = 0; i < 5; ++i) {
    affine(first, a, b, {4, 1, 100 + i});
    affine(second, a, c, {4, 1, 200 + i});
  }
  gpu::Readback rc = second.read(c, 0, 4), rb = first.read(b, 0, 4);
  second.submit();
  first.submit();
  EXPECT_EQ(as<std::uint32_t>(rb.get())[0], 105u);
  EXPECT_EQ(as<std::uint32_t>(rc.get())[0], 205u);
}

TEST_P(SteadyStateTest, LargeParametersAndNone) {
  struct Large {
    std::uint32_t values[1024];
  } large{};
  for (std::uint32_t i = 0; i < 1024; ++i) large.values[i] = i * i;
  Buffer out = device.allocate(4096);
  const gpu::Binding bindings[] = {{out, 0, 4096, gpu::Access::read_write}};
  const gpu::Dispatch with{
      .key = "test.large_params",
      .make_wgsl =
          [] {
            return std::string(
                "@group(0) @binding(0) var<uniform> p: array<vec4<u32>, 256>;\n"
                "@group(0) @binding(1) var<storage, read_write> y: array<vec4<u32>>;\n"
                "@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) i: vec3<u32>) "
                "{ y[i.x] = p[i.x]; }");
          },
      .bindings = bindings,
      .params = std::as_bytes(std::span(&large, 1)),
      .workgroups = {4, 1, 1},
      .label = "large"};
  const gpu::Dispatch without{.key = "test.no_params",
                              .make_wgsl =
                                  [] {
                                    return std::string(
                                        "@group(0) @binding(1) var<storage, read_write> y: array<u32>;\n"
                                        "@compute @workgroup_size(1) fn main() { y[0] = 7; }");
                                  },
                              .bindings = bindings,
                              .label = "none"};
  gpu::Recording recording(device);
  gpu::Encoder encoder(device);
  for (gpu::Commands* commands : {static_cast<gpu::Commands*>(&encoder), static_cast<gpu::Commands*>(&recording)}) {
    for (int i = 0; i < 20; ++i) commands->dispatch(with);
    commands->dispatch(without);
  }
  encoder.replay(recording);
  gpu::Readback read = encoder.read(out, 0, 4096);
  encoder.submit();
  const auto values = as<std::uint32_t>(read.get());
  EXPECT_EQ(values[0], 7u);
  for (std::uint32_t i = 1; i < 1024; ++i) ASSERT_EQ(values[i], i * i);
}

INSTANTIATE_TEST_SUITE_P(Devices, SteadyStateTest, testing::ValuesIn(device_names()),
                         [](const auto& i) { return i.param; });

}  // namespace
}  // namespace weft::test
