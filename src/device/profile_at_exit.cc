#include "device/profile_at_exit.h"

#include <cstdlib>
#include <fstream>
#include <mutex>

#include "core/format.h"
#include "core/output_target.h"
#include "weft/error.h"
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
    Replacement file(whole->path);
    std::ofstream out(file.temporary(), std::ios::binary);
    out << chrome_trace(whole->scope.finish());
    out.close();
    if (!out) throw IoError("cannot write {}", file.temporary().string());
    file.commit();
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
