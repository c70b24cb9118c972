#include "compiler/plan_calls.h"

#include <map>

#include "weft/cpu.h"
#include "weft/error.h"

namespace weft::compiler {
namespace {

// Views as the memory plan will place them: a result that is computed in place shares the memory of its operand, all
// others have their own.
std::vector<View> views_of(const Schedule& schedule, const ScheduledCall& call, std::span<const int> replaces) {
  std::map<int, Buffer> memory;
  std::vector<View> views;
  for (const auto* operands : {&call.inputs, &call.outputs}) {
    for (const Operand& o : *operands) {
      int storage = o.storage;
      while (replaces[storage] >= 0) storage = replaces[storage];
      Buffer& buffer = memory[storage];
      if (!buffer) {
        const std::uint64_t bytes = std::max<std::uint64_t>(schedule.storages[o.storage].bytes, 1);
        buffer = Buffer::placeholder((bytes + 3) / 4 * 4, (bytes + 15) / 16 * 16);
      }
      View& v = views.emplace_back();
      v.buffer = buffer;
      v.offset = o.offset;
      v.dtype = o.dtype;
      v.layout = o.layout;
    }
  }
  return views;
}

}  // namespace

kernels::Plan plan_call(const ScheduledCall& call, const Device& device, std::span<const View> views,
                        kernels::PlanFor purpose) {
  const auto calls = [op = call.op, inputs = call.inputs.size()](Stream& stream, std::span<const View> v) {
    op->lower({stream, v.first(inputs), v.subspan(inputs)});
  };
  return kernels::plan(device, views, calls, purpose);
}

void plan_calls(Schedule& schedule, const Device& device, kernels::PlanFor purpose) {
  const std::vector<int> replaces = results_in_place(schedule);
  cpu::Executor cpu;
  std::vector<std::string> unsupported;
  for (ScheduledCall& call : schedule.calls) {
    try {
      const std::vector<View> views = views_of(schedule, call, replaces);
      const auto all = std::span(views);
      if (!device.is_gpu()) {
        call.op->check({cpu, all.first(call.inputs.size()), all.subspan(call.inputs.size())});
        continue;
      }
      gpu::Encoder unused(device.gpu());
      call.op->check({unused, all.first(call.inputs.size()), all.subspan(call.inputs.size())});
      call.plan = plan_call(call, device, views, purpose);
    } catch (const Unsupported& e) {
      unsupported.push_back(std::format("{} on {}: {}", call.label, device.name(), e.what()));
    }
  }
  if (unsupported.size() == 1) throw Unsupported("{}", unsupported[0]);
  if (!unsupported.empty()) {
    std::string list = std::format("{} steps of the graph cannot run on {}:", unsupported.size(), device.name());
    for (const std::string& line : unsupported) list += "\n  " + line;
    throw Unsupported("{}", list);
  }
  for (ScheduledCall& call : schedule.calls) {
    call.scratch = -1;
    if (call.plan.scratch() == 0) continue;
    call.scratch = static_cast<int>(schedule.storages.size());
    schedule.storages.push_back({Storage::Kind::intermediate, 0, call.plan.scratch(), nullptr});
  }
}

}  // namespace weft::compiler
