// What shows of an executable: its schedule, its dispatches, and the values of each step.
#include "compiler/executable/impl.h"

#include "compiler/largest_value.h"
#include "core/format.h"
#include "core/in_quotes.h"
#include "weft/flags.h"
#include "weft/log.h"

namespace weft {

using compiler::ScheduledCall;
using compiler::Storage;
using compiler::StoredView;

// For reports: the work of a step as the cpu runs it.
KernelRun Executable::Impl::describe_step(const Step& step) const {
  KernelRun run;
  const auto index = static_cast<std::size_t>(step.call - schedule_.calls.data());
  run.step = step.call->label;
  run.kernel = step.call->op->name();
  cpu::Executor none;
  run.work = step.call->op->work({none, step.inputs, step.outputs});
  run.live_bytes = report.steps[index].live_bytes;
  return run;
}

void Executable::Impl::report_dispatches(std::span<const KernelRun> dispatches) {
  if (!report.dispatches.empty()) return;
  report.dispatches.assign(dispatches.begin(), dispatches.end());
  if (!flag_on(Flag::dispatch_report)) return;
  std::string text = std::format("{} dispatches on {}", dispatches.size(), device.name());
  for (const KernelRun& r : dispatches) {
    text += std::format("\n  {} · {} × {} × {} workgroups · {} bytes · {:.4g} FLOP", r.step, r.workgroups[0],
                        r.workgroups[1], r.workgroups[2], r.work.bytes, r.work.flops);
    if (!r.variant.empty()) text += std::format(" · {}: {}", r.variant, r.why);
  }
  log_message(LogLevel::info, text);
}

// "f32 [2, 16, 64] buffer 0 + 512"
std::string Executable::Impl::describe(const StoredView& o) const {
  const Storage& storage = schedule_.storages[o.storage];
  std::string s = std::format("{} {}", name(o.dtype), to_string(o.layout.shape));
  if (!o.layout.is_dense()) s += " strides " + to_string(o.layout.strides);
  const auto at = [&](std::uint64_t offset) { return offset ? std::format(" + {}", offset) : std::string(); };
  switch (storage.kind) {
    case Storage::Kind::input:
      if (schedule_.inputs[storage.index].name.empty()) return std::format("{} data{}", s, at(o.offset));
      return std::format("{} {}{}", s, in_quotes(schedule_.inputs[storage.index].name), at(o.offset));
    case Storage::Kind::output:
      return std::format("{} {}{}", s, in_quotes(schedule_.outputs[storage.index].name), at(o.offset));
    case Storage::Kind::number:
      if (storage.index < 0) return s + " index of the turn";
      return std::format("{} number {}", s, in_quotes(schedule_.numbers[storage.index].name));
    case Storage::Kind::constant:
      return std::format("{} constant{}", s, at(o.offset));
    case Storage::Kind::intermediate:
      break;
  }
  if (planned_.item_of[o.storage] < 0) return s + " empty";
  const compiler::Location& location = planned_.plan.locations[planned_.item_of[o.storage]];
  return std::format("{} buffer {}{}", s, location.buffer, at(location.offset + o.offset));
}

// "scan [16]: steps 3 to 7, 100 turns"
std::string Executable::Impl::describe(const compiler::Block& b) const {
  using enum ControlForm;
  const auto steps = [](int first, int end) {
    return first == end ? std::string("no step") : std::format("steps {} to {}", first, end - 1);
  };
  if (b.kind == turns) return std::format("{}: {}, {} turns", b.label, steps(b.first, b.end), b.turns);
  const std::string condition = describe(b.condition);
  if (b.kind == branch) {
    return std::format("{}: {} if {}, else {}", b.label, steps(b.first, b.middle), condition, steps(b.middle, b.end));
  }
  return std::format("{}: {}, and while {}, {}", b.label, steps(b.first, b.middle), condition, steps(b.middle, b.end));
}

void Executable::Impl::log_schedule() const {
  std::string sizes;
  for (const std::uint64_t bytes : planned_.plan.buffers) {
    sizes += std::format("{}{}", sizes.empty() ? "" : " + ", bytes);
  }
  std::string text = std::format(
      "schedule for {}: {} steps; {} buffers of {} bytes for intermediates (at least {} are "
      "needed), {} bytes of constants",
      device.name(), schedule_.calls.size(), planned_.plan.buffers.size(), sizes.empty() ? "0" : sizes,
      report.liveness_bound, report.constant_bytes);
  for (std::size_t i = 0; i < schedule_.calls.size(); ++i) {
    for (const compiler::Block& b : schedule_.blocks) {
      if (b.first == static_cast<int>(i)) text += "\n     " + describe(b);
    }
    const ScheduledCall& call = schedule_.calls[i];
    text += std::format("\n{:4} {}: ", i, call.label);
    for (std::size_t k = 0; k < call.inputs.size(); ++k) text += (k ? ", " : "") + describe(call.inputs[k]);
    text += " → ";
    for (std::size_t k = 0; k < call.outputs.size(); ++k) text += (k ? ", " : "") + describe(call.outputs[k]);
    if (call.scratch >= 0) text += std::format(", scratch of {} bytes", schedule_.storages[call.scratch].bytes);
  }
  log_message(LogLevel::info, text);
}

// Runs step by step, and prints the largest absolute value of each result on standard error.
void Executable::Impl::run_and_dump(Stream* stream, std::span<const Step> steps) {
  for (const Step& step : steps) {
    if (device.is_gpu()) {
      gpu::Encoder encoder(device.gpu());
      encoder.begin_step(step.call->label);
      launch(encoder, step);
      encoder.submit();
    } else {
      launch(*stream, step);
    }
    for (const View& y : step.outputs) {
      View host = y;
      if (device.is_gpu() && y.count() > 0) {
        const auto bytes = std::make_shared<std::vector<std::byte>>(device.read(y.buffer, 0, y.buffer.size()));
        host.buffer = Buffer::borrow(*bytes, bytes);
      }
      log_message(LogLevel::info, std::format("{} → {}: largest |value| {}", step.call->label, weft::to_string(y),
                                              compiler::largest_value(host)));
    }
  }
}

}  // namespace weft
