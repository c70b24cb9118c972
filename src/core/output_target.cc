#include "core/output_target.h"

#include <atomic>
#include <cerrno>
#include <charconv>
#include <format>
#include <optional>
#include <random>
#include <string>

#include "core/bytes_text.h"
#include "core/format.h"
#include "core/system.h"
#include "weft/error.h"

namespace weft {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void fail(const fs::path& path, const std::string& why) {
  throw IoError("cannot write {}: {}", path.string(), why);
}
std::error_code last_error() { return {errno ? errno : EIO, std::generic_category()}; }

// The descriptor of this process that a path names: /dev/fd/3, and on Linux also /proc/self/fd/3.
std::optional<int> descriptor_of(const fs::path& path) {
  const std::string name = path.filename().string();
  int number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number < 0) return std::nullopt;
  const fs::path directory = path.has_parent_path() ? path.parent_path() : ".";
  for (const char* of_descriptors : {"/dev/fd", "/proc/self/fd", "/proc/thread-self/fd"}) {
    std::error_code ignored;
    if (fs::equivalent(directory, of_descriptors, ignored)) return number;
  }
  return std::nullopt;
}

// Whether it is what another process has open, whose link is no path to it: /proc/1234/fd/1.
bool is_of_another_process(const fs::path& path) {
  std::error_code ignored;
  const fs::path directory = fs::canonical(path.has_parent_path() ? path.parent_path() : ".", ignored);
  return directory.filename() == "fd" && directory.string().starts_with("/proc/");
}

std::FILE* opened(std::FILE* stream, const fs::path& path) {
  if (!stream) fail(path, last_error().message());
  return stream;
}

// Follows the links from `path`. Opens what is there unless it is a regular file, which must be writable, or nothing.
std::FILE* follow(fs::path& path) {
  const fs::path given = path;
  std::error_code error;
  constexpr int kMostLinks = 40;
  for (int links = 0; fs::is_symlink(fs::symlink_status(path, error)) || descriptor_of(path); ++links) {
    errno = 0;
    if (const auto descriptor = descriptor_of(path)) return opened(open_descriptor(*descriptor), given);
    if (is_of_another_process(path)) return opened(std::fopen(path.string().c_str(), "ab"), given);
    if (links == kMostLinks) fail(given, std::make_error_code(std::errc::too_many_symbolic_link_levels).message());
    const fs::path next = fs::read_symlink(path, error);
    if (error) fail(given, error.message());
    path = path.parent_path() / next;  // an absolute `next` stands alone
  }
  const fs::file_status status = fs::status(path, error);
  errno = 0;
  switch (status.type()) {
    case fs::file_type::not_found:
      return nullptr;
    case fs::file_type::none:
      fail(given, error.message());
    case fs::file_type::directory:
      fail(given, "it is a directory");
    case fs::file_type::regular: {
      constexpr auto kWrite = fs::perms::owner_write | fs::perms::group_write | fs::perms::others_write;
      // The superuser may write any file, but hardly means to.
      if ((status.permissions() & kWrite) == fs::perms::none) fail(given, "it is read-only");
      std::fclose(opened(std::fopen(path.string().c_str(), "r+b"), given));
      return nullptr;
    }
    default:
      return opened(std::fopen(path.string().c_str(), "wb"), given);
  }
}

}  // namespace

OutputTarget::OutputTarget(const fs::path& path) : path_(path), stream_(follow(path_)) {}

OutputTarget::~OutputTarget() {
  if (stream_) std::fclose(stream_);
}

fs::path OutputTarget::temporary() const {
  // Threads and processes may write the same target: each has a temporary file of its own.
  static const std::uint64_t process = std::random_device{}() | std::uint64_t{std::random_device{}()} << 32;
  static std::atomic<std::uint64_t> count = 0;
  std::error_code error;
  const fs::path directory = stream_ ? fs::temp_directory_path(error) : path_.parent_path();
  if (error) fail(path_, "there is no directory for temporary files: " + error.message());
  return directory / std::format(".weft-{:016x}-{}.part", process, count++);
}

std::error_code OutputTarget::put(const fs::path& complete) {
  std::error_code error, ignored;
  if (!stream_) {
    if (const auto old = fs::status(path_, ignored); fs::exists(old)) {
      copy_owner(path_, complete);
      fs::permissions(complete, old.permissions(), ignored);
    }
    fs::rename(complete, path_, error);
    return error;
  }
  errno = 0;
  std::FILE* from = std::fopen(complete.string().c_str(), "rb");
  if (!from) return last_error();
  char block[65536];
  for (std::size_t size; !error && (size = std::fread(block, 1, sizeof block, from)) > 0;) {
    if (std::fwrite(block, 1, size, stream_) != size) error = last_error();
  }
  if (!error && (std::ferror(from) || std::fflush(stream_) != 0)) error = last_error();
  std::fclose(from);
  if (!error) fs::remove(complete, ignored);
  return error;
}

Replacement::~Replacement() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove(temporary_, ignored);
}

void Replacement::require_space(std::uint64_t bytes) const {
  std::error_code error;
  const fs::path directory = temporary_.has_parent_path() ? temporary_.parent_path() : ".";
  const fs::space_info space = fs::space(directory, error);
  // Some file systems have no numbers, and say 0 of 0 bytes.
  if (error || space.capacity == 0 || bytes <= space.available) return;
  fail(path_,
       std::format("it takes {}, and {} has space for {}", bytes_text(bytes), directory.string(), space.available));
}

void Replacement::commit() {
  if (const std::error_code error = target_.put(temporary_)) fail(path_, error.message());
  temporary_.clear();
}

}  // namespace weft
