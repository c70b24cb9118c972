// Who may wait. Nothing waits for a GPU unless its name says so, and what waits for work passes through
// Context::wait (wait.cc), which names the place.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::gpu {

// While it lives its thread may not wait, as no thread of a browser may: what would throws Unsupported, and is listed
// here. Tests hold functions that must not wait to it.
class NoWaiting {
 public:
  NoWaiting();
  ~NoWaiting();
  NoWaiting(const NoWaiting&) = delete;
  NoWaiting& operator=(const NoWaiting&) = delete;
  // Where this thread would have waited, also if what was thrown there was caught.
  std::span<const std::string> places() const { return places_; }

 private:
  friend void refuse_to_wait(std::string_view place);
  NoWaiting* outer_;
  std::vector<std::string> places_;
};

// While it lives its thread waits only for what cannot be had in another way: so devices are opened and graphs compiled
// for a future.
class AvoidWaiting {
 public:
  AvoidWaiting();
  ~AvoidWaiting();
  AvoidWaiting(const AvoidWaiting&) = delete;
  AvoidWaiting& operator=(const AvoidWaiting&) = delete;
};

// False under either, and in a browser. For what may be done in another way, or left out.
bool may_wait();
// Throws Unsupported under NoWaiting and in a browser. Call before waiting for anything.
void refuse_to_wait(std::string_view place);

}  // namespace weft::gpu
