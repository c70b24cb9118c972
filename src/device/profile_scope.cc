#include "core/format.h"
#include "weft/error.h"
#include "weft/profile.h"

namespace weft::profile {
namespace {

// What was submitted before runs outside of the scope.
const Device& idle(const Device& device) {
  device.wait();
  return device;
}

}  // namespace

Scope::Scope(std::string name, const Device& device)
    : name_(std::move(name)), device_(device), profiler_(std::make_unique<Profiler>(idle(device))) {}

void Scope::span(std::string_view name, const std::function<void()>& work) {
  if (!profiler_) throw InvalidArgument("profile: span '{}' after the end of scope '{}'", name, name_);
  profiler_->span(name, work);
}

const Profile& Scope::finish() {
  if (!profiler_) return profile_;
  profile_ = profiler_->finish();
  profile_.host.insert(profile_.host.begin(), {name_, 0, profile_.seconds});
  profiler_.reset();
  return profile_;
}

}  // namespace weft::profile
