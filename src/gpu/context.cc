#include "gpu/context.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "core/format.h"
#include "core/process.h"
#include "weft/error.h"

namespace weft::gpu {

namespace {

constexpr wgpu::ErrorFilter kFilters[] = {wgpu::ErrorFilter::OutOfMemory, wgpu::ErrorFilter::Internal,
                                          wgpu::ErrorFilter::Validation};

// Of a device that works when the process ends.
constexpr std::chrono::seconds kPatience(10);

// Of a device that was closed while Dawn's threads compiled for it.
struct Abandoned {
  wgpu::Instance instance;
  wgpu::Device device;  // so that none of these threads ends it
  std::vector<std::shared_ptr<Event>> compiling;

  bool is_done() {
    std::erase_if(compiling, [&](const auto& event) {
      wgpu::FutureWaitInfo info{event->future};
      return event->is_done() || instance.WaitAny(1, &info, 0) == wgpu::WaitStatus::Success;
    });
    return compiling.empty();
  }
};

struct OpenContexts {
  std::mutex mutex;
  std::vector<std::weak_ptr<Context>> contexts;
  std::vector<Abandoned> abandoned;
};

// Never destroyed, as it is used last.
OpenContexts& open_contexts() {
  static auto& open = *new OpenContexts;
  return open;
}

void finish(Context& context) {
  if (context.lost()) return;
  const std::lock_guard held(context.lock);
  std::vector<std::shared_ptr<Event>> all = context.compiling();
  all.push_back(context.mark());
  const auto start = std::chrono::steady_clock::now();
  for (const auto& event : all) {
    while (!context.done(*event) && std::chrono::steady_clock::now() - start < kPatience) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
}

}  // namespace

void finish_at_process_end(const std::shared_ptr<Context>& context) {
  if (!context->owned || !can_wait()) return;
  OpenContexts& open = open_contexts();
  {
    const std::lock_guard lock(open.mutex);
    std::erase_if(open.contexts, [](const auto& closed) { return closed.expired(); });
    open.contexts.push_back(context);
  }
  static const bool registered = [] {
    const auto end = [] {
      OpenContexts& open = open_contexts();
      std::vector<std::weak_ptr<Context>> contexts;
      {
        const std::lock_guard lock(open.mutex);
        contexts = open.contexts;
        const auto start = std::chrono::steady_clock::now();
        for (Abandoned& a : open.abandoned) {
          while (!a.is_done() && std::chrono::steady_clock::now() - start < kPatience) {
            std::this_thread::sleep_for(std::chrono::microseconds(100));
          }
        }
      }
      for (const auto& weak : contexts) {
        if (const auto held = weak.lock()) finish(*held);
      }
    };
    before_static_objects(end);
    at_process_end(end);
    end_before_drivers();
    return true;
  }();
  static_cast<void>(registered);
}

void Failure::raise(std::string_view what) const {
  switch (type) {
    case wgpu::ErrorType::OutOfMemory:
      throw OutOfMemory("{}: {}", what, message);
    case wgpu::ErrorType::Validation:
      throw ValidationError("{}: {}", what, message);
    default:
      throw InternalError("{}: {}", what, message);
  }
}

Context::~Context() {
  if (!owned || !can_wait()) return;
  std::vector<std::shared_ptr<Event>> left = compiling();
  if (left.empty()) return;
  OpenContexts& open = open_contexts();
  std::vector<Abandoned> done;  // whose devices end without the lock
  const std::lock_guard lock(open.mutex);
  for (std::size_t i = open.abandoned.size(); i-- > 0;) {
    if (!open.abandoned[i].is_done()) continue;
    done.push_back(std::move(open.abandoned[i]));
    open.abandoned.erase(open.abandoned.begin() + static_cast<std::ptrdiff_t>(i));
  }
  open.abandoned.push_back({instance, device, std::move(left)});
}

void Context::add_compiling(const std::shared_ptr<Event>& event) {
  const std::lock_guard held(mutex_);
  // Those that are done are dropped when there are twice as many as then.
  if (compiling_.size() == compiling_.capacity()) {
    std::erase_if(compiling_, [](const auto& weak) {
      const auto known = weak.lock();
      return !known || known->is_done();
    });
    compiling_.reserve(std::max<std::size_t>(64, 2 * compiling_.size()));
  }
  compiling_.push_back(event);
}

std::vector<std::shared_ptr<Event>> Context::compiling() {
  std::vector<std::shared_ptr<Event>> all;
  const std::lock_guard held(mutex_);
  for (const auto& weak : compiling_) {
    if (auto event = weak.lock(); event && !event->is_done()) all.push_back(std::move(event));
  }
  return all;
}

bool Context::done(const Event& event) {
  if (event.is_done()) return true;
  const std::lock_guard held(lock);
  wgpu::FutureWaitInfo info{event.future};
  if (instance.WaitAny(1, &info, 0) == wgpu::WaitStatus::Error) {
    throw InternalError("WebGPU could not say whether the GPU is done");
  }
  return event.is_done();
}

// The instance's events belong to all devices, which other threads may be using. So a device that Weft opened processes
// only its own.
void Context::process_events() {
  std::shared_ptr<Device::Impl> open;  // if it is the last handle, the device closes after the lock
  const std::lock_guard held(lock);
  open = opened.lock();
  if (owned)
    device.Tick();
  else
    instance.ProcessEvents();
  std::vector<std::shared_ptr<DeviceCompletion>> waited_for;
  {
    const std::lock_guard held_list(mutex_);
    for (const Waiting& w : waiting_) waited_for.push_back(w.completion);
  }
  for (const auto& completion : waited_for) completion->look();
}

std::shared_ptr<Event> Context::mark() {
  auto event = std::make_shared<Event>();
  const std::lock_guard held(lock);
  // Spontaneous on a caller's device too, because this future may never be waited for.
  event->future = queue.OnSubmittedWorkDone(
      wgpu::CallbackMode::AllowSpontaneous,
      [](wgpu::QueueWorkDoneStatus status, wgpu::StringView message, std::shared_ptr<Event>* held_event) {
        const bool done = status == wgpu::QueueWorkDoneStatus::Success;
        from_callback(held_event)
            ->finish(done ? nullptr
                          : std::make_exception_ptr(DeviceLost("waiting for the GPU: {}", to_string(message))));
      },
      held_by_callback(event));
  return event;
}

bool DeviceCompletion::ready() {
  if (settled()) return true;
  context_->process_events();
  look();
  return settled();
}

void DeviceCompletion::when_ready(std::function<void()> callback) {
  if (!settled() && context_->add_callback(shared_from_this(), callback)) return;
  if (!settled()) fail(std::make_exception_ptr(DeviceLost("the device was closed")));
  callback();
}

bool Context::add_callback(std::shared_ptr<DeviceCompletion> completion, std::function<void()> callback) {
  const std::lock_guard held(mutex_);
  if (!closed_) waiting_.push_back({std::move(completion), std::move(callback)});
  return !closed_;
}

namespace {
thread_local int held_callbacks = 0;
}

CallbacksHeld::CallbacksHeld() { ++held_callbacks; }
CallbacksHeld::~CallbacksHeld() { --held_callbacks; }
bool CallbacksHeld::none() { return held_callbacks == 0; }

void Context::deliver() {
  if (!CallbacksHeld::none() || lock.held_by_this_thread()) return;
  // A callback may add further ones.
  for (;;) {
    Waiting next;
    {
      const std::lock_guard held(mutex_);
      const auto it = std::ranges::find_if(waiting_, [](const Waiting& w) { return w.completion->settled(); });
      if (it == waiting_.end()) return;
      next = std::move(*it);
      waiting_.erase(it);
    }
    next.callback();
  }
}

namespace {

// Contexts that listen. A browser has one thread.
std::vector<std::weak_ptr<Context>>& listening() {
  static auto& all = *new std::vector<std::weak_ptr<Context>>;
  return all;
}

}  // namespace

void Context::listen() {
  std::erase_if(listening(), [](const auto& weak) { return weak.expired(); });
  listening().push_back(weak_from_this());
}

void callback_came() {
  if (!callbacks_come_alone()) return;
  const std::vector<std::weak_ptr<Context>> all = listening();  // a callback may open a device
  for (const auto& weak : all) {
    const auto context = weak.lock();
    if (!context) continue;
    if (context->lost()) context->notify_lost();
    context->process_events();  // some are settled only when somebody looks
    context->deliver();
  }
}

void Context::fail_pending(const std::exception_ptr& why) {
  std::vector<std::shared_ptr<DeviceCompletion>> pending;
  {
    const std::lock_guard held(mutex_);
    closed_ = true;
    for (const Waiting& w : waiting_) pending.push_back(w.completion);
  }
  for (const auto& completion : pending) {
    if (!completion->settled()) completion->fail(why);
  }
}

bool Context::lost() {
  if (lost_) return true;
  if (owned) return false;
  const std::lock_guard held(lock);
  wgpu::FutureWaitInfo info{device.GetLostFuture()};
  if (instance.WaitAny(1, &info, 0) == wgpu::WaitStatus::Success && info.completed) {
    set_lost("the caller's device was lost or destroyed");
  }
  return lost_;
}

void Context::set_lost(std::string message) {
  std::lock_guard lock(mutex_);
  if (lost_) return;
  lost_message_ = std::move(message);
  lost_ = true;
}

void Context::set_uncaptured(Failure failure) {
  std::lock_guard lock(mutex_);
  if (uncaptured_) return;
  uncaptured_ = std::move(failure);
  has_uncaptured_ = true;
}

void Context::set_late(Failure failure, std::uint64_t known) {
  const std::lock_guard held(mutex_);
  if (failure.type == wgpu::ErrorType::Validation && late_failures() != known) return;
  late_ = failure;
  late_failures_.fetch_add(1, std::memory_order_release);
  if (!uncaptured_) uncaptured_ = std::move(failure);
  has_uncaptured_ = true;
}

void Context::raise_late() {
  Failure failure;
  {
    const std::lock_guard held(mutex_);
    failure = late_;
    // It need not be raised again.
    if (uncaptured_ && uncaptured_->message == late_.message) uncaptured_.reset();
    has_uncaptured_ = uncaptured_.has_value();
  }
  failure.raise(failure.what);
}

std::shared_ptr<void> Context::on_lost(LostCallback callback) {
  auto kept = std::make_shared<LostCallback>(std::move(callback));
  {
    std::lock_guard lock(mutex_);
    std::erase_if(lost_callbacks_, [](const auto& weak) { return weak.expired(); });
    lost_callbacks_.push_back(kept);
  }
  if (lost()) notify_lost();
  return kept;
}

void Context::notify_lost() {
  std::vector<std::weak_ptr<LostCallback>> callbacks;
  std::string reason;
  {
    std::lock_guard lock(mutex_);
    callbacks.swap(lost_callbacks_);
    reason = lost_message_;
  }
  for (const auto& weak : callbacks) {
    if (const auto callback = weak.lock()) (*callback)(reason);
  }
}

void Context::raise_lost() {
  if (CallbacksHeld::none()) {
    const DeviceLock::Released released(lock);
    notify_lost();
  }
  std::lock_guard lock(mutex_);
  throw DeviceLost("the GPU was lost: {}; open the device again and load the weights again", lost_message_);
}

std::string Context::failure_text(std::string_view otherwise) {
  std::lock_guard lock(mutex_);
  return uncaptured_ ? uncaptured_->message : lost_message_.empty() ? std::string(otherwise) : lost_message_;
}

void Context::check() {
  if (lost()) raise_lost();
  if (!has_uncaptured_) return;
  Failure failure;
  {
    std::lock_guard held(mutex_);
    if (!uncaptured_) return;  // another thread has raised it
    failure = std::move(*std::exchange(uncaptured_, std::nullopt));
    has_uncaptured_ = false;
  }
  failure.raise(failure.what.empty() ? "earlier GPU work" : failure.what);
}

ErrorScope::ErrorScope(Context& context, bool internal) : context_(context), internal_(internal) {
  for (wgpu::ErrorFilter filter : kFilters) context_.device.PushErrorScope(filter);
}

ErrorScope::~ErrorScope() {
  if (!open_) return;
  // An exception is on its way already.
  for (std::size_t i = 0; i < std::size(kFilters); ++i) {
    context_.device.PopErrorScope(wgpu::CallbackMode::AllowSpontaneous,
                                  [](wgpu::PopErrorScopeStatus, wgpu::ErrorType, wgpu::StringView) {});
  }
}

void ErrorScope::collect(std::string what) {
  open_ = false;
  if (auto failure = take(std::move(what))) context_.set_uncaptured(std::move(*failure));
  context_.check_known();
}

std::optional<Failure> ErrorScope::take(std::string what, std::function<void()> later) {
  open_ = false;
  struct Answers {
    std::shared_ptr<Context> context;
    std::string what;
    std::function<void()> later;
    std::uint64_t known;
    bool internal;
    std::mutex mutex;
    bool returned = false;
    std::optional<Failure> first;
  };
  const auto answers = std::make_shared<Answers>();
  answers->context = context_.shared_from_this();
  answers->what = std::move(what);
  answers->later = std::move(later);
  answers->known = context_.late_failures();
  answers->internal = internal_;
  // Popped innermost first.
  for (std::size_t i = 0; i < std::size(kFilters); ++i) {
    context_.device.PopErrorScope(
        wgpu::CallbackMode::AllowSpontaneous,
        [](wgpu::PopErrorScopeStatus, wgpu::ErrorType type, wgpu::StringView message, std::shared_ptr<Answers>* held) {
          const std::unique_ptr<std::shared_ptr<Answers>> owner(held);
          Answers& a = **owner;
          if (type == wgpu::ErrorType::NoError) return;
          if (a.internal && type == wgpu::ErrorType::Validation) type = wgpu::ErrorType::Internal;
          Failure failure{type, to_string(message), a.what};
          {
            const std::lock_guard lock(a.mutex);
            if (!a.returned) {
              if (!a.first) a.first = std::move(failure);
              return;
            }
          }
          a.context->set_late(std::move(failure), a.known);
          if (a.later) a.later();
          callback_came();
        },
        new std::shared_ptr(answers));
  }
  const std::lock_guard lock(answers->mutex);
  answers->returned = true;
  return std::move(answers->first);
}

void ErrorScope::check(const std::string& what) {
  if (auto failure = take(what)) {
    if (context_.lost()) context_.raise_lost();
    failure->raise(what);
  }
}

}  // namespace weft::gpu
