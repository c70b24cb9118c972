#include "gpu/self_test.h"

#include <atomic>
#include <string>
#include <utility>

#include "core/format.h"
#include "gpu/device_impl.h"
#include "gpu/disk_cache.h"
#include "gpu/wait.h"
#include "weft/error.h"
#include "weft/log.h"

namespace weft::gpu {
namespace {

constexpr std::byte kPassed{1}, kFailed{2};

thread_local std::uint64_t missing_verdicts = 0;

std::string name_of(std::string_view key) { return std::format("self-test: {}", key); }

// Takes the result, waiting for it if need be, and keeps it. Throws DeviceLost.
bool take_verdict(Device::Impl& impl, const std::string& key, Future<bool> result) {
  const std::string name = name_of(key);
  bool passed = false, lasting = true;
  try {
    const CallbacksHeld held;
    passed = result.get();
  } catch (const DeviceLost&) {
    throw;
  } catch (const OutOfMemory& e) {
    lasting = false;  // says nothing about the kind of device
    log(LogLevel::debug, "{}: {}", name, e.what());
  } catch (const Error& e) {
    log(LogLevel::debug, "{}: {}", name, e.what());
  }
  if (!passed) {
    log(LogLevel::warning, "{} does not pass its self-test on {}; a slower form is used", key, impl.adapter.name);
  }
  if (lasting && impl.cache) {
    impl.cache->store(std::as_bytes(std::span(name)), std::span(passed ? &kPassed : &kFailed, 1));
  }
  // Threads that test at the same time keep to one verdict.
  const std::lock_guard held(impl.context->lock);
  if (impl.verdicts.emplace(key, passed).second && passed) ++impl.context->passed_tests;
  return impl.verdicts.at(key);
}

// Takes the results that are there. True if no test is under way then. One lock covers the result and its verdict, so
// that a test is under way for all threads until they all know what it said.
bool take_verdicts(Device::Impl& impl) {
  const std::lock_guard held(impl.context->lock);
  thread_local bool taking = false;
  if (taking) return false;  // asking a test drives the device, which comes here again
  taking = true;
  const struct Taken {
    ~Taken() { taking = false; }
  } taken;
  std::erase_if(impl.tests, [&](auto& test) {
    if (!test.second.ready()) return false;
    try {
      take_verdict(impl, test.first, std::move(test.second));
    } catch (const DeviceLost&) {  // the next use of the device says so
    }
    return true;
  });
  return impl.tests.empty();
}

// The tests stay with the device: whoever drives it takes their results, also while others wait for them. It keeps no
// handle of the device, which its callback would keep open.
class Settled final : public DeviceCompletion {
 public:
  explicit Settled(const std::shared_ptr<Context>& context) : DeviceCompletion(context), submitted_(context->mark()) {}
  bool settled() const override { return settled_; }
  const Event& event() const override { return *submitted_; }
  void fail(std::exception_ptr) override { settled_ = true; }
  void look() override {
    if (settled_) return;
    const std::shared_ptr<Device::Impl> device = context_->opened.lock();
    if (!device || take_verdicts(*device)) settled_ = true;
  }
  void wait() override {
    while (!ready()) {
      // Else a test that cannot be waited for would count as failed.
      refuse_to_wait("self-tests");
      // Tests may have been submitted since this was made.
      context_->wait(*context_->mark(), "self-tests");
    }
    context_->deliver();
  }

 private:
  std::shared_ptr<Event> submitted_;  // the tests that are under way
  std::atomic<bool> settled_ = false;
};

}  // namespace

bool passes_self_test(const Device& device, std::string_view key, const std::function<Future<bool>()>& start) {
  Device::Impl& impl = device.impl();
  if (impl.every_verdict) return *impl.every_verdict;
  const std::string text(key);
  const auto known = [&]() -> std::optional<bool> {
    const auto found = impl.verdicts.find(text);
    return found == impl.verdicts.end() ? std::nullopt : std::optional(found->second);
  };
  bool runs = false;
  {
    const std::lock_guard held(impl.context->lock);
    if (const auto verdict = known()) return *verdict;
    runs = impl.tests.contains(text);
  }
  if (runs) {
    if (may_wait())
      self_tests_settled(device).wait();
    else
      settle_self_tests(device);
    const std::lock_guard held(impl.context->lock);
    if (const auto verdict = known()) return *verdict;
  } else {
    const std::string name = name_of(key);
    const auto stored = impl.cache ? impl.cache->load(std::as_bytes(std::span(name))) : std::vector<std::byte>();
    if (stored.size() == 1 && (stored[0] == kPassed || stored[0] == kFailed)) {
      const std::lock_guard held(impl.context->lock);
      return impl.verdicts.emplace(text, stored[0] == kPassed).first->second;
    }
    Future<bool> result;
    try {
      result = start();
    } catch (...) {
      result = Future<bool>({}, [error = std::current_exception()]() -> bool { std::rethrow_exception(error); });
    }
    if (may_wait() || result.ready()) return take_verdict(impl, text, std::move(result));
    const std::lock_guard held(impl.context->lock);
    impl.tests.emplace(text, std::move(result));
  }
  Undecided::note();
  return false;
}

bool settle_self_tests(const Device& device) { return take_verdicts(device.impl()); }

Future<void> self_tests_settled(const Device& device) {
  if (settle_self_tests(device)) return Future<void>({}, [] {});
  return Future<void>(std::make_shared<Settled>(device.impl().context), [] {});
}

Undecided::Undecided(const Context& context) : passed_(context.passed_tests), missing_(missing_verdicts) {}
std::optional<std::uint64_t> Undecided::since() const {
  return missing_verdicts == missing_ ? std::nullopt : std::optional(passed_);
}
void Undecided::note() { ++missing_verdicts; }
bool Undecided::outdated(const Context& context, const std::optional<std::uint64_t>& since) {
  return since && *since != context.passed_tests;
}

}  // namespace weft::gpu
