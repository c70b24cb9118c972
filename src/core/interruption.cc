#include "core/interruption.h"

#include <chrono>
#include <utility>

#include "weft/interruption.h"

namespace weft {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(50);

thread_local const std::function<void()>* innermost = nullptr;
thread_local std::chrono::steady_clock::time_point last_check{};

}  // namespace

InterruptionScope::InterruptionScope(std::function<void()> check)
    : check_(std::move(check)), outer_(std::exchange(innermost, &check_)) {}
InterruptionScope::~InterruptionScope() { innermost = outer_; }

void check_interruption() {
  if (!innermost) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_check < kInterval) return;
  last_check = now;
  (*innermost)();
}

}  // namespace weft
