// How far the host may be ahead of a device. What is submitted takes memory until it is done: parameters, command
// buffers, results that are not needed any more. Without a bound, a loop that never reads fills the memory where the
// device is slower than the host; a few dozen runs are enough to keep a device busy.
#pragma once

#include <mutex>
#include <utility>

#include "gpu/wait.h"
#include "weft/future.h"

namespace weft {

class RunAhead {
 public:
  static constexpr int kRuns = 32;

  // Called after each run, with no lock held: in every 32nd it waits for the one that was submitted 32 runs before;
  // where nothing may wait, the program awaits async_eval() now and then.
  void submitted(Future<void> done) {
    Future<void> earlier;
    {
      const std::lock_guard lock(mutex_);
      if (++runs_ % kRuns != 0) return;
      earlier = std::exchange(checkpoint_, std::move(done));
    }
    if (earlier.valid() && (gpu::may_wait() || earlier.ready())) earlier.get();
  }

 private:
  std::mutex mutex_;
  unsigned runs_ = 0;
  Future<void> checkpoint_;
};

}  // namespace weft
