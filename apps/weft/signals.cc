#include "signals.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <csignal>
#include <cstring>
#include <mutex>
#include <system_error>
#include <utility>

namespace weft::app {
namespace {

// A handler may neither allocate nor lock, so the names lie in a table of fixed size.
struct Slot {
  std::atomic<bool> used = false;
  char path[PATH_MAX];
};
std::array<Slot, 8> slots;
std::mutex slots_mutex;  // of those who take one

extern "C" void remove_and_end(int signal) {
  for (const Slot& slot : slots) {
    if (slot.used.load(std::memory_order_acquire)) unlink(slot.path);
  }
  if (isatty(STDERR_FILENO)) {
    constexpr char kClear[] = "\r\033[K";  // a line of progress
    [[maybe_unused]] const auto written = write(STDERR_FILENO, kClear, sizeof kClear - 1);
  }
  _exit(128 + signal);
}

// The slot; -1 if there is none or the name is too long, so that only the destructor removes the file.
int take_slot(const std::string& path) {
  const std::lock_guard lock(slots_mutex);
  for (std::size_t i = 0; i < slots.size() && path.size() < sizeof slots[i].path; ++i) {
    if (slots[i].used) continue;
    std::memcpy(slots[i].path, path.c_str(), path.size() + 1);
    slots[i].used.store(true, std::memory_order_release);
    return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

void handle_signals() {
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU}) {
    struct sigaction before{};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_IGN) continue;
    struct sigaction action{};
    action.sa_handler = remove_and_end;
    sigfillset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
  }
}

TemporaryFile::TemporaryFile(std::filesystem::path path) : path_(std::move(path)) {
  std::error_code ignored;
  slot_ = take_slot(std::filesystem::absolute(path_, ignored).string());
}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : path_(std::exchange(other.path_, {})), slot_(std::exchange(other.slot_, -1)) {}

TemporaryFile& TemporaryFile::operator=(TemporaryFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(slot_, other.slot_);
  return *this;
}

TemporaryFile::~TemporaryFile() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
  release();
}

void TemporaryFile::release() {
  if (slot_ >= 0) slots[static_cast<std::size_t>(slot_)].used.store(false, std::memory_order_release);
  slot_ = -1;
  path_.clear();
}

}  // namespace weft::app
