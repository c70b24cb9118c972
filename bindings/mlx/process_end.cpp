#include "process_end.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#if __has_include(<pthread.h>)
#include <pthread.h>
#include <unistd.h>
#endif

namespace mlx::core::webgpu {
namespace {

// How long the end waits for threads that use the GPU, whose work may be long.
constexpr std::chrono::seconds kPatience(10);

std::atomic<int> users = 0;  // threads
std::atomic<bool> ending = false;
std::atomic<std::thread::id> ender;
std::atomic<bool> forked = false;
thread_local int depth = 0;  // a thread inside may enter again

std::atomic<void (*)()> end_of_gpu = nullptr;

// Called when the process ends, perhaps twice.
void end() {
  if (!end_of_gpu || is_forked() || ending) return;
  ender = std::this_thread::get_id();
  ending = true;
  const int own = depth > 0 ? 1 : 0;
  const auto start = std::chrono::steady_clock::now();
  while (users > own && std::chrono::steady_clock::now() - start < kPatience) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  end_of_gpu.load()();
}

// Objects of the main thread end before static ones, such as the regular expressions by which kernels are made.
const std::thread::id main_thread = std::this_thread::get_id();
struct EndOfThread {
  bool used = false;  // a thread has the object once it writes here
  ~EndOfThread() {
    if (std::this_thread::get_id() == main_thread) end();
  }
};
thread_local EndOfThread end_of_thread;

#if __has_include(<pthread.h>)
void begin_child() {
  forked = true;
#ifdef __GLIBC__
  // The last to be set up is the first to run.
  on_exit(
      [](int status, void*) {
        std::fflush(nullptr);
        _exit(status);
      },
      nullptr);
#endif
}
#endif

}  // namespace

bool is_forked() { return forked.load(std::memory_order_relaxed); }

UsesGpu::UsesGpu() {
  if (depth == 0) {
    if (!ending) end_of_thread.used = true;
    if (is_forked()) {
      throw std::runtime_error(
          "The GPU cannot be used in a process that fork() made after its parent had opened it. Start processes by "
          "spawn, or fork before the first array is evaluated.");
    }
    ++users;
    if (ending && ender.load() != std::this_thread::get_id()) {
      --users;
      for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }
  }
  ++depth;
}

UsesGpu::~UsesGpu() {
  if (--depth == 0) --users;
}

void at_process_end(void (*end_gpu)()) {
  end_of_thread.used = true;
  end_of_gpu = end_gpu;
  std::atexit(end);  // where the main thread has no such object
#if __has_include(<pthread.h>)
  pthread_atfork(nullptr, nullptr, begin_child);
#endif
}

}  // namespace mlx::core::webgpu
