#include "timing.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <format>
#include <memory>

#include "cpu/executor.h"
#include "weft/kernels.h"

namespace weft::bench {
namespace {

bool is_software(const Device& device) { return device.is_gpu() && device.gpu().capabilities().software; }

// Records the call once; the result submits it the given number of times.
std::function<void(int)> submitted(const gpu::Device& device, const Call& call) {
  const auto recording = std::make_shared<gpu::Recording>(device);
  call(*recording);
  return [device, recording](int times) {
    gpu::Encoder encoder(device);
    for (int i = 0; i < times; ++i) encoder.replay(*recording);
    encoder.submit();
  };
}

// Records the call once, unless it is `of_executables`, which record themselves; the result runs it the given number of
// times, and waits.
std::function<void(int)> repeated(const Device& device, const Call& call, bool of_executables) {
  if (!device.is_gpu()) {
    return [&call](int times) {
      cpu::Executor executor;
      for (int i = 0; i < times; ++i) call(executor);
    };
  }
  if (of_executables) {
    return [device, &call](int times) {
      gpu::Encoder encoder(device.gpu());
      for (int i = 0; i < times; ++i) call(encoder);
      encoder.submit();
      device.wait();
    };
  }
  return [device, submit = submitted(device.gpu(), call)](int times) {
    submit(times);
    device.wait();
  };
}

}  // namespace

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void run(const Device& device, const Call& call, int times, bool of_executables) {
  repeated(device, call, of_executables)(times);
}

void occupy(const Device& device, double seconds) {
  if (!device.is_gpu() || is_software(device)) return;
  constexpr std::int64_t kCount = 16 << 20;
  const View v(device.allocate(kCount * 4), 0, DType::f32, {kCount});
  const auto submit = submitted(device.gpu(), [&](Stream& s) { kernels::fill(s, 1, v); });
  device.wait();
  constexpr int kSample = 16;
  const auto begin = Clock::now();
  submit(kSample);
  device.wait();
  submit(std::max(1, static_cast<int>(seconds / seconds_since(begin) * kSample)));
}

void wake(const Device& device) {
  occupy(device, 1);
  device.wait();
}

void add_seconds_option(CLI::App& app, Timing& timing) {
  app.add_option("--seconds", timing.seconds, "Measured time a case")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

void add_warm_up_option(CLI::App& app, Timing& timing) {
  app.add_option("--warm-up", timing.warm_up, "Seconds of load before a case is timed; without hardware a quarter")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

std::string to_string(const Time& time) {
  return std::format("{:10.2f} us", time.wall * 1e6) +
         (time.processor > 0 ? std::format(" (processors {:10.2f})", time.processor * 1e6) : "");
}

Time time_call(const Device& device, const Call& call, const Timing& timing, bool of_executables) {
  const auto repeat = repeated(device, call, of_executables);
  const auto sample = [&](int times) {
    const std::clock_t before = std::clock();
    const auto start = Clock::now();
    repeat(times);
    const double wall = seconds_since(start), processor = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
    return Time{wall / times, is_software(device) ? processor / times : 0};
  };
  // GPUs raise their clocks only under load, and lower them while the host generates a case's tensors; other devices do
  // not. The time under load also gives the number of calls of a sample.
  constexpr double kSample = 0.02;
  const double load = timing.warm_up * (device.is_gpu() && !is_software(device) ? 1 : 0.25);
  int warm = 1;
  double each = 0;
  const auto begin = Clock::now();
  do {
    each = sample(warm).wall;
    if (each * warm < kSample) warm *= 2;
  } while (seconds_since(begin) < load);
  const int calls = std::max(1, static_cast<int>(kSample / each));
  std::vector<double> wall, processor;
  for (const auto start = Clock::now(); wall.size() < 3 || seconds_since(start) < timing.seconds;) {
    const Time time = sample(calls);
    wall.push_back(time.wall);
    processor.push_back(time.processor);
  }
  return {median(wall), median(processor)};
}

}  // namespace weft::bench
