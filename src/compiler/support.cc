#include "compiler/support.h"

#include "core/in_quotes.h"
#include "gpu/shaders_only.h"
#include "weft/cpu.h"
#include "weft/error.h"

namespace weft::compiler {
namespace {

std::string types_of(std::span<const Operand> operands) {
  std::string text;
  for (const Operand& o : operands) {
    text += std::format("{}{} {}", text.empty() ? "" : ", ", name(o.dtype), to_string(o.layout.shape));
  }
  return text;
}

}  // namespace

void check_support(const Schedule& schedule, const Device& device) {
  std::optional<gpu::ShadersOnly> commands;
  if (device.is_gpu()) commands.emplace(device.gpu());
  cpu::Executor executor;
  Stream& stream = commands ? static_cast<Stream&>(*commands) : executor;
  std::string found;
  int count = 0;
  for (const ScheduledCall& call : schedule.calls) {
    const std::vector<View> inputs = placeholder_views(schedule, call.inputs);
    const std::vector<View> outputs = placeholder_views(schedule, call.outputs);
    const auto why = call.op->unsupported({stream, inputs, outputs, std::nullopt});
    if (!why) continue;
    ++count;
    found += std::format("\n  {} {} of {} → {}: {}", call.op->name(), in_quotes(call.label), types_of(call.inputs),
                         types_of(call.outputs), *why);
  }
  if (count == 0) return;
  throw Unsupported("{} cannot run {} of {} kernels:{}", device.name(), count, schedule.calls.size(), found);
}

}  // namespace weft::compiler
