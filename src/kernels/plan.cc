#include <algorithm>

#include "core/format.h"
#include "gpu/device_impl.h"
#include "kernels/common/memory.h"
#include "kernels/plan_state.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

constexpr std::uint64_t kScratchAlignment = 256;

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
}

// The offsets in its buffer of a view's first byte and of the byte past its last.
std::pair<std::int64_t, std::int64_t> bytes_of(const View& v) {
  const auto start = static_cast<std::int64_t>(v.offset);
  if (v.count() == 0) return {start, start};
  const auto [low, high] = v.layout.offset_range();
  const std::int64_t b = bits(v.dtype);
  return {start + (low * b >> 3), start + ((high + 1) * b + 7) / 8};
}

bool same_layout(const PlannedOperand& a, const PlannedOperand& b) {
  return a.dtype == b.dtype && a.offset_remainder == b.offset_remainder && a.tail_bytes == b.tail_bytes &&
         a.layout == b.layout;
}

std::vector<const View*> pointers(std::span<const View> views) {
  std::vector<const View*> list;
  for (const View& v : views) list.push_back(&v);
  return list;
}

}  // namespace

bool describe_operands(std::span<const View* const> views, std::uint64_t alignment, std::span<PlannedOperand> planned) {
  bool sound = true;
  for (std::size_t i = 0; i < views.size(); ++i) {
    const View& v = *views[i];
    PlannedOperand& p = planned[i];
    const auto [begin, end] = bytes_of(v);
    sound &= !v.buffer || ((v.buffer.on_gpu() || v.buffer.is_placeholder() || v.buffer.is_number()) && begin >= 0 &&
                           static_cast<std::uint64_t>(end) <= v.buffer.size());
    p.dtype = v.dtype;
    p.layout = v.layout;
    p.offset_remainder = static_cast<std::uint32_t>(v.offset % alignment);
    // Kernels access whole words, and 16 bytes at once if the buffer's last 16 are complete.
    const std::uint64_t words = v.buffer ? v.buffer.capacity() / 4 * 4 : 0;
    const auto seen = static_cast<std::int64_t>(std::min(words, std::uint64_t{1} << 62));
    p.tail_bytes = seen >= (end + 15) / 16 * 16 ? PlannedOperand::kWhole
                                                : static_cast<std::int32_t>(std::max<std::int64_t>(seen - end, -1));
    if (v.buffer && v.buffer.is_number()) p.tail_bytes = PlannedOperand::kNumber;
    p.owner = static_cast<std::int32_t>(i);
    p.distance = 0;
    if (!v.buffer) {
      p.tail_bytes = PlannedOperand::kAbsent;
      continue;
    }
    for (std::size_t k = 0; k < i; ++k) {
      if (!(views[k]->buffer == v.buffer)) continue;
      p.owner = static_cast<std::int32_t>(k);
      p.distance = static_cast<std::int64_t>(v.offset) - static_cast<std::int64_t>(views[k]->offset);
      break;
    }
  }
  return sound;
}

Planner::Planner(gpu::Device device, std::span<const View* const> operands, PlanFor purpose, Inspect inspect)
    : device_(std::move(device)),
      purpose_(purpose),
      inspect_(std::move(inspect)),
      views_(operands),
      state_(std::make_shared<Plan::State>()) {
  state_->operands.resize(operands.size());
  describe_operands(operands, device_.capabilities().storage_alignment, state_->operands);
}

Plan::State::Binding Planner::located(const gpu::Binding& b) const {
  Plan::State::Binding result{Plan::State::kDevice, static_cast<std::int64_t>(b.offset), b.size, b.access, b.buffer};
  if (b.buffer == scratch_) {
    result.operand = Plan::State::kScratch;
    result.buffer = {};
  }
  for (std::size_t i = 0; i < views_.size(); ++i) {
    if (!(views_[i]->buffer == b.buffer)) continue;
    result.operand = static_cast<int>(i);
    result.offset -= static_cast<std::int64_t>(views_[i]->offset);
    result.buffer = {};
    if (b.access == gpu::Access::read_write) state_->operands[i].written = true;
    break;
  }
  if (result.operand == Plan::State::kDevice && b.buffer.is_placeholder()) {
    throw InternalError("a planned call names memory that is none of its operands");
  }
  return result;
}

void Planner::locate(std::span<const gpu::NumberParam> numbers, Plan::State::Dispatch& dispatch) const {
  for (const gpu::NumberParam& n : numbers) {
    const auto it = std::ranges::find_if(views_, [&](const View* v) { return v->buffer == n.buffer; });
    if (it == views_.end()) throw InternalError("a planned call names a number that is none of its operands");
    dispatch.numbers.emplace_back(static_cast<int>(it - views_.begin()), gpu::NumberParam{{}, n.offset, n.bytes});
  }
}

void Planner::dispatch(const gpu::Dispatch& d) {
  if (d.workgroups[0] == 0 || d.workgroups[1] == 0 || d.workgroups[2] == 0) return;
  gpu::Device::Impl& impl = device_.impl();
  impl.context->check_known();
  gpu::check_dispatch(*impl.context, d);
  const auto prepared = std::make_shared<gpu::PreparedDispatch>();
  if (purpose_ == PlanFor::recording)
    prepared->pipeline = impl.pipelines.request(d);
  else if (inspect_)
    inspect_(d);
  else if (!impl.pipelines.known(d.key))
    (void)d.make_wgsl();  // reports what the device does not support
  prepared->params.assign(d.params.begin(), d.params.end());
  prepared->run = gpu::run_of(d, {}, 0);
  Plan::State::Dispatch planned{prepared, {}, {}};
  for (const gpu::Binding& b : d.bindings) planned.bindings.push_back(located(b));
  locate(d.numbers, planned);
  state_->runs.push_back(prepared->run);
  state_->dispatches.push_back(std::move(planned));
}

void Planner::dispatch(const std::shared_ptr<const gpu::PreparedDispatch>& d, std::span<const gpu::Binding> bindings,
                       std::span<const gpu::NumberParam> numbers) {
  Plan::State::Dispatch planned{d, {}, {}};
  locate(numbers, planned);
  for (const gpu::Binding& b : bindings) planned.bindings.push_back(located(b));
  state_->runs.push_back(d->run);
  state_->dispatches.push_back(std::move(planned));
}

Buffer Planner::scratch(std::uint64_t bytes) {
  const std::uint64_t most = device_.capabilities().max_buffer;
  if (bytes > most) throw Unsupported("{} bytes of scratch; buffers of this device hold {}", bytes, most);
  state_->scratch = std::max(state_->scratch, bytes);
  constexpr std::uint64_t kEndless = std::uint64_t{1} << 62;
  if (!scratch_) scratch_ = Buffer::placeholder(kEndless, kEndless);
  return scratch_;
}

void Planner::append(const Plan::State& plan, std::span<const View* const> operands) {
  GpuScratch scratch(*this);
  plan.record(*this, operands, plan.scratch > 0 ? std::optional(scratch.take(plan.scratch)) : std::nullopt);
}

std::shared_ptr<const Plan::State> Planner::finish(std::optional<std::uint64_t> undecided) {
  state_->undecided = undecided;
  // Binding sizes are rounded up to whole words and vectors; limits them to the scratch that will be allocated.
  for (Plan::State::Dispatch& d : state_->dispatches) {
    for (Plan::State::Binding& b : d.bindings) {
      if (b.operand == Plan::State::kScratch) {
        b.size = std::min(b.size, state_->scratch - static_cast<std::uint64_t>(b.offset));
      }
    }
  }
  return std::move(state_);
}

GpuScratch::GpuScratch(gpu::Commands& commands)
    : planner_(dynamic_cast<Planner&>(commands)), held_(planner_.scratch_used_) {}

GpuScratch::~GpuScratch() { planner_.scratch_used_ = held_; }

View GpuScratch::take(std::uint64_t bytes) {
  const std::uint64_t offset = planner_.scratch_used_;
  planner_.scratch_used_ += aligned(bytes);
  return {planner_.scratch(planner_.scratch_used_), offset, DType::u8, {static_cast<std::int64_t>(bytes)}};
}

void Plan::State::record(gpu::Commands& commands, std::span<const View* const> views,
                         const std::optional<View>& given) const {
  Buffer memory;
  std::uint64_t memory_offset = 0;
  if (scratch > 0 && given) {
    memory = given->buffer;
    memory_offset = given->offset;
  } else if (scratch > 0) {
    memory = commands.scratch(scratch);
  }
  std::vector<gpu::Binding> bound;
  std::vector<gpu::NumberParam> numbers;
  for (const Dispatch& d : dispatches) {
    bound.clear();
    numbers.clear();
    for (const auto& [operand, n] : d.numbers) {
      numbers.push_back({views[static_cast<std::size_t>(operand)]->buffer, n.offset, n.bytes});
    }
    for (const Binding& b : d.bindings) {
      const Buffer& buffer = b.operand >= 0          ? views[static_cast<std::size_t>(b.operand)]->buffer
                             : b.operand == kScratch ? memory
                                                     : b.buffer;
      const std::uint64_t start = b.operand >= 0          ? views[static_cast<std::size_t>(b.operand)]->offset
                                  : b.operand == kScratch ? memory_offset
                                                          : 0;
      bound.push_back({buffer, start + static_cast<std::uint64_t>(b.offset), b.size, b.access});
    }
    commands.dispatch(d.prepared, bound, numbers);
  }
}

Plan::Plan(Device device, std::shared_ptr<const State> state) : device_(std::move(device)), state_(std::move(state)) {}

std::uint64_t Plan::scratch() const { return state_ ? state_->scratch : 0; }

std::span<const KernelRun> Plan::dispatches() const {
  return state_ ? std::span<const KernelRun>(state_->runs) : std::span<const KernelRun>();
}

bool Plan::fits(std::span<const View> views) const {
  if (!state_ || views.size() != state_->operands.size()) return !state_ && views.empty();
  const std::uint64_t alignment = device_.is_gpu() ? device_.gpu().capabilities().storage_alignment : 1;
  std::vector<PlannedOperand> found(views.size());
  if (!describe_operands(pointers(views), alignment, found) && device_.is_gpu()) return false;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const PlannedOperand& planned = state_->operands[i];
    if (!same_layout(found[i], planned)) return false;
    for (std::size_t k = 0; k < i; ++k) {
      const bool shared = planned.owner == state_->operands[k].owner, shares = found[i].owner == found[k].owner;
      const auto written = [&](std::size_t at) {
        return state_->operands[static_cast<std::size_t>(state_->operands[at].owner)].written;
      };
      if (shared &&
          (!shares || found[i].distance - found[k].distance != planned.distance - state_->operands[k].distance)) {
        return false;
      }
      if (shares && !shared && (written(i) || written(k))) return false;
    }
  }
  return true;
}

void Plan::record(Stream& stream, std::span<const View> operands, const std::optional<View>& given) const {
  if (!state_) return;
  if (stream.cpu()) {
    if (device_.is_gpu()) throw InvalidArgument("record: planned for {}, the stream is the CPU's", device_.name());
    return state_->calls(stream, operands);
  }
  if (!device_.is_gpu() || !(stream.gpu()->device() == device_.gpu())) {
    throw InvalidArgument("record: planned for {}, the stream is another device's", device_.name());
  }
  if (!fits(operands)) {
    std::string given_views, planned;
    for (const View& v : operands) given_views += (given_views.empty() ? "" : ", ") + to_string(v);
    for (const PlannedOperand& o : state_->operands) {
      View v;
      v.dtype = o.dtype;
      v.layout = o.layout;
      planned += (planned.empty() ? "" : ", ") + to_string(v);
    }
    throw InvalidArgument("record: operands {}; expected {}, in buffers as planned (Plan::fits)", given_views, planned);
  }
  const auto size = [](const View& v) { return byte_size(v.dtype, static_cast<std::uint64_t>(v.count())); };
  if (given && (!given->is_dense() || size(*given) < state_->scratch || given->offset % kScratchAlignment != 0)) {
    throw InvalidArgument("record: scratch {} at byte {}; expected {} dense bytes at a multiple of {}",
                          to_string(*given), given->offset, state_->scratch, kScratchAlignment);
  }
  for (const auto& d : state_->dispatches) {
    if (!d.prepared->pipeline) throw InvalidArgument("record: the plan was made for inspection");
  }
  state_->record(*stream.gpu(), pointers(operands), given);
}

Plan plan(const Device& device, std::span<const View> operands, PlannedCalls calls, PlanFor purpose) {
  const std::vector<const View*> views = pointers(operands);
  if (device.is_gpu()) {
    Planner planner(device.gpu(), views, purpose);
    calls(planner, operands);
    return {device, planner.finish()};
  }
  auto state = std::make_shared<Plan::State>();
  state->operands.resize(views.size());
  describe_operands(views, 1, state->operands);
  state->calls = std::move(calls);
  return {device, std::move(state)};
}

View operand(DType dtype, const Layout& layout) {
  View v;
  v.dtype = dtype;
  v.layout = layout;
  const auto [low, high] = layout.offset_range();
  const std::int64_t b = bits(dtype);
  // The first element comes after those that negative strides reach.
  if (low < 0) v.offset = static_cast<std::uint64_t>((-low * b / 8 + 255) / 256 * 256);
  const auto bytes = v.offset + static_cast<std::uint64_t>(layout.count() ? ((high + 1) * b + 7) / 8 : 1);
  v.buffer = Buffer::placeholder((bytes + 3) / 4 * 4, (bytes + 15) / 16 * 16);
  return v;
}

}  // namespace weft::kernels
