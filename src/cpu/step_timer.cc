#include "cpu/step_timer.h"

#include <atomic>
#include <mutex>

#include "cpu/kernel_form.h"
#include "weft/error.h"

namespace weft::cpu {
namespace {

std::atomic<bool> listening = false;
std::mutex mutex;
StepListener current;

}  // namespace

void listen_to_steps(StepListener listener) {
  const std::lock_guard lock(mutex);
  if (listener && current) throw InvalidArgument("the cpu is being profiled already");
  current = std::move(listener);
  listening = current != nullptr;
}

bool steps_are_timed() { return listening; }

void timed_step(const std::function<KernelRun()>& describe, const std::function<void()>& work) {
  KernelForm form;
  const auto start = std::chrono::steady_clock::now();
  {
    const FormListener listener(&form);
    work();
  }
  const auto end = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex);
  if (!current) return;
  KernelRun run = describe();
  run.variant = form.variant();
  run.why = form.why();
  current(std::move(run), start, end);
}

}  // namespace weft::cpu
