// On a GPU: the calls' dispatches as recordings, which runs replay.
#include "compiler/executable/impl.h"

#include "compiler/plan_calls.h"
#include "weft/log.h"

namespace weft {

namespace {

// Tensors at other offsets in their buffers need another recording; at most this many are cached.
constexpr std::size_t kMaxRecordings = 8;

}  // namespace

void Executable::Impl::record(gpu::Recording& recording, const Step& step) const {
  std::vector<View> views = step.inputs;
  views.insert(views.end(), step.outputs.begin(), step.outputs.end());
  const kernels::Plan& plan = step.call->plan;
  if (plan.fits(views)) return plan.record(recording, views, step.scratch);
  // Tensors whose offsets differ from the planned ones, such as those at which four elements are not aligned.
  const kernels::Plan other = compiler::plan_call(*step.call, device, views, kernels::PlanFor::recording);
  const bool enough = other.scratch() <= plan.scratch();
  other.record(recording, views, enough ? step.scratch : std::nullopt);
}

std::size_t Executable::Impl::part_at(int call) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(parts_, call) - parts_.begin());
}

// The recording for the offsets of the tensors that the run was given and for the readable ends of their buffers;
// without tensors, for those of Weft's own allocations. Its kernels may still be compiling.
std::shared_ptr<Executable::Impl::Recorded> Executable::Impl::recorded(const Run& run) {
  const auto offset = [&](std::size_t p) { return run.bound[p] ? run.bound[p]->view().offset : 0; };
  struct Ends {
    std::uint64_t size, capacity;
  };
  const auto ends = [&](std::size_t p) {
    const std::uint64_t end = offset(p) + byte_size(port_at(p).type);
    // Kernels load sixteen bytes at once if the last ones are readable.
    const std::uint64_t size = rounded_up(end, 4), whole = rounded_up(end, 16);
    return Ends{size, !run.bound[p] || run.bound[p]->view().buffer.capacity() >= whole ? whole : size};
  };
  for (const auto& r : recordings_) {
    bool same = true;
    for (std::size_t p = 0; same && p < run.bound.size(); ++p) {
      same = r->offsets[p] == offset(p) && r->ports[p].placeholder.capacity() == ends(p).capacity;
    }
    if (same) return r;
  }
  const auto made = std::make_shared<Recorded>();
  for (std::size_t p = 0; p < run.bound.size(); ++p) {
    made->offsets.push_back(offset(p));
    made->ports.push_back({Buffer::placeholder(ends(p).size, ends(p).capacity), Buffer()});
  }
  const auto memory = [&](int p) { return std::pair(made->ports[p].placeholder, made->offsets[p]); };
  const std::vector<Step> all = steps(memory_, memory);
  std::vector<KernelRun> dispatches;
  for (std::size_t p = 0; p + 1 < parts_.size(); ++p) {
    gpu::Recording& part = made->parts.emplace_back(device.gpu());
    for (int i = parts_[p]; i < parts_[p + 1]; ++i) {
      const auto index = static_cast<std::size_t>(i);
      part.begin_step(schedule_.calls[index].label, report.steps[index].live_bytes);
      record(part, all[index]);
    }
    dispatches.insert(dispatches.end(), part.dispatches().begin(), part.dispatches().end());
  }
  log_mark("dispatches are recorded");
  // Kernels compile on Dawn's threads meanwhile.
  store_->fill();
  log_mark("constants are on the device");
  report_dispatches(dispatches);
  if (recordings_.size() == kMaxRecordings) recordings_.erase(recordings_.begin());
  recordings_.push_back(made);
  return made;
}

}  // namespace weft
