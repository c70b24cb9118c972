// Measuring: every rate is a slope, the time of many calls in a submit less the time of one, so that submitting, waiting
// and reading back cancel out.
#include "weft/calibration.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>

#include "compiler/calibration_file.h"
#include "kernels/matmul/matmul.h"
#include "weft/cpu.h"
#include "weft/kernels/copy.h"
#include "weft/kernels/elementwise.h"
#include "weft/log.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;
using Call = std::function<void(Stream&)>;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

template <class F>
double seconds_of(F&& work) {
  const auto start = Clock::now();
  work();
  return seconds_since(start);
}

class Meter {
 public:
  explicit Meter(const Device& device) : device_(device) {}
  bool software() const { return !device_.is_gpu() || device_.gpu().capabilities().software; }

  View tensor(const Shape& shape, DType dtype = DType::f32) {
    const View v(device_.allocate(byte_size(dtype, static_cast<std::uint64_t>(element_count(shape)))), 0, dtype, shape);
    run([&](Stream& s) { kernels::fill(s, 1, v); }, 1);
    return v;
  }

  // The time of `times` runs of `call` in one submit, waited for.
  double run(const Call& call, int times) {
    if (!device_.is_gpu()) {
      cpu::Executor executor;
      return seconds_of([&] {
        for (int i = 0; i < times; ++i) call(executor);
      });
    }
    gpu::Recording recording(device_.gpu());
    call(recording);
    recording.finish();
    device_.wait();
    return seconds_of([&] {
      gpu::Encoder encoder(device_.gpu());
      for (int i = 0; i < times; ++i) encoder.replay(recording);
      encoder.submit();
      device_.wait();
    });
  }

  // The time of a run among many: what `span` seconds hold, at least three.
  double slope(const Call& call, double span = 0.02) {
    double once = std::min(run(call, 1), run(call, 1));
    const int times = static_cast<int>(std::clamp(span / std::max(once, 1e-9), 3.0, 4000.0));
    double many = run(call, times);
    // Short ones again: what disturbs a measurement only makes it longer.
    for (int i = 0; i < 3 && many < 2 * span; ++i) {
      once = std::min(once, run(call, 1));
      many = std::min(many, run(call, times));
    }
    return many > once ? (many - once) / (times - 1) : many / times;
  }

 private:
  Device device_;
};

double measure_copy(Meter& meter, const Device& device) {
  std::uint64_t bytes = meter.software() ? 32 << 20 : 256 << 20;
  if (device.is_gpu()) bytes = std::min(bytes, device.gpu().capabilities().max_binding);
  const auto count = static_cast<std::int64_t>(bytes / 4);
  const View x = meter.tensor({count}), y = meter.tensor({count});
  const Call copy = [&](Stream& s) { kernels::copy(s, x, y); };
  // A GPU raises its clocks only under load.
  if (!meter.software()) {
    for (const auto start = Clock::now(); seconds_since(start) < 0.1;) meter.run(copy, 20);
  }
  return 2 * static_cast<double>(bytes) / meter.slope(copy);
}

// Of products of growing size, the one that takes long enough to tell.
double product_rate(Meter& meter, DType dtype, const std::function<void(Stream&, const View&, const View&, const View&)>& product) {
  double rate = 0;
  for (std::int64_t n = 256; n <= 4096; n *= 2) {
    const View a = meter.tensor({n, n}, dtype), b = meter.tensor({n, n}, dtype), y = meter.tensor({n, n}, dtype);
    const Call call = [&](Stream& s) { product(s, a, b, y); };
    meter.run(call, 1);
    const double flops = 2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
    const double guess = meter.run(call, 1);
    if (guess < 2e-3 && n < 4096) continue;
    rate = flops / meter.slope(call);
    break;
  }
  return rate;
}

void measure_products(Meter& meter, const Device& device, Calibration& c) {
  const auto usual = [](Stream& s, const View& a, const View& b, const View& y) { kernels::matmul(s, a, b, y); };
  c.f32_rate = product_rate(meter, DType::f32, usual);
  const bool matrices = device.is_gpu() && !device.gpu().capabilities().matrix_shapes.empty();
  if (!matrices) {
    c.f16_rate = product_rate(meter, DType::f16, usual);
    return;
  }
  // Without the matrix units: the form that a device without them would take.
  gpu::Capabilities plain = device.gpu().capabilities();
  plain.matrix_shapes.clear();
  c.f16_rate = product_rate(meter, DType::f16, [&](Stream& s, const View& a, const View& b, const View& y) {
    const auto problem = kernels::matmul_problem(a, b, y, {});
    kernels::matmul_by(*s.gpu(), problem, nullptr, kernels::choose_variant(problem, plain, 0), {});
  });
  c.matrix_rate = product_rate(meter, DType::f16, usual);
}

void measure_dispatches(Meter& meter, const Device& device, Calibration& c) {
  constexpr int kCount = 64;
  const View x = meter.tensor({256}), y = meter.tensor({256});
  std::vector<View> others;
  for (int i = 0; i < 8; ++i) others.push_back(meter.tensor({256}));
  const double apart = meter.slope([&](Stream& s) {
    for (int i = 0; i < kCount; ++i) kernels::copy(s, x, others[i % others.size()]);
  }, 0.01);
  const double dependent = meter.slope([&](Stream& s) {
    for (int i = 0; i < kCount; ++i) i % 2 ? kernels::copy(s, y, x) : kernels::copy(s, x, y);
  }, 0.01);
  c.dispatch_seconds = apart / kCount;
  c.barrier_seconds = std::max(dependent - apart, 0.0) / kCount;
  if (!device.is_gpu()) {
    c.encode_seconds = c.dispatch_seconds;
    return;
  }
  gpu::Recording recording(device.gpu());
  for (int i = 0; i < kCount; ++i) kernels::copy(recording, x, others[i % others.size()]);
  recording.finish();
  double least = std::numeric_limits<double>::max();
  for (int i = 0; i < 10; ++i) {
    gpu::Encoder encoder(device.gpu());
    least = std::min(least, seconds_of([&] {
      encoder.replay(recording);
      encoder.submit();
    }));
    device.wait();
  }
  c.encode_seconds = least / kCount;
}

void measure_transfers(Meter& meter, const Device& device, Calibration& c) {
  const View x = meter.tensor({1}), y = meter.tensor({1});
  std::vector<double> trips;
  std::array<std::byte, 4> word{};
  std::optional<gpu::Recording> recording;
  if (device.is_gpu()) {
    recording.emplace(device.gpu());
    kernels::copy(*recording, x, y);
    recording->finish();
  }
  for (int i = 0; i < 21; ++i) {
    trips.push_back(seconds_of([&] {
      if (!recording) {
        cpu::Executor executor;
        kernels::copy(executor, x, y);
        return device.read(y.buffer, 0, word);
      }
      gpu::Encoder encoder(device.gpu());
      encoder.replay(*recording);
      gpu::Readback read = encoder.read(y.buffer, 0, word.size());
      encoder.submit();
      read.get(word);
    }));
  }
  std::ranges::nth_element(trips, trips.begin() + 10);
  c.round_trip_seconds = trips[10];

  const std::uint64_t bytes = meter.software() ? 16 << 20 : 64 << 20;
  const Buffer target = device.allocate(bytes);
  std::vector<std::byte> host(bytes, std::byte{1});
  double up = std::numeric_limits<double>::max(), down = up;
  for (int i = 0; i < 4; ++i) {
    up = std::min(up, seconds_of([&] {
      device.upload(target, 0, host);
      device.wait();
    }));
    down = std::min(down, seconds_of([&] { device.read(target, 0, host); }));
  }
  const auto rate = [&](double seconds) { return static_cast<double>(bytes) / std::max(seconds, 1e-9); };
  c.upload_rate = rate(up);
  c.download_rate = rate(down);
}

}  // namespace

double Calibration::rate(Arithmetic arithmetic) const {
  if (arithmetic == Arithmetic::matrix && matrix_rate > 0) return matrix_rate;
  if (arithmetic != Arithmetic::f32 && f16_rate > 0) return f16_rate;
  return f32_rate;
}

double Calibration::limit_seconds(const Work& work) const {
  const double bytes = copy_bandwidth > 0 ? static_cast<double>(work.bytes) / copy_bandwidth : 0;
  const double flops = rate(work.arithmetic) > 0 ? work.flops / rate(work.arithmetic) : 0;
  return std::max(bytes, flops);
}

double Calibration::estimate_seconds(const Work& work) const {
  return dispatch_seconds + barrier_seconds + limit_seconds(work);
}

Calibration Calibration::measure(const Device& device) {
  const auto start = Clock::now();
  Calibration c;
  std::tie(c.device, c.driver) = compiler::identity_of(device);
  Meter meter(device);
  c.copy_bandwidth = measure_copy(meter, device);
  measure_products(meter, device, c);
  measure_dispatches(meter, device, c);
  measure_transfers(meter, device, c);
  if (device.is_gpu()) device.gpu().trim();
  c.measured_seconds = seconds_since(start);
  log(LogLevel::info, "calibrated {} in {:.2f} s", c.device, c.measured_seconds);
  return c;
}

}  // namespace weft
