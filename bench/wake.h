// A GPU lowers its clock while the host compiles, fills tensors or checks results, and takes a while to raise it.
#pragma once

#include <chrono>

#include "weft/gpu.h"

namespace weft::bench {

// Calls f, which waits for what it submits, for half a second on hardware; a software device needs no waking.
template <class F>
void wake(const gpu::Device& device, F&& f) {
  using Clock = std::chrono::steady_clock;
  if (device.capabilities().software) return;
  for (const auto start = Clock::now(); Clock::now() - start < std::chrono::milliseconds(500);) f();
}

}  // namespace weft::bench
