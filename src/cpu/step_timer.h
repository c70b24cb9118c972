// Times the steps of executables on the CPU while a profiler listens.
#pragma once

#include <chrono>
#include <functional>

#include "weft/work.h"

namespace weft::cpu {

// Called for each step with its description and times; null: no listener. Throws InvalidArgument if there is a listener
// already.
using StepListener = std::function<void(KernelRun run, std::chrono::steady_clock::time_point start,
                                        std::chrono::steady_clock::time_point end)>;
void listen_to_steps(StepListener listener);
bool steps_are_timed();

// Runs `work` and reports it to the listener, with the form that its kernels say they take (cpu/kernel_form.h).
void timed_step(const std::function<KernelRun()>& describe, const std::function<void()>& work);

}  // namespace weft::cpu
