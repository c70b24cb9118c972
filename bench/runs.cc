// How long runs of compiled graphs take that change a number, a row of a cache, or many parameters in place.
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "bench.h"
#include "core/format.h"
#include "weft/compile.h"
#include "weft/error.h"

namespace weft::bench {
namespace {

class RunsBench {
 public:
  RunsBench(const Device& device, const Options& options, Report& report)
      : device_(device), options_(options), report_(report) {
    wake(device_);
  }

  // y = a - b * rate, another rate in each run, and y read back.
  void rates() {
    constexpr std::int64_t kElements = 1024;
    Graph graph;
    const Tensor a = graph.input("a", DType::f32, {kElements}), b = graph.input("b", DType::f32, {kElements});
    graph.output("y", a - b * graph.number("rate"));
    Executable exe = compile(graph, device_);
    const Tensor ta = filled({kElements}, 3), tb = filled({kElements}, 2), y = filled({kElements}, 0);
    std::vector<float> rates{0, 1, 0.5f, 0.25f};
    while (rates.size() < 1000) rates.push_back(static_cast<float>(rates.size()) * 0.0625f);
    std::vector<double> times;
    for (int turn = 0; turn < 3; ++turn) {
      times.clear();
      for (const float rate : rates) {
        const auto start = Clock::now();
        exe.run({{"a", ta}, {"b", tb}}, {{"y", y}}, {{"rate", rate}});
        const float got = y.read<float>()[kElements - 1];
        times.push_back(seconds_since(start) * 1e6);
        if (got != 3 - 2 * rate) throw InternalError("a - b * {} is {}", rate, got);
      }
    }
    add("1,000 rates, each with a readback", median(times), "us", {});
  }

  // A row of each head's cache.
  void cache(bool donated) {
    const Shape shape{32, 4096, 128};
    const std::int64_t row_bytes = 32 * 128 * 4, cache_bytes = 32 * 4096 * 128 * std::int64_t{4};
    Graph graph;
    const Tensor cache = graph.input("cache", DType::f32, shape), row = graph.input("row", DType::f32, {32, 1, 128});
    graph.output("cache_out", dynamic_update_slice(cache, row, graph.number("at", DType::i32), {1}));
    CompileOptions how;
    if (donated) how.donate = {{"cache", "cache_out"}};
    Executable exe = compile(graph, device_, how);
    const Tensor memory = filled(shape, 1), out = donated ? memory : filled(shape, 0), line = filled({32, 1, 128}, 2);
    constexpr int kRuns = 64;
    const double us = per_run(kRuns, [&](int i) {
      exe.run({{"cache", memory}, {"row", line}}, {{"cache_out", out}}, {{"at", i * 61 % 4096}});
    });
    const double bytes = static_cast<double>(donated ? 2 * row_bytes : 2 * row_bytes + 2 * cache_bytes);
    add(donated ? "one row of a cache [32, 4096, 128], in place" : "one row of a cache [32, 4096, 128], copied", us,
        "us", {{"bytes", bytes}, {"gb_per_s", bytes / us * 1e-3}});
  }

  // A step of Adam over 100 parameters.
  void adam() {
    constexpr int kCount = 100;
    const Shape shape{1024, device_.is_gpu() && !device_.gpu().capabilities().software ? 1024 : 64};
    Graph graph;
    CompileOptions how;
    const auto name = [](const char* what, int i) { return std::format("{}{}", what, i); };
    const Tensor rate = graph.number("rate");
    std::vector<Tensor> in, out;
    for (int i = 0; i < kCount; ++i) {
      Tensor t[4];
      for (int k = 0; k < 4; ++k) {
        t[k] = graph.input(name(std::array{"p", "g", "m", "v"}[static_cast<std::size_t>(k)], i), DType::f32, shape);
        in.push_back(filled(shape, k == 1 ? 0.5f : 1.0f));
      }
      const Tensor m = t[2] * 0.9 + t[1] * 0.1, v = t[3] * 0.999 + t[1] * t[1] * 0.001;
      graph.output(name("p_out", i), t[0] - rate * m / (sqrt(v) + 1e-8));
      graph.output(name("m_out", i), m);
      graph.output(name("v_out", i), v);
      const std::size_t first = in.size() - 4;
      out.insert(out.end(), {in[first], in[first + 2], in[first + 3]});
      for (const char* what : {"p", "m", "v"}) how.donate.emplace_back(name(what, i), name(what, i).insert(1, "_out"));
    }
    Executable exe = compile(graph, device_, how);
    for (const Donation& d : exe.report().donations) {
      if (!d.in_place) throw InternalError("{} is not updated in place: {}", d.input, d.reason);
    }
    const std::uint64_t live = device_.is_gpu() ? device_.gpu().memory().live : 0;
    const double us = per_run(16, [&](int i) { exe.run(in, out, std::vector<Number>{1e-3 * (i + 1)}); });
    const double bytes = static_cast<double>(element_count(shape)) * 4 * 7 * kCount;
    const std::uint64_t peak = device_.is_gpu() ? device_.gpu().memory().peak : 0;
    add(std::format("adam over {} parameters {}, in place", kCount, to_string(shape)), us, "us",
        {{"bytes", bytes},
         {"gb_per_s", bytes / us * 1e-3},
         {"dispatches", exe.report().dispatches.size()},
         {"live_bytes", live},
         {"peak_bytes", peak}});
  }

 private:
  Tensor filled(const Shape& shape, float value) const {
    Tensor t(device_, DType::f32, shape);
    const std::vector<float> values(static_cast<std::size_t>(element_count(shape)), value);
    t.write(std::as_bytes(std::span(values)));
    return t;
  }

  // Microseconds of a run among `runs` that are waited for together; the median of several turns.
  template <class F>
  double per_run(int runs, F&& run) const {
    std::vector<double> times;
    const auto begin = Clock::now();
    while (times.size() < 5 || seconds_since(begin) < options_.timing.seconds + options_.timing.warm_up) {
      const auto start = Clock::now();
      for (int i = 0; i < runs; ++i) run(i);
      device_.wait();
      times.push_back(seconds_since(start) * 1e6 / runs);
    }
    return median(times);
  }

  void add(const std::string& name, double value, const std::string& unit, nlohmann::ordered_json details) {
    std::string text = std::format("{:56} {:10.1f} {}", name, value, unit);
    if (details.contains("gb_per_s")) text += std::format("  {:7.1f} GB/s", details["gb_per_s"].get<double>());
    details["device"] = device_.name();
    report_.add(name, value, unit, false, details, text);
  }

  Device device_;
  const Options& options_;
  Report& report_;
};

}  // namespace

void bench_runs(const Device& device, const Options& options, Report& report) {
  RunsBench bench(device, options, report);
  bench.rates();
  bench.cache(true);
  bench.cache(false);
  bench.adam();
}

}  // namespace weft::bench
