#include <cstring>
#include <utility>

#include "core/format.h"
#include "gpu/prepared.h"
#include "gpu/recording.h"
#include "weft/error.h"

namespace weft::gpu {

void check_dispatch(const Context& context, const Dispatch& d) {
  const Capabilities& caps = context.capabilities;
  for (const std::uint32_t n : d.workgroups) {
    if (n > caps.max_workgroups) {
      throw InvalidArgument("dispatch '{}': {} × {} × {} workgroups; this device takes {} a dimension", d.label,
                            d.workgroups[0], d.workgroups[1], d.workgroups[2], caps.max_workgroups);
    }
  }
  if (d.bindings.size() > caps.max_storage_buffers) {
    throw InvalidArgument("dispatch '{}': {} storage buffers; this device takes {}", d.label, d.bindings.size(),
                          caps.max_storage_buffers);
  }
  for (std::size_t i = 0; i < d.bindings.size(); ++i) {
    const Binding& b = d.bindings[i];
    if (!b.buffer.on_gpu() && !b.buffer.is_placeholder()) {
      throw InvalidArgument("dispatch '{}': binding {} is not in GPU memory", d.label, i + 1);
    }
    if (b.size == 0 || b.size % 4 != 0 || b.size > caps.max_binding || b.offset % caps.storage_alignment != 0) {
      throw InvalidArgument(
          "dispatch '{}': binding {} has offset {} and size {}; offsets are multiples of {}, sizes multiples of 4 up "
          "to {}",
          d.label, i + 1, b.offset, b.size, caps.storage_alignment, caps.max_binding);
    }
  }
}

void check_ranges(const Context&, std::string_view label, std::span<const BoundRange> ranges, std::uint32_t writes) {
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const BoundRange& r = ranges[i];
    const std::uint64_t size = r.buffer.GetSize();
    if (r.offset > size || r.size > size - r.offset) {
      throw InvalidArgument("dispatch '{}': binding {} is bytes {} to {} of a buffer of {}", label, i + 1, r.offset,
                            r.offset + r.size, size);
    }
    for (std::size_t k = 0; k < i; ++k) {
      const BoundRange& q = ranges[k];
      const std::uint32_t writing = (writes >> i & 1) + (writes >> k & 1);
      if (q.buffer.Get() != r.buffer.Get() || writing == 0) continue;
      // WebGPU allows several read_write bindings of one buffer if they do not overlap.
      if (writing == 1 || (q.offset < r.offset + r.size && r.offset < q.offset + q.size)) {
        throw InvalidArgument("dispatch '{}': bindings {} and {} are one buffer, and {}", label, k + 1, i + 1,
                              writing == 1 ? "one of them writes" : "overlap");
      }
    }
  }
}

KernelRun run_of(const Dispatch& d, std::string_view step, std::uint64_t live_bytes) {
  KernelRun run;
  run.step = step;
  run.kernel = d.label;
  run.variant = d.variant;
  run.why = d.why;
  run.work = d.work;
  run.workgroups = d.workgroups;
  run.live_bytes = live_bytes;
  return run;
}

KernelRun run_of(const PreparedDispatch& d, std::string_view step, std::uint64_t live_bytes) {
  KernelRun run = d.run;
  run.step = step;
  run.live_bytes = live_bytes;
  return run;
}

struct Encoder::State {
  explicit State(Device d) : device(std::move(d)), impl(&device.impl()) {}

  Device device;
  Device::Impl* impl;
  wgpu::CommandEncoder commands;
  wgpu::ComputePassEncoder pass;
  WGPUComputePipeline current = nullptr;
  std::uint32_t dispatches = 0;  // not yet submitted
  double work = 0;               // of those
  bool flushed = false;          // since the last submit()
  unsigned full_batches = 0;
  std::shared_ptr<Event> earlier;  // the end of such a batch
  std::vector<std::unique_ptr<ParamPage>> pages;
  std::vector<std::shared_ptr<PendingRead>> reads;
  // What the recorded commands use: a pool buffer that is freed now must not be uploaded to before they have run.
  std::vector<Buffer> held, written;
  std::vector<std::shared_ptr<void>> held_recordings;
  std::vector<BoundRange> ranges;     // of the current dispatch
  Buffer scratch;                     // of kernels
  std::unique_ptr<TimedBatch> timed;  // of the dispatches not yet submitted, while the device is profiled

  wgpu::ComputePassEncoder& open_pass(const wgpu::PassTimestampWrites* timestamps = nullptr) {
    if (pass) return pass;
    open_commands();
    wgpu::ComputePassDescriptor descriptor;
    descriptor.label = "weft";
    descriptor.timestampWrites = timestamps;
    pass = commands.BeginComputePass(&descriptor);
    current = nullptr;
    return pass;
  }

  wgpu::CommandEncoder& open_commands() {
    if (commands) return commands;
    wgpu::CommandEncoderDescriptor descriptor;
    descriptor.label = "weft";
    commands = impl->context->device.CreateCommandEncoder(&descriptor);
    return commands;
  }

  void close_pass() {
    if (!pass) return;
    pass.End();
    pass = nullptr;
  }

  // `make_run` describes the dispatch for the profiler; called only if there is one.
  template <class MakeRun>
  void encode(std::string_view label, const MakeRun& make_run, const wgpu::ComputePipeline& pipeline,
              const wgpu::BindGroup& group, bool params, std::uint32_t param_offset,
              const std::array<std::uint32_t, 3>& workgroups) {
    using Method = DispatchTimer::Method;
    const DispatchTimer* timer = impl->timer.get();
    wgpu::PassTimestampWrites timestamps;
    if (timer) {
      if (!timed) timed = impl->timer->take();
      timestamps = timed->add(make_run());
      if (timer->method() != Method::inside_passes) close_pass();
    }
    open_pass(timer && timer->method() == Method::pass_each ? &timestamps : nullptr);
    const bool labelled = impl->debug_labels && !label.empty();
    if (labelled) pass.PushDebugGroup(label);
    if (pipeline.Get() != current) {
      pass.SetPipeline(pipeline);
      current = pipeline.Get();
    }
    pass.SetBindGroup(0, group, params ? 1 : 0, &param_offset);
    const bool inside = timer && timer->method() == Method::inside_passes;
    if (inside) pass.WriteTimestamp(timestamps.querySet, timestamps.beginningOfPassWriteIndex);
    pass.DispatchWorkgroups(workgroups[0], workgroups[1], workgroups[2]);
    if (inside) pass.WriteTimestamp(timestamps.querySet, timestamps.endOfPassWriteIndex);
    if (labelled) pass.PopDebugGroup();
    if (timer && !inside) close_pass();
  }

  // The offset of the parameters and the page that holds them.
  std::pair<ParamPage*, std::uint32_t> store_params(std::span<const std::byte> params,
                                                    std::span<const NumberParam> numbers, std::uint32_t window) {
    const std::uint32_t alignment = impl->context->limits.minUniformBufferOffsetAlignment;
    std::uint32_t offset = pages.empty() ? 0 : (pages.back()->used + alignment - 1) / alignment * alignment;
    if (pages.empty() || offset + window > ParamPages::kPageBytes) {
      pages.push_back(impl->pages.take());
      offset = 0;
    }
    ParamPage& page = *pages.back();
    std::ranges::copy(params, page.shadow.begin() + offset);
    for (const NumberParam& n : numbers) {
      std::memcpy(page.shadow.data() + offset + n.offset, n.buffer.data(), n.bytes);
    }
    page.used = offset + static_cast<std::uint32_t>(params.size());
    return {&page, offset};
  }

  void dispatch(const Dispatch& d, std::string_view step, std::uint64_t live_bytes) {
    if (d.workgroups[0] == 0 || d.workgroups[1] == 0 || d.workgroups[2] == 0) return;
    impl->context->check_known();
    check_dispatch(*impl->context, d);
    bind(*impl->pipelines.get(d), d.params, d.numbers, d.bindings, d.label, d.work, d.workgroups,
         [&] { return run_of(d, step, live_bytes); });
  }

  void dispatch(const PreparedDispatch& d, std::span<const Binding> bindings, std::span<const NumberParam> numbers,
                std::string_view step, std::uint64_t live_bytes) {
    impl->context->check_known();
    impl->pipelines.finish(*d.pipeline);
    bind(*d.pipeline, d.params, numbers, bindings, d.run.kernel, d.run.work, d.run.workgroups,
         [&] { return run_of(d, step, live_bytes); });
  }

  template <class MakeRun>
  void bind(const Pipeline& pipeline, std::span<const std::byte> params, std::span<const NumberParam> numbers,
            std::span<const Binding> bindings, std::string_view label, const Work& amount,
            const std::array<std::uint32_t, 3>& workgroups, const MakeRun& make_run) {
    Context& context = *impl->context;
    ranges.clear();
    for (std::size_t i = 0; i < bindings.size(); ++i) {
      const Binding& b = bindings[i];
      if (b.buffer.is_placeholder()) {
        throw InvalidArgument("dispatch '{}': binding {} is a placeholder, which only a recording takes", label, i + 1);
      }
      if (!b.buffer.on_gpu()) throw InvalidArgument("dispatch '{}': binding {} is not in GPU memory", label, i + 1);
      impl->pool->require(b.buffer.gpu());
      ranges.push_back({b.buffer.gpu(), b.offset, b.size});
    }
    const Signature& signature = pipeline.layout->signature;
    check_ranges(context, label, ranges, signature.writes);
    ParamRange window;
    std::uint32_t offset = 0;
    if (signature.params) {
      window.size = param_range(context, params.size());
      const auto [page, at] = store_params(params, numbers, window.size);
      window.buffer = page->buffer;
      offset = at;
    }
    const wgpu::BindGroup group = impl->bind_groups.get(*pipeline.layout, window, ranges);
    encode(label, make_run, pipeline.pipeline, group, signature.params, offset, workgroups);
    for (const Binding& b : bindings) {
      held.push_back(b.buffer);
      if (b.access == Access::read_write) writes(b.buffer);
    }
    work += amount.amount();
    count_dispatch();
  }

  // Forgets the buffer's digest now and again at the submit, because the host may write to it before this dispatch
  // runs.
  void writes(const Buffer& buffer) {
    buffer.changed();
    written.push_back(buffer);
  }

  // True if the dispatch completed a batch, which was then submitted.
  bool count_dispatch() {
    const bool full = ++dispatches >= (flushed ? impl->flush.later : impl->flush.first) ||
                      work >= impl->context->capabilities.max_dispatch_work;
    if (!full && !(timed && timed->full())) return false;
    flush();
    flushed = true;
    stay_near();
    return true;
  }

  // What is submitted takes the host's memory until it is done, so the turns of a long loop must not run far ahead of a
  // slow device: in every 32nd batch it waits for the one that was submitted 32 batches before, where it may.
  void stay_near() {
    constexpr unsigned kBatches = 32;
    if (++full_batches % kBatches != 0) return;
    const std::shared_ptr<Event> before = std::exchange(earlier, impl->context->mark());
    if (before) impl->context->hold_back(*before, true);
  }

  // True if a part of it was submitted already.
  bool replay(const std::shared_ptr<Recording::State>& recording, std::span<const Substitution> substitutions) {
    if (recording->device != device) throw InvalidArgument("replay: the recording belongs to another device");
    impl->context->check_known();
    const std::vector<Buffer> substitutes = recording->prepare(substitutions);
    const auto hold = [&] {
      held_recordings.push_back(recording);
      for (const Substitution& s : substitutions) held.push_back(s.buffer);
      for (const Buffer& b : recording->written) writes(b);
      for (const Buffer& b : substitutes) writes(b);
    };
    hold();
    bool divided = false;
    for (std::size_t i = 0; i < recording->steps.size(); ++i) {
      const Recording::State::Step& step = recording->steps[i];
      const KernelRun& run = recording->runs[i];
      wgpu::BindGroup group = step.group;
      std::uint32_t offset = step.param_offset;
      if (step.number_count > 0) {
        // Each replay's numbers have their own range, so that two in one submit do not see each other's.
        const auto numbers = std::span(recording->numbers).subspan(step.first_number, step.number_count);
        const auto params = std::span(recording->params).subspan(step.param_offset, step.param_bytes);
        const auto [page, at] = store_params(params, numbers, step.param_range);
        const auto ranges =
            std::span(recording->ranges).subspan(step.first_range, step.pipeline->layout->signature.count);
        group = impl->bind_groups.get(*step.pipeline->layout, {page->buffer, step.param_range}, ranges);
        offset = at;
      }
      encode(
          run.step.empty() ? run.kernel : run.step, [&] { return run; }, step.pipeline->pipeline, group,
          step.param_range != 0, offset, run.workgroups);
      work += run.work.amount();
      if (count_dispatch()) {
        divided = true;
        hold();  // again for the dispatches after the submit
      }
    }
    recording->release_foreign();
    return divided;
  }

  // Submits what is recorded, except reads, which wait for submit().
  void flush() {
    close_pass();
    if (!commands) return;
    Context& context = *impl->context;
    // On a device that Weft opened, its own callback reports errors as well; but a browser calls that after it has told
    // that the work is done.
    std::optional<ErrorScope> scope;
    if (!context.owned || callbacks_come_alone()) scope.emplace(context);
    if (timed && impl->timer) impl->timer->resolve(*timed, commands);
    for (const auto& page : pages) {
      context.queue.WriteBuffer(page->buffer, 0, page->shadow.data(), (page->used + 3) / 4 * 4);
    }
    const wgpu::CommandBuffer buffer = commands.Finish();
    std::unique_ptr<TimedBatch> batch = std::move(timed);
    if (batch) batch->submitted_now();
    for (const Buffer& b : written) b.changed();
    context.queue.Submit(1, &buffer);
    if (const auto timer = impl->timer; batch && timer) timer->submitted(std::move(batch));
    reset();
    impl->bind_groups.age();
    if (scope) scope->collect("submitting GPU work");
    context.check();
  }

  // Work of the GPU up to some submit.
  class PendingWork final : public DeviceCompletion {
   public:
    explicit PendingWork(const std::shared_ptr<Context>& context)
        : DeviceCompletion(context), done_(context->mark()), known_(context->late_failures()) {}
    bool settled() const override { return failed_.load(std::memory_order_acquire) || done_->is_done(); }
    const Event& event() const override { return *done_; }
    void fail(std::exception_ptr why) override {
      error_ = std::move(why);
      failed_.store(true, std::memory_order_release);
    }
    void take() const {
      if (failed_.load(std::memory_order_acquire)) std::rethrow_exception(error_);
      if (done_->error) std::rethrow_exception(done_->error);
      context_->check_since(known_);
      context_->check();
    }

   private:
    std::shared_ptr<Event> done_;
    std::uint64_t known_;
    std::atomic<bool> failed_ = false;
    std::exception_ptr error_;
  };

  Future<void> submit() {
    try {
      impl->context->check();
      close_pass();
      std::vector<std::shared_ptr<ReadBatch>> batches;
      if (!reads.empty()) batches = encode_reads(*impl, open_commands(), reads);
      flush();
      flushed = false;
      for (const auto& batch : batches) batch->start_map();
    } catch (...) {
      fail_reads(std::current_exception());
      reset();
      throw;
    }
    for (const auto& r : reads) r->submitted();
    reads.clear();
    const auto work = std::make_shared<PendingWork>(impl->context);
    return Future<void>(work, [work] { work->take(); });
  }

  void fail_reads(const std::exception_ptr& why) {
    for (const auto& r : reads) r->fail(why);
    reads.clear();
  }

  void reset() {
    commands = nullptr;
    pass = nullptr;
    current = nullptr;
    dispatches = 0;
    work = 0;
    timed.reset();
    for (auto& page : pages) impl->pages.give_back(std::move(page));
    pages.clear();
    held.clear();
    written.clear();
    held_recordings.clear();
    scratch = {};
  }
};

Encoder::Encoder(Device device) : state_(std::make_unique<State>(std::move(device))) {}
Encoder::~Encoder() {
  if (!state_) return;
  const std::lock_guard held(state_->impl->context->lock);
  if (!state_->reads.empty()) {
    state_->fail_reads(std::make_exception_ptr(InvalidArgument("this read's encoder was dropped without submit()")));
  }
  state_->reset();
}
Device& Encoder::device() { return state_->device; }
void Encoder::dispatch(const Dispatch& dispatch) {
  const std::lock_guard held(state_->impl->context->lock);
  state_->dispatch(dispatch, step_, live_bytes_);
}
void Encoder::dispatch(const std::shared_ptr<const PreparedDispatch>& dispatch, std::span<const Binding> bindings,
                       std::span<const NumberParam> numbers) {
  const std::lock_guard held(state_->impl->context->lock);
  state_->dispatch(*dispatch, bindings, numbers, step_, live_bytes_);
}

Buffer Encoder::scratch(std::uint64_t bytes) {
  Buffer& buffer = state_->scratch;
  // Dispatches that use the smaller buffer hold it.
  if (!buffer || buffer.size() < bytes) buffer = state_->device.allocate(bytes);
  return buffer;
}

bool Encoder::replay(Recording& recording, std::span<const Substitution> substitutions) {
  const std::lock_guard held(state_->impl->context->lock);
  return state_->replay(recording.state_, substitutions);
}

void Encoder::flush() {
  const std::lock_guard held(state_->impl->context->lock);
  state_->flush();
}

void Encoder::copy(const Buffer& source, std::uint64_t source_offset, const Buffer& target, std::uint64_t target_offset,
                   std::uint64_t bytes) {
  if (bytes == 0) return;
  if ((source_offset | target_offset | bytes) % 4 != 0) {
    throw InvalidArgument("copy: offsets {} and {} and size {} must be multiples of 4", source_offset, target_offset,
                          bytes);
  }
  if (!source.on_gpu() || !target.on_gpu()) throw InvalidArgument("copy: both buffers must be in GPU memory");
  for (const auto& [buffer, offset] : {std::pair(&source, source_offset), std::pair(&target, target_offset)}) {
    // Pool buffers have padding after their end; sizes are rounded up to words there.
    const std::uint64_t size = buffer->gpu().GetSize();
    if (offset > size || bytes > size - offset) {
      throw InvalidArgument("copy: bytes {} to {} of a buffer of {}", offset, offset + bytes, buffer->size());
    }
  }
  if (source.gpu().Get() == target.gpu().Get()) throw InvalidArgument("copy: source and target are one buffer");
  const std::lock_guard held(state_->impl->context->lock);
  state_->impl->context->check_known();
  for (const Buffer* buffer : {&source, &target}) state_->impl->pool->require(buffer->gpu());
  state_->close_pass();
  state_->open_commands().CopyBufferToBuffer(source.gpu(), source_offset, target.gpu(), target_offset, bytes);
  state_->held.push_back(source);
  state_->held.push_back(target);
  state_->writes(target);
}

Future<ReadBytes> Encoder::read(const Buffer& source, std::uint64_t offset, std::uint64_t bytes) {
  if (offset > source.size() || bytes > source.size() - offset) {
    throw InvalidArgument("read: bytes {} to {} of a buffer of {}", offset, offset + bytes, source.size());
  }
  if (!source.on_gpu()) throw InvalidArgument("read: the buffer is not in GPU memory");
  state_->impl->pool->require(source.gpu());
  state_->reads.push_back(std::make_shared<PendingRead>(state_->impl->context, source, offset, bytes));
  return future_of(state_->reads.back());
}

Future<void> Encoder::submit() {
  const std::lock_guard held(state_->impl->context->lock);
  return state_->submit();
}

}  // namespace weft::gpu
