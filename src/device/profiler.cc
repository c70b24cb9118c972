#include <algorithm>
#include <mutex>

#include "core/format.h"
#include "cpu/step_timer.h"
#include "gpu/device_impl.h"
#include "weft/error.h"
#include "weft/profile.h"

namespace weft {

using gpu::HostClock;

struct Profiler::State {
  Device device;
  HostClock::time_point began = HostClock::now();
  std::shared_ptr<gpu::DispatchTimer> timer;
  std::mutex mutex;  // the cpu's steps and the pool's changes may come from other threads
  std::vector<KernelRun> runs;
  std::vector<HostSpan> host;
  std::vector<MemorySample> memory;

  double seconds(HostClock::time_point t) const { return std::chrono::duration<double>(t - began).count(); }
};

namespace {

const char* in_words(gpu::DispatchTimer::Method method) {
  switch (method) {
    case gpu::DispatchTimer::Method::inside_passes:
      return "the GPU's timestamps between the dispatches of a pass";
    case gpu::DispatchTimer::Method::pass_each:
      return "the GPU's timestamps around a pass for each dispatch";
    case gpu::DispatchTimer::Method::host_clock:
      break;
  }
  return "the host's clock around a submit for each dispatch, the round trip included (this device has no timestamps)";
}

}  // namespace

Profiler::Profiler(const Device& device) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.device = device;
  if (!device.is_gpu()) {
    cpu::listen_to_steps([&s](KernelRun run, HostClock::time_point start, HostClock::time_point end) {
      run.start = s.seconds(start);
      run.seconds = s.seconds(end) - run.start;
      const std::lock_guard lock(s.mutex);
      s.runs.push_back(std::move(run));
    });
    return;
  }
  gpu::Device::Impl& impl = device.gpu().impl();
  const std::lock_guard held(impl.context->lock);
  if (impl.timer) throw InvalidArgument("{} is being profiled already", device.name());
  impl.timer = std::make_shared<gpu::DispatchTimer>(impl.context);
  s.timer = impl.timer;
  s.began = s.timer->began();
  s.memory.push_back({0, impl.pool->figures().live});
  impl.pool->watch([&s](std::uint64_t live) {
    const std::lock_guard lock(s.mutex);
    s.memory.push_back({s.seconds(HostClock::now()), live});
  });
}

Profiler::~Profiler() {
  if (!state_->device.is_gpu()) {
    cpu::listen_to_steps(nullptr);
    return;
  }
  gpu::Device::Impl& impl = state_->device.gpu().impl();
  const std::lock_guard held(impl.context->lock);
  impl.pool->watch(nullptr);
  impl.timer.reset();
}

void Profiler::span(std::string_view name, const std::function<void()>& work) {
  const auto start = HostClock::now();
  work();
  const auto end = HostClock::now();
  const std::lock_guard lock(state_->mutex);
  state_->host.push_back({std::string(name), state_->seconds(start), state_->seconds(end) - state_->seconds(start)});
}

Profile Profiler::finish() {
  State& s = *state_;
  s.device.wait();
  Profile p;
  p.device = s.device.name();
  p.seconds = s.seconds(HostClock::now());
  if (s.timer) {
    p.driver = s.device.gpu().adapter().driver;
    p.method = in_words(s.timer->method());
    const std::lock_guard held(s.device.gpu().impl().context->lock);
    p.runs = s.timer->collect();
  } else {
    p.method = "the host's clock around each step of a compiled graph";
  }
  const std::lock_guard lock(s.mutex);
  std::ranges::move(s.runs, std::back_inserter(p.runs));
  s.runs.clear();
  p.host = std::exchange(s.host, {});
  p.memory = std::exchange(s.memory, {});
  return p;
}

}  // namespace weft
