// What tensors cost that are computed when their values are wanted: building an expression, evaluating it again, and
// the kernels that it becomes.
#include <filesystem>
#include <format>
#include <nlohmann/json.hpp>

#include "bench.h"
#include "weft/array.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/indexing.h"
#include "weft/profile.h"
#include "weft/random.h"

namespace weft::bench {
namespace {

// Ten nodes, of which three are no elementwise ones.
Tensor ten_nodes(const Tensor& x, const Tensor& y, double number) {
  const Tensor a = exp(x * number) + y;                // 3
  const Tensor b = a - max(a, {-1}, true);             // 2
  const Tensor c = sqrt(abs(b)) / sum(a, {-1}, true);  // 4
  return c.T();                                        // 1
}

class TensorsBench {
 public:
  TensorsBench(const Device& device, const Options& options, Report& report)
      : device_(device),
        options_(options),
        report_(report),
        software_(!device.is_gpu() || device.gpu().capabilities().software) {
    set_default_device(device);
    wake(device_);
  }

  void nodes() {
    const Tensor x = random::normal({64, 64}), y = random::normal({64, 64});
    eval({x, y});
    std::vector<double> times;
    for (int turn = 0; turn < 20; ++turn) {
      Tensor z = x;
      const auto start = Clock::now();
      for (int i = 0; i < 1000; ++i) z = (z + y) * x;
      times.push_back(seconds_since(start) / 2000 * 1e9);
    }
    add("a node z + y of an expression", median(times), "ns", {});
    times.clear();
    for (int turn = 0; turn < 20; ++turn) {
      std::vector<Tensor> kept;
      const auto start = Clock::now();
      for (int i = 0; i < 200; ++i) kept.push_back(ten_nodes(x, y, 0.5 + i));
      times.push_back(seconds_since(start) / 2000 * 1e9);
    }
    add("a node of ten, with numbers and reductions", median(times), "ns", {});
  }

  void repeated() {
    const Tensor x = random::normal({64, 64}), y = random::normal({64, 64});
    eval({x, y});
    std::vector<double> built, evaluated;
    for (int turn = 0; turn < 12; ++turn) {
      double build = 0, run = 0;
      constexpr int kRuns = 100;
      for (int i = 0; i < kRuns; ++i) {
        const auto start = Clock::now();
        const Tensor z = ten_nodes(x, y, 0.25 * i);
        const auto between = Clock::now();
        eval(z);
        run += seconds_since(between);
        build += std::chrono::duration<double>(between - start).count();
      }
      device_.wait();
      built.push_back(build / kRuns * 1e6);
      evaluated.push_back(run / kRuns * 1e6);
    }
    add("ten nodes again: building them", median(built), "us", {});
    add("ten nodes again: eval, host time", median(evaluated), "us", {});
  }

  // A new expression: with no kernel compiled, with those on disk, and with those in memory but another shape.
  void first_use() {
    if (!device_.is_gpu()) return;
    const std::filesystem::path cache =
        std::filesystem::temp_directory_path() / std::format("weft_bench_{}", Clock::now().time_since_epoch().count());
    std::filesystem::create_directories(cache);
    for (const char* what : {"cold", "from disk"}) {
      const Device fresh =
          gpu::Device::open({.adapter = std::to_string(device_.gpu().adapter().index), .cache_dir = cache.string()});
      set_default_device(fresh);
      const Tensor x = ones({64, 64}) + 0, y = ones({64, 64}) + 1;
      eval({x, y});
      fresh.wait();
      const auto first = [&](const Tensor& a, const Tensor& b) {
        const auto start = Clock::now();
        eval(ten_nodes(a, b, 1));
        fresh.wait();
        return seconds_since(start) * 1e3;
      };
      add(std::format("ten nodes for the first time, {}", what), first(x, y), "ms", {});
      add(std::format("ten nodes of another shape, {}", what), first(x[slice(0, 32)], y[slice(0, 32)]), "ms", {});
    }
    set_default_device(device_);
    std::filesystem::remove_all(cache);
  }

  void chain() {
    const std::int64_t count = static_cast<std::int64_t>(software_ ? 16 : options_.mebibytes) * (1 << 20) / 4;
    const Tensor a = random::uniform({count}), b = random::uniform({count}), c = random::uniform({count});
    eval({a, b, c});
    const double us = per_turn(16, [&] { return sqrt((a * b) + c); });
    const double bytes = 16.0 * static_cast<double>(count);
    int dispatches = 0;
    {
      Profiler profiler(device_);
      eval(sqrt((a * b) + c));
      dispatches = static_cast<int>(profiler.finish().runs.size());
    }
    add(std::format("sqrt(a * b + c) f32 [{}]", count), us, "us",
        {{"bytes", bytes}, {"gb_per_s", bytes / us * 1e-3}, {"dispatches", dispatches}});
  }

  void softmax_of_product() {
    const std::int64_t n = software_ ? 256 : 4096;
    for (const DType type : {DType::f32, DType::f16}) {
      const Tensor x = random::normal({n, n}, 0, 0.05, type);
      eval(x);
      const double us = per_turn(16, [&] { return softmax(matmul(x, x.T())); });
      const double flops = 2.0 * static_cast<double>(n * n * n);
      add(std::format("softmax(x @ x.T) {} [{}, {}]", name(type), n, n), us, "us",
          {{"tflop_per_s", flops / us * 1e-6}});
    }
  }

 private:
  // Microseconds of an evaluation. Results are dropped at once, so that their memory is used again.
  template <class F>
  double per_turn(int runs, F&& make) const {
    return microseconds_per_call(device_, runs, options_.timing.seconds + options_.timing.warm_up,
                                 [&] { eval(make()); });
  }

  void add(const std::string& name, double value, const std::string& unit, nlohmann::ordered_json details) {
    std::string text = std::format("{:56} {:10.2f} {}", name, value, unit);
    if (details.contains("gb_per_s")) text += std::format("  {:7.1f} GB/s", details["gb_per_s"].get<double>());
    if (details.contains("tflop_per_s")) text += std::format("  {:7.2f} TFLOP/s", details["tflop_per_s"].get<double>());
    if (details.contains("dispatches")) text += std::format(", {} dispatches", details["dispatches"].get<int>());
    details["device"] = device_.name();
    report_.add(name, value, unit, false, details, text);
  }

  Device device_;
  const Options& options_;
  Report& report_;
  bool software_;
};

}  // namespace

void bench_tensors(const Device& device, const Options& options, Report& report) {
  TensorsBench bench(device, options, report);
  bench.nodes();
  bench.repeated();
  bench.first_use();
  bench.chain();
  bench.softmax_of_product();
}

}  // namespace weft::bench
