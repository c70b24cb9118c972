// A run, on a GPU or the CPU.
#include "compiler/executable/impl.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/format.h"
#include "core/interruption.h"
#include "cpu/step_timer.h"
#include "gpu/device_impl.h"
#include "gpu/wait.h"
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

// The index of a loop's turn, an i32.
void set_index(const Buffer& number, std::int64_t index) {
  const auto narrow = static_cast<std::int32_t>(index);
  std::memcpy(number.data(), &narrow, sizeof narrow);
}

}  // namespace

template <class F>
auto Executable::Impl::of_call(const compiler::ScheduledCall& call, const F& f) const {
  try {
    return f();
  } catch (const Unsupported& e) {
    throw Unsupported("{}{} on {}: {}", call.label, recorded_at(call.line), device.name(), e.what());
  }
}

void Executable::Impl::launch(Stream& stream, const Step& step) const {
  of_call(*step.call, [&] { step.call->op->lower({stream, step.inputs, step.outputs}); });
}

PreparedCall Executable::Impl::prepared(const Step& step) const {
  cpu::Executor executor = cpu_;
  return of_call(*step.call, [&] { return step.call->op->prepared({executor, step.inputs, step.outputs}); });
}

template <class Given, class GivenNumber>
Future<void> Executable::Impl::run(Stream* stream, std::span<const Given> inputs, std::span<const Tensor> captured,
                                   std::span<const Given> outputs, std::span<const GivenNumber> numbers) {
  const InWeft inside;
  Run run = new_run();
  try {
    const gpu::CallbacksHeld held;
    std::unique_lock lock(store_->recording());  // restore() may move it to another device
    bind(run, inputs, inputs_);
    bind(run, captured, captured_);
    bind(run, outputs, outputs_);
    set_numbers(run, numbers);
    check_all_bound(run);
    for (std::size_t p = 0; p < outputs_.first; ++p) {
      if (run.bound[p]) run.bound[p]->require_values();
    }
    for (std::size_t p = outputs_.first; p < run.bound.size(); ++p) {
      const bool donated = std::ranges::binary_search(donors_, p, {}, &std::pair<std::size_t, std::size_t>::first);
      if (!donated)
        run.bound[p]->overwritten();
      else if constexpr (!std::is_same_v<Given, const DeviceData*>)
        run.bound[p]->changed_in_place();
    }
    if (device.is_gpu()) {
      gpu::Encoder* encoder = stream ? dynamic_cast<gpu::Encoder*>(stream->gpu()) : nullptr;
      if (stream && (!encoder || encoder->device() != device.gpu())) {
        throw InvalidArgument("record: the graph was compiled for {}; the stream is no encoder of that device",
                              device.name());
      }
      return run_on_gpu(lock, run, encoder);
    } else {
      cpu::Executor* executor = stream ? stream->cpu() : &cpu_;
      if (!executor) {
        throw InvalidArgument("record: the graph was compiled for {}, the stream is a GPU's", device.name());
      }
      run_on_cpu(lock, run, *executor);
      return Future<void>({}, [] {});
    }
  } catch (const DeviceLost&) {
    if (device.is_gpu() && gpu::CallbacksHeld::none()) device.gpu().impl().context->notify_lost();
    throw;
  } catch (...) {
    // It was interrupted, say.
    if (run.overwrote) {
      for (const auto& [output, input] : donors_) run.bound[input]->spoil();
    }
    throw;
  }
}

bool Executable::Impl::overwrites_donated(int first, int end) const {
  if (donors_.empty()) return false;
  const auto calls =
      std::span(schedule_.calls).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(end - first));
  return std::ranges::any_of(calls, [&](const compiler::ScheduledCall& call) {
    return std::ranges::any_of(call.outputs, [&](const compiler::StoredView& y) {
      return schedule_.storages[static_cast<std::size_t>(y.storage)].donor >= 0;
    });
  });
}

Future<void> Executable::Impl::run_on_gpu(std::unique_lock<OwnedMutex>& lock, const Run& run, gpu::Encoder* encoder) {
  std::shared_ptr<Recorded> r;
  for (;;) {
    if (!ready_) set_up();  // its store has moved to another device
    use_passed_tests();
    if (!has_scratch_) allocate_scratch();
    r = recorded(run);
    if (r->compiled) break;
    // Others record and run meanwhile, and may have moved the scratch memory afterwards.
    const std::uint64_t generation = generation_;
    lock.unlock();
    r->finish();
    lock.lock();
    if (generation == generation_) break;
    check_devices(run);
  }
  for (std::size_t i = 0; i < run.numbers.size(); ++i) {
    const Storage& storage = schedule_.storages[schedule_.number_storages[i]];
    std::memcpy(storage.number.data(), &run.numbers[i], sizeof run.numbers[i]);
  }
  const AtExit unbind([&] {
    for (auto& p : r->ports) p.buffer = Buffer();
  });
  for (std::size_t p = 0; p < run.bound.size(); ++p) r->ports[p].buffer = run.bound[p]->view().buffer;
  std::optional<gpu::Encoder> own;
  if (!encoder) encoder = &own.emplace(device.gpu());
  bool divided = false;
  replay(*r, run, *encoder, divided);
  if (own) return own->submit();
  // Another run may use the same memory for its intermediates. It comes before or after this one, not in between.
  if (divided) encoder->flush();
  return Future<void>({}, [] {});
}

// `divided`: some of it was submitted.
void Executable::Impl::replay(Recorded& recorded, const Run& run, gpu::Encoder& encoder, bool& divided) {
  const auto bound = [&](int p) { return std::pair(run.bound[p]->view().buffer, run.bound[p]->view().offset); };
  const bool dumps = flag_on(Flag::dump_values);
  struct Replay {
    Impl& impl;
    Recorded& recorded;
    gpu::Encoder& encoder;
    bool& divided;
    std::vector<View> conditions;
    std::vector<Step> dumped;
    const Run& run;

    void calls(int first, int end) {
      if (first == end) return;
      if (!run.overwrote) run.overwrote = impl.overwrites_donated(first, end);
      if (!dumped.empty()) {
        encoder.flush();  // what it holds comes before
        return impl.run_and_dump(
            nullptr, std::span(dumped).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(end - first)));
      }
      divided |= encoder.replay(recorded.parts[impl.part_at(first)], recorded.ports);
    }
    bool holds(const compiler::Block& block) {
      check_interruption();
      const View& v = conditions[static_cast<std::size_t>(&block - impl.schedule_.blocks.data())];
      if (v.buffer.is_number()) return v.buffer.data()[0] != std::byte{0};
      gpu::refuse_to_wait("a condition of the graph");
      encoder.flush();
      divided = true;
      return impl.device.read(v.buffer, v.offset, 1)[0] != std::byte{0};
    }
    void turn(const compiler::Block& block, std::int64_t index) {
      check_interruption();
      set_index(impl.schedule_.storages[block.index].number, index);
    }
  };
  Replay replayed{*this,
                  recorded,
                  encoder,
                  divided,
                  conditions(memory_, bound),
                  dumps ? steps(memory_, bound) : std::vector<Step>(),
                  run};
  compiler::run_blocks(schedule_.blocks, 0, static_cast<int>(schedule_.calls.size()), replayed);
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
  for (std::size_t p = 0; p < run.bound.size(); ++p) {
    const View& view = run.bound[p]->view();
    if (calls->ports[p].size() > 0) calls->ports[p].point_at(view.buffer.data() + view.offset);
  }
  struct HostRun {
    Impl& impl;
    cpu::Executor& executor;
    HostCalls& host;
    const Run& given;
    bool dumps = flag_on(Flag::dump_values), timed = cpu::steps_are_timed();

    void calls(int first, int end) {
      const auto steps =
          std::span(host.steps).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(end - first));
      if (dumps) {
        given.overwrote |= impl.overwrites_donated(first, end);
        return impl.run_and_dump(&executor, steps);
      }
      for (const Step& step : steps) {
        check_interruption();
        if (!given.overwrote) given.overwrote = impl.overwrites_donated(first, first + 1);
        ++first;
        if (!timed)
          run(step);
        else
          cpu::timed_step([&] { return impl.describe_step(step); }, [&] { run(step); });
      }
    }
    void run(const Step& step) const {
      if (step.prepared)
        step.prepared(executor);
      else
        impl.launch(executor, step);
    }
    std::size_t index_of(const compiler::Block& block) const {
      return static_cast<std::size_t>(&block - impl.schedule_.blocks.data());
    }
    bool holds(const compiler::Block& block) const {
      const View& v = host.conditions[index_of(block)];
      return v.buffer.data()[v.offset] != std::byte{0};
    }
    void turn(const compiler::Block& block, std::int64_t index) const {
      set_index(host.indices[index_of(block)], index);
    }
  };
  HostRun host{*this, executor, *calls, run};
  compiler::run_blocks(schedule_.blocks, 0, static_cast<int>(schedule_.calls.size()), host);
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

Future<void> Executable::run_on(std::span<const DeviceData* const> inputs, std::span<const DeviceData* const> outputs,
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
