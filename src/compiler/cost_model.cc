// Estimates a graph's time from a calibration: the sum over the steps that it would run as, each by its work.
#include <algorithm>
#include <format>

#include "compiler/plan_calls.h"
#include "core/format.h"
#include "cpu/executor.h"
#include "weft/calibration.h"
#include "weft/error.h"

namespace weft {
Estimate estimate(const Graph& graph, const Device& device, const Calibration& calibration,
                  const CompileOptions& options) {
  compiler::Schedule schedule = compiler::make_schedule(optimized(graph, device, options), graph.impl().captured());
  // Throws what compile() would, but compiles no kernel.
  compiler::plan_calls(schedule, device, kernels::PlanFor::inspection);
  cpu::Executor none;  // work depends only on shapes
  // How often each call runs. (How often a while_loop turns is not known: once. Both branches are counted.)
  std::vector<double> runs(schedule.calls.size(), 1);
  for (const compiler::Block& b : schedule.blocks) {
    if (b.kind != compiler::Block::Kind::turns) continue;
    for (int i = b.first; i < b.end; ++i) runs[static_cast<std::size_t>(i)] *= static_cast<double>(b.turns);
  }
  Estimate e;
  double calls = 0;
  for (std::size_t i = 0; i < schedule.calls.size(); ++i) {
    const compiler::ScheduledCall& call = schedule.calls[i];
    const std::vector<View> inputs = compiler::placeholder_views(schedule, call.inputs);
    const std::vector<View> outputs = compiler::placeholder_views(schedule, call.outputs);
    e.kernels += runs[i] * calibration.estimate_seconds(call.op->work({none, inputs, outputs}));
    calls += runs[i];
  }
  // The host may be the slower side.
  e.kernels = std::max(e.kernels, calls * calibration.encode_seconds);
  const auto bytes = [](const std::vector<compiler::Port>& ports) {
    double sum = 0;
    for (const compiler::Port& p : ports) {
      sum += static_cast<double>(byte_size(p.type.dtype, static_cast<std::uint64_t>(element_count(p.type.shape))));
    }
    return sum;
  };
  e.transfers = calibration.round_trip_seconds + bytes(schedule.inputs) / std::max(calibration.upload_rate, 1.0) +
                bytes(schedule.outputs) / std::max(calibration.download_rate, 1.0);
  return e;
}

EstimateRange estimate_range(const Estimate& estimate, const Calibration& calibration) {
  // On a machine of two shared processors, five shapes of MiniLM took 0.76 to 1.3 times the estimate on the cpu and
  // 0.35 to 1.7 times on llvmpipe; nine of the ten lay in this range, the tenth ran while others were busy.
  constexpr double kKernels = 1.5;
  // Rates that a busy machine gave are those of the rest of its processors. Half of the rest is the least that counts,
  // since little was measured otherwise.
  const double idle = std::max(1 - calibration.busy, 0.5);
  return {.low = (estimate.kernels / kKernels + estimate.transfers) * idle,
          .high = estimate.kernels * kKernels + estimate.transfers};
}

std::vector<RankedDevice> rank_devices(const Graph& graph, std::span<const Device> devices) {
  std::vector<RankedDevice> ranked;
  std::string why;
  for (const Device& d : devices) {
    try {
      Calibration calibration = Calibration::load_or_measure(d);
      const Estimate e = estimate(graph, d, calibration);
      ranked.push_back({d, e, std::move(calibration)});
    } catch (const Unsupported& e) {
      why += std::format("{}{}: {}", why.empty() ? "" : "; ", d.name(), e.what());
    }
  }
  if (ranked.empty() && !devices.empty()) throw Unsupported("no device can run the graph: {}", why);
  std::ranges::stable_sort(ranked, {}, [](const RankedDevice& r) { return r.estimate.seconds(); });
  return ranked;
}

}  // namespace weft
