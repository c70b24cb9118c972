// A run, on a GPU or the CPU.
#include "compiler/executable/impl.h"

#include <chrono>
#include <cstring>

#include "core/format.h"
#include "cpu/step_timer.h"
#include "gpu/device_impl.h"
#include "weft/error.h"
#include "weft/flags.h"

namespace weft {

using compiler::Storage;
using compiler::StoredView;

namespace {

template <class F>
class AtExit {
 public:
  explicit AtExit(F f) : f_(std::move(f)) {}
  ~AtExit() { f_(); }
  AtExit(const AtExit&) = delete;
  AtExit& operator=(const AtExit&) = delete;

 private:
  F f_;
};

}  // namespace

template <class Ports>
void Executable::Impl::bind_ports(HostCalls& calls, const Ports& memory_of) const {
  for (Step& step : calls.steps) {
    const auto bind = [&](const std::vector<StoredView>& operands, std::vector<View>& views) {
      for (std::size_t i = 0; i < operands.size(); ++i) {
        const int p = port(schedule_.storages[operands[i].storage]);
        if (p < 0 || operands[i].layout.count() == 0) continue;
        auto [buffer, offset] = memory_of(static_cast<std::size_t>(p));
        views[i].buffer = std::move(buffer);
        views[i].offset = offset + operands[i].offset;
      }
    };
    bind(step.call->inputs, step.inputs);
    bind(step.call->outputs, step.outputs);
  }
}

void Executable::Impl::launch(Stream& stream, const Step& step) const {
  try {
    step.call->op->lower({stream, step.inputs, step.outputs});
  } catch (const Unsupported& e) {
    throw Unsupported("{}{} on {}: {}", step.call->label, recorded_at(step.call->line), device.name(), e.what());
  }
}

template <class Given, class GivenNumber>
Future<void> Executable::Impl::run(Stream* stream, std::span<const Given> inputs, std::span<const Tensor> captured,
                                   std::span<const Given> outputs, std::span<const GivenNumber> numbers) {
  std::unique_ptr<Run> run = take_run();
  Future<void> done({}, [] {});
  try {
    const gpu::CallbacksHeld held;
    std::unique_lock lock(store_->recording());  // restore() may move it to another device
    bind(*run, inputs, inputs_);
    bind(*run, captured, captured_);
    bind(*run, outputs, outputs_);
    set_numbers(*run, numbers);
    check_all_bound(*run);
    for (std::size_t p = outputs_.first; p < run->bound.size(); ++p) {
      const bool donated = std::ranges::binary_search(donors_, p, {}, &std::pair<std::size_t, std::size_t>::first);
      if (!donated) run->bound[p]->overwritten();
    }
    if (device.is_gpu()) {
      gpu::Encoder* encoder = stream ? dynamic_cast<gpu::Encoder*>(stream->gpu()) : nullptr;
      if (stream && (!encoder || encoder->device() != device.gpu())) {
        throw InvalidArgument("record: the graph was compiled for {}; the stream is no encoder of that device",
                              device.name());
      }
      done = run_on_gpu(lock, *run, encoder);
    } else {
      cpu::Executor* executor = stream ? stream->cpu() : &cpu_;
      if (!executor) {
        throw InvalidArgument("record: the graph was compiled for {}, the stream is a GPU's", device.name());
      }
      run_on_cpu(lock, *run, *executor);
    }
  } catch (const DeviceLost&) {
    if (device.is_gpu() && gpu::CallbacksHeld::none()) device.gpu().impl().context->notify_lost();
    throw;
  }
  const std::lock_guard lock(idle_mutex_);
  idle_runs_.push_back(std::move(run));
  return done;
}

Future<void> Executable::Impl::run_on_gpu(std::unique_lock<OwnedMutex>& lock, const Run& run, gpu::Encoder* encoder) {
  std::shared_ptr<Recorded> r;
  for (;;) {
    if (!ready_) set_up();  // its store has moved to another device
    if (!has_scratch_) allocate_scratch();
    r = recorded(run);
    if (r->compiled) break;
    // Others record and run meanwhile, and may have moved the scratch memory afterwards.
    const std::uint64_t generation = generation_;
    lock.unlock();
    r->recording.finish();
    lock.lock();
    r->compiled = true;
    if (generation == generation_) break;
    check_devices(run);
  }
  for (std::size_t i = 0; i < run.numbers.size(); ++i) {
    const Storage& storage = schedule_.storages[schedule_.number_storages[i]];
    std::memcpy(storage.number.data(), &run.numbers[i], sizeof run.numbers[i]);
  }
  if (flag_on(Flag::dump_values)) {
    if (encoder) encoder->flush();  // what it holds comes before
    const auto bound = [&](int p) { return std::pair(run.bound[p]->view().buffer, run.bound[p]->view().offset); };
    run_and_dump(nullptr, steps(memory_, bound));
    return Future<void>({}, [] {});
  }
  const AtExit unbind([&] {
    for (auto& p : r->ports) p.buffer = Buffer();
  });
  for (std::size_t p = 0; p < run.bound.size(); ++p) r->ports[p].buffer = run.bound[p]->view().buffer;
  std::optional<gpu::Encoder> own;
  if (!encoder) encoder = &own.emplace(device.gpu());
  const bool divided = encoder->replay(r->recording, r->ports);
  if (own) return own->submit();
  // Another run may use the same memory for its intermediates. It comes before or after this one, not in between.
  if (divided) encoder->flush();
  return Future<void>({}, [] {});
}

void Executable::Impl::run_on_cpu(std::unique_lock<OwnedMutex>& lock, const Run& run, cpu::Executor& executor) {
  if (!ready_) set_up();
  if (!has_scratch_) allocate_scratch();
  std::unique_lock in_use(store_->scratch_in_use(), std::try_to_lock);
  std::shared_ptr<HostCalls> calls;
  if (in_use) {
    calls = host_calls_;
  } else if (!idle_host_calls_.empty()) {
    calls = std::move(idle_host_calls_.back());
    idle_host_calls_.pop_back();
  } else {
    std::vector<Buffer> scratch;
    for (const std::uint64_t bytes : planned_.plan.buffers) scratch.push_back(store_->allocate(bytes));
    calls = make_host_calls(std::move(scratch));
  }
  lock.unlock();
  for (std::size_t i = 0; i < run.numbers.size(); ++i) {
    std::memcpy(calls->numbers[i].data(), &run.numbers[i], sizeof run.numbers[i]);
  }
  // What the run was given is not kept after it, however it ends.
  const AtExit unbind(
      [&] { bind_ports(*calls, [&](std::size_t p) { return std::pair(calls->ports[p], std::uint64_t{0}); }); });
  bind_ports(*calls,
             [&](std::size_t p) { return std::pair(run.bound[p]->view().buffer, run.bound[p]->view().offset); });
  if (flag_on(Flag::dump_values))
    run_and_dump(&executor, calls->steps);
  else
    for (const Step& step : calls->steps) {
      if (!cpu::steps_are_timed())
        launch(executor, step);
      else
        cpu::timed_step([&] { return describe_step(step); }, [&] { launch(executor, step); });
    }
  if (in_use) return;
  lock.lock();
  idle_host_calls_.push_back(calls);
}

namespace {

template <class Impl>
Impl& checked(const std::shared_ptr<Impl>& impl) {
  if (!impl) throw InvalidArgument("run: an empty Executable");
  return *impl;
}

}  // namespace

Future<void> Executable::run(std::span<const NamedTensor> inputs, std::span<const NamedTensor> outputs,
                             std::span<const NamedNumber> numbers) {
  return checked(impl_).run(nullptr, inputs, captured_, outputs, numbers);
}

Future<void> Executable::run(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                             std::span<const Number> numbers) {
  return checked(impl_).run(nullptr, inputs, captured_, outputs, numbers);
}

void Executable::record(Stream& stream, std::span<const NamedTensor> inputs, std::span<const NamedTensor> outputs,
                        std::span<const NamedNumber> numbers) {
  checked(impl_).run(&stream, inputs, captured_, outputs, numbers);
}

void Executable::record(Stream& stream, std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                        std::span<const Number> numbers) {
  checked(impl_).run(&stream, inputs, captured_, outputs, numbers);
}

}  // namespace weft
