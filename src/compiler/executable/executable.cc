// The life of an executable: it is set up for a device, leaves it, and is restored on another.
#include "compiler/executable/impl.h"

#include <set>

#include "compiler/plan_calls.h"
#include "compiler/target.h"
#include "core/bytes_text.h"
#include "core/format.h"
#include "core/system.h"
#include "gpu/device_impl.h"
#include "gpu/self_test.h"
#include "gpu/wait.h"
#include "weft/error.h"
#include "weft/log.h"

namespace weft {

using compiler::ScheduledCall;
using compiler::Storage;
using compiler::StoredView;

Executable::Impl::Impl(Device d, compiler::Schedule schedule, std::shared_ptr<ConstantStore> store, bool restorable)
    : device(std::move(d)),
      schedule_(std::move(schedule)),
      store_(std::move(store)),
      own_storages_(schedule_.storages.size()),
      restorable_(restorable) {
  cpu_.use_packed_weights(&store_->packed_weights());
  inputs_.count = schedule_.inputs.size() - schedule_.captured;
  captured_.first = inputs_.count;
  captured_.count = schedule_.captured;
  outputs_.first = schedule_.inputs.size();
  outputs_.count = schedule_.outputs.size();
  for (Side* side : {&inputs_, &outputs_}) {
    for (std::size_t p = side->first; p < side->first + side->count; ++p) side->names.emplace(port_at(p).name, p);
  }
  for (const Storage& s : schedule_.storages) {
    if (s.donor < 0) continue;
    donors_.emplace_back(schedule_.inputs.size() + static_cast<std::size_t>(s.index),
                         static_cast<std::size_t>(schedule_.storages[s.donor].index));
  }
  std::ranges::sort(donors_);
  std::set<int> bounds{0, static_cast<int>(schedule_.calls.size())};
  for (const compiler::Block& b : schedule_.blocks) bounds.insert({b.first, b.middle, b.end});
  parts_.assign(bounds.begin(), bounds.end());
  for (std::size_t i = 0; i < schedule_.numbers.size(); ++i) number_names_.emplace(schedule_.numbers[i].name, i);
  const gpu::CallbacksHeld held;
  const std::lock_guard lock(store_->recording());
  set_up();
  store_->add(*this);
}

void Executable::Impl::log_compiled() const {
  log_mark("kernels are compiled");
  if (log_topic("schedule")) log_schedule();
}

void Executable::Impl::use_passed_tests() {
  if (!undecided_) return;
  const bool all_settled = gpu::settle_self_tests(device.gpu());
  if (gpu::Undecided::outdated(*device.gpu().impl().context, undecided_)) {
    leave(device);
    set_up();
  } else if (all_settled) {
    undecided_.reset();
  }
}

Future<void> Executable::Impl::async_ready() {
  if (!device.is_gpu()) return Future<void>({}, [] {});
  std::vector<std::shared_ptr<Recorded>> made;
  bool undecided = false;
  {
    const gpu::CallbacksHeld held;
    const std::lock_guard lock(store_->recording());
    use_passed_tests();
    undecided = undecided_.has_value();
    made = recordings_;
  }
  if (undecided) {
    return gpu::self_tests_settled(device.gpu()).and_then([self = shared_from_this()] {
      const gpu::AvoidWaiting no_wait;
      const gpu::ComesLater later;
      return self->async_ready();
    });
  }
  // Kernels compile on Dawn's threads, without a lock that other threads need.
  std::vector<Future<void>> parts;
  for (const auto& r : made) {
    for (gpu::Recording& part : r->parts) parts.push_back(part.async_finish());
  }
  return when_all(std::move(parts)).map([made] {
    for (const auto& r : made) r->finish();
  });
}

void Executable::Impl::wait_ready() {
  try {
    const gpu::CallbacksHeld held;
    async_ready().get();
  } catch (const DeviceLost&) {
    if (device.is_gpu() && gpu::CallbacksHeld::none()) device.gpu().impl().context->notify_lost();
    throw;
  }
}

// Before kernels are planned, which for results of terabytes takes long.
void Executable::Impl::check_sizes() const {
  const std::uint64_t most = device.is_gpu() ? compiler::Target::of(device).max_buffer : physical_memory();
  for (const ScheduledCall& call : schedule_.calls) {
    for (const StoredView& y : call.outputs) {
      const std::uint64_t bytes = schedule_.storages[static_cast<std::size_t>(y.storage)].bytes;
      if (bytes <= most) continue;
      throw OutOfMemory("{}{}: a result of {}; {} holds at most {}", call.label, recorded_at(call.line),
                        bytes_text(bytes), device.is_gpu() ? "a buffer of " + device.name() : "this machine", most);
    }
  }
}

// Sets up everything that belongs to the device: compiles the pipelines, and finds out what the device does not
// support.
void Executable::Impl::set_up() {
  schedule_.storages.resize(own_storages_);
  CompileReport fresh;
  fresh.graph = std::move(report.graph);
  fresh.precision = std::move(report.precision);
  fresh.donations = std::move(report.donations);
  for (const compiler::Block& b : schedule_.blocks) {
    ScheduleBlock& block = fresh.blocks.emplace_back(ScheduleBlock{b.label, b.first, b.end});
    if (b.kind == compiler::Block::Kind::turns)
      block.turns = b.turns;
    else
      block.waits = device.is_gpu();
  }
  report = std::move(fresh);
  check_sizes();
  try {
    const auto undecided = device.is_gpu() ? std::optional<gpu::Undecided>(*device.gpu().impl().context) : std::nullopt;
    compiler::plan_calls(schedule_, device, kernels::PlanFor::recording);
    plan();
    allocate_scratch();
    undecided_ = undecided ? undecided->since() : std::nullopt;
    ready_ = true;
  } catch (...) {
    store_->drop_unfilled();
    leave(device);
    throw;
  }
}

void Executable::Impl::leave(const Device& next) {
  drop_scratch();
  memory_.clear();
  idle_host_calls_.clear();
  empty_ = {};
  ready_ = false;
  device = next;
}

void Executable::Impl::restore(const Device& next) {
  const gpu::CallbacksHeld held;
  const std::lock_guard lock(store_->recording());
  if (next.is_gpu() != device.is_gpu()) {
    throw InvalidArgument("restore: compiled for {}; {} is another kind of device", device.name(), next.name());
  }
  for (std::size_t i = 0; i < own_storages_; ++i) {
    const Storage& s = schedule_.storages[i];
    if (s.kind == Storage::Kind::constant && !s.constant) {
      throw InvalidArgument("restore: {}", restorable_ ? "a constant's memory has no owner, so it may be gone"
                                                       : "it was compiled with restorable = false");
    }
  }
  if (next != store_->device()) store_->move_to(next);
  if (!ready_) set_up();
}

Executable::Impl::~Impl() {
  const std::lock_guard lock(store_->recording());
  store_->remove(*this);
}

void Executable::restore(const Device& device) {
  if (!impl_) throw InvalidArgument("restore: an empty Executable");
  impl_->restore(device);
}

const CompileReport& Executable::report() const {
  if (!impl_) throw InvalidArgument("report: an empty Executable");
  return impl_->report;
}

const Device& Executable::device() const {
  if (!impl_) throw InvalidArgument("device: an empty Executable");
  return impl_->device;
}

}  // namespace weft
