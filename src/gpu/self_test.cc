#include "gpu/self_test.h"

#include <string>
#include <utility>
#include <vector>

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

// Those that are there.
std::vector<std::pair<std::string, Future<bool>>> take_ready(Device::Impl& impl) {
  std::vector<std::pair<std::string, Future<bool>>> ready;
  const std::lock_guard held(impl.context->lock);
  std::erase_if(impl.tests, [&](auto& test) {
    if (!test.second.valid() || !test.second.ready()) return false;
    ready.emplace_back(test.first, std::move(test.second));
    return true;
  });
  return ready;
}

// It keeps no handle of the device, which its callback would keep open.
class Settled final : public Completion, public std::enable_shared_from_this<Settled> {
 public:
  explicit Settled(std::weak_ptr<Device::Impl> device) : device_(std::move(device)) {}
  bool ready() override {
    const auto impl = device_.lock();
    if (!impl) return true;
    for (auto& [key, result] : take_ready(*impl)) keep(*impl, key, std::move(result));
    const std::lock_guard held(impl->context->lock);
    return impl->tests.empty();
  }
  void wait() override {
    while (!ready()) {
      refuse_to_wait("self-tests");  // else a test that cannot be waited for would count as failed
      const auto impl = device_.lock();
      auto [key, result] = take_one(*impl);
      if (result.valid()) {
        keep(*impl, key, std::move(result));
      } else {
        impl->context->wait(*impl->context->mark(), "self-tests");
        impl->context->process_events();
        impl->context->deliver();
      }
    }
  }
  void when_ready(std::function<void()> callback) override {
    if (ready()) return callback();
    const auto impl = device_.lock();
    auto [key, result] = take_one(*impl);
    const auto again = [self = shared_from_this(), callback] { self->when_ready(callback); };
    if (!result.valid()) {
      // Another such future has it.
      const std::lock_guard held(impl->context->lock);
      impl->after_tests.push_back(again);
      return;
    }
    result.then([self = shared_from_this(), key, again](Future<bool> done) {
      std::vector<std::function<void()>> others;
      if (const auto impl = self->device_.lock()) {
        self->keep(*impl, key, std::move(done));
        const std::lock_guard held(impl->context->lock);
        impl->tests.erase(key);
        others.swap(impl->after_tests);
      }
      again();
      for (const auto& other : others) other();
    });
  }

 private:
  // One that nobody waits for; its entry stays until it is kept.
  static std::pair<std::string, Future<bool>> take_one(Device::Impl& impl) {
    const std::lock_guard held(impl.context->lock);
    for (auto& [key, result] : impl.tests) {
      if (result.valid()) return {key, std::move(result)};
    }
    return {};
  }
  static void keep(Device::Impl& impl, const std::string& key, Future<bool> result) {
    try {
      take_verdict(impl, key, std::move(result));
    } catch (const DeviceLost&) {  // the next use of the device says so
    }
    const std::lock_guard held(impl.context->lock);
    impl.tests.erase(key);
  }

  std::weak_ptr<Device::Impl> device_;
};

}  // namespace

bool passes_self_test(const Device& device, std::string_view key, const std::function<Future<bool>()>& start) {
  Device::Impl& impl = device.impl();
  const std::string text(key);
  const auto known = [&]() -> std::optional<bool> {
    const std::lock_guard held(impl.context->lock);
    const auto found = impl.verdicts.find(text);
    return found == impl.verdicts.end() ? std::nullopt : std::optional(found->second);
  };
  if (const auto verdict = known()) return *verdict;
  bool runs = false;
  {
    const std::lock_guard held(impl.context->lock);
    runs = impl.tests.contains(text);
  }
  if (runs) {
    settle_self_tests(device);
    if (may_wait()) self_tests_settled(device).wait();
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

bool settle_self_tests(const Device& device) { return Settled(device.impl().weak_from_this()).ready(); }

Future<void> self_tests_settled(const Device& device) {
  return Future<void>(std::make_shared<Settled>(device.impl().weak_from_this()), [] {});
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
