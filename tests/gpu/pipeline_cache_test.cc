// Pipelines that compile in parallel: a separate cache on each device.
#include "gpu/pipeline_cache.h"

#include "gpu/device_impl.h"
#include "gpu/kernel.h"
#include "weft/error.h"

namespace weft::test {
namespace {

class PipelineCacheTest : public testing::TestWithParam<std::string> {
 protected:
  // A kernel that differs from others by `number`. If it `reads`, its only binding does not match its shader.
  std::shared_ptr<gpu::Pipeline> request(gpu::PipelineCache& cache, int number, bool reads = false) {
    const std::string key = std::format("test.kernel{}", number);
    return cache.request(dispatch(key, number, reads));
  }
  gpu::Dispatch dispatch(std::string_view key, int number, bool reads = false) {
    bindings_[0].access = reads ? gpu::Access::read : gpu::Access::read_write;
    return {.key = key,
            .make_wgsl =
                [number] {
                  return std::format(
                      "@group(0) @binding(1) var<storage, read_write> x: array<u32>;\n"
                      "@compute @workgroup_size(1) fn main() {{ x[0] = x[0] * 3u + {}u; }}",
                      number);
                },
            .bindings = bindings_,
            .workgroups = {1, 1, 1},
            .label = "kernel"};
  }

  gpu::Device& device = test::device(GetParam());
  std::shared_ptr<gpu::Context> context = device.impl().context;

 private:
  gpu::Binding bindings_[1] = {{device.allocate(16), 0, 16, gpu::Access::read_write}};
};

TEST_P(PipelineCacheTest, AllCompileBeforeOneIsWaitedFor) {
  gpu::PipelineCache cache(context);
  std::vector<std::shared_ptr<gpu::Pipeline>> requested;
  for (int i = 0; i < 12; ++i) requested.push_back(request(cache, i));
  EXPECT_EQ(cache.size(), 12u);
  for (const auto& p : requested) EXPECT_FALSE(p->pipeline) << "was waited for";
  EXPECT_EQ(request(cache, 3), requested[3]) << "again, while it compiles";
  for (auto p = requested.rbegin(); p != requested.rend(); ++p) {
    cache.finish(**p);
    EXPECT_TRUE((*p)->pipeline);
  }
  EXPECT_EQ(cache.size(), 12u);
}

TEST_P(PipelineCacheTest, WhoNeedsOneNowWaitsForThatOne) {
  gpu::PipelineCache cache(context);
  const auto first = request(cache, 1), second = request(cache, 2);
  EXPECT_EQ(cache.get(dispatch("test.kernel2", 2)), second);
  EXPECT_TRUE(second->pipeline);
  cache.finish(*first);
  EXPECT_TRUE(first->pipeline);
}

TEST_P(PipelineCacheTest, OneThatFailsSaysSoEachTimeAndNoOtherDoes) {
  gpu::PipelineCache cache(context);
  const auto first = request(cache, 1), bad = request(cache, 2, true), last = request(cache, 3);
  for (int again = 0; again < 2; ++again) {
    try {
      cache.finish(*bad);
      ADD_FAILURE() << "accepted";
    } catch (const ValidationError& e) {
      EXPECT_THAT(e.what(), testing::HasSubstr("compiling kernel, kernel 'test.kernel2'"));
    }
  }
  EXPECT_THROW(cache.get(dispatch("test.kernel2", 2, true)), ValidationError);
  cache.finish(*first);
  cache.finish(*last);
  EXPECT_TRUE(first->pipeline && last->pipeline);
}

TEST_P(PipelineCacheTest, GoesWhileSomeCompile) {
  for (int round = 0; round < 4; ++round) {
    gpu::PipelineCache cache(context);
    for (int i = 0; i < 4; ++i) request(cache, 4 * round + i, i == 2);
  }
  EXPECT_NO_THROW(device.wait());
}

// Programs that make kernels without end, such as with a number of each turn in their text.
TEST_P(PipelineCacheTest, DropsWhatNobodyHasAndNobodyAskedForLately) {
  constexpr int kGeneration = gpu::PipelineCache::kGeneration;
  gpu::PipelineCache cache(context);
  const auto held = request(cache, 0);
  const std::weak_ptr<gpu::Pipeline> unused = request(cache, 1);
  const std::weak_ptr<gpu::Pipeline> used = request(cache, 2);
  for (int i = 3; i < 3 * kGeneration; ++i) {
    request(cache, i);
    if (i % 100 == 0) {
      EXPECT_EQ(request(cache, 2), used.lock());
    }
    EXPECT_LE(cache.size(), std::size_t{2 * kGeneration + 1});
  }
  EXPECT_TRUE(unused.expired());
  EXPECT_FALSE(used.expired());
  EXPECT_EQ(request(cache, 0), held);
  cache.drop_unused();
  EXPECT_EQ(cache.size(), 1u);
}

// Dawn reports pipelines of a lost device as created.
TEST_P(PipelineCacheTest, ALostDeviceEndsTheWait) {
  gpu::Device lost = gpu::Device::open(like(device));
  const gpu::Binding bindings[] = {{lost.allocate(16), 0, 16, gpu::Access::read_write}};
  gpu::Recording recording(lost);
  gpu::Encoder encoder(lost);
  for (int i = 0; i < 4; ++i) {
    gpu::Dispatch d = dispatch(i % 2 ? "test.odd" : "test.even", i % 2);
    d.bindings = bindings;
    recording.dispatch(d);
  }
  lost.webgpu().ForceLoss(wgpu::DeviceLostReason::Unknown, "pulled out for the test");
  EXPECT_THROW(encoder.replay(recording), DeviceLost);
}

// A recording's dispatches wait for their pipelines together, and then run in order.
TEST_P(PipelineCacheTest, RecordedKernelsRunInOrder) {
  const Buffer x = upload<std::uint32_t>(device, {1, 0, 0, 0});
  const gpu::Binding bindings[] = {{x, 0, 16, gpu::Access::read_write}};
  gpu::Recording recording(device);
  std::uint32_t expected = 1;
  for (int i = 0; i < 12; ++i) {
    const std::string key = std::format("test.recorded{}", i);
    gpu::Dispatch d = dispatch(key, i);
    d.bindings = bindings;
    recording.dispatch(d);
    expected = expected * 3 + static_cast<std::uint32_t>(i);
  }
  gpu::Encoder encoder(device);
  encoder.replay(recording);
  gpu::Readback read = encoder.read(x, 0, 4);
  encoder.submit();
  EXPECT_EQ(as<std::uint32_t>(read.get()), std::vector<std::uint32_t>{expected});
}

INSTANTIATE_TEST_SUITE_P(Devices, PipelineCacheTest, testing::ValuesIn(device_names()),
                         [](const auto& i) { return i.param; });

}  // namespace
}  // namespace weft::test
