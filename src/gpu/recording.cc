#include "gpu/recording.h"

#include "core/format.h"
#include "gpu/prepared.h"

#include <algorithm>

#include "weft/error.h"

namespace weft::gpu {

Recording::State::Slot& Recording::State::slot_of(const Buffer& placeholder) {
  for (Slot& s : slots) {
    if (s.id == placeholder.id()) return s;
  }
  slots.push_back({placeholder.id(), placeholder.size(), placeholder.capacity(), false, nullptr, {}});
  return slots.back();
}

void Recording::State::add(const Dispatch& d, std::string_view step_label, std::uint64_t live_bytes) {
  if (d.workgroups[0] == 0 || d.workgroups[1] == 0 || d.workgroups[2] == 0) return;
  const std::lock_guard held(device.impl().context->lock);
  check_dispatch(*device.impl().context, d);
  add(device.impl().pipelines.request(d), d.params, d.numbers, d.bindings, run_of(d, step_label, live_bytes));
}

void Recording::State::add(std::shared_ptr<Pipeline> pipeline, std::span<const std::byte> block,
                           std::span<const NumberParam> given_numbers, std::span<const Binding> bindings,
                           KernelRun run) {
  Device::Impl& impl = device.impl();
  const std::lock_guard held_lock(impl.context->lock);
  impl.context->check_known();
  // Mesa's software drivers map memory for every bind group, and crash when the system's limit of mappings is reached.
  constexpr std::size_t kMaxInSoftware = 1 << 15;
  if (impl.context->capabilities.software && steps.size() == kMaxInSoftware) {
    throw Unsupported(
        "more than {} dispatches in one recording on a software device; with larger bindings "
        "(--binding-limit), or smaller tensors, they are fewer",
        kMaxInSoftware);
  }
  Step step;
  step.pipeline = std::move(pipeline);
  step.first_range = static_cast<std::uint32_t>(ranges.size());
  if (!block.empty()) {
    const std::size_t alignment = impl.context->limits.minUniformBufferOffsetAlignment;
    step.param_range = param_range(*impl.context, block.size());
    step.param_offset = static_cast<std::uint32_t>((params.size() + alignment - 1) / alignment * alignment);
    params.resize(step.param_offset);
    params.insert(params.end(), block.begin(), block.end());
    step.param_bytes = static_cast<std::uint32_t>(block.size());
    step.first_number = static_cast<std::uint32_t>(numbers.size());
    step.number_count = static_cast<std::uint32_t>(given_numbers.size());
    numbers.insert(numbers.end(), given_numbers.begin(), given_numbers.end());
  }
  const auto index = static_cast<std::uint32_t>(steps.size());
  for (const Binding& b : bindings) {
    if (b.buffer.is_placeholder()) {
      Slot& slot = slot_of(b.buffer);
      slot.uses.emplace_back(index, static_cast<std::uint32_t>(ranges.size()));
      slot.written |= b.access == Access::read_write;
      ranges.push_back({nullptr, b.offset, b.size});
    } else {
      ranges.push_back({b.buffer.gpu(), b.offset, b.size});
      held.push_back(b.buffer);
      if (b.access == Access::read_write && std::ranges::find(written, b.buffer) == written.end()) {
        written.push_back(b.buffer);
      }
    }
  }
  steps.push_back(std::move(step));
  runs.push_back(std::move(run));
}

void Recording::State::finish() {
  if (finished == steps.size()) return;
  Device::Impl& impl = device.impl();
  const std::lock_guard held_lock(impl.context->lock);
  for (std::size_t i = finished; i < steps.size(); ++i) impl.pipelines.finish(*steps[i].pipeline);
  std::uint64_t end = 0;
  for (const Step& s : steps) end = std::max<std::uint64_t>(end, std::uint64_t{s.param_offset} + s.param_range);
  if (end > 0 && (!param_buffer || param_buffer.GetSize() < end)) {
    if (end > impl.context->limits.maxBufferSize) throw Unsupported("the recording's parameters take {} bytes", end);
    if (param_buffer) impl.bind_groups.forget(param_buffer);
    param_buffer = make_uniform_buffer(*impl.context, end, "weft recorded parameters");
    finished = 0;
  }
  if (!params.empty()) {
    params.resize((params.size() + 3) / 4 * 4);
    impl.context->queue.WriteBuffer(param_buffer, 0, params.data(), params.size());
  }
  for (std::size_t i = finished; i < steps.size(); ++i) dirty.push_back(static_cast<std::uint32_t>(i));
  finished = steps.size();
}

std::vector<Buffer> Recording::State::prepare(std::span<const Substitution> substitutions) {
  finish();
  std::vector<Buffer> writes;
  for (const Substitution& s : substitutions) {
    const auto slot = std::ranges::find(slots, s.placeholder.id(), &Slot::id);
    if (slot == slots.end()) continue;  // an input that no dispatch reads
    if (slot->written) writes.push_back(s.buffer);
    if (!s.buffer.on_gpu()) throw InvalidArgument("replay: a substitute is not in GPU memory");
    device.impl().pool->require(s.buffer.gpu());
    if (s.buffer.size() < slot->size || s.buffer.capacity() < slot->capacity) {
      throw InvalidArgument("replay: a substitute of {} bytes in {} stands for a placeholder of {} in {}",
                            s.buffer.size(), s.buffer.capacity(), slot->size, slot->capacity);
    }
    if (slot->current.Get() == s.buffer.gpu().Get()) continue;
    slot->current = s.buffer.gpu();
    slot->foreign = !device.impl().pool->owns(slot->current);
    for (const auto& [step, range] : slot->uses) {
      ranges[range].buffer = slot->current;
      dirty.push_back(step);
    }
  }
  if (dirty.empty()) return writes;
  for (const Slot& s : slots) {
    if (!s.current) throw InvalidArgument("replay: no buffer was given for a placeholder of {} bytes", s.size);
  }
  std::ranges::sort(dirty);
  dirty.erase(std::unique(dirty.begin(), dirty.end()), dirty.end());
  Device::Impl& impl = device.impl();
  for (const std::uint32_t i : dirty) {
    Step& step = steps[i];
    const Signature& signature = step.pipeline->layout->signature;
    const std::span<const BoundRange> bound(ranges.data() + step.first_range, signature.count);
    check_ranges(*impl.context, runs[i].kernel, bound, signature.writes);
    const ParamRange window{signature.params ? param_buffer : nullptr, step.param_range};
    step.group = impl.bind_groups.get(*step.pipeline->layout, window, bound);
  }
  dirty.clear();
  return writes;
}

void Recording::State::release_foreign() {
  for (Slot& slot : slots) {
    if (!slot.foreign || !slot.current) continue;
    slot.current = nullptr;
    for (const auto& [step, range] : slot.uses) {
      ranges[range].buffer = nullptr;
      steps[step].group = nullptr;
      dirty.push_back(step);
    }
  }
}

Recording::Recording(Device device) : state_(std::make_shared<State>(std::move(device))) {}
Recording::~Recording() {
  if (!state_) return;
  const Device device = state_->device;  // outlives the lock
  const std::lock_guard held(device.impl().context->lock);
  if (state_->param_buffer) device.impl().bind_groups.forget(state_->param_buffer);
  state_.reset();
}
Recording::Recording(Recording&&) noexcept = default;
Recording& Recording::operator=(Recording&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}
Device& Recording::device() { return state_->device; }
void Recording::dispatch(const Dispatch& dispatch) { state_->add(dispatch, step_, live_bytes_); }
void Recording::dispatch(const std::shared_ptr<const PreparedDispatch>& dispatch, std::span<const Binding> bindings,
                         std::span<const NumberParam> numbers) {
  state_->add(dispatch->pipeline, dispatch->params, numbers, bindings, run_of(*dispatch, step_, live_bytes_));
}
Buffer Recording::scratch(std::uint64_t bytes) {
  if (!state_->scratch || state_->scratch.size() < bytes) state_->scratch = state_->device.allocate(bytes);
  return state_->scratch;
}
std::span<const KernelRun> Recording::dispatches() const { return state_->runs; }
std::size_t Recording::size() const { return state_->steps.size(); }
void Recording::finish() { state_->finish(); }

namespace {

// The compilation of kernels on Dawn's threads.
class Compiling final : public DeviceCompletion {
 public:
  Compiling(std::shared_ptr<Context> context, std::vector<std::shared_ptr<Pipeline>> pipelines)
      : DeviceCompletion(std::move(context)), pipelines_(std::move(pipelines)) {}
  bool settled() const override { return failed_ || std::ranges::all_of(pipelines_, is_compiled); }
  const Event& event() const override {
    const auto pending = std::ranges::find_if_not(pipelines_, is_compiled);
    // Another thread may have finished the last one since.
    return *(pending == pipelines_.end() ? pipelines_.back() : *pending)->compilation;
  }
  void fail(std::exception_ptr) override { failed_ = true; }
  void look() override {
    for (const auto& p : pipelines_) {
      if (!is_compiled(p)) context_->done(*p->compilation);
    }
  }
  void take() {
    const std::shared_ptr<Device::Impl> device = context_->opened.lock();
    if (!device) throw DeviceLost("compiling: the device was closed");
    for (const auto& p : pipelines_) device->pipelines.finish(*p);
  }

 private:
  // Any thread may ask, without the device's lock.
  static bool is_compiled(const std::shared_ptr<Pipeline>& p) { return p->compilation->is_done(); }

  std::vector<std::shared_ptr<Pipeline>> pipelines_;
  std::atomic<bool> failed_ = false;
};

}  // namespace

Future<void> Recording::async_finish() {
  const std::shared_ptr<Context>& context = state_->device.impl().context;
  std::vector<std::shared_ptr<Pipeline>> pipelines;
  const std::lock_guard held(context->lock);
  for (const State::Step& s : state_->steps) {
    if (!s.pipeline->pipeline) pipelines.push_back(s.pipeline);
  }
  if (pipelines.empty()) return Future<void>({}, [] {});
  const auto compiling = std::make_shared<Compiling>(context, std::move(pipelines));
  return Future<void>(compiling, [compiling] { compiling->take(); });
}

}  // namespace weft::gpu
