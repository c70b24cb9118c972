#include "compiler/value_check.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "compiler/device_data.h"
#include "gpu/wait.h"
#include "graph/op.h"
#include "weft/error.h"

namespace weft {
namespace {

constexpr std::size_t kMostChecks = 32;

const DeviceData& data_behind(const DataPtr& info) { return static_cast<const DeviceData&>(*info); }

}  // namespace

bool ValueCheck::passed() const {
  const std::lock_guard lock(mutex_);
  return !info_ && !failure_;
}

bool ValueCheck::failed() const {
  const std::lock_guard lock(mutex_);
  return failure_.has_value();
}

void ValueCheck::start() const {
  {
    const std::lock_guard lock(mutex_);
    if (!info_ || asked_.valid()) return;
  }
  Future<void> answer = async_require();
  const std::lock_guard lock(mutex_);
  asked_ = std::move(answer);
}

bool ValueCheck::ask() const {
  start();
  Future<void> answer;
  {
    const std::lock_guard lock(mutex_);
    if (!info_) return true;
    if (!asked_.valid() || !asked_.ready()) return false;
    answer = std::move(asked_);
  }
  try {
    answer.get();
  } catch (const Error&) {  // a read of the values throws it
  }
  return true;
}

void ValueCheck::require() const {
  start();
  Future<void> answer;
  {
    const std::lock_guard lock(mutex_);
    answer = std::move(asked_);
  }
  if (!answer.valid()) answer = async_require();  // it has been made, or another thread waits too
  answer.get();
}

void ValueCheck::take(std::span<const std::byte> bytes) const {
  std::vector<std::int32_t> info(bytes.size() / sizeof(std::int32_t));
  if (!info.empty()) std::memcpy(info.data(), bytes.data(), info.size() * sizeof(std::int32_t));
  const auto failed = std::ranges::any_of(info, [](std::int32_t v) { return v != 0; });
  const std::lock_guard lock(mutex_);
  if (!info_) return;
  if (failed) failure_ = op_->value_check()->message(info, type_.shape) + recorded_at(line_);
  info_ = nullptr;
}

void ValueCheck::throw_failure() const {
  const std::lock_guard lock(mutex_);
  if (failure_) throw LinAlgError(*failure_);
}

Future<void> ValueCheck::async_require() const {
  DataPtr info;
  {
    const std::lock_guard lock(mutex_);
    info = info_;
  }
  if (!info) return Future<void>({}, [this] { throw_failure(); });
  // What it depends on has checks of its own, which the values that are read have too.
  return data_behind(info).read_unchecked().map([this](const gpu::ReadBytes& read) {
    take(read.span());
    throw_failure();
  });
}

void add_checks(ValueChecks& checks, const ValueChecks& more) {
  for (const auto& check : more) {
    if (!check->passed() && std::ranges::find(checks, check) == checks.end()) checks.push_back(check);
  }
  if (checks.size() <= kMostChecks) return;
  // They are answered in their order: behind one that is not, the device need not be asked for answers.
  const auto open = std::ranges::find_if_not(checks, [](const auto& check) { return check->ask(); });
  std::for_each(open, checks.end(), [](const auto& check) { check->start(); });
  if (checks.size() > 2 * kMostChecks && gpu::may_wait()) {
    for (const auto& check : checks) {
      try {
        check->require();
      } catch (const LinAlgError&) {  // it is thrown by the read, for which the check stays
      }
    }
  }
  bool fails = false;
  std::erase_if(checks,
                [&](const auto& check) { return check->passed() || (check->failed() && std::exchange(fails, true)); });
}

}  // namespace weft
