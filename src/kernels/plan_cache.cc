#include "kernels/plan_cache.h"

#include <cstring>

#include "gpu/device_impl.h"
#include "gpu/self_test.h"

namespace weft::kernels {

CallKey& CallKey::raw(const void* bytes, std::size_t size) {
  if (size == 0) return *this;  // bytes may be null then
  if (heap_.empty() && size_ + size <= inline_.size()) {
    std::memcpy(inline_.data() + size_, bytes, size);
    size_ += size;
    return *this;
  }
  if (heap_.empty()) heap_.assign(inline_.data(), size_);
  heap_.append(static_cast<const char*>(bytes), size);
  return *this;
}

CallKey& CallKey::add(const Expression& expression) {
  add(expression.nodes().size());
  for (const Expression::Node& n : expression.nodes()) {
    add(n.op).add(n.type).add(n.input).add(n.bits);
    for (const int arg : n.args) add(arg);
  }
  return add(expression.outputs());
}

CallKey& CallKey::add(const PlannedOperand& o) {
  const struct {
    std::int64_t distance;
    std::uint32_t offset_remainder;
    std::int16_t owner;
    std::int8_t tail_bytes;
    DType dtype;
  } location{o.distance, o.offset_remainder, static_cast<std::int16_t>(o.owner), static_cast<std::int8_t>(o.tail_bytes),
             o.dtype};
  static_assert(std::has_unique_object_representations_v<decltype(location)>);
  return raw(&location, sizeof location).add(o.layout.shape).add(o.layout.strides);
}

PlanCache& PlanCache::of(const gpu::Device& device) {
  const std::lock_guard held(device.impl().planning);
  std::shared_ptr<void>& slot = device.impl().plans;
  if (!slot) slot = std::make_shared<PlanCache>(device.impl().pipelines);
  return *static_cast<PlanCache*>(slot.get());
}

std::shared_ptr<const Plan::State> PlanCache::find(std::string_view key) {
  const std::lock_guard held(mutex_);
  if (const auto found = recent_.find(key); found != recent_.end()) return found->second;
  const auto found = older_.find(key);
  if (found == older_.end()) return nullptr;
  auto plan = std::move(found->second);
  older_.erase(found);
  keep(key, plan);
  return plan;
}

std::size_t PlanCache::size() const {
  const std::lock_guard held(mutex_);
  return recent_.size() + older_.size();
}

void PlanCache::add(std::string_view key, std::shared_ptr<const Plan::State> plan) {
  const std::lock_guard held(mutex_);
  keep(key, std::move(plan));
}

void PlanCache::keep(std::string_view key, std::shared_ptr<const Plan::State> plan) {
  if (const std::uint64_t now = pipelines_.generation(); recent_.size() >= kGeneration || now != generation_) {
    generation_ = now;
    older_ = std::move(recent_);
    recent_.clear();
  }
  recent_.insert_or_assign(std::string(key), std::move(plan));
}

void PlanCache::clear(const gpu::Device& device) {
  PlanCache& cache = of(device);
  Plans recent, older;  // which end without the lock
  {
    const std::lock_guard held(cache.mutex_);
    recent.swap(cache.recent_);
    older.swap(cache.older_);
  }
  recent.clear();
  older.clear();
  device.impl().pipelines.drop_unused();
}

OperandList::OperandList(std::initializer_list<NamedViews> groups) {
  if (groups.size() > sizes_.size()) {
    throw InternalError("a call of {} operands; {} are supported", groups.size(), sizes_.size());
  }
  for (const NamedViews& group : groups) {
    // The lengths of lists beyond 127 follow from the number of views.
    sizes_[groups_++] = static_cast<char>(std::min<std::ptrdiff_t>(group.end() - group.begin(), 127));
    for (const View& v : group) {
      if (heap_.empty() && size_ < inline_.size()) {
        inline_[size_++] = &v;
        continue;
      }
      if (heap_.empty()) heap_.assign(inline_.begin(), inline_.end());
      heap_.push_back(&v);
    }
  }
}

void call_by_plan(gpu::Commands& commands, CallKey& key, const OperandList& list,
                  const std::function<void(Stream&)>& launch) {
  const std::span<const View* const> views = list.views();
  const gpu::Device& device = commands.device();
  std::array<PlannedOperand, 12> few;
  std::vector<PlannedOperand> many(views.size() > few.size() ? views.size() : 0);
  const std::span<PlannedOperand> operands = many.empty() ? std::span(few).first(views.size()) : std::span(many);
  const auto make = [&] {
    const gpu::Undecided undecided(*device.impl().context);
    Planner planner(device, views, PlanFor::recording);
    launch(planner);
    return planner.finish(undecided.since());
  };
  Planner* const planner = commands.planning() ? static_cast<Planner*>(&commands) : nullptr;
  if (planner && planner->purpose() == PlanFor::inspection) return launch(commands);
  // Operands in the scratch of the calling launcher share a buffer with its own scratch, so this launcher runs directly
  // and gives them one binding.
  if (planner) {
    const Buffer scratch = planner->scratch(0);
    if (std::ranges::any_of(views, [&](const View* v) { return v->buffer == scratch; })) return launch(commands);
  }
  const auto record = [&](const Plan::State& plan) {
    if (planner)
      planner->append(plan, views);
    else
      plan.record(commands, views, {});
  };
  // Invalid memory: the launcher throws and says what is wrong.
  if (!describe_operands(views, device.capabilities().storage_alignment, operands)) return record(*make());
  key.add(list.sizes());
  for (const PlannedOperand& o : operands) key.add(o);
  PlanCache& cache = PlanCache::of(device);
  auto plan = cache.find(key.bytes());
  if (plan && plan->undecided) {
    if (gpu::Undecided::outdated(*device.impl().context, plan->undecided))
      plan = nullptr;
    else
      gpu::Undecided::note();
  }
  if (!plan) {
    plan = make();
    cache.add(key.bytes(), plan);
  }
  record(*plan);
}

}  // namespace weft::kernels
