// Giving up what takes long: for programs whose user may lose patience.
//
//   InterruptionScope scope([&] { if (stop_requested) throw Stopped(); });
//   x.read<float>();                       // throws Stopped within 0.1 s, if that is asked for meanwhile
#pragma once

#include <functional>

namespace weft {

// While it lives, its thread calls `check` about every 50 ms where it waits for a device, between the kernels that it
// runs on the cpu, and between turns of loops. What `check` throws ends the call that waits: what was submitted is
// still computed, and what was to be computed on this thread is computed by the next evaluation. Of scopes within each
// other the innermost counts. `check` calls nothing of Weft, which may hold locks.
class InterruptionScope {
 public:
  explicit InterruptionScope(std::function<void()> check);
  ~InterruptionScope();
  InterruptionScope(const InterruptionScope&) = delete;
  InterruptionScope& operator=(const InterruptionScope&) = delete;

 private:
  std::function<void()> check_;
  const std::function<void()>* outer_;
};

}  // namespace weft
