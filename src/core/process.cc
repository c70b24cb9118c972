#include "core/process.h"

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/system.h"
#include "weft/error.h"

namespace weft {

std::atomic<bool> devices_end = false;

namespace {

constexpr std::chrono::seconds kPatience(10);

std::atomic<int> inside = 0;  // threads
std::atomic<std::thread::id> ender;
std::atomic<bool> process_ends = false, forked = false, early = false;
thread_local int depth = 0;
thread_local bool has_stayed = false;

// Never destroyed, as it is used last.
struct Ends {
  std::mutex mutex;
  std::vector<std::function<void()>> functions, before;
};
Ends& ends() {
  static auto& value = *new Ends;
  return value;
}

void try_to(const std::function<void()>& function) {
  try {
    function();
  } catch (...) {
    // Nobody is left whom it could be told.
  }
}

// Called when the process ends, perhaps twice.
void end() {
  if (is_forked() || process_ends) return;
  ender = std::this_thread::get_id();
  process_ends = true;
  const int own = depth > 0 ? 1 : 0;
  const auto start = std::chrono::steady_clock::now();
  while (inside > own && std::chrono::steady_clock::now() - start < kPatience) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  devices_end = true;
  for (;;) {
    std::function<void()> function;
    {
      const std::lock_guard lock(ends().mutex);
      if (ends().functions.empty()) return;
      function = std::move(ends().functions.back());
      ends().functions.pop_back();
    }
    try_to(function);
  }
}

const std::thread::id main_thread = std::this_thread::get_id();

// Objects of the main thread are destroyed before those with static lifetime.
struct EndOfThread {
  bool used = false;  // a thread has the object once it writes here
  ~EndOfThread() {
    if (std::this_thread::get_id() != main_thread) return;
    if (early) {
      end();
      return;
    }
    std::vector<std::function<void()>> before;
    {
      const std::lock_guard lock(ends().mutex);
      before = ends().before;
    }
    for (const auto& function : before) try_to(function);
  }
};
thread_local EndOfThread end_of_thread;

void watch_forks() {
  static const bool watched = [] {
    call_in_children([] {
      if (!forked.exchange(true) && early) end_without_handlers();
    });
    return true;
  }();
  static_cast<void>(watched);
}

}  // namespace

bool is_forked() noexcept { return forked.load(std::memory_order_relaxed); }
bool ends_the_process() { return process_ends && ender.load() == std::this_thread::get_id(); }

void stay_at_process_end() {
  if (has_stayed || ends_the_process()) return;
  has_stayed = true;
  std::this_thread::sleep_for(kPatience);
}

InWeft::InWeft() {
  if (depth == 0) {
    watch_forks();
    if (is_forked()) {
      throw Unsupported(
          "this process was forked from one that used Weft, whose threads and devices it does not have; start "
          "processes by multiprocessing's method 'spawn' or by exec() instead, or fork before Weft is used");
    }
    if (!process_ends) end_of_thread.used = true;
    ++inside;
    if (process_ends && !ends_the_process()) {
      --inside;
      stay_at_process_end();
      ++inside;
    }
  }
  ++depth;
}

InWeft::~InWeft() {
  if (--depth == 0) --inside;
}

void at_process_end(std::function<void()> function) {
  const std::lock_guard lock(ends().mutex);
  ends().functions.push_back(std::move(function));
}

void before_static_objects(std::function<void()> function) {
  const std::lock_guard lock(ends().mutex);
  ends().before.push_back(std::move(function));
}

void end_before_drivers() {
  static const bool registered = std::atexit(end) == 0;
  static_cast<void>(registered);
}

void end_before_static_objects() {
  watch_forks();
  end_of_thread.used = true;
  early = true;
}

}  // namespace weft
