// Measures rates. Every rate is a slope, the time of many calls in a submit minus the time of one, so that submitting,
// waiting and reading back cancel out.
#include "weft/calibration.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>

#include "compiler/calibration_file.h"
#include "core/format.h"
#include "core/host_load.h"
#include "cpu/executor.h"
#include "kernels/matmul/matmul.h"
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

// A call that is measured. On a GPU it is recorded, and its kernels compile from then on, in parallel with others'.
struct Measured {
  Call call;
  std::shared_ptr<gpu::Recording> recording;
};

class Meter {
 public:
  explicit Meter(const Device& device) : device_(device) {}
  bool software() const { return !device_.is_gpu() || device_.gpu().capabilities().software; }

  // For WEFT_LOG=calibration: the time of each part.
  void mark(std::string_view part) {
    if (log_topic("calibration")) {
      log_message(LogLevel::info, std::format("{:7.1f} ms  {}", seconds_since(start_) * 1e3, part));
    }
    start_ = Clock::now();
  }

  View tensor(const Shape& shape, DType dtype = DType::f32) {
    const View v(device_.allocate(byte_size(dtype, static_cast<std::uint64_t>(element_count(shape)))), 0, dtype, shape);
    run(prepare([&](Stream& s) { kernels::fill(s, 1, v); }), 1);
    return v;
  }

  Measured prepare(Call call) {
    Measured m{std::move(call), nullptr};
    if (device_.is_gpu()) {
      m.recording = std::make_shared<gpu::Recording>(device_.gpu());
      m.call(*m.recording);
    }
    return m;
  }

  // The time of `times` runs in one submit, including the wait.
  double run(const Measured& m, int times) {
    if (!m.recording) {
      cpu::Executor executor;
      return seconds_of([&] {
        for (int i = 0; i < times; ++i) m.call(executor);
      });
    }
    m.recording->finish();
    device_.wait();
    return seconds_of([&] {
      gpu::Encoder encoder(device_.gpu());
      for (int i = 0; i < times; ++i) encoder.replay(*m.recording);
      encoder.submit();
      device_.wait();
    });
  }

  // The time of a run among many: as many as take `span` seconds, at least three. Measured until two measurements
  // agree.
  double slope(const Measured& m, double span = 0.02) {
    constexpr double kAgree = 0.02;
    double once = std::min(run(m, 1), run(m, 1));
    const int times = static_cast<int>(std::clamp(span / std::max(once, 1e-9), 3.0, 4000.0));
    double many = run(m, times), error = 1;
    // Disturbances only make a measurement longer.
    for (int i = 0; i < 3 && error > kAgree && many < 2 * span; ++i) {
      once = std::min(once, run(m, 1));
      const double again = run(m, times);
      error = std::abs(again - many) / std::min(again, many);
      many = std::min(again, many);
    }
    return many > once ? (many - once) / (times - 1) : many / times;
  }

 private:
  Device device_;
  Clock::time_point start_ = Clock::now();
};

struct Product {
  const char* name;
  DType dtype;
  std::function<void(Stream&, const View&, const View&, const View&)> run;
  double Calibration::* rate;
};

std::vector<Product> products(const Device& device) {
  const auto usual = [](Stream& s, const View& a, const View& b, const View& y) { kernels::matmul(s, a, b, y); };
  std::vector<Product> list{{"products, f32", DType::f32, usual, &Calibration::f32_rate}};
  if (!device.is_gpu() || device.gpu().capabilities().matrix_shapes.empty()) {
    list.push_back({"products, f16", DType::f16, usual, &Calibration::f16_rate});
    return list;
  }
  // Without the matrix units: the variant that a device without them would use.
  gpu::Capabilities plain = device.gpu().capabilities();
  plain.matrix_shapes.clear();
  const auto by_plain = [plain](Stream& s, const View& a, const View& b, const View& y) {
    const auto problem = kernels::matmul_problem(a, b, y, {});
    kernels::matmul_by(*s.gpu(), problem, nullptr, kernels::choose_variant(problem, plain, 0));
  };
  list.push_back({"products, f16", DType::f16, by_plain, &Calibration::f16_rate});
  // Last, because waiting for its self-test overlaps with compiling the others' kernels.
  list.push_back({"cooperative matrices", DType::f16, usual, &Calibration::matrix_rate});
  return list;
}

// exp(-x), repeated many times, of elements that are read and written once.
Expression exponentials() {
  Expression e;
  int v = e.input(DType::f32);
  for (int i = 0; i < 16; ++i) v = e.apply(ScalarOp::exp, {e.apply(ScalarOp::neg, {v})});
  e.output(v);
  return e;
}

// Copying, functions, and products: all kernels compile in parallel before the clocks are raised and times are taken.
void measure_rates(Meter& meter, const Device& device, Calibration& c) {
  std::uint64_t bytes = meter.software() ? 32 << 20 : 256 << 20;
  if (device.is_gpu()) bytes = std::min(bytes, device.gpu().capabilities().max_binding);
  const auto count = static_cast<std::int64_t>(bytes / 4);
  const View x = meter.tensor({count}), y = meter.tensor({count});
  const Measured copy = meter.prepare([&](Stream& s) { kernels::copy(s, x, y); });
  const auto bandwidth = [&](double seconds) { return 2 * static_cast<double>(bytes) / seconds; };
  // Sizes that take long enough to measure. A software device tries several, which needs no new kernel. On a GPU each
  // size uses another tile and so another kernel to compile; its size is estimated from the copy bandwidth instead.
  std::vector<std::int64_t> sizes{256, 512, 1024, 2048, 4096};
  if (!meter.software()) {
    meter.run(copy, 1);
    const double guess = bandwidth(meter.run(copy, 4) / 4);
    sizes = {guess > 5e11 ? 4096 : guess > 1e11 ? 2048 : 1024};
  }
  meter.mark("a first copy");
  const Expression chain = exponentials();
  const auto few = std::min<std::int64_t>(count, meter.software() ? 1 << 18 : 1 << 24);
  const auto part = [&](const View& v) { return View(v.buffer, 0, DType::f32, {few}); };
  const Measured functions = meter.prepare([&](Stream& s) {
    const View from = part(x), to = part(y);
    kernels::map(s, chain, std::span(&from, 1), std::span(&to, 1));
  });

  const std::vector<Product> list = products(device);
  const auto prepare = [&](const Product& product, std::int64_t n) {
    const View a = meter.tensor({n, n}, product.dtype), b = meter.tensor({n, n}, product.dtype);
    const View result = meter.tensor({n, n}, product.dtype);
    return meter.prepare([=](Stream& s) { product.run(s, a, b, result); });
  };
  std::vector<Measured> first;
  for (const Product& product : list) {
    first.push_back(prepare(product, sizes[0]));
    meter.mark(std::format("recording {}", product.name));
  }
  meter.run(functions, 1);
  for (const Measured& m : first) meter.run(m, 1);
  meter.mark("compiling them");

  // A GPU raises its clocks only under load.
  if (!meter.software()) {
    for (const auto start = Clock::now(); seconds_since(start) < 0.1;) meter.run(copy, 20);
    meter.mark("raising the clocks");
  }
  c.copy_bandwidth = bandwidth(meter.slope(copy));
  meter.mark("copying");
  const double moving = 8.0 * static_cast<double>(few) / c.copy_bandwidth, chained = meter.slope(functions, 0.01);
  c.function_rate = static_cast<double>(few) * chain.cost() / std::max(chained - moving, 0.1 * chained);
  c.overlap = meter.software() ? 0 : 1;
  meter.mark("functions");
  for (std::size_t k = 0; k < list.size(); ++k) {
    for (const std::int64_t n : sizes) {
      const Measured m = n == sizes[0] ? first[k] : prepare(list[k], n);
      if (n != sizes[0]) meter.run(m, 1);
      if (n != sizes.back() && meter.run(m, 1) < 2e-3) continue;
      double& rate = c.*list[k].rate;
      const bool again = rate > 0;
      const auto size = static_cast<double>(n);
      const double seconds = meter.slope(m);
      rate = std::max(rate, 2 * size * size * size / seconds);
      // The next size may be faster, as it packs less for each product. Eight times the work must not take long.
      if (again || 8 * seconds > 0.04) break;
    }
    meter.mark(list[k].name);
  }
}

void measure_dispatches(Meter& meter, const Device& device, Calibration& c) {
  constexpr int kCount = 64;
  const View x = meter.tensor({256}), y = meter.tensor({256});
  std::vector<View> others;
  for (int i = 0; i < 8; ++i) others.push_back(meter.tensor({256}));
  const double apart = meter.slope(meter.prepare([&](Stream& s) {
    for (int i = 0; i < kCount; ++i) kernels::copy(s, x, others[i % others.size()]);
  }),
                                   0.01);
  const double dependent = meter.slope(meter.prepare([&](Stream& s) {
    for (int i = 0; i < kCount; ++i) i % 2 ? kernels::copy(s, y, x) : kernels::copy(s, x, y);
  }),
                                       0.01);
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

// Small copies, one after the other: what the caches add to the bandwidth, and up to which size. The time of a kernel
// that does nothing comes off, as timestamps around a kernel do not have it.
void measure_caches(Meter& meter, Calibration& c) {
  constexpr double kGain = 1.1;  // less may be noise
  const std::int64_t most = meter.software() ? 8 << 20 : 64 << 20;
  const View x = meter.tensor({most / 4}), y = meter.tensor({most / 4});
  for (std::int64_t bytes = 128 << 10; bytes <= most; bytes *= 4) {
    const auto part = [&](const View& v) { return View(v.buffer, 0, DType::f32, {bytes / 4}); };
    const Measured copy = meter.prepare([from = part(x), to = part(y)](Stream& s) { kernels::copy(s, from, to); });
    const double seconds = meter.slope(copy, 0.005), empty = c.dispatch_seconds + c.barrier_seconds;
    const double moved = 2 * static_cast<double>(bytes), rate = moved / std::max(seconds - empty, seconds / 2);
    c.cache_bandwidth = std::max(c.cache_bandwidth, rate);
    if (rate > kGain * c.copy_bandwidth) c.cache_bytes = moved;
  }
  if (c.cache_bytes == 0) c.cache_bandwidth = 0;
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
      read.get().copy_to(word);
    }));
  }
  std::ranges::nth_element(trips, trips.begin() + 10);
  c.round_trip_seconds = trips[10];

  const std::uint64_t bytes = meter.software() ? 16 << 20 : 32 << 20;
  const Buffer target = device.allocate(bytes);
  std::vector<std::byte> host(bytes, std::byte{1});
  double up = std::numeric_limits<double>::max(), down = up;
  for (int i = 0; i < 3; ++i) {
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

double Calibration::bandwidth(double bytes) const {
  return bytes <= cache_bytes ? std::max(copy_bandwidth, cache_bandwidth) : copy_bandwidth;
}

double Calibration::limit_seconds(const Work& work) const {
  const auto moved = static_cast<double>(work.bytes);
  const double bytes = copy_bandwidth > 0 ? moved / bandwidth(moved) : 0;
  const double flops = rate(work.arithmetic) > 0 ? work.flops / rate(work.arithmetic) : 0;
  return std::max({bytes, flops, function_rate > 0 ? work.functions / function_rate : 0});
}

double Calibration::estimate_seconds(const Work& work) const {
  Work rest = work;
  rest.functions = 0;
  const double functions = function_rate > 0 ? work.functions / function_rate : 0;
  const double moving = limit_seconds(rest);
  return dispatch_seconds + barrier_seconds + std::max(moving, functions) + (1 - overlap) * std::min(moving, functions);
}

Calibration Calibration::measure(const Device& device) {
  const auto start = Clock::now();
  const HostLoad load;
  Calibration c;
  std::tie(c.device, c.driver) = compiler::identity_of(device);
  Meter meter(device);
  measure_rates(meter, device, c);
  measure_dispatches(meter, device, c);
  meter.mark("dispatches");
  measure_caches(meter, c);
  meter.mark("copying in the caches");
  measure_transfers(meter, device, c);
  meter.mark("transfers");
  if (device.is_gpu()) device.gpu().trim();
  c.measured_seconds = seconds_since(start);
  c.busy = load.others();
  log(LogLevel::info, "calibrated {} in {:.2f} s", c.device, c.measured_seconds);
  return c;
}

}  // namespace weft
