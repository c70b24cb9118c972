// Times a kernel call. weft_bench and the tuning programs all use it, so that their figures can be compared.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "weft/device.h"
#include "weft/stream.h"

namespace CLI {
class App;
}

namespace weft::bench {

using Clock = std::chrono::steady_clock;
inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values);

using Call = std::function<void(Stream&)>;

// Runs the call that many times, and waits.
void run(const Device& device, const Call& call, int times = 1, bool of_executables = false);
// Gives a GPU work for about that long without waiting, because it lowers its clocks while the host compiles or
// computes.
void occupy(const Device& device, double seconds);
// Works for a second: an idle GPU takes that long to raise its clocks.
void wake(const Device& device);

struct Timing {
  double seconds = 0.3, warm_up = 0.4;  // of a case: measured time, and time under load before that
};
void add_seconds_option(CLI::App& app, Timing& timing);
void add_warm_up_option(CLI::App& app, Timing& timing);

// Seconds of a call.
struct Time {
  double wall = 0;
  // Of all threads of the process, on a software GPU only, where other work on the machine disturbs it less than
  // `wall`.
  double processor = 0;
};
std::string to_string(const Time& time);

// Warms up, then times calls back to back, many in a submit so that its fixed cost is negligible; medians.
Time time_call(const Device& device, const Call& call, const Timing& timing, bool of_executables = false);

// Microseconds of a call among `runs` that are waited for together; the median of the turns that begin within the
// seconds, five at least.
template <class F>
double microseconds_per_call(const Device& device, int runs, double seconds, F&& call) {
  std::vector<double> times;
  const auto begin = Clock::now();
  while (times.size() < 5 || seconds_since(begin) < seconds) {
    const auto start = Clock::now();
    for (int i = 0; i < runs; ++i) call();
    device.wait();
    times.push_back(seconds_since(start) * 1e6 / runs);
  }
  return median(std::move(times));
}

}  // namespace weft::bench
