#include "compiler/executable.h"

#include <chrono>
#include <cstring>
#include <ranges>

#include "compiler/largest_value.h"
#include "compiler/plan_calls.h"
#include "compiler/target.h"
#include "compiler/verify_schedule.h"
#include "core/format.h"
#include "core/in_quotes.h"
#include "core/nearest.h"
#include "core/system.h"
#include "cpu/step_timer.h"
#include "gpu/device_impl.h"
#include "weft/error.h"
#include "weft/flags.h"
#include "weft/log.h"

namespace weft {

using compiler::StoredView;
using compiler::Port;
using compiler::ScheduledCall;
using compiler::Storage;

namespace {

// Tensors at other offsets in their buffers need another recording; at most this many are cached.
constexpr std::size_t kMaxRecordings = 8;

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

std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t unit) {
  return std::max((bytes + unit - 1) / unit * unit, unit);
}

}  // namespace

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
  for (std::size_t i = 0; i < schedule_.numbers.size(); ++i) number_names_.emplace(schedule_.numbers[i].name, i);
  std::vector<std::shared_ptr<Recorded>> made;
  {
    const gpu::CallbacksHeld held;
    const std::lock_guard lock(store_->recording());
    set_up();
    store_->add(*this);
    made = recordings_;
  }
  try {
    // Kernels compile on Dawn's threads; nobody else need wait for them.
    for (const auto& r : made) {
      r->recording.finish();
      r->compiled = true;
    }
  } catch (...) {
    const std::lock_guard lock(store_->recording());
    store_->remove(*this);
    throw;
  }
  log_mark("kernels are compiled");
  if (log_topic("schedule")) log_schedule();
}

// Before kernels are planned, which for results of terabytes takes long.
void Executable::Impl::check_sizes() const {
  const std::uint64_t most = device.is_gpu() ? compiler::Target::of(device).max_buffer : physical_memory();
  for (const ScheduledCall& call : schedule_.calls) {
    for (const StoredView& y : call.outputs) {
      const std::uint64_t bytes = schedule_.storages[static_cast<std::size_t>(y.storage)].bytes;
      if (bytes <= most) continue;
      throw OutOfMemory("{}{}: a result of {} bytes; {} holds at most {}", call.label, recorded_at(call.line), bytes,
                        device.is_gpu() ? "a buffer of " + device.name() : "this machine", most);
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
  report = std::move(fresh);
  check_sizes();
  try {
    compiler::plan_calls(schedule_, device, kernels::PlanFor::recording);
    plan();
    place();
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

void Executable::Impl::plan() {
  planned_ = compiler::plan_schedule(schedule_, compiler::Target::of(device).max_buffer);
  compiler::verify_schedule(schedule_, planned_);
  const compiler::MemoryPlan& plan = planned_.plan;
  report.planned_bytes = plan.bytes();
  report.liveness_bound = compiler::liveness_bound(planned_.items, planned_.steps.size());
  const std::vector<std::uint64_t> live = compiler::live_bytes(planned_.items, planned_.steps.size());
  for (std::size_t s = 0; s < planned_.steps.size(); ++s) {
    ScheduleStep step{schedule_.calls[s].label, {}, {}};
    for (const int i : planned_.steps[s].reads) step.reads.push_back(plan.places[i].buffer);
    for (const int i : planned_.steps[s].writes) step.writes.push_back(plan.places[i].buffer);
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
    // The recipe is not needed any more, or will not be available for long.
    if (!restorable_ || !storage.constant->shareable()) schedule_.storages[i].constant.reset();
  }
}

Executable::Impl::Memory Executable::Impl::with_scratch(std::span<const Buffer> buffers) const {
  Memory memory = memory_;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    const int item = planned_.item_of[i];
    if (item < 0) continue;
    const compiler::Place& p = planned_.plan.places[item];
    memory[i] = {buffers[p.buffer], p.offset};
  }
  return memory;
}

// Allocates the intermediates' memory and makes everything that refers to it.
void Executable::Impl::place() {
  std::vector<Buffer> buffers = store_->scratch(planned_.plan.buffers);
  placed_ = true;
  if (device.is_gpu()) {
    memory_ = with_scratch(buffers);
    Run none;
    none.bound.resize(schedule_.inputs.size() + schedule_.outputs.size());
    recorded(none);
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
  for (std::size_t p = 0; p < schedule_.inputs.size() + schedule_.outputs.size(); ++p) {
    const std::uint64_t bytes = rounded_up(byte_size(port_at(p).type), 16);
    calls->ports.push_back(Buffer::placeholder(bytes, bytes));
  }
  calls->steps =
      steps(memory, [&](int p) { return std::pair(calls->ports[static_cast<std::size_t>(p)], std::uint64_t{0}); });
  return calls;
}

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

void Executable::Impl::drop_scratch() {
  placed_ = false;
  ++generation_;
  recordings_.clear();
  host_calls_.reset();
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    if (planned_.item_of[i] >= 0) memory_[i] = {};
  }
}

int Executable::Impl::port(const Storage& storage) const {
  if (storage.donor >= 0) return port(schedule_.storages[storage.donor]);
  if (storage.kind == Storage::Kind::input) return storage.index;
  if (storage.kind == Storage::Kind::output) return static_cast<int>(schedule_.inputs.size()) + storage.index;
  return -1;
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

void Executable::Impl::launch(Stream& stream, const Step& step) const {
  try {
    step.call->op->lower({stream, step.inputs, step.outputs});
  } catch (const Unsupported& e) {
    throw Unsupported("{}{} on {}: {}", step.call->label, recorded_at(step.call->line), device.name(), e.what());
  }
}

void Executable::Impl::record(gpu::Recording& recording, const Step& step) const {
  std::vector<View> views = step.inputs;
  views.insert(views.end(), step.outputs.begin(), step.outputs.end());
  const kernels::Plan& plan = step.call->plan;
  if (plan.fits(views)) return plan.record(recording, views, step.scratch);
  // Tensors whose offsets differ from the planned ones, such as those at which four elements are not aligned.
  const kernels::Plan other = compiler::plan_call(*step.call, device, views, kernels::PlanFor::recording);
  const bool enough = other.scratch() <= plan.scratch();
  other.record(recording, views, enough ? step.scratch : std::nullopt);
}

// The recording for the offsets of the tensors that the run was given and for the readable ends of their buffers;
// without tensors, for those of Weft's own allocations. Its kernels may still be compiling.
std::shared_ptr<Executable::Impl::Recorded> Executable::Impl::recorded(const Run& run) {
  const auto offset = [&](std::size_t p) { return run.bound[p] ? run.bound[p]->view().offset : 0; };
  struct Ends {
    std::uint64_t size, capacity;
  };
  const auto ends = [&](std::size_t p) {
    const std::uint64_t end = offset(p) + byte_size(port_at(p).type);
    // Kernels load sixteen bytes at once if the last ones are readable.
    const std::uint64_t size = rounded_up(end, 4), whole = rounded_up(end, 16);
    return Ends{size, !run.bound[p] || run.bound[p]->view().buffer.capacity() >= whole ? whole : size};
  };
  for (const auto& r : recordings_) {
    bool same = true;
    for (std::size_t p = 0; same && p < run.bound.size(); ++p) {
      same = r->offsets[p] == offset(p) && r->ports[p].placeholder.capacity() == ends(p).capacity;
    }
    if (same) return r;
  }
  const auto made = std::make_shared<Recorded>(gpu::Recording(device.gpu()));
  for (std::size_t p = 0; p < run.bound.size(); ++p) {
    made->offsets.push_back(offset(p));
    made->ports.push_back({Buffer::placeholder(ends(p).size, ends(p).capacity), Buffer()});
  }
  const auto memory = [&](int p) { return std::pair(made->ports[p].placeholder, made->offsets[p]); };
  for (const Step& step : steps(memory_, memory)) {
    const auto index = static_cast<std::size_t>(step.call - schedule_.calls.data());
    made->recording.begin_step(step.call->label, report.steps[index].live_bytes);
    record(made->recording, step);
  }
  log_mark("dispatches are recorded");
  // Kernels compile on Dawn's threads meanwhile.
  store_->fill();
  log_mark("constants are on the device");
  report_dispatches(made->recording.dispatches());
  if (recordings_.size() == kMaxRecordings) recordings_.erase(recordings_.begin());
  recordings_.push_back(made);
  return made;
}

const Port& Executable::Impl::port_at(std::size_t port) const {
  const std::size_t inputs = schedule_.inputs.size();
  return port < inputs ? schedule_.inputs[port] : schedule_.outputs[port - inputs];
}

std::string Executable::Impl::port_text(std::size_t port) const {
  const std::size_t inputs = schedule_.inputs.size();
  if (port < inputs && port + schedule_.captured >= inputs) return "a tensor that the graph reads";
  return std::format("{} {}", port < inputs ? "input" : "output", in_quotes(port_at(port).name));
}

void Executable::Impl::bind(Run& run, std::size_t port, const Tensor& tensor) const {
  const TensorType& expected = port_at(port).type;
  if (!tensor.defined()) throw InvalidArgument("run: {} is an undefined Tensor", port_text(port));
  if (!find_data(tensor)) {
    throw InvalidArgument("run: {} is {} without data, which is {}", port_text(port), to_string(tensor.type()),
                          tensor.has_data() ? "a view: contiguous() copies it" : "still to be computed");
  }
  if (run.bound[port]) throw InvalidArgument("run: {} is given twice", port_text(port));
  if (tensor.type() != expected) {
    throw InvalidArgument("run: {} is {}, expected {}", port_text(port), to_string(tensor.view()), to_string(expected));
  }
  if (tensor.device() != device) {
    throw InvalidArgument("run: {} is on {}, the graph was compiled for {}{}", port_text(port), tensor.device().name(),
                          device.name(), tensor.device().name() == device.name() ? " (another device)" : "");
  }
  run.bound[port] = &data_of(tensor);
}

// After the lock was released in between.
void Executable::Impl::check_devices(const Run& run) const {
  for (std::size_t p = 0; p < run.bound.size(); ++p) {
    if (run.bound[p]->device() == device) continue;
    throw InvalidArgument("run: {} is on {}, which the graph has left for {}", port_text(p),
                          run.bound[p]->device().name(), device.name());
  }
}

void Executable::Impl::bind(Run& run, std::span<const NamedTensor> given, const Side& side) const {
  for (const NamedTensor& t : given) {
    const auto it = side.names.find(t.name);
    if (it == side.names.end()) {
      std::vector<std::string_view> names;
      for (std::size_t p = side.first; p < side.first + side.count; ++p) names.push_back(port_at(p).name);
      throw InvalidArgument("run: the graph has no {} {}{}", side.what, in_quotes(t.name),
                            names_there_are(t.name, names));
    }
    bind(run, it->second, t.tensor);
  }
}

void Executable::Impl::bind(Run& run, std::span<const Tensor> given, const Side& side) const {
  if (given.size() != side.count) {
    throw InvalidArgument("run: {} {}s, the graph has {}", given.size(), side.what, side.count);
  }
  for (std::size_t i = 0; i < given.size(); ++i) bind(run, side.first + i, given[i]);
}

void Executable::Impl::set_number(Run& run, std::size_t number, const Number& value) const {
  const Port& port = schedule_.numbers[number];
  if (run.number_given[number]) throw InvalidArgument("run: number {} is given twice", in_quotes(port.name));
  run.number_given[number] = 1;
  run.numbers[number] = value.bits(port.type.dtype);
}

void Executable::Impl::set_numbers(Run& run, std::span<const NamedNumber> given) const {
  for (const NamedNumber& n : given) {
    const auto it = number_names_.find(n.name);
    if (it == number_names_.end()) {
      std::vector<std::string_view> names;
      for (const Port& port : schedule_.numbers) names.push_back(port.name);
      throw InvalidArgument("run: the graph has no number {}{}", in_quotes(n.name), names_there_are(n.name, names));
    }
    set_number(run, it->second, n.value);
  }
  const auto missing = std::ranges::find(run.number_given, 0);
  if (missing == run.number_given.end()) return;
  const Port& port = schedule_.numbers[static_cast<std::size_t>(missing - run.number_given.begin())];
  throw InvalidArgument("run: number {} ({}) is missing", in_quotes(port.name), name(port.type.dtype));
}

void Executable::Impl::set_numbers(Run& run, std::span<const Number> given) const {
  if (given.size() != schedule_.numbers.size()) {
    throw InvalidArgument("run: {} numbers, the graph has {}", given.size(), schedule_.numbers.size());
  }
  for (std::size_t i = 0; i < given.size(); ++i) set_number(run, i, given[i]);
}

void Executable::Impl::check_all_bound(Run& run) const {
  const std::vector<const DeviceData*>& bound = run.bound;
  auto& by_buffer = run.by_buffer;
  for (std::size_t p = 0; p < bound.size(); ++p) {
    if (!bound[p]) throw InvalidArgument("run: {} ({}) is missing", port_text(p), to_string(port_at(p).type));
  }
  for (const auto& [output, input] : donors_) {
    const View &given = bound[output]->view(), &donated = bound[input]->view();
    if (given.buffer == donated.buffer && given.offset == donated.offset) continue;
    throw InvalidArgument("run: {} is another tensor than {}, whose memory was donated for it; give the same for both",
                          port_text(output), port_text(input));
  }
  // By buffer, inputs first: an output is refused if another port is in the same buffer, unless that was donated for
  // it.
  by_buffer.resize(bound.size());
  for (std::size_t p = 0; p < bound.size(); ++p) by_buffer[p] = {bound[p]->view().buffer.identity(), p};
  std::ranges::sort(by_buffer);
  const auto donor = [&](std::size_t port) {
    const auto it = std::ranges::lower_bound(donors_, port, {}, &std::pair<std::size_t, std::size_t>::first);
    return it != donors_.end() && it->first == port ? std::optional(it->second) : std::nullopt;
  };
  for (std::size_t i = 1; i < by_buffer.size(); ++i) {
    const auto [buffer, port] = by_buffer[i];
    const auto [buffer_before, before] = by_buffer[i - 1];
    if (buffer != buffer_before || port < schedule_.inputs.size()) continue;
    const bool alone = i < 2 || by_buffer[i - 2].first != buffer;
    const auto donated = donor(port);
    if (donated && alone) continue;  // it was compared above
    const std::size_t other = donated == before ? by_buffer[i - 2].second : before;
    throw InvalidArgument("run: {} lies in the same buffer as {}; give it its own", port_text(port), port_text(other));
  }
}

std::unique_ptr<Executable::Impl::Run> Executable::Impl::take_run() {
  std::unique_ptr<Run> run;
  {
    const std::lock_guard lock(idle_mutex_);
    if (!idle_runs_.empty()) {
      run = std::move(idle_runs_.back());
      idle_runs_.pop_back();
    }
  }
  if (!run) run = std::make_unique<Run>();
  run->bound.assign(schedule_.inputs.size() + schedule_.outputs.size(), nullptr);
  run->number_given.assign(schedule_.numbers.size(), 0);
  run->numbers.resize(schedule_.numbers.size());
  return run;
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
    if (!placed_) place();
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
  if (!placed_) place();
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
  if (flag_on(Flag::dump_values)) run_and_dump(&executor, calls->steps);
  else for (const Step& step : calls->steps) {
    if (!cpu::steps_are_timed()) launch(executor, step);
    else cpu::timed_step([&] { return describe_step(step); }, [&] { launch(executor, step); });
  }
  if (in_use) return;
  lock.lock();
  idle_host_calls_.push_back(calls);
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
    case Storage::Kind::number: return std::format("{} number {}", s, in_quotes(schedule_.numbers[storage.index].name));
    case Storage::Kind::constant: return std::format("{} constant{}", s, at(o.offset));
    case Storage::Kind::intermediate: break;
  }
  if (planned_.item_of[o.storage] < 0) return s + " empty";
  const compiler::Place& place = planned_.plan.places[planned_.item_of[o.storage]];
  return std::format("{} buffer {}{}", s, place.buffer, at(place.offset + o.offset));
}

void Executable::Impl::log_schedule() const {
  std::string sizes;
  for (const std::uint64_t bytes : planned_.plan.buffers) {
    sizes += std::format("{}{}", sizes.empty() ? "" : " + ", bytes);
  }
  std::string text = std::format("schedule for {}: {} steps; {} buffers of {} bytes for intermediates (at least {} are "
                                 "needed), {} bytes of constants",
                                 device.name(), schedule_.calls.size(), planned_.plan.buffers.size(),
                                 sizes.empty() ? "0" : sizes, report.liveness_bound, report.constant_bytes);
  for (std::size_t i = 0; i < schedule_.calls.size(); ++i) {
    const ScheduledCall& call = schedule_.calls[i];
    text += std::format("\n{:4} {}: ", i, call.label);
    for (std::size_t k = 0; k < call.inputs.size(); ++k) text += (k ? ", " : "") + describe(call.inputs[k]);
    text += " → ";
    for (std::size_t k = 0; k < call.outputs.size(); ++k) text += (k ? ", " : "") + describe(call.outputs[k]);
    if (call.scratch >= 0) text += std::format(", scratch of {} bytes", schedule_.storages[call.scratch].bytes);
  }
  log_message(LogLevel::info, text);
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
