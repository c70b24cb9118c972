#include "compiler/plan_calls.h"

#include <map>

#include "core/format.h"
#include "core/in_quotes.h"
#include "cpu/executor.h"
#include "gpu/shaders_only.h"
#include "weft/error.h"

namespace weft::compiler {
namespace {

// Views of placeholder memory that is shared as in the memory plan: a result that is computed in place shares the
// memory of its operand, all others have their own. `memory_of` maps each storage to the one whose memory it uses.
std::vector<View> views_of(const Schedule& schedule, const ScheduledCall& call, std::span<const int> memory_of) {
  std::map<int, Buffer> memory;
  std::vector<View> views;
  for (const auto* operands : {&call.inputs, &call.outputs}) {
    for (const StoredView& o : *operands) {
      Buffer& buffer = memory[memory_of[o.storage]];
      if (!buffer) buffer = schedule.storages[o.storage].number;
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

// Maps each storage to the one whose memory it uses: the first of a chain of results that are computed in place.
std::vector<int> first_in_place(const Schedule& schedule) {
  std::vector<int> memory_of = results_in_place(schedule);
  std::vector<int> chain;
  for (int id = 0; id < static_cast<int>(memory_of.size()); ++id) {
    int first = id;
    for (; memory_of[first] >= 0 && memory_of[first] != first; first = memory_of[first]) chain.push_back(first);
    for (; !chain.empty(); chain.pop_back()) memory_of[chain.back()] = first;
    memory_of[first] = first;
  }
  return memory_of;
}

// The reason why the device cannot run the call; if it can, the call gets its plan.
std::optional<std::string> unsupported(ScheduledCall& call, const Device& device, std::span<const View> views,
                                       kernels::PlanFor purpose) {
  const auto inputs = views.first(call.inputs.size()), outputs = views.subspan(call.inputs.size());
  try {
    if (!device.is_gpu()) {
      cpu::Executor executor;
      return call.op->unsupported({executor, inputs, outputs});
    }
    gpu::ShadersOnly stream(device.gpu());
    if (auto why = call.op->unsupported({stream, inputs, outputs})) return why;
    call.plan = plan_call(call, device, views, purpose);
  } catch (const Unsupported& e) {
    return e.what();
  }
  return std::nullopt;
}

std::string types_of(std::span<const StoredView> operands) {
  std::string text;
  for (const StoredView& o : operands) {
    text += std::format("{}{} {}", text.empty() ? "" : ", ", name(o.dtype), to_string(o.layout.shape));
  }
  return text;
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
  // Scratch memory of an earlier plan is not among the storages any more.
  for (ScheduledCall& call : schedule.calls) call.scratch = -1;
  const std::vector<int> memory_of = first_in_place(schedule);
  std::string refused;
  int count = 0;
  for (ScheduledCall& call : schedule.calls) {
    const auto why = unsupported(call, device, views_of(schedule, call, memory_of), purpose);
    if (!why) continue;
    ++count;
    refused += std::format("\n  {} {} of {} → {}: {}", call.op->name(), in_quotes(call.label), types_of(call.inputs),
                           types_of(call.outputs), *why) +
               recorded_at(call.line);
  }
  if (count > 0) {
    throw Unsupported("{} cannot run {} of {} kernels:{}", device.name(), count, schedule.calls.size(), refused);
  }
  for (ScheduledCall& call : schedule.calls) {
    if (call.plan.scratch() == 0) continue;
    call.scratch = static_cast<int>(schedule.storages.size());
    schedule.storages.push_back({.bytes = call.plan.scratch()});
  }
}

}  // namespace weft::compiler
