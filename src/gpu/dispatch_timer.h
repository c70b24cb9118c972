// Times each dispatch while a device is profiled.
#pragma once

#include <webgpu/webgpu_cpp.h>

#include <chrono>
#include <memory>
#include <vector>

#include "gpu/context.h"

namespace weft::gpu {

using HostClock = std::chrono::steady_clock;

// The dispatches of one submit and the timestamps around them.
struct TimedBatch {
  static constexpr std::uint32_t kMax = 512;  // dispatches

  wgpu::QuerySet queries;  // null without timestamps
  wgpu::Buffer resolved, readable;
  std::vector<KernelRun> runs;
  HostClock::time_point submitted_at;

  // The two queries at the start and end of the dispatch.
  wgpu::PassTimestampWrites add(KernelRun run);
  // Without timestamps a batch is one dispatch.
  bool full() const { return runs.size() >= (queries ? kMax : 1); }
  void submitted_now() { submitted_at = HostClock::now(); }
};

class DispatchTimer {
 public:
  enum class Method : std::uint8_t {
    inside_passes,  // timestamps between the dispatches of a pass, as they run without a profiler
    pass_each,      // a pass for each dispatch, with timestamps at its ends
    host_clock,     // no timestamps: each dispatch is submitted and waited for alone
  };

  explicit DispatchTimer(std::shared_ptr<Context> context);
  Method method() const { return method_; }
  HostClock::time_point began() const { return began_; }

  // For an encoder: take() returns an empty batch, resolve() encodes the commands that read its timestamps back, and
  // submitted() is called after they are submitted.
  std::unique_ptr<TimedBatch> take();
  void resolve(const TimedBatch& batch, const wgpu::CommandEncoder& commands) const;
  void submitted(std::unique_ptr<TimedBatch> batch);

  // Waits for everything submitted and returns the runs since the last call, in order. The GPU's clock is aligned with
  // the host's so that no dispatch starts before it was submitted.
  std::vector<KernelRun> collect();

 private:
  std::shared_ptr<Context> context_;
  Method method_;
  HostClock::time_point began_ = HostClock::now();
  std::vector<std::unique_ptr<TimedBatch>> waiting_, free_;
  std::vector<KernelRun> done_;
};

}  // namespace weft::gpu
