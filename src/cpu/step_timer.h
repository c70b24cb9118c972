// Times the steps of executables on the CPU while a profiler listens.
#pragma once

#include <chrono>
#include <functional>

#include "weft/work.h"

namespace weft::cpu {

// What is told of each step; null: nobody listens. Throws InvalidArgument if somebody does already.
using StepListener = std::function<void(KernelRun run, std::chrono::steady_clock::time_point start,
                                        std::chrono::steady_clock::time_point end)>;
void listen_to_steps(StepListener listener);
bool steps_are_timed();

// Runs `work`; tells the listener.
void timed_step(const std::function<KernelRun()>& describe, const std::function<void()>& work);

}  // namespace weft::cpu
