// Who may wait. Nothing waits for a GPU unless its name says so, and all that does passes through Context::wait
// (wait.cc), which names the place.
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

// False under NoWaiting. For what may be done in another way, or left out, where nothing may wait.
bool may_wait();
// Throws Unsupported under NoWaiting. Call before waiting for anything.
void refuse_to_wait(std::string_view place);

}  // namespace weft::gpu
