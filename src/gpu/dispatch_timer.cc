#include "gpu/dispatch_timer.h"

#include <algorithm>
#include <cstring>

#include "gpu/wait.h"
#include "weft/error.h"

namespace weft::gpu {

namespace {

constexpr std::uint64_t kBytes = std::uint64_t{TimedBatch::kMax} * 2 * sizeof(std::uint64_t);

wgpu::Buffer make_buffer(const wgpu::Device& device, wgpu::BufferUsage usage) {
  wgpu::BufferDescriptor descriptor;
  descriptor.label = "weft timestamps";
  descriptor.size = kBytes;
  descriptor.usage = usage;
  return device.CreateBuffer(&descriptor);
}

double seconds(HostClock::duration d) { return std::chrono::duration<double>(d).count(); }

}  // namespace

wgpu::PassTimestampWrites TimedBatch::add(KernelRun run) {
  wgpu::PassTimestampWrites writes;
  writes.querySet = queries;
  writes.beginningOfPassWriteIndex = static_cast<std::uint32_t>(2 * runs.size());
  writes.endOfPassWriteIndex = writes.beginningOfPassWriteIndex + 1;
  runs.push_back(std::move(run));
  return writes;
}

DispatchTimer::DispatchTimer(std::shared_ptr<Context> context) : context_(std::move(context)) {
  const Capabilities& c = context_->capabilities;
  method_ = c.timestamps_inside_passes ? Method::inside_passes : c.timestamps ? Method::pass_each : Method::host_clock;
}

std::unique_ptr<TimedBatch> DispatchTimer::take() {
  if (!free_.empty()) {
    auto batch = std::move(free_.back());
    free_.pop_back();
    batch->runs.clear();
    return batch;
  }
  auto batch = std::make_unique<TimedBatch>();
  if (method_ == Method::host_clock) return batch;
  wgpu::QuerySetDescriptor descriptor;
  descriptor.label = "weft timestamps";
  descriptor.type = wgpu::QueryType::Timestamp;
  descriptor.count = 2 * TimedBatch::kMax;
  ErrorScope scope(*context_);
  batch->queries = context_->device.CreateQuerySet(&descriptor);
  batch->resolved = make_buffer(context_->device, wgpu::BufferUsage::QueryResolve | wgpu::BufferUsage::CopySrc);
  batch->readable = make_buffer(context_->device, wgpu::BufferUsage::MapRead | wgpu::BufferUsage::CopyDst);
  scope.collect("making timestamp queries");
  return batch;
}

void DispatchTimer::resolve(const TimedBatch& batch, const wgpu::CommandEncoder& commands) const {
  if (!batch.queries || batch.runs.empty()) return;
  const auto count = static_cast<std::uint32_t>(2 * batch.runs.size());
  commands.ResolveQuerySet(batch.queries, 0, count, batch.resolved, 0);
  commands.CopyBufferToBuffer(batch.resolved, 0, batch.readable, 0, count * sizeof(std::uint64_t));
}

void DispatchTimer::submitted(std::unique_ptr<TimedBatch> batch) {
  if (method_ != Method::host_clock) {
    waiting_.push_back(std::move(batch));
    return;
  }
  // Where nothing may wait there are no times.
  const bool timed = may_wait();
  if (timed) context_->wait(*context_->mark(), "a profile without timestamps");
  for (KernelRun& run : batch->runs) {
    run.start = seconds(batch->submitted_at - began_);
    run.seconds = timed ? seconds(HostClock::now() - batch->submitted_at) : 0;
    done_.push_back(std::move(run));
  }
  free_.push_back(std::move(batch));
}

std::vector<KernelRun> DispatchTimer::collect() {
  // Other threads may submit while this one waits.
  std::vector<std::unique_ptr<TimedBatch>> batches = std::exchange(waiting_, {});
  std::vector<std::uint64_t> ticks;  // nanoseconds: a start and an end for each run
  for (const auto& batch : batches) {
    const std::size_t bytes = batch->runs.size() * 2 * sizeof(std::uint64_t);
    const auto mapped = context_->map<InternalError>(batch->readable, wgpu::MapMode::Read, bytes,
                                                     "the profiler's timestamps could not be read");
    context_->wait(*mapped, "the times of a profile");
    if (mapped->error) {
      context_->check();
      std::rethrow_exception(mapped->error);
    }
    const auto* first = static_cast<const std::uint64_t*>(batch->readable.GetConstMappedRange(0, bytes));
    ticks.insert(ticks.end(), first, first + batch->runs.size() * 2);
    batch->readable.Unmap();
  }
  const std::uint64_t base = ticks.empty() ? 0 : *std::ranges::min_element(ticks);
  const auto since_base = [&](std::uint64_t t) { return static_cast<double>(t - base) * 1e-9; };
  double shift = 0;
  std::size_t at = 0;
  for (const auto& batch : batches) {
    if (!batch->runs.empty()) {
      const double gap = seconds(batch->submitted_at - began_) - since_base(ticks[at]);
      shift = at == 0 ? gap : std::max(shift, gap);
    }
    at += 2 * batch->runs.size();
  }
  at = 0;
  for (auto& batch : batches) {
    for (KernelRun& run : batch->runs) {
      run.start = since_base(ticks[at]) + shift;
      run.seconds = ticks[at + 1] > ticks[at] ? static_cast<double>(ticks[at + 1] - ticks[at]) * 1e-9 : 0;
      at += 2;
      done_.push_back(std::move(run));
    }
    free_.push_back(std::move(batch));
  }
  return std::exchange(done_, {});
}

}  // namespace weft::gpu
