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

struct ProfileReport;  // weft/profile_report.h

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
// The profile of which chrome_trace() made this. Throws FormatError.
Profile read_chrome_trace(std::string_view json);

namespace profile {

// Profiles everything on a device from its construction to finish(), or to its end, when the profile is dropped:
//
//   profile::Scope scope("a training step");
//   step();
//   std::cout << profile_table(scope.report());       // weft/profile_report.h
//   std::ofstream("trace.json") << chrome_trace(scope.finish());
//
// One at a time on a device, as it is a Profiler.
class Scope {
 public:
  // Waits for the device first, so that what was submitted before does not count. Throws InvalidArgument if the device
  // is being profiled already, DeviceLost.
  explicit Scope(std::string name, const Device& device = default_device());

  const std::string& name() const { return name_; }
  // Runs `work` and records the host time that it took. Throws InvalidArgument after finish().
  void span(std::string_view name, const std::function<void()>& work);
  // Waits for the device and ends the scope; from the second call on it returns the same again. The profile's host
  // track has a span of the scope's name. Throws DeviceLost.
  const Profile& finish();
  // What `weft profile` shows of it: profile_table(), profile_json() and profile_page() write it. Ends the scope, and
  // compares with what the device is known to reach, if it was calibrated before; it measures nothing.
  ProfileReport report();

 private:
  std::string name_;
  Device device_;
  std::unique_ptr<Profiler> profiler_;  // null: finished
  Profile profile_;
};

}  // namespace profile

}  // namespace weft
