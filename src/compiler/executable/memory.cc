// The memory plan, the memory of intermediates, and the calls with their operands in it.
#include "compiler/executable/impl.h"

#include "compiler/target.h"
#include "compiler/verify_schedule.h"

namespace weft {

using compiler::ScheduledCall;
using compiler::Storage;
using compiler::StoredView;

void Executable::Impl::plan() {
  planned_ = compiler::plan_schedule(schedule_, compiler::Target::of(device).max_buffer);
  compiler::verify_schedule(schedule_, planned_);
  const compiler::MemoryPlan& plan = planned_.plan;
  report.planned_bytes = plan.bytes();
  report.liveness_bound = compiler::liveness_bound(planned_.items, planned_.steps.size());
  const std::vector<std::uint64_t> live = compiler::live_bytes(planned_.items, planned_.steps.size());
  for (std::size_t s = 0; s < planned_.steps.size(); ++s) {
    ScheduleStep step{schedule_.calls[s].label, {}, {}};
    for (const int i : planned_.steps[s].reads) step.reads.push_back(plan.locations[i].buffer);
    for (const int i : planned_.steps[s].writes) step.writes.push_back(plan.locations[i].buffer);
    step.live_bytes = live[s];
    report.steps.push_back(std::move(step));
  }
  empty_ = store_->empty();
  store_->drop_orphans();
  memory_.assign(schedule_.storages.size(), {});
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    const Storage& storage = schedule_.storages[i];
    if (storage.kind == Storage::Kind::intermediate) memory_[i] = {empty_, 0};
    if (storage.kind == Storage::Kind::number) memory_[i] = {storage.number, 0};
    if (storage.kind != Storage::Kind::constant) continue;
    memory_[i] = {store_->get(storage.constant), 0};
    report.constant_bytes += storage.bytes;
    // The constant is not needed any more, or its memory may not live much longer.
    if (!restorable_ || !storage.constant->shareable()) schedule_.storages[i].constant.reset();
  }
}

Executable::Impl::Memory Executable::Impl::with_scratch(std::span<const Buffer> buffers) const {
  Memory memory = memory_;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    const int item = planned_.item_of[i];
    if (item < 0) continue;
    const compiler::Location& p = planned_.plan.locations[item];
    memory[i] = {buffers[p.buffer], p.offset};
  }
  return memory;
}

// Allocates the intermediates' memory and makes everything that refers to it.
void Executable::Impl::allocate_scratch() {
  // A run that waits in the middle shares no memory: what another thread's encoder has recorded may be submitted then.
  const bool waits = device.is_gpu() && std::ranges::any_of(schedule_.blocks, [](const compiler::Block& b) {
                       return b.kind != compiler::Block::Kind::turns;
                     });
  std::vector<Buffer> buffers;
  if (waits) {
    for (const std::uint64_t bytes : planned_.plan.buffers) buffers.push_back(store_->allocate(bytes));
  } else {
    buffers = store_->scratch(planned_.plan.buffers);
  }
  has_scratch_ = true;
  if (device.is_gpu()) {
    memory_ = with_scratch(buffers);
    recorded(new_run());
    return;
  }
  host_calls_ = make_host_calls(std::move(buffers));
  std::vector<KernelRun> runs;
  for (const Step& step : host_calls_->steps) runs.push_back(describe_step(step));
  report_dispatches(runs);
}

std::shared_ptr<Executable::Impl::HostCalls> Executable::Impl::make_host_calls(std::vector<Buffer> scratch) const {
  auto calls = std::make_shared<HostCalls>();
  calls->scratch = std::move(scratch);
  Memory memory = with_scratch(calls->scratch);
  for (const int storage : schedule_.number_storages) {
    calls->numbers.push_back(Buffer::number());
    memory[static_cast<std::size_t>(storage)] = {calls->numbers.back(), 0};
  }
  for (const compiler::Block& b : schedule_.blocks) {
    calls->indices.push_back(Buffer::number());
    if (b.index >= 0) memory[static_cast<std::size_t>(b.index)] = {calls->indices.back(), 0};
  }
  for (std::size_t p = 0; p < schedule_.inputs.size() + schedule_.outputs.size(); ++p) {
    calls->ports.push_back(Buffer::placeholder(byte_size(port_at(p).type)));
  }
  const auto port = [&](int p) { return std::pair(calls->ports[static_cast<std::size_t>(p)], std::uint64_t{0}); };
  calls->steps = steps(memory, port);
  for (Step& step : calls->steps) step.prepared = prepared(step);
  calls->conditions = conditions(memory, port);
  return calls;
}

void Executable::Impl::drop_scratch() {
  has_scratch_ = false;
  ++generation_;
  recordings_.clear();
  host_calls_.reset();
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    if (planned_.item_of[i] >= 0) memory_[i] = {};
  }
}

std::vector<View> Executable::Impl::conditions(
    const Memory& own, const std::function<std::pair<Buffer, std::uint64_t>(int port)>& memory) const {
  std::vector<View> all;
  for (const compiler::Block& b : schedule_.blocks) {
    View& view = all.emplace_back();
    if (b.kind == compiler::Block::Kind::turns) continue;
    const int p = port(schedule_.storages[b.condition.storage]);
    const auto [buffer, offset] = p >= 0 ? memory(p) : own[static_cast<std::size_t>(b.condition.storage)];
    view = View(buffer, offset + b.condition.offset, b.condition.dtype, {});
  }
  return all;
}

// The calls on real memory. `memory` returns that of inputs and outputs; an empty buffer is filled in later.
std::vector<Executable::Impl::Step> Executable::Impl::steps(
    const Memory& own, const std::function<std::pair<Buffer, std::uint64_t>(int port)>& memory) const {
  const auto view = [&](const StoredView& o) {
    if (o.layout.count() == 0) return View(empty_, 0, o.dtype, o.layout.shape, o.layout.strides);
    const int p = port(schedule_.storages[o.storage]);
    const auto [buffer, offset] = p >= 0 ? memory(p) : own[static_cast<std::size_t>(o.storage)];
    if (buffer) return View(buffer, offset + o.offset, o.dtype, o.layout.shape, o.layout.strides);
    View open;
    open.offset = o.offset;
    open.dtype = o.dtype;
    open.layout = o.layout;
    return open;
  };
  std::vector<Step> list;
  for (const ScheduledCall& call : schedule_.calls) {
    Step step{&call, {}, {}, std::nullopt};
    for (const StoredView& o : call.inputs) step.inputs.push_back(view(o));
    for (const StoredView& o : call.outputs) step.outputs.push_back(view(o));
    if (call.scratch >= 0) {
      const auto& [buffer, offset] = own[static_cast<std::size_t>(call.scratch)];
      const auto bytes = static_cast<std::int64_t>(schedule_.storages[call.scratch].bytes);
      step.scratch = View(buffer, offset, DType::u8, {bytes});
    }
    list.push_back(std::move(step));
  }
  return list;
}

}  // namespace weft
