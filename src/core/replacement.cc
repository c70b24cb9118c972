#include "core/replacement.h"

#include <atomic>
#include <format>
#include <random>

#include "weft/error.h"

namespace weft {
namespace fs = std::filesystem;

Replacement::Replacement(const fs::path& target) : target_(target) {
  std::error_code error;
  if (fs::is_symlink(fs::symlink_status(target, error))) target_ = fs::weakly_canonical(target, error);
  const auto type = fs::status(target_, error).type();
  if (type == fs::file_type::none) throw IoError("cannot write {}: {}", target.string(), error.message());
  if (type != fs::file_type::not_found && type != fs::file_type::regular) {
    throw IoError("cannot write {}: it is {}", target.string(),
                  type == fs::file_type::directory ? "a directory" : "no regular file");
  }
  // Threads and processes may write the same target: each has a temporary file of its own.
  static const std::uint64_t process = std::random_device{}() | std::uint64_t{std::random_device{}()} << 32;
  static std::atomic<std::uint64_t> count = 0;
  temporary_ = target_;
  temporary_ += std::format(".{:016x}-{}.tmp", process, count++);
}

Replacement::~Replacement() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove(temporary_, ignored);
}

void Replacement::commit() {
  std::error_code error, ignored;
  const auto old = fs::status(target_, ignored);
  if (fs::exists(old)) fs::permissions(temporary_, old.permissions(), ignored);
  fs::rename(temporary_, target_, error);
  if (error) throw IoError("cannot write {}: {}", target_.string(), error.message());
  temporary_.clear();
}

}  // namespace weft
