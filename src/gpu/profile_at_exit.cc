#include "gpu/profile_at_exit.h"

#include <cstdlib>
#include <fstream>
#include <mutex>

#include "weft/flags.h"
#include "weft/log.h"
#include "weft/profile.h"

namespace weft::profile {
namespace {

struct Whole {
  std::string path;
  Scope scope;
};
Whole* whole = nullptr;  // never deleted: finish() ends the profiling

void write() {
  try {
    std::ofstream file(whole->path, std::ios::binary);
    file << chrome_trace(whole->scope.finish());
    if (!file.flush()) log(LogLevel::warning, "WEFT_PROFILE_TO (--profile-to): {} cannot be written", whole->path);
  } catch (const std::exception& e) {
    log(LogLevel::warning, "the profile for {} is lost: {}", whole->path, e.what());
  }
}

}  // namespace

void write_at_exit(const Device& device) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (whole) return;
  std::string path = flag_text(Flag::profile_to);
  if (path.empty()) return;
  whole = new Whole{std::move(path), Scope("the program", device)};
  // After the device was opened, so that this runs before what the device needs is destroyed.
  std::atexit(write);
}

}  // namespace weft::profile
