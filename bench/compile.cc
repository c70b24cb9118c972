// How long graphs of new shapes take to compile when their kernels are compiled already.
#include <map>
#include <nlohmann/json.hpp>

#include "bench.h"
#include "compiler/passes/passes.h"
#include "compiler/plan_calls.h"
#include "compiler/rewrite.h"
#include "compiler/verify_schedule.h"
#include "core/format.h"
#include "gpu/device_impl.h"
#include "weft/error.h"

namespace weft::bench {
namespace {

constexpr std::int64_t kColumns = 256, kFirstRows = 65, kShapes = 16;
constexpr int kLarge = 10'000;  // kernels

// A graph of steps that are not fused into one. Weights are inputs, so that nothing is uploaded or folded.
Graph chain(int kernels, std::int64_t rows) {
  Graph graph;
  Tensor x = graph.input("x", DType::f32, {rows, kColumns});
  const Tensor weights = graph.input("weights", DType::f32, {kColumns, kColumns});
  const Tensor row = kernels > 2 ? graph.input("row", DType::f32, {kColumns}) : Tensor();
  for (int i = 0; i < kernels; ++i) {
    x = i % 3 == 0 ? matmul(x, weights) : i % 3 == 1 ? softmax(x) : layer_norm(x, row, row, 1e-5);
  }
  graph.output("y", x);
  return graph;
}

// Microseconds since the last lap.
class Laps {
 public:
  double lap() {
    const auto before = std::exchange(last_, Clock::now());
    return std::chrono::duration<double, std::micro>(last_ - before).count();
  }

 private:
  Clock::time_point last_ = Clock::now();
};

// A device caches plans and bind groups of known shapes. They are cleared, because shapes repeat here.
void forget_shapes(const Device& device) {
  if (!device.is_gpu()) return;
  device.gpu().impl().plans = nullptr;
  device.gpu().impl().bind_groups.clear();
}

class CompileBench {
 public:
  explicit CompileBench(const Device& device) : device_(device) {
    options_.precision = Precision::strict;
    options_.f16_error_bound = kF16ErrorBound;
  }

  void measure(int kernels, const Options& options, Report& report) {
    std::vector<double> whole;
    Samples parts, passes;
    std::size_t steps = 0;
    const auto start = Clock::now();
    // Large graphs are compiled four times; their kernels are those of the small ones.
    const std::int64_t warm_ups = kernels < kLarge ? kShapes : 1;
    for (std::int64_t i = 0; i < 4 * warm_ups || (kernels < kLarge && seconds_since(start) < options.timing.seconds);
         ++i) {
      const Graph graph = chain(kernels, kFirstRows + i % kShapes);
      forget_shapes(device_);
      Laps laps;
      const Executable executable = compile(graph, device_, options_);
      const double us = laps.lap();
      steps = executable.report().steps.size();
      if (i < warm_ups) continue;  // their kernels are compiled first
      whole.push_back(us);
      in_parts(graph, parts, passes);
    }
    if (steps != static_cast<std::size_t>(kernels)) {
      throw InternalError("a graph of {} kernels was compiled to {} steps", kernels, steps);
    }
    const double us = median(whole);
    nlohmann::ordered_json details = {{"device", device_.name()}, {"steps", steps}, {"samples", whole.size()}};
    double rest = us;
    std::string text;
    for (const std::string_view part : {kPasses, kSchedule, kPlans, kMemory}) {
      const double each = median(parts.at(part));
      rest -= each;
      details[std::format("{}_us", part == kMemory ? "memory_plan" : part)] = each;
      text += std::format("{} {:.1f}, ", part, each);
    }
    details["rest_us"] = rest;
    for (const compiler::Pass& pass : compiler::passes()) {
      if (passes.contains(pass.name)) details["each_pass_us"][std::string(pass.name)] = median(passes.at(pass.name));
    }
    const std::string name = std::format("compile {} kernels, new shapes", kernels);
    report.add(name, us, "us", false, details,
               std::format("{:34} {:9.1f} us   {}{} {:.1f}", name, us, text,
                           device_.is_gpu() ? "recording and the rest" : "the rest", rest));
  }

 private:
  using Samples = std::map<std::string_view, std::vector<double>>;  // µs, by phase

  static constexpr std::string_view kPasses = "passes", kSchedule = "schedule", kPlans = "plans",
                                    kMemory = "memory plan";

  // The first phases of compile(), one by one.
  void in_parts(const Graph& graph, Samples& parts, Samples& passes) const {
    forget_shapes(device_);
    CompileOptions options = options_;
    options.constants = make_constant_store(device_);
    const compiler::PassContext context{compiler::Target::of(device_), options};
    double all_passes = 0;
    Laps laps;
    Graph current = graph;
    for (const compiler::Pass& pass : compiler::passes()) {
      if (pass.enabled && !(options.*pass.enabled)) continue;
      current = pass.run(current, context);
      const double us = laps.lap();
      all_passes += us;
      passes[pass.name].push_back(us);
    }
    parts[kPasses].push_back(all_passes);
    compiler::Schedule schedule = compiler::make_schedule(current);
    parts[kSchedule].push_back(laps.lap());
    compiler::plan_calls(schedule, device_, kernels::PlanFor::recording);
    parts[kPlans].push_back(laps.lap());
    compiler::verify_schedule(schedule, compiler::plan_schedule(schedule, context.target.max_buffer));
    parts[kMemory].push_back(laps.lap());
  }

  Device device_;
  CompileOptions options_;
};

}  // namespace

void bench_compile(const Device& device, const Options& options, Report& report) {
  CompileBench bench(device);
  for (const int kernels : options.kernels) bench.measure(kernels, options, report);
}

}  // namespace weft::bench
