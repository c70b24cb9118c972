// Times every kernel call on a device while a Profiler exists.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/device.h"
#include "weft/work.h"

namespace weft {

struct HostSpan {
  std::string name;
  double start = 0, seconds = 0;
};

struct MemorySample {
  double at = 0;
  std::uint64_t live = 0;  // bytes of the device's pool that are in use
};

// Times in seconds since the profiler began; sizes in bytes.
struct Profile {
  std::string device, driver;
  std::string method;  // how the runs were timed, in words
  double seconds = 0;  // from the profiler's start to its finish
  std::vector<KernelRun> runs;
  std::vector<HostSpan> host;
  std::vector<MemorySample> memory;  // at each change; GPUs only
};

// Times each dispatch on a GPU by timestamps: between the dispatches of a pass where the device can, else around a pass
// for each, else by the host's clock around a submit for each. On the cpu it times the steps of executables. Wall
// times are longer under a profiler.
class Profiler {
 public:
  // One at a time on a device. Throws InvalidArgument.
  explicit Profiler(const Device& device);
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  // Runs `work` and records the host time that it took.
  void span(std::string_view name, const std::function<void()>& work);
  // Waits for the device and returns what was recorded since the last call. Throws DeviceLost.
  Profile finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Chrome's and Perfetto's trace format (JSON): a track for the host, one for the device, one for memory.
std::string chrome_trace(const Profile& profile);

}  // namespace weft
